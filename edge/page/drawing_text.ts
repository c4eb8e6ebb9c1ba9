/** Language of the page. */
export type Language = "en" | "fr";
