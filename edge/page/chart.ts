// The chart of the values of a series over time.
import { html, raw } from "hono/html";
import { type Form, pageUrl } from "./form.ts";
import { namesOf, type Results } from "./load.ts";
import { createScale, percent, rangeOf, roundNumbers, type Scale, TICK_DIGITS } from "./scale.ts";
import {
  compareDates,
  formatMedian,
  formatResult,
  groupBy,
  KEY_FIELDS,
  type Measurement,
  selectSeries,
  type Series,
  seriesOf,
  unitOf,
} from "./series.ts";
import type { Html, Locale } from "./text.ts";

export interface ChartContent {
  form: Form;
  results: Pick<Results, "rows" | "isComplete" | "locations">;
}

/** Ratio of maximum and minimum above which a scale is logarithmic. */
const LOGARITHMIC_RATIO = 50;

/** Returns the card of the chart; `undefined` if rows are missing, or none of them can be drawn. */
export function drawChart({ form, results }: ChartContent): Html | undefined {
  const series = findSeries(form, results);
  if (series === undefined) return undefined;
  const { locale } = form;
  const { text, fill, formatPlural, characteristicName, valueName } = locale;
  const { rows, example } = series;
  const { CharacteristicName: name = "", ResultSampleFraction: fraction = "" } = example;
  const [low, high] = rangeOf(rows.map(({ value }) => Number(value)));
  const isLogarithmic = low > 0 &&
    (form.scale === "" ? high / low > LOGARITHMIC_RATIO : form.scale === "log");
  const groups = groupRows(rows, results, locale);
  const facts = [
    unitOf(example, locale),
    fraction &&
    fill(text.fraction, { name: valueName(fraction).toLowerCase() }),
    isLogarithmic && text.logScale,
  ];
  const otherScale = pageUrl(form, { scale: isLogarithmic ? "linear" : "log" });
  return html`<section class="card chart-card" aria-labelledby="chart">
    <div class="title">
      <h2 id="chart">${characteristicName(name)}
        <span>${facts.filter(Boolean).join(", ")}</span></h2>
      <div class="chart-links">
        ${
    low > 0 && html`<a href="${otherScale}">${isLogarithmic ? text.linear : text.logarithmic}</a>`
  } ${renderAlternatives(form, series)} <a href="#chart-table">${text.asTable}</a>
      </div>
    </div>
    ${renderLegend(groups, rows, locale)}
    ${drawPlot(groups, createScale(low, high, isLogarithmic), series, form)}
    ${
    series.withoutLimit > 0 &&
    html`<p class="note">${formatPlural("notDrawn", series.withoutLimit)}.</p>`
  }
    ${renderTable(rows, locale)}
  </section>`;
}

function findSeries(form: Form, { rows, isComplete }: ChartContent["results"]): Series | undefined {
  return isComplete ? selectSeries(rows, form.series) : undefined;
}

/** Maximum number of links to other series, and of those in the heading; the rest is folded. */
const [MAX_ALTERNATIVES, MAX_LINKED] = [100, 2];

/** Renders links to other series, which name their differences from the drawn one. */
function renderAlternatives(form: Form, { alternatives, example: drawn }: Series): Html {
  const { text, formatNumber, formatPlural, characteristicName, valueName } = form.locale;
  const nameOf = (field: string, value: string) =>
    field === "CharacteristicName" ? characteristicName(value) : valueName(value);
  const links = alternatives.slice(0, MAX_ALTERNATIVES).map(({ example, rows }) => {
    const href = pageUrl(form, { series: seriesOf(example), scale: "" });
    const differences = KEY_FIELDS.filter((field) => example[field] !== drawn[field])
      .map((field) => nameOf(field, example[field]!) || text.none);
    const label = `${differences.join(", ")} (${formatNumber(rows.length)})`;
    return html`<a href="${href}">${label}</a>`;
  });
  const folded = links.slice(MAX_LINKED).map((link) => html`<li>${link}</li>`);
  const more = formatPlural("otherSeries", alternatives.length - MAX_LINKED);
  return html`${links.slice(0, MAX_LINKED)}${
    folded.length > 0 && html`
      <details>
        <summary><span>${more}</span></summary>
        <ul>${folded}</ul>
      </details>
    `
  }`;
}

/** Rows of a location, or of all locations without a colour. */
interface Group {
  name: string;
  rows: readonly Measurement[];
}

/** Maximum number of locations with their own colour and shape. */
const MAX_COLOURED = 6;

