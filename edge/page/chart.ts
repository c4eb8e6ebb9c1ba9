// The chart of the values of a series over time.
import { html, raw } from "hono/html";
import { characteristicName } from "./characteristics.ts";
import { type Form, pageUrl } from "./form.ts";
import { namesOf, type Results } from "./load.ts";
import { createScale, labelStep, percent, type Scale } from "./scale.ts";
import {
  formatMedian,
  formatResult,
  formatSeries,
  groupBy,
  type Measurement,
  parseSeries,
  PARTS,
  selectSeries,
  type Series,
  type SeriesKey,
  unitOf,
} from "./series.ts";
import {
  fill,
  formatDigits,
  formatNumber,
  formatPlural,
  formatYears,
  type Html,
  type Language,
  monthName,
  TEXTS,
  valueName,
} from "./text.ts";

export interface ChartContent {
  form: Form;
  path: string;
  results: Pick<Results, "rows" | "isComplete" | "locations">;
}

/** Rows of a location, or of all locations without a colour; by date. */
interface Group {
  name: string;
  rows: readonly Measurement[];
}

/** Maximum number of locations with their own colour and shape. */
const MAX_COLOURED = 6;
/** Ratio of maximum and minimum above which a scale is logarithmic. */
const LOGARITHMIC_RATIO = 50;

/** Returns the card of the chart, or `undefined` if the rows are not all rows, or none of them can be drawn. */
export function drawChart({ form, path, results }: ChartContent): Html | undefined {
  const series = findSeries(form, results);
  if (series === undefined) return undefined;
  const { language } = form;
  const text = TEXTS[language];
  const { rows } = series;
  const values = rows.map(({ value }) => Number(value)).sort((a, b) => a - b);
  const [low, high] = [values[0]!, values.at(-1)!];
  const isLogarithmic = low > 0 &&
    (form.scale === "" ? high / low > LOGARITHMIC_RATIO : form.scale === "log");
  const groups = groupRows(series, results, language);
  const facts = [
    unitOf(series, language),
    series.fraction &&
    fill(text.fraction, { name: valueName(series.fraction, language).toLowerCase() }, language),
    isLogarithmic && text.logScale,
  ];
  const other = isLogarithmic ? "linear" : "log";
  const otherScale = low > 0 &&
    html`
      <a href="${pageUrl(form, { scale: other }, path)}">${isLogarithmic
        ? text.linear
        : text.logarithmic}</a> ·
    `;
  return html`<section class="card chart-card" aria-labelledby="chart">
    <div class="title">
      <h2 id="chart">${characteristicName(series.characteristic, language)}
        <span>${facts.filter(Boolean).join(", ")}</span></h2>
      <div class="chart-links">${otherScale}${renderAlternatives(form, path, series)}<a
        href="#chart-table">${text.asTable}</a></div>
    </div>
    ${drawLegend(groups, rows, language)}
    ${drawPlot(groups, createScale(low, high, isLogarithmic), series, form)}
    ${
    series.withoutLimit > 0 &&
    html`<p class="note">${formatPlural("notDrawn", series.withoutLimit, language)}.</p>`
  }
    ${renderTable(rows, language)}
  </section>`;
}

/** Returns the wanted series, with its rows by date. */
function findSeries(form: Form, { rows, isComplete }: ChartContent["results"]): Series | undefined {
  const wanted = form.series ? parseSeries(form.series) : undefined;
  const series = isComplete ? selectSeries(rows, wanted) : undefined;
  return series && { ...series, rows: series.rows.toSorted((a, b) => timeOf(a) - timeOf(b)) };
}

function timeOf(row: Measurement): number {
  return Date.parse(row.ActivityStartDate!);
}

function yearOf(row: Measurement): number {
  return Number(row.ActivityStartDate!.slice(0, 4));
}

/** Not with `Date.UTC`, which adds 1900 to a year below 100. */
function startOf(year: number): number {
  return new Date(0).setUTCFullYear(year);
}

