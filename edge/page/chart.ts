// The chart of the values of a series over time.
import { html, raw } from "hono/html";
import { characteristicName } from "./characteristics.ts";
import {
  DRAWING_TEXT,
  fill,
  formatDigits,
  formatNumber,
  formatPlural,
  type Html,
  type Language,
  monthName,
  valueName,
} from "./drawing_text.ts";
import { createScale, labelStep, type Scale } from "./scale.ts";
import {
  formatMedian,
  formatResult,
  groupBy,
  type Measurement,
  PARTS,
  type Series,
  type SeriesKey,
  unitOf,
} from "./series.ts";
import { element, percent } from "./element.ts";

export interface ChartContent {
  series: Series;
  nameOf: (locationId: string) => string;
  /** Default: logarithmic if all values are positive and maximum : minimum is over 50. */
  isLogarithmic?: boolean | undefined;
  language: Language;
  hrefOfScale: (isLogarithmic: boolean) => string;
  hrefOfSeries: (key: SeriesKey) => string;
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

/** Returns the card of the chart: heading, links, legend, plot and its table. */
export function drawChart(content: ChartContent): Html {
  const { series, language } = content;
  const text = DRAWING_TEXT[language];
  const rows = series.rows.toSorted((a, b) => timeOf(a) - timeOf(b));
  const values = rows.map(({ value }) => Number(value)).sort((a, b) => a - b);
  const [low, high] = [values[0]!, values.at(-1)!];
  const isLogarithmic = low > 0 && (content.isLogarithmic ?? high / low > LOGARITHMIC_RATIO);
  const groups = groupRows(rows, content);
  const facts = [
    unitOf(series, language),
    series.fraction &&
    fill(text.fraction, { name: valueName(series.fraction, language).toLowerCase() }, language),
    isLogarithmic && text.logScale,
  ];
  return html`<section class="card chart-card" aria-labelledby="chart">
    <div class="title">
      <h2 id="chart">${characteristicName(series.characteristic, language)}
        <span>${facts.filter(Boolean).join(", ")}</span></h2>
      ${renderLinks(content, low, isLogarithmic)}
    </div>
    ${drawLegend(groups, rows, language)}
    ${drawPlot(groups, rows, createScale(low, high, isLogarithmic), series, language)}
    ${
    series.withoutLimit > 0 &&
    html`<p class="note">${formatPlural(text.notDrawn, series.withoutLimit, language)}.</p>`
  }
    ${renderTable(rows, language)}
  </section>`;
}

function timeOf(row: Measurement): number {
  return Date.parse(row.ActivityStartDate!);
}

function yearOf(row: Measurement): number {
  return Number(row.ActivityStartDate!.slice(0, 4));
}

/** The locations with most values have their own group. */
function groupRows(rows: readonly Measurement[], { nameOf, language }: ChartContent): Group[] {
  const locations = [...groupBy(rows, ({ LocationId = "" }) => LocationId)]
    .sort(([, a], [, b]) => b.length - a.length);
  const groups = locations.slice(0, MAX_COLOURED).map(([id, rows]) => ({ name: nameOf(id), rows }));
  const others = locations.slice(MAX_COLOURED);
  if (others.length === 0) return groups;
  const name = formatPlural(DRAWING_TEXT[language].otherLocations, others.length, language);
  const isOther = new Set(others.flatMap(([, rows]) => rows));
  return [...groups, { name, rows: rows.filter((row) => isOther.has(row)) }];
}

/** Maximum number of other series, and of those that have a link in the heading; the rest is folded. */
const [MAX_ALTERNATIVES, MAX_LINKED] = [100, 2];

function renderLinks(content: ChartContent, low: number, isLogarithmic: boolean): Html {
  const { series, language, hrefOfScale, hrefOfSeries } = content;
  const text = DRAWING_TEXT[language];
  const link = (href: string, label: string) => element("a", { href }, label);
  /** Names the parts in which a series differs from the drawn one. */
  const describe = (other: SeriesKey) =>
    PARTS.filter((part) => other[part] !== series[part]).map((part) =>
      part === "characteristic"
        ? characteristicName(other[part], language)
        : valueName(other[part], language) || text.none
    ).join(", ");
  const links = series.alternatives.slice(0, MAX_ALTERNATIVES).map((other) =>
    link(hrefOfSeries(other), `${describe(other)} (${formatNumber(other.results, language)})`)
  );
  const shown = [
    low > 0 && link(hrefOfScale(!isLogarithmic), isLogarithmic ? text.linear : text.logarithmic),
    ...links.slice(0, MAX_LINKED),
    link("#chart-table", text.asTable),
  ].filter((link) => link !== false);
  const folded = links.slice(MAX_LINKED).map((link) => element("li", {}, link));
  const more = formatPlural(text.otherSeries, series.alternatives.length - MAX_LINKED, language);
  return element(
    "div",
    { class: "chart-links" },
    shown.flatMap((link, index) => [index > 0 && " · ", link]),
    folded.length > 0 &&
      element("details", {}, element("summary", {}, more), element("ul", {}, folded)),
  );
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

const ICON = { width: 16, height: 16, "aria-hidden": "true" };

/** Returns the shapes, to which the points refer, and the legend. */
function drawLegend(
  groups: readonly Group[],
  rows: readonly Measurement[],
  language: Language,
): readonly Html[] {
  const { below, above } = DRAWING_TEXT[language];
  const shapes = groups.flatMap((_, index) =>
    Object.entries(TAILS).map(([censoring, tail]) => {
      const attributes = { id: `${censoring}${index}`, class: tail && "chart-limit" };
      return element("path", { ...attributes, d: tail + SHAPES[index] });
    })
  );
  const key = (className: string, shape: string, ...label: (Html | string)[]) =>
    element(
      "li",
      { class: className },
      element("svg", ICON, element("use", { href: `#${shape}`, x: 8, y: 8 })),
      element("span", {}, ...label),
    );
  const has = (limit: string) => rows.some(({ censoring }) => censoring === limit);
  return [
    element("svg", { class: "chart-shapes", "aria-hidden": "true" }, element("defs", {}, shapes)),
    element(
      "ul",
      { class: "chart-legend" },
      groups.map(({ name, rows }, i) =>
        key(
          `chart-series-${i}`,
          `none${i}`,
          `${name} `,
          element("span", {}, formatNumber(rows.length, language)),
        )
      ),
      has("left") && key("chart-limits", "left0", below),
      has("right") && key("chart-limits", "right0", above),
    ),
  ];
}

/** Pixels: the highest and the lowest value, the axis of times, and the whole plot. */
const [PLOT_TOP, PLOT_BOTTOM, AXIS, PLOT_HEIGHT] = [10, 280, 296, 326];

function drawPlot(
  groups: readonly Group[],
  rows: readonly Measurement[],
  { ticks, partOf }: Scale,
  series: Series,
  language: Language,
): Html {
  const years = [yearOf(rows[0]!), yearOf(rows.at(-1)!)] as const;
  const [start, end] = [Date.UTC(years[0], 0), Date.UTC(years[1] + 1, 0)];
  const plot: Plot = {
    partOf: (row) => (timeOf(row) - start) / (end - start),
    toY: (value) => Math.round(PLOT_BOTTOM - (PLOT_BOTTOM - PLOT_TOP) * partOf(value)),
    // Precise enough to distinguish days.
    digits: years[1] - years[0] < 20 ? 2 : 3,
  };
  const label = fill(DRAWING_TEXT[language].chartLabel, {
    name: characteristicName(series.characteristic, language),
    n: rows.length,
    years: [...new Set(years)].join("–"),
  }, language);
  const lines = ticks.map(plot.toY).map((y) => element("line", { x2: "100%", y1: y, y2: y }));
  const labels = ticks.map((tick) =>
    element("text", { x: "100%", y: plot.toY(tick), dx: -8, dy: 4 }, formatTick(tick, language))
  );
  const points = groups.map((group, index) => drawGroup(group, index, plot));
  return html`<div class="chart">
    ${element("svg", { class: "chart-axis", height: PLOT_HEIGHT, "aria-hidden": "true" }, labels)}
    ${
    element(
      "svg",
      {
        class: "chart-plot",
        height: PLOT_HEIGHT,
        "data-years": years.join(),
        "data-unit": unitOf(series, language),
        role: "img",
        "aria-label": label,
      },
      element("g", { class: "chart-grid" }, lines),
      element("g", { class: "chart-times" }, drawTimes(years, language)),
      // Others are below the coloured points.
      points.toReversed(),
    )
  }
  </div>`;
}

interface Plot {
  /** Part of the width. */
  partOf: (row: Measurement) => number;
  toY: (value: number) => number;
  /** Digits of a percentage of the width. */
  digits: number;
}

/**
 * Draws the points of a group. A script reads the values of a location from `data-values`, in the order of the points.
 * The other locations have many points, which are drawn without values as one path.
 */
function drawGroup({ name, rows }: Group, index: number, plot: Plot): Html {
  const isOther = index === MAX_COLOURED;
  const isDot = ({ censoring }: Measurement) => isOther && censoring === "none";
  const uses = rows.filter((row) => !isDot(row)).map((row) => {
    const x = percent(plot.partOf(row), plot.digits);
    return `<use href="#${row.censoring}${index}" x="${x}" y="${plot.toY(Number(row.value))}"/>`;
  });
  const values = rows.map((row) => formatResult(row)).join(" ");
  return element(
    "g",
    {
      class: `chart-series-${index}`,
      ...(!isOther && { "data-name": name, "data-values": values }),
    },
    isOther && drawDots(rows.filter(isDot), plot),
    // Safe as raw HTML: it has only numbers and names of shapes.
    raw(uses.join("")),
  );
}

/** Width to which dots are drawn. The browser stretches their positions, but not the dots. */
const DOTS_WIDTH = 1000;

/** Draws a dot as a line without a length. */
function drawDots(rows: readonly Measurement[], plot: Plot): Html {
  let d = "M0 0";
  let [lastX, lastY] = [0, 0];
  for (const row of rows) {
    const [x, y] = [Math.round(plot.partOf(row) * DOTS_WIDTH), plot.toY(Number(row.value))];
    d += `m${x - lastX} ${y - lastY}h0`;
    [lastX, lastY] = [x, y];
  }
  const viewBox = `0 0 ${DOTS_WIDTH} ${PLOT_HEIGHT}`;
  const attributes = { height: PLOT_HEIGHT, viewBox, preserveAspectRatio: "none" };
  return element("svg", attributes, element("path", { class: "chart-dots", d }));
}

function formatTick(tick: number, language: Language): string {
  const isExtreme = tick !== 0 && (Math.abs(tick) < 1e-5 || Math.abs(tick) >= 1e6);
  return formatNumber(tick, language, {
    maximumSignificantDigits: 6,
    ...(isExtreme && { notation: "scientific" }),
  });
}

/** Draws the axis of years, or of months if all dates are in one year. A phone shows fewer of them. */
function drawTimes([first, last]: readonly [number, number], language: Language): readonly Html[] {
  const isMonths = first === last;
  const length = isMonths ? 12 : last - first + 1;
  const nameOf = (i: number) =>
    isMonths ? `${monthName(i, language)}${i === 0 ? ` ${first}` : ""}` : String(first + i);
  const tick = (x: string) => element("line", { x1: x, x2: x, y1: AXIS, y2: AXIS + 6 });
  const draw = (className: string, most: number) => {
    const step = labelStep(length, most);
    const units = Array.from({ length }, (_, i) => i)
      .filter((i) => (isMonths ? i : first + i) % step === 0);
    return element(
      "g",
      { class: className },
      units.map((i) => [
        tick(percent(i / length)),
        element("text", { x: percent((i + 0.5) / length), y: AXIS + 22 }, nameOf(i)),
      ]).flat(),
    );
  };
  return [
    element("line", { x2: "100%", y1: AXIS, y2: AXIS }),
    tick("100%"),
    draw("chart-wide", 12),
    draw("chart-narrow", 6),
  ];
}

/** Renders the table for screen readers, which a link shows to everybody. */
function renderTable(rows: readonly Measurement[], language: Language): Html {
  const text = DRAWING_TEXT[language];
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
