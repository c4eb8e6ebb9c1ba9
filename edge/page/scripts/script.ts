// The script of the page. Each part is served as its source text, so it must use only globals of browsers, its own
// names and the `Page`. Listeners are on the document, because `load` replaces the content.
import { enhanceBox } from "./box.ts";
import { showDownloadBar } from "./download_bar.ts";
import { watchForm } from "./form.ts";
import { followLinks } from "./links.ts";
import { completePage, keepFocus, loadPages, requestPages } from "./load.ts";
import { type Page, readPage } from "./page.ts";
import { enhanceSuggestions } from "./suggestions.ts";
import { enhanceValues } from "./values.ts";

/** The first ones return the members of the page, which the others use. */
const PARTS: readonly ((page: Page) => Partial<Page> | void)[] = [
  readPage,
  requestPages,
  keepFocus,
  loadPages,
  watchForm,
  followLinks,
  completePage,
  showDownloadBar,
  enhanceSuggestions,
  enhanceBox,
  enhanceValues,
];

export function script(): string {
  // Bundlers that keep names, such as esbuild in wrangler, call `__name` in each function.
  return `const __name = (value) => value;\nconst page = {};\n${
    PARTS.map((part) => `Object.assign(page, (${part})(page));\n`).join("")
  }document.dispatchEvent(new Event("shown"));\n`;
}

export const SCRIPT_TEXTS = ["loading", "copied", "busyNote", "failed", "drawBox"] as const;