/** The locations with most values have their own group. */
function groupRows(
  { rows }: Series,
  results: Pick<Results, "locations">,
  language: Language,
): Group[] {
  const nameOf = namesOf(results);
  const locations = [...groupBy(rows, ({ LocationId = "" }) => LocationId)]
    .sort(([, a], [, b]) => b.length - a.length);
  const groups = locations.slice(0, MAX_COLOURED).map(([id, rows]) => ({ name: nameOf(id), rows }));
  const others = locations.slice(MAX_COLOURED);
  if (others.length === 0) return groups;
  const isOther = new Set(others.flatMap(([, rows]) => rows));
  const name = formatPlural("otherLocations", others.length, language);
  return [...groups, { name, rows: rows.filter((row) => isOther.has(row)) }];
}

/** Maximum number of other series, and of those that have a link in the heading; the rest is folded. */
const [MAX_ALTERNATIVES, MAX_LINKED] = [100, 2];

/** Renders links to other series. They name the parts in which a series differs from the drawn one. */
function renderAlternatives(form: Form, path: string, { alternatives, ...drawn }: Series): Html {
  const { language } = form;
  const describe = (other: SeriesKey) =>
    PARTS.filter((part) => other[part] !== drawn[part]).map((part) =>
      part === "characteristic"
        ? characteristicName(other[part], language)
        : valueName(other[part], language) || TEXTS[language].none
    ).join(", ");
  const links = alternatives.slice(0, MAX_ALTERNATIVES).map((other) => {
    const href = pageUrl(form, { series: formatSeries(other), scale: "" }, path);
    return html`<a href="${href}">${describe(other)} (${
      formatNumber(other.results, language)
    })</a>`;
  });
  const more = formatPlural("otherSeries", alternatives.length - MAX_LINKED, language);
  return html`${
    links.slice(0, MAX_LINKED).map((link) =>
      html`
        ${link} ·
      `
    )
  }${
    links.length > MAX_LINKED && html`
      <details>
        <summary>${more}</summary>
        <ul>${links.slice(MAX_LINKED).map((link) => html`<li>${link}</li>`)}</ul>
      </details> ·
    `
  }`;
}

/** Paths around the origin: circle, square, triangle, diamond, inverted triangle, cross; a dot for all others. */
const SHAPES = [
  "M-4 0a4 4 0 1 0 8 0a4 4 0 1 0-8 0z",
  "M-3.5-3.5h7v7h-7z",
  "M0-4.6l4.4 8h-8.8z",
  "M0-5l5 5-5 5-5-5z",
  "M0 4.6l4.4-8h-8.8z",
  "M-1.5-4.5h3v3h3v3h-3v3h-3v-3h-3v-3h3z",
  "M-2 0a2 2 0 1 0 4 0a2 2 0 1 0-4 0z",
];
/** Path of the tail of a shape by `censoring`. Shapes of limits are hollow. */
const TAILS = { none: "", left: "M0 4v8", right: "M0-4v-8" };

/** Returns the shapes, which are the markers of lines, and the legend. */
function drawLegend(
  groups: readonly Group[],
  rows: readonly Measurement[],
  language: Language,
): Html {
  const { below, above } = TEXTS[language];
  const marker = (id: string, className: string, tail: string, shape = SHAPES[0]) =>
    html`
      <marker id="${id}" class="${className}" markerUnits="userSpaceOnUse">
        <path
          class="${tail && "chart-limit"}" d="${tail}${shape}" />
      </marker>
    `;
  const shapes = groups.flatMap((_, i) =>
    Object.entries(TAILS).map(([censoring, tail]) =>
      marker(`${censoring}${i}`, `chart-series-${i}`, tail, SHAPES[i])
    )
  );
  const keys = [
    marker("below", "chart-key", TAILS.left),
    marker("above", "chart-key", TAILS.right),
  ];
  const item = (shape: string, label: string | Html) =>
    html`<li><svg width="16" height="16" aria-hidden="true"><line
      marker-start="url(#${shape})" x1="8" y1="8"/></svg><span>${label}</span></li>`;
  const has = (limit: string) => rows.some(({ censoring }) => censoring === limit);
  return html`
    <svg class="chart-shapes" aria-hidden="true">
      <defs>${shapes}${keys}</defs>
    </svg>
    <ul class="chart-legend">${groups.map(({ name, rows }, i) =>
      item(`none${i}`, html`${name} <span>${formatNumber(rows.length, language)}</span>`)
    )}${has("left") && item("below", below)}${has("right") && item("above", above)}</ul>
  `;
}

