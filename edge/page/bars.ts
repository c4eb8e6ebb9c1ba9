import { html } from "hono/html";
import { formatNumber, type Html, type Language } from "./drawing_text.ts";

/** Number of results of a year. */
export interface YearResults {
  year: number;
  results: number;
}

/** Pixels: the line of the maximum, and the bottom of the bars. */
const [TOP, BOTTOM, HEIGHT] = [20, 86, 106];
/** Part of a year's width that its bar takes. */
const BAR_PART = 0.8;
const MAX_LABELS = 6;
/** Steps between labels in years, and of the maximum in powers of ten. */
const YEAR_STEPS = [1, 2, 3, 5, 10, 20, 50, 100];
const ROUND_MAXIMA = [1, 1.5, 2, 3, 4, 5, 6, 8, 10];

/** Returns an SVG with one bar per year, from the first year to the last one. */
export function drawBars(
  years: readonly YearResults[],
  language: Language,
): Html {
  if (years.length === 0) return html``;
  const count = new Map(years.map(({ year, results }) => [year, results]));
  const [first, last] = [Math.min(...count.keys()), Math.max(...count.keys())];
  const length = last - first + 1;
  const largest = Math.max(...count.values(), 1);
  const power = 10 ** Math.floor(Math.log10(largest));
  const maximum = power * ROUND_MAXIMA.find((digit) => digit * power >= largest)!;
  const step = YEAR_STEPS.find((step) => length / step <= MAX_LABELS) ?? length;
  const percent = (part: number) => `${+(100 * part / length).toFixed(2)}%`;
  const text = years.map(({ year, results }) => `${year}: ${formatNumber(results, language)}`);
  return html`<svg class="bars" height="${HEIGHT}" role="img" aria-label="${text.join("; ")}">
    <text x="0" y="14">${formatNumber(maximum, language)}</text>
    <line class="bars-top" x2="100%" y1="${TOP}" y2="${TOP}"/>
    ${
    Array.from({ length }, (_, i) => {
      const year = first + i;
      const results = count.get(year) ?? 0;
      const height = +((BOTTOM - TOP) * results / maximum).toFixed(1);
      const hasLabel = year % step === 0 || length <= MAX_LABELS;
      return html`
        <rect x="${percent(i + (1 - BAR_PART) / 2)}" width="${percent(
          BAR_PART,
        )}" y="${+(BOTTOM - height).toFixed(1)}" height="${height}">
          <title>${year}: ${formatNumber(results, language)}</title>
        </rect>${hasLabel &&
          html`<text class="bars-year" x="${percent(i + 0.5)}" y="${BOTTOM + 16}">${year}</text>`}
      `;
    })
  }
    <line x2="100%" y1="${BOTTOM}" y2="${BOTTOM}"/>
  </svg>`;
}
