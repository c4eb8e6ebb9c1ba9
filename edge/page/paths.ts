// The paths of the page, which the server knows before it loads the page.

import { MIRROR_PATH } from "../downloads/mirror.ts";

/** Files that need no data of the service. */
export const PAGE_FILES = ["/weir.css", "/weir.js", "/weir.svg", "/suggestions"] as const;

/** Pages with a form, which has the key or token. */
export const PAGE_ROUTES = [
  "/",
  "/download",
  "/years",
  "/measured",
  "/located",
  "/values",
  "/fields",
  "/datasets",
  "/datasets/:doi{.+}",
  MIRROR_PATH,
] as const;
