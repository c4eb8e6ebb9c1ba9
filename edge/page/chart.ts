// The chart of the values of a series over time. Positions are percentages of the width, so that text keeps its size
// at any width.
import { html, raw } from "hono/html";
import { characteristicName } from "./characteristics.ts";
import {
  DRAWING_TEXT,
  type DrawingText,
  fill,
  formatDigits,
  formatNumber,
  formatPlural,
  type Html,
  type Language,
  monthName,
  valueName,
} from "./drawing_text.ts";
import { groupBy, type Measurement, type Series, type SeriesKey, unitOf } from "./series.ts";

/** Content of a chart. */
export interface ChartContent {
  series: Series;
  /** Name of a location by Id. */
  nameOf: (locationId: string) => string;
  /** Default: logarithmic if all values are positive and maximum : minimum is over 50. */
  isLogarithmic?: boolean | undefined;
  language: Language;
  /** URL of the page with the other scale. */
  hrefOfScale: (isLogarithmic: boolean) => string;
  /** URL of the page with another series. */
  hrefOfSeries: (key: SeriesKey) => string;
}

interface Point {
  /** Milliseconds. */
  time: number;
  value: number;
  row: Measurement;
}

/** Maximum number of locations with their own colour and shape. */
const MAX_COLOURED = 6;
/** Ratio of maximum and minimum above which a scale is logarithmic. */
const LOGARITHMIC_RATIO = 50;
/** Other series that have a link in the heading; the rest is folded. */
const MAX_LINKED = 2;
const MAX_ALTERNATIVES = 100;
/** Pixels: the highest and the lowest value, the axis of times, and the whole plot. */
const [PLOT_TOP, PLOT_BOTTOM, AXIS, PLOT_HEIGHT] = [10, 280, 296, 326];

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
const TAILS = { left: "M0 4v8", right: "M0-4v-8" };

/** Returns the card of the chart: heading, links, legend, plot and its table. */
export function drawChart(content: ChartContent): Html {
  const { series, nameOf, language } = content;
  const text = DRAWING_TEXT[language];
  const points = series.rows.map((row): Point => ({
    time: Date.parse(row.ActivityStartDate!),
    value: Number(row.value),
    row,
  })).sort((a, b) => a.time - b.time);
  const byLocation = groupBy(points, ({ row }) => row.LocationId ?? "");
  const locations = [...byLocation].sort(([, a], [, b]) => b.length - a.length);
  const others = locations.slice(MAX_COLOURED);
  const groups = [
    ...locations.slice(0, MAX_COLOURED).map(([id, points]) => ({ name: nameOf(id), points })),
    ...(others.length > 0
      ? [{
        name: formatPlural(text.otherLocations, others.length, language),
        points: others.flatMap(([, points]) => points),
      }]
      : []),
  ].map((group, index) => ({ ...group, index }));
  const [low, high] = [
    points.reduce((low, { value }) => Math.min(low, value), Infinity),
    points.reduce((high, { value }) => Math.max(high, value), -Infinity),
  ];
  const canBeLogarithmic = low > 0;
  const isLogarithmic = canBeLogarithmic &&
    (content.isLogarithmic ?? high / low > LOGARITHMIC_RATIO);
  const years = [points[0]!.time, points.at(-1)!.time].map((time) =>
    new Date(time).getUTCFullYear()
  ) as [number, number];
  const ticks = isLogarithmic ? logarithmicTicks(low, high) : linearTicks(low, high);
  const scale = (value: number) => isLogarithmic ? Math.log10(value) : value;
  const [bottom, top] = [scale(ticks[0]!), scale(ticks.at(-1)!)];
  const toY = (value: number) =>
    PLOT_BOTTOM - (PLOT_BOTTOM - PLOT_TOP) * (scale(value) - bottom) / (top - bottom);
  const [start, end] = [Date.UTC(years[0], 0), Date.UTC(years[1] + 1, 0)];
  // Precise enough to distinguish days.
  const digits = years[1] - years[0] < 20 ? 2 : 3;
  const toX = (time: number, isExact: boolean) =>
    formatPercent((time - start) / (end - start), isExact ? digits : 1);
  const name = characteristicName(series.characteristic, language);
  const isUsed = (censoring: string) => points.some(({ row }) => row.censoring === censoring);
  return html`<section class="card chart-card" aria-labelledby="chart">
    <div class="title">
      <h2 id="chart">${name} <span>${
    describeSeries(series, isLogarithmic, text, language)
  }</span></h2>
      ${renderLinks(content, isLogarithmic, canBeLogarithmic, text)}
    </div>
    <svg class="chart-shapes" aria-hidden="true"><defs>${
    groups.map(({ index }) => drawShapes(index))
  }</defs></svg>
    <ul class="chart-legend">
      ${
    groups.map(({ name, points, index }) =>
      renderKey(
        `c${index}`,
        index,
        html`${name} <span>${formatNumber(points.length, language)}</span>`,
      )
    )
  }
      ${isUsed("left") && renderKey(`l${groups.length - 1}`, -1, text.below)}
      ${isUsed("right") && renderKey(`r${groups.length - 1}`, -1, text.above)}
    </ul>
    <div class="chart">
      <svg class="chart-axis" height="${PLOT_HEIGHT}" aria-hidden="true">${
    ticks.map((tick) =>
      html`<text x="100%" y="${toY(tick).toFixed(0)}" dx="-8" dy="4">${
        formatTick(tick, language)
      }</text>`
    )
  }</svg>
      <svg class="chart-plot" height="${PLOT_HEIGHT}" data-years="${years.join()}" data-unit="${
    unitOf(series, language)
  }" role="img" aria-label="${
    fill(text.chartLabel, {
      name,
      n: points.length,
      years: [...new Set(years)].join("–"),
    }, language)
  }">
        <g class="chart-grid">${
    ticks.map((tick) => {
      const y = toY(tick).toFixed(0);
      return html`
        <line x2="100%" y1="${y}" y2="${y}" />
      `;
    })
  }</g>
        ${drawTimes(years, language)}
        ${
    [...groups.slice(MAX_COLOURED), ...groups.slice(0, MAX_COLOURED)].map((
      { points, index, name },
    ) => drawPoints(points, index, name, toX, toY))
  }
      </svg>
    </div>
    ${
    series.withoutLimit > 0 &&
    html`<p class="note">${formatPlural(text.notDrawn, series.withoutLimit, language)}.</p>`
  }
    ${renderTable(points, text, language)}
  </section>`;
}