/** Pixels: the highest and the lowest value, the axis of times, and the whole plot. */
const [PLOT_TOP, PLOT_BOTTOM, AXIS, PLOT_HEIGHT] = [10, 280, 296, 326];

interface Plot {
  /** Returns the time of a row as a part of the width. */
  partOf: (row: Measurement) => number;
  toY: (value: number) => number;
}

function drawPlot(
  groups: readonly Group[],
  { ticks, partOf }: Scale,
  { rows, characteristic }: Series,
  form: Form,
): Html {
  const { language } = form;
  const years = [yearOf(rows[0]!), yearOf(rows.at(-1)!)] as const;
  const [start, end] = [startOf(years[0]), startOf(years[1] + 1)];
  const plot: Plot = {
    partOf: (row) => (timeOf(row) - start) / (end - start),
    toY: (value) => Math.round(PLOT_BOTTOM - (PLOT_BOTTOM - PLOT_TOP) * partOf(value)),
  };
  const label = fill(TEXTS[language].chartLabel, {
    name: characteristicName(characteristic, language),
    n: rows.length,
    years: formatYears(`${years[0]}`, `${years[1]}`, language),
  }, language);
  const lines = ticks.map(plot.toY).map((y) =>
    html`
      <line x2="100%" y1="${y}" y2="${y}" />
    `
  );
  const labels = ticks.map((tick) =>
    html`<text x="100%" y="${plot.toY(tick)}" dx="-8" dy="4">${formatTick(tick, language)}</text>`
  );
  // Others are below the coloured points.
  const points = groups.map((group, i) => drawGroup(group, i, plot)).toReversed();
  return html`
    <div class="chart">
      <svg class="chart-axis" height="${PLOT_HEIGHT}" aria-hidden="true">${labels}</svg>
      <svg class="chart-plot" height="${PLOT_HEIGHT}" role="img" aria-label="${label}"
        data-values="${pageUrl(form, {}, "/values")}"><g class="chart-grid">${lines}</g><g
          class="chart-times">${drawTimes(years, language)}</g>${points}</svg>
    </div>
  `;
}

/** Whether a row of a group is drawn without a shape. */
function isDot({ censoring }: Measurement, index: number): boolean {
  return index === MAX_COLOURED && censoring === "none";
}

/**
 * Draws each point as the start of a line that has no colour and a marker: half the bytes of an element that names
 * its shape. The other locations have many points, which are drawn as one path.
 */
function drawGroup({ rows }: Group, index: number, { partOf, toY }: Plot): Html {
  const points = rows.filter((row) => !isDot(row, index)).map((row) => {
    const marker = row.censoring === "none" ? "" : ` marker-start="url(#${row.censoring}${index})"`;
    return `<line x1="${percent(partOf(row), 1)}" y1="${toY(Number(row.value))}"${marker}/>`;
  });
  // Safe as raw HTML: it has only numbers and names of shapes.
  return html`<g class="chart-series-${index}" marker-start="url(#none${index})">${
    index === MAX_COLOURED && drawDots(rows.filter((row) => isDot(row, index)), { partOf, toY })
  }${raw(points.join(""))}</g>`;
}

