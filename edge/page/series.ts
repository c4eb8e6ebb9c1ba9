// Series: which measurements are comparable, so that one chart can show them.
import { formatDigits, type Language, valueName } from "./text.ts";

/**
 * Measurement as text: fields of `/Observations` and the tidy columns, read from CSV, so that numbers have the
 * digits of the service. `null` is an empty string.
 */
export type Measurement = Readonly<Record<string, string>>;

/** Field of each part of a series' key; `form` is the chemical form, such as `as N`. */
const FIELD_OF_PART = {
  characteristic: "CharacteristicName",
  unit: "unit",
  fraction: "ResultSampleFraction",
  form: "MethodSpeciation",
};

/** Key of a series of comparable values. A part can be an empty string. */
export type SeriesKey = Record<keyof typeof FIELD_OF_PART, string>;
export const PARTS = Object.keys(FIELD_OF_PART) as readonly (keyof SeriesKey)[];

export interface Series extends SeriesKey {
  /** Rows with a date and a value or limit, by date. */
  rows: readonly Measurement[];
  /** Number of results of this characteristic, fraction and form without a value and without a limit. */
  withoutLimit: number;
  /** Other series: first those of the same characteristic, then by number of values. */
  alternatives: readonly (SeriesKey & { results: number })[];
}

function seriesOf(row: Measurement): SeriesKey {
  const parts = PARTS.map((part) => [part, row[FIELD_OF_PART[part]] ?? ""]);
  return Object.fromEntries(parts) as SeriesKey;
}

/** Sizes of numbers with which a scale can calculate. */
const [MIN_SIZE, MAX_SIZE] = [1e-300, 1e300];

function isDrawn({ censoring = "", value = "" }: Measurement): boolean {
  const size = Math.abs(Number(value));
  return ["none", "left", "right"].includes(censoring) && value.trim() !== "" &&
    (size === 0 || size > MIN_SIZE && size < MAX_SIZE);
}

function isDated({ ActivityStartDate: date = "" }: Measurement): boolean {
  return /^\d{4}-\d\d-\d\d$/.test(date) && !Number.isNaN(Date.parse(date));
}

/** The order of dates as texts; rows without a date come first. */
export function compareDates(a: Measurement, b: Measurement): number {
  const [dateA = "", dateB = ""] = [a.ActivityStartDate, b.ActivityStartDate];
  return Number(dateA > dateB) - Number(dateA < dateB);
}

/**
 * Returns the wanted series, or the one with most values; `undefined` if no row has a value and a date.
 * Values of another unit, fraction or chemical form are not comparable: nitrate as N is not nitrate as NO3.
 */
export function selectSeries(
  rows: readonly Measurement[],
  wanted: Partial<SeriesKey> = {},
): Series | undefined {
  const dated = rows.filter(isDated).sort(compareDates);
  const all = [...groupBy(dated.filter(isDrawn), (row) => formatSeries(seriesOf(row))).values()]
    .sort((a, b) => b.length - a.length)
    .map((rows) => ({ ...seriesOf(rows[0]!), rows }));
  const chosen =
    all.find((series) => PARTS.every((part) => series[part] === (wanted[part] ?? series[part]))) ??
      all[0];
  if (chosen === undefined) return undefined;
  const withoutLimit = dated.filter((row) =>
    // Without a value, there is no unit.
    !isDrawn(row) && formatSeries({ ...seriesOf(row), unit: chosen.unit }) === formatSeries(chosen)
  );
  const isOfOther = (key: SeriesKey) => Number(key.characteristic !== chosen.characteristic);
  const alternatives = all.filter((series) => series !== chosen)
    .map(({ rows, ...key }) => ({ ...key, results: rows.length }))
    .sort((a, b) => isOfOther(a) - isOfOther(b));
  return { ...chosen, withoutLimit: withoutLimit.length, alternatives };
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

/** Returns the value, after a sign if it is a limit. */
export function formatResult({ censoring, value = "" }: Measurement, language: Language): string {
  const sign = censoring === "left" ? "< " : censoring === "right" ? "> " : "";
  return sign + formatDigits(value, language);
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