/** Describes a series, such as `mg/L as P, total fraction, log scale`. */
function describeSeries(
  series: SeriesKey,
  isLogarithmic: boolean,
  text: DrawingText,
  language: Language,
): string {
  return [
    unitOf(series, language),
    series.fraction &&
    fill(text.fraction, { name: valueName(series.fraction, language).toLowerCase() }, language),
    isLogarithmic && text.logScale,
  ].filter(Boolean).join(", ");
}

function renderLinks(
  { series, language, hrefOfScale, hrefOfSeries }: ChartContent,
  isLogarithmic: boolean,
  canBeLogarithmic: boolean,
  text: DrawingText,
): Html {
  /** Names the parts in which a series differs from the drawn one. */
  const describe = (other: SeriesKey) => {
    const parts = (["unit", "fraction", "form"] as const).filter((part) =>
      other[part] !== series[part]
    ).map((part) => valueName(other[part], language) || text.none);
    return other.characteristic === series.characteristic
      ? parts.join(", ")
      : [characteristicName(other.characteristic, language), ...parts].join(", ");
  };
  const links = series.alternatives.slice(0, MAX_ALTERNATIVES).map((other) =>
    html`<a href="${hrefOfSeries(other)}">${describe(other)} (${
      formatNumber(other.results, language)
    })</a>`
  );
  const shown = [
    ...(canBeLogarithmic
      ? [
        html`<a href="${hrefOfScale(!isLogarithmic)}">${
          isLogarithmic ? text.linear : text.logarithmic
        }</a>`,
      ]
      : []),
    ...links.slice(0, MAX_LINKED),
    html`<a href="#chart-table">${text.asTable}</a>`,
  ];
  const folded = links.slice(MAX_LINKED);
  return html`<div class="chart-links">${
    shown.map((link, index) => html`${index > 0 ? " · " : ""}${link}`)
  }
    ${
    folded.length > 0 &&
    html`
      <details>
        <summary>${formatPlural(
          text.otherSeries,
          series.alternatives.length - MAX_LINKED,
          language,
        )}</summary>
        <ul>${folded.map((link) => html`<li>${link}</li>`)}</ul>
      </details>
    `
  }</div>`;
}

