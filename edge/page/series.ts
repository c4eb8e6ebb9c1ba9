// Series: which measurements are comparable, so that one chart can show them.
import type { Locale } from "./text.ts";

/**
 * Measurement as text: fields of `/Observations` and the tidy columns, read from CSV, so that numbers have the
 * digits of the service. `null` is an empty string.
 */
export type Measurement = Readonly<Record<string, string>>;

/** Fields that comparable measurements share. The speciation is the chemical form, such as `as N`. */
export const KEY_FIELDS = [
  "CharacteristicName",
  "unit",
  "ResultSampleFraction",
  "MethodSpeciation",
] as const;

/** Returns the key of the series of a row, for a URL, such as `Nitrate|mg/L|Dissolved|as N`. */
export function seriesOf(row: Measurement): string {
  return KEY_FIELDS.map((field) => row[field]).join("|");
}

export interface Series {
  /** A row of the series, for the fields of its key. */
  example: Measurement;
  /** Rows with a date and a value or limit, by date. */
  rows: readonly Measurement[];
  /** Number of results of this characteristic, fraction and form without a value and without a limit. */
  withoutLimit: number;
  /** Number of results of quality control of this characteristic. They are in no series, because a blank is not of the water. */
  controls: number;
  /** Other series: first those of the same characteristic, then by number of values. */
  alternatives: readonly Pick<Series, "example" | "rows">[];
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
export function selectSeries(rows: readonly Measurement[], wanted = ""): Series | undefined {
  const measured = rows.filter(({ is_quality_control }) => is_quality_control !== "true");
  const dated = measured.filter(isDated).sort(compareDates);
  const all = [...groupBy(dated.filter(isDrawn), seriesOf)]
    .map(([key, rows]) => ({ key, example: rows[0]!, rows }))
    .sort((a, b) => b.rows.length - a.rows.length);
  const chosen = all.find(({ key }) => key === wanted) ?? all[0];
  if (chosen === undefined) return undefined;
  const { unit = "", CharacteristicName } = chosen.example;
  const withoutLimit = dated.filter((row) =>
    // Without a value, there is no unit.
    !isDrawn(row) && seriesOf({ ...row, unit }) === chosen.key
  ).length;
  const isOfOther = ({ example }: typeof chosen) =>
    Number(example.CharacteristicName !== CharacteristicName);
  const alternatives = all.filter((series) => series !== chosen)
    .sort((a, b) => isOfOther(a) - isOfOther(b));
  const controls =
    rows.filter((row) =>
      row.is_quality_control === "true" && row.CharacteristicName === CharacteristicName
    ).length;
  return { ...chosen, withoutLimit, controls, alternatives };
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

/** Unit of a number without one, such as pH. */
export const NO_UNIT = "None";

/** Returns the unit and chemical form, such as `mg/L as P`. */
export function unitOf(row: Measurement, { valueName }: Locale): string {
  const { unit = "", MethodSpeciation: form = "" } = row;
  return [unit === NO_UNIT ? "" : unit, valueName(form)].filter(Boolean).join(" ");
}

/** Returns the value, after a sign if it is a limit. */
export function formatResult(
  { censoring, value = "" }: Measurement,
  { formatDigits }: Locale,
): string {
  const sign = censoring === "left" ? "< " : censoring === "right" ? "> " : "";
  return sign + formatDigits(value);
}

/** Returns the result with its unit, or why it has no value. */
export function describeResult(row: Measurement, locale: Locale): string {
  const { value, ResultDetectionCondition: condition = "" } = row;
  if (value === "") return locale.valueName(condition).toLowerCase();
  return `${formatResult(row, locale)} ${unitOf(row, locale)}`.trim();
}

/** Number between results. The sign says on which side of the digits the exact one can be; `–` if on both. */
export interface Quantile {
  digits: string;
  sign: "" | "<" | "≤" | ">" | "≥" | "–";
}

/** Order of results with one number. */
const SIDES: Readonly<Record<string, number>> = { left: -1, none: 0, right: 1 };

/**
 * Returns the quantile of a part, such as 0.5 for the median; between two results it is their mean (type 2 of Hyndman and
 * Fan, 1996). A result below a limit can be any lower number, and one above a limit any higher number.
 */
export function quantileOf(rows: readonly Measurement[], part: number): Quantile {
  const sideOf = ({ censoring = "" }: Measurement) => SIDES[censoring]!;
  const sorted = rows.toSorted((a, b) =>
    Number(a.value) - Number(b.value) || sideOf(a) - sideOf(b)
  );
  const rank = rows.length * part;
  // Two results if the rank is whole; else one, twice.
  const [lower, upper] = [Math.ceil(rank) - 1, Math.floor(rank)] as const;
  const meanOf = (numbers: ArrayLike<number>) => (numbers[lower]! + numbers[upper]!) / 2;
  const boundOf = (side: string, bound: number) =>
    meanOf(
      Float64Array.from(rows, (row) => row.censoring === side ? bound : Number(row.value)).sort(),
    );
  const mean = meanOf(sorted.map(({ value }) => Number(value)));
  const found = [sorted[lower]!, sorted[upper]!] as const;
  const [{ value: first = "" }, { value: second }] = found;
  const digits = Number(first) === Number(second) ? first : `${Number(mean.toPrecision(15))}`;
  const isBelow = boundOf("left", -Infinity) < mean;
  const isAbove = boundOf("right", Infinity) > mean;
  const has = (side: string) => found.some(({ censoring }) => censoring === side);
  if (isBelow && isAbove) return { digits: "", sign: "–" };
  if (isBelow) return { digits, sign: has("left") ? "<" : "≤" };
  return { digits, sign: !isAbove ? "" : has("right") ? ">" : "≥" };
}

export function formatQuantile({ sign, digits }: Quantile, { formatDigits }: Locale): string {
  return `${sign} ${formatDigits(digits)}`.trim();
}
