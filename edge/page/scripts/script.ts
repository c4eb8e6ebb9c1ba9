// The script of the page. Each function is served as its source text, so it must use only globals of browsers and its
// own names. Listeners are on the document, because `enhancePage` replaces the content.
import { enhanceBox } from "./box.ts";
import { enhancePage } from "./page.ts";
import { enhanceSuggestions } from "./suggestions.ts";
import { enhanceValues } from "./values.ts";

export function script(): string {
  const others = [enhanceSuggestions, enhanceBox, enhanceValues];
  // Bundlers that keep names, such as esbuild in wrangler, call `__name` in each function.
  return `const __name = (value) => value;\nconst page = (${enhancePage})();\n${
    others.map((enhance) => `(${enhance})(page);\n`).join("")
  }`;
}

export const SCRIPT_TEXTS = ["loading", "copied", "busyNote", "failed", "drawBox"] as const;
