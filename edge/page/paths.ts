// The paths of the page, which the server knows before it loads the page.

/** Files that need no data of the service. */
export const PAGE_FILES = ["/weir.css", "/weir.js", "/weir.svg", "/suggestions"] as const;

/** Pages with a form, which has the key or token. */
export const PAGE_ROUTES = [
  "/",
  "/download",
  "/years",
  "/measured",
  "/values",
  "/fields",
  "/datasets",
  "/datasets/:doi{.+}",
] as const;
