import { html } from "hono/html";
import type { Language } from "./drawing_text.ts";

export interface YearResults {
  year: number;
  results: number;
}

/** Returns an SVG with one bar per year, from the first year to the last one. */
export function drawBars(
  _years: readonly YearResults[],
  _language: Language,
): ReturnType<typeof html> {
  return html``;
}
