// Series: which measurements are comparable, so that one chart can show them.
import { formatDigits, type Language, valueName } from "./text.ts";

/**
 * Measurement as text: fields of `/Observations` and the tidy columns, read from CSV, so that numbers have the
 * digits of the service. `null` is an empty string.
 */
export type Measurement = Readonly<Record<string, string>>;

export const PARTS = ["characteristic", "unit", "fraction", "form"] as const;

/** Key of a series of comparable values; `form` is the chemical form, such as `as N`. A part can be an empty string. */
export type SeriesKey = Record<typeof PARTS[number], string>;

export interface Series extends SeriesKey {
  /** Rows with a date and a value or limit. */
  rows: readonly Measurement[];
  /** Number of results of this characteristic, fraction and form without a value and without a limit. */
  withoutLimit: number;
  /** Other series: first those of the same characteristic, then by number of values. */
  alternatives: readonly (SeriesKey & { results: number })[];
}

/** Values of `censoring` that can be drawn. */
const DRAWN = ["none", "left", "right"];

function seriesOf(row: Measurement): SeriesKey {
  return {
    characteristic: row.CharacteristicName ?? "",
    unit: row.unit ?? "",
    fraction: row.ResultSampleFraction ?? "",
    form: row.MethodSpeciation ?? "",
  };
}

/**
 * Returns the wanted series, or the one with most values; `undefined` if no row has a value and a date.
 * Values of another unit, fraction or chemical form are not comparable: nitrate as N is not nitrate as NO3.
 */
export function selectSeries(
  rows: readonly Measurement[],
  wanted: Partial<SeriesKey> = {},
): Series | undefined {
  const dated = rows.filter(({ ActivityStartDate: date = "" }) =>
    /^\d{4}-\d\d-\d\d$/.test(date) && !Number.isNaN(Date.parse(date))
  );
  const isDrawn = ({ censoring = "", value = "" }: Measurement) =>
    DRAWN.includes(censoring) && value.trim() !== "" && Number.isFinite(Number(value));
  const groups = groupBy(dated.filter(isDrawn), (row) => formatSeries(seriesOf(row)));
  const all = [...groups.values()].sort((a, b) => b.length - a.length)
    .map((rows) => ({ ...seriesOf(rows[0]!), rows }));
  const chosen =
    all.find((series) => PARTS.every((part) => series[part] === (wanted[part] ?? series[part]))) ??
      all[0];
  if (chosen === undefined) return undefined;
  const withoutLimit = dated.filter((row) =>
    // Without a value, there is no unit.
    !isDrawn(row) && formatSeries({ ...seriesOf(row), unit: chosen.unit }) === formatSeries(chosen)
  );
  const alternatives = all.filter((series) => series !== chosen)
    .map(({ rows, ...key }) => ({ ...key, results: rows.length }));
  const isSame = (key: SeriesKey) => key.characteristic === chosen.characteristic;
  return {
    ...chosen,
    withoutLimit: withoutLimit.length,
    alternatives: [...alternatives.filter(isSame), ...alternatives.filter((key) => !isSame(key))],
  };
}

/** `Map.groupBy`, which Node 20 does not have. */
export function groupBy<T>(items: readonly T[], keyOf: (item: T) => string): Map<string, T[]> {
  const groups = new Map<string, T[]>();
  for (const item of items) {
    const group = groups.get(keyOf(item));
    if (group) group.push(item);
    else groups.set(keyOf(item), [item]);
  }
  return groups;
}

/** Formats the key of a series for a URL, such as `Nitrate|mg/L|Dissolved|as N`. */
export function formatSeries(key: SeriesKey): string {
  return PARTS.map((part) => key[part]).join("|");
}

/** Parses the key of a series. A missing part matches every series. */
export function parseSeries(text: string): Partial<SeriesKey> {
  return Object.fromEntries(text.split("|").map((value, i) => [PARTS[i], value]));
}

/** Returns the unit and chemical form, such as `mg/L as P`. `None` is the unit of a number without one. */
export function unitOf(
  { unit, form }: Pick<SeriesKey, "unit" | "form">,
  language: Language,
): string {
  return [unit === "None" ? "" : unit, valueName(form, language)].filter(Boolean).join(" ");
}

/** Returns the value with `<` or `>` before a limit. */
export function formatResult({ censoring, value = "" }: Measurement): string {
  return (censoring === "left" ? "<" : censoring === "right" ? ">" : "") + value;
}

/** Returns the lower median, with `≤` or `≥` if a censored result could change it; a dash if it could be either. */
export function formatMedian(rows: readonly Measurement[], language: Language): string {
  const sorted = rows.toSorted((a, b) => Number(a.value) - Number(b.value));
  const middle = (sorted.length - 1) >> 1;
  const isBelow = sorted.some(({ censoring }, i) => censoring === "left" && i >= middle);
  const isAbove = sorted.some(({ censoring }, i) => censoring === "right" && i <= middle);
  if (isBelow && isAbove) return "–";
  return (isBelow ? "≤" : "") + (isAbove ? "≥" : "") +
    formatDigits(sorted[middle]?.value ?? "", language);
}
