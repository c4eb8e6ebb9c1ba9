// The chart of the values of a series over time.
import { html, raw } from "hono/html";
import { type Form, pageUrl } from "./form.ts";
import { namesOf, type Results } from "./load.ts";
import {
  createTimes,
  describeChange,
  drawMedians,
  groupByUnit,
  STRETCHED_WIDTH,
  type Times,
  type UnitResults,
} from "./medians.ts";
import { createScale, percent, rangeOf, roundNumbers, type Scale, TICK_DIGITS } from "./scale.ts";
import {
  compareDates,
  describeResult,
  formatQuantile,
  formatResult,
  groupBy,
  KEY_FIELDS,
  type Measurement,
  NO_UNIT,
  selectSeries,
  type Series,
  seriesOf,
  unitOf,
} from "./series.ts";
import { renderTable } from "./table.ts";
import type { Html, Locale } from "./text.ts";

export interface ChartContent {
  form: Form;
  results: Pick<Results, "rows" | "isComplete" | "locations">;
}

/** Ratio of maximum and minimum above which a scale is logarithmic. */
const LOGARITHMIC_RATIO = 50;

/** Returns the card of the chart; `undefined` if rows are missing, or none of them can be drawn. */
export function drawChart(content: ChartContent): Html | undefined {
  const chart = prepareChart(content);
  if (chart === undefined) return undefined;
  const { series, times, groups } = chart;
  const { form } = content;
  const { locale } = form;
  const { text, fill, formatPlural, characteristicName, valueName } = locale;
  const { rows, example } = series;
  const { CharacteristicName: name = "", ResultSampleFraction: fraction = "" } = example;
  const [low, high] = rangeOf(rows.map(({ value }) => Number(value)));
  const isLogarithmic = low > 0 &&
    (form.scale === "" ? high / low > LOGARITHMIC_RATIO : form.scale === "log");
  const facts = [
    unitOf(example, locale),
    fraction &&
    fill(text.fraction, { name: valueName(fraction).toLowerCase() }),
    isLogarithmic && text.logScale,
  ];
  const otherScale = pageUrl(form, { scale: isLogarithmic ? "linear" : "log" });
  const { isByMonth } = times;
  const notes = [
    series.withoutLimit > 0 && formatPlural("notDrawn", series.withoutLimit),
    series.controls > 0 && formatPlural("controls", series.controls),
  ].filter(Boolean);
  return html`<section class="card chart-card" aria-labelledby="chart">
    <div class="title">
      <h2 id="chart">${characteristicName(name)}
        <span>${facts.filter(Boolean).join(", ")}</span></h2>
      <div class="chart-links">
        ${
    low > 0 && html`<a href="${otherScale}">${isLogarithmic ? text.linear : text.logarithmic}</a>`
  } <a href="${pageUrl(form, { by: isByMonth ? "" : "month" })}">${
    isByMonth ? text.byYear : text.byMonth
  }</a> ${renderAlternatives(form, series)} <a href="#chart-table">${text.asTable}</a>
      </div>
    </div>
    <p class="chart-answer">${isByMonth ? text.monthsNote : describeChange(rows, locale)}</p>
    ${renderLegend(groups, rows, times, locale)}
    ${drawPlot(groups, createScale(low, high, isLogarithmic), series, times, form)}
    ${notes.length > 0 && html`<p class="note">${notes.join(" ")}</p>`}
    ${renderMedians(rows, times, locale)}
  </section>`;
}

function prepareChart({ form, results }: ChartContent) {
  const series = results.isComplete ? selectSeries(results.rows, form.series) : undefined;
  if (series === undefined) return undefined;
  const times = createTimes(series.rows, form);
  return { series, times, groups: groupRows(series.rows, results, times, form.locale) };
}

/** Maximum number of links to other series, and of those in the heading; the rest is folded. */
const [MAX_ALTERNATIVES, MAX_LINKED] = [100, 2];

