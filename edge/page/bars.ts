// The bars of results per year.
import { html } from "hono/html";
import { formatNumber, type Html, type Language } from "./text.ts";
import { createScale, labelStep, percent } from "./scale.ts";

export interface YearResults {
  year: number;
  results: number;
}

/** Pixels: the line of the maximum, and the bottom of the bars. */
const [TOP, BOTTOM, HEIGHT] = [20, 86, 106];
/** Part of a year's width that its bar takes. */
const BAR_PART = 0.8;
const MAX_LABELS = 6;

export function drawBars(years: readonly YearResults[], language: Language): Html {
  if (years.length === 0) return html``;
  const counts = new Map(years.map(({ year, results }) => [year, results]));
  const first = Math.min(...counts.keys());
  const length = Math.max(...counts.keys()) - first + 1;
  const { ticks, partOf } = createScale(0, Math.max(...counts.values(), 1), false);
  const step = labelStep(length, MAX_LABELS);
  const describe = (year: number) => `${year}: ${formatNumber(counts.get(year) ?? 0, language)}`;
  const drawYear = (_: unknown, i: number) => {
    const year = first + i;
    const height = Math.round((BOTTOM - TOP) * partOf(counts.get(year) ?? 0));
    const [x, width] = [percent((i + (1 - BAR_PART) / 2) / length), percent(BAR_PART / length)];
    return html`
      <rect x="${x}" width="${width}" y="${BOTTOM - height}" height="${height}">
        <title>${describe(year)}</title>
      </rect>${year % step === 0 &&
        html`<text class="bars-year" x="${percent((i + 0.5) / length)}" y="${
          BOTTOM + 16
        }">${year}</text>`}
    `;
  };
  return html`
    <svg class="bars" height="${HEIGHT}" role="img"
      aria-label="${[...counts.keys()].map(describe).join("; ")}"><text y="${TOP -
        6}">${formatNumber(ticks.at(-1)!, language)}</text><line class="bars-top"
        x2="100%" y1="${TOP}" y2="${TOP}"/>${Array.from({ length }, drawYear)}<line
        x2="100%" y1="${BOTTOM}" y2="${BOTTOM}"/></svg>
  `;
}