/** The locations with most values have their own group. */
function groupRows(
  rows: readonly Measurement[],
  results: Pick<Results, "locations">,
  { formatPlural }: Locale,
): Group[] {
  const nameOf = namesOf(results);
  const locations = [...groupBy(rows, ({ LocationId = "" }) => LocationId)]
    .sort(([, a], [, b]) => b.length - a.length);
  const coloured = locations.slice(0, MAX_COLOURED)
    .map(([id, rows]) => ({ name: nameOf(id), rows }));
  const others = locations.slice(MAX_COLOURED).flatMap(([, rows]) => rows).sort(compareDates);
  if (others.length === 0) return coloured;
  const name = formatPlural("otherLocations", locations.length - MAX_COLOURED);
  return [...coloured, { name, rows: others }];
}

const CIRCLE = "M-4 0a4 4 0 1 0 8 0a4 4 0 1 0-8 0z";
/** Paths around the origin of each group: circle, square, triangle, diamond, inverted triangle, cross, dot. */
const SHAPES = [
  CIRCLE,
  "M-3.5-3.5h7v7h-7z",
  "M0-4.6l4.4 8h-8.8z",
  "M0-5l5 5-5 5-5-5z",
  "M0 4.6l4.4-8h-8.8z",
  "M-1.5-4.5h3v3h3v3h-3v3h-3v-3h-3v-3h3z",
  "M-2 0a2 2 0 1 0 4 0a2 2 0 1 0-4 0z",
  // In the legend, for limits.
  CIRCLE,
];
const LEGEND_SHAPE = SHAPES.length - 1;
/** Path of the tail of a shape by `censoring`. Shapes of limits are hollow. */
const TAILS = { none: "", left: "M0 4v8", right: "M0-4v-8" };

/** The marker of each group and limit, such as `left0`. */
const MARKERS = raw(
  SHAPES.flatMap((shape, group) =>
    Object.entries(TAILS).map(([limit, tail]) =>
      `<marker id="${limit}${group}" class="chart-series-${group}" markerUnits="userSpaceOnUse">` +
      `<path class="chart-${limit}" d="${tail}${shape}"/></marker>`
    )
  ).join(""),
);

function renderLegend(
  groups: readonly Group[],
  rows: readonly Measurement[],
  { text: { below, above }, formatNumber }: Locale,
): Html {
  const item = (marker: string, label: string | Html) =>
    html`<li><svg width="16" height="16" aria-hidden="true"><line
      marker-start="url(#${marker})" x1="8" y1="8"/></svg><span>${label}</span></li>`;
  const has = (limit: string) => rows.some(({ censoring }) => censoring === limit);
  return html`<ul class="chart-legend">
    ${
    groups.map(({ name, rows }, i) =>
      item(`none${i}`, html`${name} <span>${formatNumber(rows.length)}</span>`)
    )
  } ${has("left") && item(`left${LEGEND_SHAPE}`, below)} ${
    has("right") && item(`right${LEGEND_SHAPE}`, above)
  }
  </ul>`;
}

/** Approximate maximum number of labels of years or months. A phone shows every second one. */
const MAX_TIMES = 12;
/** Positions (pixels from the top) of the highest value, the lowest value, the axis of times and the end. */
const [PLOT_TOP, PLOT_BOTTOM, AXIS, PLOT_HEIGHT] = [10, 280, 296, 326];

/** Returns the position of a row: the part of the width, and pixels from the top. */
type ToPosition = (row: Measurement) => [part: number, y: number];

function drawPlot(
  groups: readonly Group[],
  { ticks, partOf }: Scale,
  { rows, example: { CharacteristicName = "" } }: Series,
  form: Form,
): Html {
  const { locale } = form;
  const { text, fill, formatYears, characteristicName } = locale;
  const [first, last] = [yearOf(rows[0]!), yearOf(rows.at(-1)!)];
  const [start, end] = [startOf(first), startOf(last + 1)];
  const toY = (value: number) => Math.round(PLOT_BOTTOM - (PLOT_BOTTOM - PLOT_TOP) * partOf(value));
  const toPosition: ToPosition = ({ ActivityStartDate, value }) => [
    (Date.parse(ActivityStartDate!) - start) / (end - start),
    toY(Number(value)),
  ];
  const label = fill(text.chartLabel, {
    name: characteristicName(CharacteristicName),
    n: rows.length,
    years: formatYears(`${first}`, `${last}`),
  });
  const lines = ticks.map(toY).map((y) => html`<line x2="100%" y1="${y}" y2="${y}"></line>`);
  const labels = ticks.map((tick) =>
    html`<text x="100%" y="${toY(tick)}" dx="-8" dy="4">${formatTick(tick, locale)}</text>`
  );
  // The grey points are drawn first, so that they are below the coloured ones.
  const points = groups.map((group, i) => drawGroup(group, i, toPosition)).toReversed();
  return html`
    <div class="chart">
      <svg class="chart-axis" height="${PLOT_HEIGHT}" aria-hidden="true">${labels}</svg>
      <svg class="chart-plot" height="${PLOT_HEIGHT}" role="img" aria-label="${label}"
        data-values="${pageUrl(form, { path: "/values" })}"><defs>${MARKERS}</defs>
          <g class="chart-grid">${lines}</g>${drawTimes(first, last, locale)}${points}</svg>
    </div>
  `;
}