/** Renders links to other series, which name their differences from the drawn one. */
function renderAlternatives(form: Form, { alternatives, example: drawn }: Series): Html {
  const { text, formatNumber, formatPlural, characteristicName, valueName } = form.locale;
  const nameOf = (field: string, value: string) =>
    field === "CharacteristicName"
      ? characteristicName(value)
      : field === "unit" && value === NO_UNIT
      ? ""
      : valueName(value);
  const links = alternatives.slice(0, MAX_ALTERNATIVES).map(({ example, rows }) => {
    const href = pageUrl(form, { series: seriesOf(example), scale: "" });
    const isOther = example.CharacteristicName !== drawn.CharacteristicName;
    const differences = KEY_FIELDS.filter((field) => example[field] !== drawn[field])
      .map((field) => nameOf(field, example[field]!) || !isOther && text.none).filter(Boolean);
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

/** Rows of a location, or of all locations without a colour, which have no medians. */
interface Group {
  name: string;
  rows: readonly Measurement[];
  /** Number of the colour and shape. */
  index: number;
  units: readonly UnitResults[];
}

/** Maximum number of locations with their own colour and shape. */
const MAX_COLOURED = 6;

/** The locations with most values have their own group. */
function groupRows(
  rows: readonly Measurement[],
  results: Pick<Results, "locations">,
  times: Times,
  { formatPlural }: Locale,
): Group[] {
  const nameOf = namesOf(results);
  const locations = [...groupBy(rows, ({ LocationId = "" }) => LocationId)]
    .sort(([, a], [, b]) => b.length - a.length);
  const coloured = locations.slice(0, MAX_COLOURED).map(([id, rows], index): Group => {
    return { name: nameOf(id), rows, index, units: groupByUnit(rows, times) };
  });
  const others = locations.slice(MAX_COLOURED).flatMap(([, rows]) => rows).sort(compareDates);
  if (others.length === 0) return coloured;
  const name = formatPlural("otherLocations", locations.length - MAX_COLOURED);
  return [...coloured, { name, rows: others, index: MAX_COLOURED, units: [] }];
}

/** Returns the groups from the lowest: grey points, then the location with most points. */
function toLayers(groups: readonly Group[]): Group[] {
  return groups.toSorted((a, b) =>
    Number(b.index === MAX_COLOURED) - Number(a.index === MAX_COLOURED)
  );
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

/** The marker of each group and limit, such as `left0`. Its size is the width of a stroke, which is not painted. */
const MARKERS = raw(
  SHAPES.flatMap((shape, group) =>
    Object.entries(TAILS).map(([limit, tail]) =>
      `<marker id="${limit}${group}" class="chart-series-${group}">` +
      `<path class="chart-${limit}" d="${tail}${shape}"/></marker>`
    )
  ).join(""),
);

function renderLegend(
  groups: readonly Group[],
  rows: readonly Measurement[],
  { isByMonth }: Times,
  { text: { below, above, yearMedian, monthMedian }, formatNumber }: Locale,
): Html {
  const item = (marker: string, label: string | Html, band?: Html) =>
    html`<li><svg width="16" height="16" aria-hidden="true">${band}<line
      marker-start="url(#${marker})" x1="8" y1="8"/></svg><span>${label}</span></li>`;
  const band = html`
    <path class="chart-band" d="M0 1h16v14h-16z" />
    <path class="chart-line" d="M0 8h16" />
  `;
  const has = (limit: string) => rows.some(({ censoring }) => censoring === limit);
  return html`<ul class="chart-legend">
    ${
    groups.map(({ name, rows }, i) =>
      item(`none${i}`, html`${name} <span>${formatNumber(rows.length)}</span>`)
    )
  } ${item(`none${LEGEND_SHAPE}`, isByMonth ? monthMedian : yearMedian, band)} ${
    has("left") && item(`left${LEGEND_SHAPE}`, below)
  } ${has("right") && item(`right${LEGEND_SHAPE}`, above)}
  </ul>`;
}

/** Approximate maximum number of labels of years or months. A phone shows every second one. */
const MAX_TIMES = 12;
/** Positions (pixels from the top) of the highest value, the lowest value, the axis of times and the end. */
const [PLOT_TOP, PLOT_BOTTOM, AXIS, PLOT_HEIGHT] = [10, 280, 296, 326];

/** Number of points above which they are fainter, and above which they are faint. */
const [SOME, MANY] = [200, 1000];

function drawPlot(
  groups: readonly Group[],
  { ticks, partOf }: Scale,
  { rows, example: { CharacteristicName = "" } }: Series,
  times: Times,
  form: Form,
): Html {
  const { locale } = form;
  const { text, formatPlural, fill, formatYears, characteristicName } = locale;
  const toY = (value: number) => Math.round(PLOT_BOTTOM - (PLOT_BOTTOM - PLOT_TOP) * partOf(value));
  const label = fill(text.chartLabel, {
    name: characteristicName(CharacteristicName),
    results: formatPlural("results", rows.length),
    years: formatYears(yearOf(rows[0]!), yearOf(rows.at(-1)!)),
  });
  const lines = ticks.map(toY).map((y) => html`<line x2="100%" y1="${y}" y2="${y}"></line>`);
  const labels = ticks.map((tick) =>
    html`<text x="100%" y="${toY(tick)}" dx="-8" dy="4">${formatTick(tick, locale)}</text>`
  );
  const layers = toLayers(groups);
  const draw = (className: string, { index }: Group, points: readonly Point[]) =>
    html`<g class="${className} chart-series-${index}" marker-start="url(#none${index})">${
      raw(points.map((point) => drawPoint(point, index)).join(""))
    }</g>`;
  const points = layers.map((group) => {
    const size = group.rows.length * 2 > rows.length && groups.length > 1 ? "chart-small" : "";
    const drawn = group.rows.map((row) => ({
      part: times.partOf(row),
      y: toY(Number(row.value)),
      limit: row.censoring!,
    }));
    return draw(`chart-points ${size}`, group, drawn);
  });
  const paths = layers.map(({ units, index }) =>
    html`<g class="chart-series-${index}">${
      drawMedians(units, times, toY, [PLOT_TOP, PLOT_BOTTOM])
    }</g>`
  );
  const medians = layers.map((group) => {
    const drawn = mediansOf(group).map(({ unit, quartiles: [, { sign, digits }] }) => ({
      part: times.middleOf(unit),
      y: toY(Number(digits)),
      limit: LIMITS[sign],
    }));
    return draw("chart-medians", group, drawn);
  });
  const density = rows.length > MANY ? "chart-many" : rows.length > SOME ? "chart-some" : "";
  return html`
    <div class="chart">
      <svg class="chart-axis" height="${PLOT_HEIGHT}" aria-hidden="true">${labels}</svg>
      <svg class="chart-plot ${density}" height="${PLOT_HEIGHT}" role="img" aria-label="${label}"
        data-values="${pageUrl(form, { path: "/values" })}"><defs>${MARKERS}</defs>
          <g class="chart-grid">${lines}</g>${drawTimes(times, locale)}${points}
          <svg viewBox="0 0 ${STRETCHED_WIDTH} ${PLOT_HEIGHT}" height="${PLOT_HEIGHT}"
            preserveAspectRatio="none">${paths}</svg>${medians}</svg>
    </div>
  `;
}

/** First characters of a date. */
function yearOf({ ActivityStartDate: date = "" }: Measurement): string {
  return date.slice(0, 4);
}

function formatTick(tick: number, { formatNumber }: Locale): string {
  const isExtreme = tick !== 0 && (Math.abs(tick) < 1e-5 || Math.abs(tick) >= 1e6);
  return formatNumber(tick, {
    maximumSignificantDigits: TICK_DIGITS,
    ...(isExtreme && { notation: "scientific" }),
  });
}

/** Draws the axis of years, or of months if all dates are in one year. */
function drawTimes({ first, last, isByMonth }: Times, { monthName }: Locale): Html {
  const isOneYear = first === last;
  const [from, to] = isOneYear ? [0, 11] : [first, last];
  const toX = (unit: number) => percent((unit - from) / (to - from + 1));
  const nameOf = (unit: number) =>
    isOneYear ? `${monthName(unit)} ${unit === 0 && !isByMonth ? first : ""}`.trim() : unit;
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

interface Point {
  part: number;
  y: number;
  /** `censoring` of its shape. */
  limit: string;
}

/**
 * Draws each shape as the start marker of an invisible line, which takes half the bytes of an element that names its
 * shape. Safe as raw HTML, because it has only numbers and names of markers.
 */
function drawPoint({ part, y, limit }: Point, index: number): string {
  const marker = limit === "none" ? "" : ` marker-start="url(#${limit}${index})"`;
  return `<line x1="${percent(part, 1)}" y1="${y}"${marker}/>`;
}

/** The shape of a median by its sign. */
const LIMITS = { "": "none", "<": "left", "≤": "left", ">": "right", "≥": "right", "–": "" };

/** Returns the years or months of a group whose median can be drawn. */
function mediansOf({ units }: Group): UnitResults[] {
  return units.filter(({ quartiles: [, { sign }] }) => sign !== "–");
}

/** Returns location, date and value of each point, and those of each median, in the order of the chart. */
export function describePoints(content: ChartContent): string[] {
  const chart = prepareChart(content);
  if (chart === undefined) return [];
  const { series, times, groups } = chart;
  const { locale } = content.form;
  const { text, fill, formatPlural } = locale;
  const unit = unitOf(series.example, locale);
  const layers = toLayers(groups);
  const nameOf = namesOf(content.results);
  const points = layers.flatMap(({ rows }) => rows).map((row) => {
    const result = describeResult(row, locale);
    return [nameOf(row.LocationId ?? ""), row.ActivityStartDate, result].join(", ");
  });
  const medians = layers.flatMap((group) =>
    mediansOf(group).map(({ unit: time, rows, quartiles }) => {
      const [low, median, high] = quartiles.map((quartile) => formatQuantile(quartile, locale));
      const n = formatPlural("results", rows.length);
      const label = fill(text.medianValue, { median: `${median} ${unit}`.trim(), low, high, n });
      return [group.name, times.nameOf(time), label].join(", ");
    })
  );
  return [...points, ...medians];
}

/** Renders the table for screen readers, which a link shows to everybody. */
function renderMedians(rows: readonly Measurement[], times: Times, locale: Locale): Html {
  const { text, formatNumber } = locale;
  const { year, month, results, belowLimit, minimum, lowerQuartile, median, upperQuartile } = text;
  const columns = [results, belowLimit, minimum, lowerQuartile, median, upperQuartile];
  const heads = [times.isByMonth ? month : year, ...columns, text.maximum];
  const body = groupByUnit(rows, times).map(({ unit, rows, quartiles }) => {
    const sorted = rows.toSorted((a, b) => Number(a.value) - Number(b.value));
    const below = rows.filter(({ censoring }) => censoring === "left").length;
    return [
      times.nameOf(unit),
      formatNumber(rows.length),
      formatNumber(below),
      formatResult(sorted[0]!, locale),
      ...quartiles.map((quartile) => formatQuantile(quartile, locale)),
      formatResult(sorted.at(-1)!, locale),
    ];
  });
  const caption = times.isByMonth ? text.tableByMonth : text.tableByYear;
  return html`
    <div id="chart-table" class="chart-table" role="region" aria-label="${text.asTable}"
      tabindex="-1">
      ${renderTable("", caption, heads, body)}
    </div>
  `;
}
