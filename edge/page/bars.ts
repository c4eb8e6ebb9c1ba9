// The bars of results per year.
import { html } from "hono/html";
import { createScale, percent, rangeOf, roundNumbers } from "./scale.ts";
import type { Html, Locale } from "./text.ts";

export interface YearResults {
  year: number;
  results: number;
}

/** Pixels: the line of the maximum, and the bottom of the bars. */
const [TOP, BOTTOM, HEIGHT] = [20, 86, 106];
/** Part of a year's width that its bar takes. */
const BAR_PART = 0.8;
const MAX_LABELS = 6;

export function drawBars(years: readonly YearResults[], { formatNumber }: Locale): Html {
  if (years.length === 0) return html``;
  const [first, last] = rangeOf(years.map(({ year }) => year));
  const [, most] = rangeOf(years.map(({ results }) => results));
  const { ticks, partOf } = createScale(0, most, false);
  const describe = ({ year, results }: YearResults) => `${year}: ${formatNumber(results)}`;
  /** Returns the position of a part of a year. */
  const toX = (year: number, part: number) => percent((year - first + part) / (last - first + 1));
  const width = percent(BAR_PART / (last - first + 1));
  const bars = years.map((item) => {
    const height = Math.round((BOTTOM - TOP) * partOf(item.results));
    return html`
      <rect x="${toX(item.year, (1 - BAR_PART) / 2)}" width="${width}"
        y="${BOTTOM - height}" height="${height}">
        <title>${describe(item)}</title>
      </rect>
    `;
  });
  const labels = roundNumbers(first, last, MAX_LABELS).map((year) =>
    html`<text class="bars-year" x="${toX(year, 0.5)}" y="${BOTTOM + 16}">${year}</text>`
  );
  return html`
    <svg class="bars" height="${HEIGHT}" role="img"
      aria-label="${years.map(describe).join("; ")}">
        <text y="${TOP - 6}">${formatNumber(ticks.at(-1)!)}</text>
        <line class="bars-top" x2="100%" y1="${TOP}" y2="${TOP}"></line>${bars}${labels}
        <line x2="100%" y1="${BOTTOM}" y2="${BOTTOM}"></line></svg>
  `;
}
