// Medians of years or months, with the middle half of the results.
import { html, raw } from "hono/html";
import type { Form } from "./form.ts";
import { rangeOf } from "./scale.ts";
import {
  formatQuantile,
  groupBy,
  type Measurement,
  type Quantile,
  quantileOf,
  unitOf,
} from "./series.ts";
import type { Html, Locale } from "./text.ts";

/** The axis of dates. A month is that of all years. */
export interface Times {
  isByMonth: boolean;
  /** First and last year on the axis. */
  first: number;
  last: number;
  /** Returns the part of the axis before the date of a row. */
  partOf: (row: Measurement) => number;
  /** Returns the year of a row, or its month from 0. */
  unitOf: (row: Measurement) => number;
  /** Returns the part of the axis before the middle of a year or month. */
  middleOf: (unit: number) => number;
  /** Returns a year, or the name of a month. */
  nameOf: (unit: number) => string;
}

/** Each date has the place of its day in this leap year if the chart is by month. */
const ANY_YEAR = 2000;

export function createTimes(rows: readonly Measurement[], { by, locale }: Form): Times {
  const isByMonth = by === "month";
  const [first, last] = isByMonth ? [ANY_YEAR, ANY_YEAR] : rangeOf(rows.map(yearOf));
  const [start, end] = [startOf(first), startOf(last + 1)];
  const [from, count] = isByMonth ? [0, 12] : [first, last - first + 1];
  return {
    isByMonth,
    first,
    last,
    partOf({ ActivityStartDate: date = "" }) {
      const time = Date.parse(isByMonth ? `${ANY_YEAR}${date.slice(4)}` : date);
      return (time - start) / (end - start);
    },
    unitOf: isByMonth ? (row) => Number(row.ActivityStartDate!.slice(5, 7)) - 1 : yearOf,
    middleOf: (unit) => (unit - from + 0.5) / count,
    nameOf: isByMonth ? locale.monthName : String,
  };
}

function yearOf(row: Measurement): number {
  return Number(row.ActivityStartDate!.slice(0, 4));
}

/** Returns the start of a year (ms since 1970). `Date.UTC` adds 1900 to a year below 100. */
function startOf(year: number): number {
  return new Date(0).setUTCFullYear(year);
}

/** Results of a year or month. */
export interface UnitResults {
  unit: number;
  rows: readonly Measurement[];
  /** Lower quartile, median and upper quartile. */
  quartiles: readonly [Quantile, Quantile, Quantile];
}

export function groupByUnit(rows: readonly Measurement[], { unitOf }: Times): UnitResults[] {
  return [...groupBy(rows, (row) => String(unitOf(row)))].map(([unit, rows]): UnitResults => {
    const [low, median, high] = [0.25, 0.5, 0.75].map((part) => quantileOf(rows, part));
    return { unit: Number(unit), rows, quartiles: [low!, median!, high!] };
  }).sort((a, b) => a.unit - b.unit);
}

/** Minimum number of results that have a band. */
const MIN_BAND_RESULTS = 4;
/** Width of the drawing, which the browser stretches. */
export const STRETCHED_WIDTH = 1000;
/** Part of a year or month at each end of a band. */
const BAND_END = 0.25;

/** Signs of quartiles that can be lower, or higher. */
const [BELOW, ABOVE] = [["<", "≤", "–"], [">", "≥", "–"]];

/** Draws the band of the middle half, and the line of exact medians. Both have gaps where a unit has none. */
export function drawMedians(
  units: readonly UnitResults[],
  { middleOf }: Times,
  toY: (value: number) => number,
  [top, bottom]: readonly [top: number, bottom: number],
): Html {
  const point = (unit: number, y: number) => `${Math.round(STRETCHED_WIDTH * middleOf(unit))} ${y}`;
  /** A quartile that is below or above a limit can be anywhere on that side. */
  const edge = ({ sign, digits }: Quantile, openSigns: readonly string[], end: number) =>
    openSigns.includes(sign) ? end : toY(Number(digits));
  const bands = toRuns(units.filter(({ rows }) => rows.length >= MIN_BAND_RESULTS)).map((run) => {
    const [first, last] = [run[0]!, run.at(-1)!];
    const wide = [
      { ...first, unit: first.unit - BAND_END },
      ...run,
      { ...last, unit: last.unit + BAND_END },
    ];
    const upper = wide.map(({ unit, quartiles }) => point(unit, edge(quartiles[2], ABOVE, top)));
    const lower = wide.map(({ unit, quartiles }) => point(unit, edge(quartiles[0], BELOW, bottom)));
    return `M${[...upper, ...lower.toReversed()].join("L")}z`;
  });
  const lines = toRuns(units.filter(({ quartiles: [, { sign }] }) => sign === "")).map((run) =>
    `M${run.map(({ unit, quartiles }) => point(unit, toY(Number(quartiles[1].digits)))).join("L")}`
  );
  return html`
    <path class="chart-band" d="${raw(bands.join(""))}" />
    <path class="chart-line" d="${raw(lines.join(""))}" />
  `;
}

/** Splits years or months where one is missing. */
function toRuns(units: readonly UnitResults[]): UnitResults[][] {
  const runs: UnitResults[][] = [];
  for (const unit of units) {
    const run = runs.at(-1);
    if (run?.at(-1)?.unit === unit.unit - 1) run!.push(unit);
    else runs.push([unit]);
  }
  return runs;
}

const WORDS = {
  "": "medianIs",
  "<": "medianBelow",
  "≤": "medianAtMost",
  ">": "medianAbove",
  "≥": "medianAtLeast",
  "–": "medianUnknown",
} as const satisfies Record<Quantile["sign"], string>;

/** Number of years at the start, and at the end, that the text compares. */
const COMPARED_YEARS = 5;

/** Compares the medians of the first and of the last years, without a claim beyond these numbers. */
export function describeChange(rows: readonly Measurement[], locale: Locale): string {
  const { text, fill, formatPlural, formatYears } = locale;
  const years = groupBy(rows, (row) => String(yearOf(row)));
  const [first, last] = rangeOf(rows.map(yearOf));
  const locations = new Set(rows.map(({ LocationId }) => LocationId)).size;
  const period = (from: number, to: number) => {
    const part = rows.filter((row) => yearOf(row) >= from && yearOf(row) <= to);
    const { sign, digits } = quantileOf(part, 0.5);
    const value = formatQuantile({ sign: "", digits }, locale);
    const unit = unitOf(part[0]!, locale);
    return {
      median: fill(text[WORDS[sign]], { value: `${value} ${unit}`.trim() }),
      period: `${formatYears(`${from}`, `${to}`)} (${formatPlural("results", part.length)})`,
    };
  };
  const of = locations > 1 ? ` ${formatPlural("ofLocations", locations)}` : "";
  if (last - first + 1 < 2 * COMPARED_YEARS) {
    return fill(text.medianOfYears, { of, ...period(first, last) });
  }
  const before = period(first, first + COMPARED_YEARS - 1);
  const after = period(last - COMPARED_YEARS + 1, last);
  const missing = last - first + 1 - years.size;
  const change = { of, before: before.median, first: before.period };
  return `${fill(text.medianChange, { ...change, after: after.median, last: after.period })} ${
    missing > 0 ? formatPlural("missingYears", missing) : text.noTest
  }`;
}