function yearOf(row: Measurement): number {
  return Number(row.ActivityStartDate!.slice(0, 4));
}

/** Returns the start of a year (ms since 1970). `Date.UTC` adds 1900 to a year below 100. */
function startOf(year: number): number {
  return new Date(0).setUTCFullYear(year);
}

function formatTick(tick: number, { formatNumber }: Locale): string {
  const isExtreme = tick !== 0 && (Math.abs(tick) < 1e-5 || Math.abs(tick) >= 1e6);
  return formatNumber(tick, {
    maximumSignificantDigits: TICK_DIGITS,
    ...(isExtreme && { notation: "scientific" }),
  });
}

/** Draws the axis of years, or of months if all dates are in one year. */
function drawTimes(first: number, last: number, { monthName }: Locale): Html {
  const isOneYear = first === last;
  const [from, to] = isOneYear ? [0, 11] : [first, last];
  const toX = (unit: number) => percent((unit - from) / (to - from + 1));
  const nameOf = (unit: number) =>
    isOneYear ? `${monthName(unit)} ${unit === 0 ? first : ""}`.trim() : unit;
  const tick = (x: string) => html`<line x1="${x}" x2="${x}" y1="${AXIS}" y2="${AXIS + 6}"></line>`;
  const units = roundNumbers(from, to, MAX_TIMES).map((unit) =>
    html`${tick(toX(unit))}<text x="${toX(unit + 0.5)}" y="${AXIS + 22}">${nameOf(unit)}</text>`
  );
  return html`
    <g
      class="chart-times"><line x2="100%" y1="${AXIS}" y2="${AXIS}"></line>${units}${tick(
        "100%",
      )}</g>
  `;
}

/**
 * Draws each shape as the start marker of an invisible line, which takes half the bytes of an element that names its
 * shape.
 */
function drawGroup({ rows }: Group, index: number, toPosition: ToPosition): Html {
  const lines = rows.map((row) => {
    const [part, y] = toPosition(row);
    const marker = row.censoring === "none" ? "" : ` marker-start="url(#${row.censoring}${index})"`;
    return `<line x1="${percent(part, 1)}" y1="${y}"${marker}/>`;
  });
  // Safe as raw HTML, because it has only numbers and names of markers.
  return html`<g class="chart-series-${index}" marker-start="url(#none${index})">${
    raw(lines.join(""))
  }</g>`;
}

/** Returns location, date and value of each point, in the order of the chart. */
export function describePoints({ form, results }: ChartContent): string[] {
  const { locale } = form;
  const series = findSeries(form, results);
  if (series === undefined) return [];
  const nameOf = namesOf(results);
  const groups = groupRows(series.rows, results, locale).toReversed();
  return groups.flatMap(({ rows }) => rows).map((row) => {
    const result = `${formatResult(row, locale)} ${unitOf(row, locale)}`.trim();
    return [nameOf(row.LocationId ?? ""), row.ActivityStartDate, result].join(", ");
  });
}

/** Renders the table for screen readers, which a link shows to everybody. */
function renderTable(rows: readonly Measurement[], locale: Locale): Html {
  const { text, formatNumber } = locale;
  const { year, results, belowLimit, minimum, median, maximum } = text;
  const head = [year, results, belowLimit, minimum, median, maximum];
  const body = [...groupBy(rows, (row) => String(yearOf(row)))].map(([year, rows]) => {
    const sorted = rows.toSorted((a, b) => Number(a.value) - Number(b.value));
    const below = rows.filter(({ censoring }) => censoring === "left").length;
    const cells = [
      formatNumber(rows.length),
      formatNumber(below),
      formatResult(sorted[0]!, locale),
      formatMedian(sorted, locale),
      formatResult(sorted.at(-1)!, locale),
    ];
    return html`<tr><th scope="row">${year}</th>${
      cells.map((cell) => html`<td>${cell}</td>`)
    }</tr>`;
  });
  return html`
    <div id="chart-table" class="chart-table" role="region" aria-label="${text.asTable}"
      tabindex="-1">
      <table>
        <caption>${text.tableByYear}</caption>
        <thead>
          <tr>${head.map((name) => html`<th scope="col">${name}</th>`)}</tr>
        </thead>
        <tbody>${body}</tbody>
      </table>
    </div>
  `;
}