function renderKey(shape: string, index: number, label: string | Html): Html {
  return html`
    <li
      class="chart-series-${index}"><svg aria-hidden="true" width="16" height="16"><use href="#${shape}" x="8" y="${index <
          0
        ? 5
        : 8}"/></svg> <span>${label}</span></li>
  `;
}

/** The shapes of values and of limits (below and above) of a series. Limits are hollow and have a tail. */
function drawShapes(index: number): Html {
  const shape = SHAPES[index]!;
  return html`
    <path id="c${index}" d="${shape}" />${(["left", "right"] as const).map((side) =>
      html`
        <g id="${side[0]}${index}" class="chart-limit">
          <path d="${TAILS[side]}" />
          <path d="${shape}" />
        </g>
      `
    )}
  `;
}

function formatPercent(part: number, digits = 2): string {
  return `${+(part * 100).toFixed(digits)}%`;
}

/**
 * Draws the points of a group. A script reads the values of a location from `data-values`, in the order of the points.
 * The group of other locations has at most one point per pixel, because it has many.
 */
function drawPoints(
  points: readonly Point[],
  index: number,
  name: string,
  toX: (time: number, isExact: boolean) => string,
  toY: (value: number) => number,
): Html {
  const drawn = new Set<string>();
  const values: string[] = [];
  let uses = "";
  const isOther = index === MAX_COLOURED;
  for (const { time, value, row } of points) {
    const shape = row.censoring === "none" ? "c" : row.censoring === "left" ? "l" : "r";
    const x = toX(time, !isOther);
    const use = `<use href="#${shape}${index}" x="${x}" y="${Math.round(toY(value))}"/>`;
    if (drawn.has(use)) continue;
    drawn.add(use);
    uses += use;
    values.push(signOf(row) + row.value);
  }
  // Safe as raw HTML: it has only numbers and names of shapes.
  return html`
    <g class="chart-series-${index}" ${!isOther &&
      html`data-name="${name}" data-values="${values.join(" ")}"`}>${raw(uses)}</g>
  `;
}

function signOf({ censoring }: Measurement): string {
  return censoring === "left" ? "<" : censoring === "right" ? ">" : "";
}

/** Numbers from which ticks are chosen, times powers of ten. */
const ROUND = [1, 2, 5];
const MAX_TICKS = 9;

/** Returns 1, 2 and 5 times powers of ten that enclose both numbers; only powers of ten if there would be many. */
function logarithmicTicks(low: number, high: number): number[] {
  const [first, last] = [Math.floor(Math.log10(low)), Math.ceil(Math.log10(high))];
  const powers = Array.from({ length: last - first + 1 }, (_, i) => first + i);
  const all = powers.flatMap((power) => ROUND.map((digit) => Number(`${digit}e${power}`)));
  const from = all.findLastIndex((tick) => tick <= low);
  const to = all.findIndex((tick) => tick >= high);
  const ticks = all.slice(from, Math.max(to, from + 1) + 1);
  if (ticks.length <= MAX_TICKS) return ticks;
  const step = Math.ceil(powers.length / MAX_TICKS);
  const count = Math.ceil((last - first) / step);
  return Array.from({ length: count + 1 }, (_, i) => Number(`1e${first + i * step}`));
}

/** Returns multiples of a round number that enclose both numbers. Begins at zero if the values are near it. */
function linearTicks(low: number, high: number): number[] {
  if (low >= 0 && low < high / 2) low = 0;
  const span = high - low || Math.abs(high) || 1;
  const power = 10 ** Math.floor(Math.log10(span / 4));
  const step = power * (ROUND.find((digit) => span / (digit * power) <= 6) ?? 10);
  const first = Math.floor(low / step);
  const last = Math.max(Math.ceil(high / step), first + 1);
  // Rounded, because multiples such as 3 × 0.1 are not exact.
  return Array.from(
    { length: last - first + 1 },
    (_, i) => Number(((first + i) * step).toPrecision(12)),
  );
}