/** Width to which dots are drawn. The browser stretches their positions, but not the dots. */
const DOTS_WIDTH = 1000;

/** Draws a dot as a line without a length. */
function drawDots(rows: readonly Measurement[], { partOf, toY }: Plot): Html {
  let d = "M0 0";
  let [lastX, lastY] = [0, 0];
  for (const row of rows) {
    const [x, y] = [Math.round(partOf(row) * DOTS_WIDTH), toY(Number(row.value))];
    d += `m${x - lastX} ${y - lastY}h0`;
    [lastX, lastY] = [x, y];
  }
  return html`
    <svg height="${PLOT_HEIGHT}" viewBox="0 0 ${DOTS_WIDTH} ${PLOT_HEIGHT}"
      preserveAspectRatio="none">
      <path class="chart-dots" d="${d}" />
    </svg>
  `;
}

/** Returns location, date and value of each point that is not a dot, in the order of the chart. */
export function describePoints({ form, results }: ChartContent): string[] {
  const { language } = form;
  const series = findSeries(form, results);
  if (series === undefined) return [];
  const nameOf = namesOf(results);
  const groups = groupRows(series, results, language);
  const points = groups.map(({ rows }, i) => rows.filter((row) => !isDot(row, i))).toReversed();
  return points.flat().map((row) => {
    const value = formatDigits(formatResult(row), language);
    const result = `${value} ${unitOf(series, language)}`.trim();
    return [nameOf(row.LocationId ?? ""), row.ActivityStartDate, result].join(", ");
  });
}

function formatTick(tick: number, language: Language): string {
  const isExtreme = tick !== 0 && (Math.abs(tick) < 1e-5 || Math.abs(tick) >= 1e6);
  return formatNumber(tick, language, {
    maximumSignificantDigits: 6,
    ...(isExtreme && { notation: "scientific" }),
  });
}

/** Draws the axis of years, or of months if all dates are in one year. A phone shows fewer of them. */
function drawTimes([first, last]: readonly [number, number], language: Language): Html {
  const isMonths = first === last;
  const length = isMonths ? 12 : last - first + 1;
  const nameOf = (i: number) =>
    isMonths ? `${monthName(i, language)}${i === 0 ? ` ${first}` : ""}` : String(first + i);
  const tick = (x: string) =>
    html`
      <line x1="${x}" x2="${x}" y1="${AXIS}" y2="${AXIS + 6}" />
    `;
  const draw = (className: string, most: number) => {
    const step = labelStep(length, most);
    const units = Array.from({ length }, (_, i) => i)
      .filter((i) => (isMonths ? i : first + i) % step === 0);
    return html`<g class="${className}">${
      units.map((i) =>
        html`${tick(percent(i / length))}<text x="${percent((i + 0.5) / length)}" y="${
          AXIS + 22
        }">${nameOf(i)}</text>`
      )
    }</g>`;
  };
  return html`
    <line x2="100%" y1="${AXIS}" y2="${AXIS}" />${tick("100%")}${draw("chart-wide", 12)}${draw(
      "chart-narrow",
      6,
    )}
  `;
}

/** Renders the table for screen readers, which a link shows to everybody. */
function renderTable(rows: readonly Measurement[], language: Language): Html {
  const text = TEXTS[language];
  const { year, results, belowLimit, minimum, median, maximum } = text;
  const head = [year, results, belowLimit, minimum, median, maximum];
  const body = [...groupBy(rows, (row) => String(yearOf(row)))].map(([year, rows]) => {
    const sorted = rows.toSorted((a, b) => Number(a.value) - Number(b.value));
    const below = rows.filter(({ censoring }) => censoring === "left").length;
    const cells = [
      formatNumber(rows.length, language),
      formatNumber(below, language),
      formatDigits(formatResult(sorted[0]!), language),
      formatMedian(sorted, language),
      formatDigits(formatResult(sorted.at(-1)!), language),
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