function formatTick(tick: number, language: Language): string {
  const isExtreme = tick !== 0 && (Math.abs(tick) < 1e-5 || Math.abs(tick) >= 1e6);
  return formatNumber(tick, language, {
    maximumSignificantDigits: 6,
    ...(isExtreme && { notation: "scientific" }),
  });
}

/** Maximum number of labels on a wide plot and on a phone. */
const [MAX_WIDE_LABELS, MAX_NARROW_LABELS] = [12, 6];
const LABEL_STEPS = [1, 2, 5, 10, 20, 50, 100];

/** Draws the time axis: years, or months if all dates are in one year. */
function drawTimes([first, last]: readonly [number, number], language: Language): Html {
  const isMonths = first === last;
  const length = isMonths ? 12 : last - first + 1;
  const stepFor = (most: number) =>
    (isMonths ? [1, 2, 3] : LABEL_STEPS).find((step) => length / step <= most) ?? length;
  const [wideStep, narrowStep] = [stepFor(MAX_WIDE_LABELS), stepFor(MAX_NARROW_LABELS)];
  return html`<g class="chart-times"><line x2="100%" y1="${AXIS}" y2="${AXIS}"/>${
    Array.from({ length: length + 1 }, (_, i) => {
      const unit = isMonths ? i : first + i;
      const tick = i * wideStep <= length &&
        html`
          <line x1="${formatPercent(i * wideStep / length)}" x2="${formatPercent(
            i * wideStep / length,
          )}" y1="${AXIS}" y2="${AXIS + 6}" />
        `;
      const isNarrow = unit % narrowStep === 0;
      if (i === length || unit % wideStep !== 0 && !isNarrow) return tick;
      const className = !isNarrow ? "chart-wide" : unit % wideStep !== 0 ? "chart-narrow" : "";
      const label = isMonths ? `${monthName(i, language)}${i === 0 ? ` ${first}` : ""}` : first + i;
      return html`${tick}<text class="${className}" x="${formatPercent((i + 0.5) / length)}" y="${
        AXIS + 22
      }">${label}</text>`;
    })
  }</g>`;
}

/** Renders the table for screen readers, which a link shows to everybody. */
function renderTable(points: readonly Point[], text: DrawingText, language: Language): Html {
  const years = groupBy(points, ({ row }) => row.ActivityStartDate!.slice(0, 4));
  const head = [
    text.year,
    text.results,
    text.belowLimit,
    text.minimum,
    text.median,
    text.maximum,
  ];
  return html`
    <div id="chart-table" class="chart-table" role="region" aria-label="${text
      .asTable}" tabindex="-1">
      <table>
        <caption>${text.tableByYear}</caption>
        <thead>
          <tr>${head.map((name) => html`<th scope="col">${name}</th>`)}</tr>
        </thead>
        <tbody>${[...years].map(([year, points]) => {
          const sorted = points.toSorted((a, b) => a.value - b.value).map(({ row }) => row);
          const below = sorted.filter(({ censoring }) => censoring === "left").length;
          const cells = [
            formatNumber(points.length, language),
            formatNumber(below, language),
            ...[
              signOf(sorted[0]!) + sorted[0]!.value,
              formatMedian(sorted, language),
              signOf(sorted.at(-1)!) + sorted.at(-1)!.value,
            ].map((digits) => formatDigits(digits, language)),
          ];
          return html`<tr><th scope="row">${year}</th>${
            cells.map((cell) => html`<td>${cell}</td>`)
          }</tr>`;
        })}</tbody>
      </table>
    </div>
  `;
}

/** Returns the lower median, with `≤` or `≥` if a censored result could change it. */
export function formatMedian(rows: readonly Measurement[], language: Language): string {
  const sorted = rows.toSorted((a, b) => Number(a.value) - Number(b.value));
  const middle = (sorted.length - 1) >> 1;
  const isBelow = sorted.some(({ censoring }, i) => censoring === "left" && i >= middle);
  const isAbove = sorted.some(({ censoring }, i) => censoring === "right" && i <= middle);
  return (isBelow ? "≤" : "") + (isAbove ? "≥" : "") +
    formatDigits(sorted[middle]?.value ?? "", language);
}
