// Rows ready for analysis: the columns of `tidy`, and the filters by day and quality control. Each rule needs only one
// row, which it reads from the bytes of the page. `docs/tidy.md` describes the rules.
import { ByteBuffer, type Bytes, utf8Encoder } from "../bytes.ts";
import type { Row } from "../odata/resources.ts";
import { JSON_NUMBER } from "../validation.ts";
import { BytesCache, parseBytes, QUOTE, skipNumber, SPACE } from "./json_scanner.ts";
import {
  type Cells,
  EMPTY,
  ESCAPED_STRING,
  NEEDS_QUOTES,
  NESTED,
  type PageBytes,
  PLAIN_STRING,
  type RowReader,
  SCALAR,
} from "./row_reader.ts";
import { type ConvertDigits, unitConverter } from "./units.ts";
import { dayNumber, NO_NUMBER, readOffset, writeUtc } from "./utc_time.ts";

/**
 * Columns that the option `tidy` adds to a row. They follow the fields of the service. In CSV, null is an empty cell.
 *
 * | column | meaning |
 * |---|---|
 * | `value` | the result; else the detection or quantitation limit that bounds it |
 * | `unit` | unit of `value` |
 * | `censoring` | `none`, `left` (below), `right` (above), `unknown` (a result without a stated interval), `missing` (not reported, not measured) |
 * | `lower`, `upper` | bounds of the true value; both are the value if `censoring` is `none` |
 * | `datetime_utc` | start in UTC, from date, time and offset |
 * | `is_quality_control` | whether the activity is quality control |
 *
 * Nothing is estimated, or taken from another row. In CSV, NDJSON and JSON, `value`, `lower` and `upper` have the
 * digits that the service sent, unless the option `units` converts them.
 * Source: DataStream's public schema 3.0.0, which says what each detection condition of WQX means.
 *
 * @example The mean of the pH values that are neither censored nor quality control
 * ```ts
 * import { DataStream, eq, type TidyRow } from "@weir/datastream";
 * import { createSandbox } from "@weir/datastream/sandbox";
 * import { assert } from "@std/assert";
 *
 * const { apiKey, url, fetch } = createSandbox();
 * const client = new DataStream({ apiKey, baseUrl: url, fetch });
 * const query = client.records({ filter: eq("CharacteristicName", "pH"), limit: 100, tidy: true });
 * const rows: TidyRow[] = await query.toArray();
 * const values = rows
 *   .filter((row) => row.censoring === "none" && !row.is_quality_control)
 *   .map(({ value }) => value!);
 * const mean = values.reduce((sum, value) => sum + value, 0) / values.length;
 * assert(mean > 7 && mean < 9);
 * ```
 */
export interface TidyRow {
  /** The result; else the limit that bounds it; null if there is neither. */
  value: number | null;
  /** Unit of `value`; null if the service sent none. */
  unit: string | null;
  /** What is known about the true value. */
  censoring: "none" | "left" | "right" | "unknown" | "missing";
  /** Lower bound of the true value; null if it is unknown. */
  lower: number | null;
  /** Upper bound of the true value; null if it is unknown. */
  upper: number | null;
  /** Start of the activity in UTC, such as `2024-06-01T17:30:00Z`; null if date, time or offset is absent or malformed. */
  datetime_utc: string | null;
  /** Whether the activity is quality control. */
  is_quality_control: boolean;
}

/** Type of the values of a column. `time` is an instant in UTC. */
export type TidyType = "number" | "text" | "time" | "boolean";

/** Types of the columns of {@linkcode TidyRow}, in order. */
export const TIDY_TYPES: Readonly<Record<keyof TidyRow, TidyType>> = {
  value: "number",
  unit: "text",
  censoring: "text",
  lower: "number",
  upper: "number",
  datetime_utc: "time",
  is_quality_control: "boolean",
};

/** Names of the columns of {@linkcode TidyRow}, in order. */
// Without this annotation a bundler cannot tree-shake the call.
export const TIDY_COLUMNS = /* @__PURE__ */ Object.keys(TIDY_TYPES) as readonly (keyof TidyRow)[];

export const RESULT_AND_LIMIT_FIELDS = [
  "ResultValue",
  "ResultUnit",
  "ResultDetectionCondition",
  "ResultDetectionQuantitationLimitMeasure",
  "ResultDetectionQuantitationLimitUnit",
] as const;

/** Fields that the rules read. The constants below are their indices. */
const FIELDS = [
  ...RESULT_AND_LIMIT_FIELDS,
  "ActivityStartDate",
  "ActivityStartTime",
  "ActivityStartTimeZone",
  "ActivityType",
  "CharacteristicName",
  "MethodSpeciation",
  "ResultSampleFraction",
] as const;
const [RESULT, RESULT_UNIT, CONDITION, LIMIT, LIMIT_UNIT] = [0, 1, 2, 3, 4];
const [DATE, TIME, ZONE, TYPE] = [5, 6, 7, 8];
const [CHARACTERISTIC, FORM, FRACTION] = [9, 10, 11];

export interface RowRules {
  /** Whether to add the columns of {@linkcode TidyRow}. */
  tidy?: boolean | undefined;
  /** First day, `YYYY-MM-DD`. Rows of earlier days and rows without a readable date are left out. */
  from?: string | undefined;
  /** Last day, `YYYY-MM-DD`. Rows of later days and rows without a readable date are left out. */
  to?: string | undefined;
  excludeQualityControl?: boolean | undefined;
  /** Units to which values are converted, by characteristic. */
  units?: Readonly<Record<string, string>> | undefined;
}

/** Returns the fields that the rules need, and that must be requested even if they are not selected. */
export function fieldsOfRules(
  { tidy, from, to, excludeQualityControl, units }: RowRules,
): readonly string[] {
  if (tidy) return FIELDS.slice(0, units === undefined ? CHARACTERISTIC : FIELDS.length);
  const days = from === undefined && to === undefined ? [] : [FIELDS[DATE]];
  return excludeQualityControl ? [...days, FIELDS[TYPE]] : days;
}

/**
 * Facts about rows that a reader should know. The counts are numbers of rows, except `nulCells`.
 *
 * @internal
 */
export interface RowNotes {
  /** Left out: the day is before `from` or after `to`. */
  outsideDays?: number;
  /** Left out by `from` or `to`: without a date. */
  withoutDate?: number;
  /** Left out by `from` or `to`: the date is not `YYYY-MM-DD`, or there is no such day. */
  unreadableDate?: number;
  /** Left out by `excludeQualityControl`. */
  qualityControl?: number;
  /** Both a value and a detection condition. `censoring` is `unknown`. */
  contradictory?: number;
  /** `ResultValue` or the limit is text that is not a number. It is not used. */
  textInNumber?: number;
  /** A detection condition that is not in WQX. `censoring` is `unknown`. */
  unknownCondition?: number;
  /** An abbreviation such as `AST` instead of an offset. `datetime_utc` is empty. */
  zoneAbbreviation?: number;
  /** The characteristic is in `units`, but its unit cannot be converted. The unit is kept. */
  otherUnit?: number;
  /** GeoJSON and GeoParquet only: written without a point, because it is not on a map in WGS 84. */
  withoutGeometry?: number;
  /** GeoJSON and GeoParquet only: a position in NAD83, written as if it was in WGS 84. */
  nad83?: number;
  /** Parquet only: with a value that did not fit its column, and is null. */
  invalidValues?: number;
  /** Excel only: with a text that was longer than a cell can have, of which only the beginning is written. */
  cutTexts?: number;
  /** CSV and Excel only: cells from which the character NUL is left out. */
  nulCells?: number;
  /** Chemical forms of the rows whose unit was converted, by characteristic; `""` if a row has none. */
  forms?: Record<string, string[]>;
  /** Fractions of the rows whose unit was converted, by characteristic; `""` if a row has none. */
  fractions?: Record<string, string[]>;
}

/** A fact about one row. */
export type Note =
  | readonly [name: Exclude<keyof RowNotes, "forms" | "fractions">]
  | readonly [name: "forms" | "fractions", characteristic: string, value: string];

interface NoteTaker {
  /** Notes a fact about the row that is being converted. */
  note(...note: Note): void;
}

/** Maximum number of forms or fractions to list for a characteristic. */
const MAX_LISTED = 10;

/** Adds notes of rows to those of earlier rows. */
export function addNotes(notes: RowNotes = {}, added: readonly Note[]): RowNotes {
  if (added.length === 0) return notes;
  const sum: RowNotes = structuredClone(notes);
  for (const [name, characteristic, value] of added) {
    if (name !== "forms" && name !== "fractions") {
      sum[name] = (sum[name] ?? 0) + 1;
      continue;
    }
    const list = (sum[name] ??= {})[characteristic!] ??= [];
    if (!list.includes(value!) && list.length < MAX_LISTED) list.push(value!);
  }
  return sum;
}

/** Kind of a value where a number is expected. */
type NumberKind = "absent" | "text" | "number";

/** Class of a detection condition. `new` is not in WQX, and is treated as `other`. */
type ConditionKind = "absent" | "below" | "above" | "no result" | "other" | "new";

/** Meaning of a result, and the number that it has: the result itself or the limit that bounds it. */
export interface ResultClass {
  censoring: TidyRow["censoring"];
  number?: "result" | "limit";
  isContradictory?: boolean;
}

const MISSING: ResultClass = { censoring: "missing" };
const UNKNOWN: ResultClass = { censoring: "unknown" };
const VALUE: ResultClass = { censoring: "none", number: "result" };
const CONTRADICTION: ResultClass = {
  censoring: "unknown",
  number: "result",
  isContradictory: true,
};
const BELOW: ResultClass = { censoring: "left", number: "limit" };
const ABOVE: ResultClass = { censoring: "right", number: "limit" };

/** Classifies a result by its value, its detection condition and its limit. */
function classifyResult(
  result: NumberKind,
  condition: ConditionKind,
  limit: NumberKind,
): ResultClass {
  if (result === "number") return condition === "absent" ? VALUE : CONTRADICTION;
  if (condition === "absent") return result === "absent" ? MISSING : UNKNOWN;
  if (condition === "no result") return MISSING;
  if (limit !== "number" || condition === "other" || condition === "new") return UNKNOWN;
  return condition === "below" ? BELOW : ABOVE;
}

export function classifyRow(
  row: Pick<Row<"Observations">, typeof RESULT_AND_LIMIT_FIELDS[number]>,
): ResultClass {
  return classifyResult(
    kindOfNumber(row.ResultValue),
    kindOfCondition(row.ResultDetectionCondition ?? ""),
    kindOfNumber(row.ResultDetectionQuantitationLimitMeasure),
  );
}

function kindOfNumber(value: unknown): NumberKind {
  if (typeof value === "number") return "number";
  if (value === null || value === undefined) return "absent";
  const text = String(value);
  return BLANK.test(text) ? "absent" : JSON_NUMBER.test(text) ? "number" : "text";
}

const OTHER_CONDITIONS = [
  "Detected Not Quantified",
  "Trace",
  "Between Inst Detect and Quant Limit",
];

/** Classes a detection condition by its exact text. */
function kindOfCondition(text: string): ConditionKind {
  if (BLANK.test(text)) return "absent";
  if (/^(?:Below |Present Below |Not Detected)/.test(text)) return "below";
  if (/^(?:Above |Present Above )/.test(text)) return "above";
  if (text === "Not Reported" || text === "Unable to Measure") return "no result";
  return OTHER_CONDITIONS.includes(text) ? "other" : "new";
}

/** Text that counts as absent. */
const BLANK = /^[ \t\r\n]*$/;

/**
 * Whether a type of activity is quality control: those that DataStream's schema 3.0.0 groups as such, and older ones.
 */
function isQualityControl(type: string): boolean {
  return type.startsWith("Quality Control") || type === "Sample-Positive Control" ||
    type === "Sample-Negative Control";
}

export const CENSORINGS = ["none", "left", "right", "unknown", "missing"] as const;

// Offsets in the content of cells: first the words that cells can have, in quotes, then the time, then other cells.
const WORDS = [...CENSORINGS, "false", "true"] as const;
const WORD_LENGTH = 12;
const WORD_BYTES = WORDS.map((word) => `"${word}"`.padEnd(WORD_LENGTH)).join("");
const TIME_AT = WORD_BYTES.length;
const REST_AT = TIME_AT + 40;

/** Applies rules to the rows of one page, and holds the cells of the columns of `tidy` of the last row. */
export class PageRules implements Cells {
  /** Content of the cells, of which `REST_AT` bytes are there for each row. */
  readonly #content = new ByteBuffer(512);
  readonly starts = new Int32Array(TIDY_COLUMNS.length);
  readonly ends = new Int32Array(TIDY_COLUMNS.length);
  readonly kinds = new Uint8Array(TIDY_COLUMNS.length);
  readonly #rules: RowRules;
  readonly #reader: RowReader;
  readonly #window: PageBytes;
  readonly #columns: Int32Array;
  readonly #conditions = new BytesCache((...at) => kindOfCondition(textAt(...at)));
  readonly #controlTypes = new BytesCache((...at) => isQualityControl(textAt(...at)));
  readonly #days = new BytesCache((...at) => this.#findDay(...at));
  readonly #texts = new BytesCache(textAt);
  readonly #converters = new Map<string, ConvertDigits | undefined>();
  /** Kind of the cell `datetime_utc`, whose colons are special characters of some formats. */
  readonly #timeKind: number;
  readonly #notes: NoteTaker;

  constructor(
    rules: RowRules,
    window: PageBytes,
    reader: RowReader,
    special: string,
    notes: NoteTaker,
  ) {
    this.#rules = rules;
    this.#notes = notes;
    this.#window = window;
    this.#reader = reader;
    this.#columns = Int32Array.from(FIELDS, (field) => reader.findColumn(field));
    this.#timeKind = special.includes(":") ? NEEDS_QUOTES : PLAIN_STRING;
    utf8Encoder.encodeInto(WORD_BYTES, this.bytes);
    this.#content.length = REST_AT;
  }

  get bytes(): Bytes {
    return this.#content.bytes;
  }

  get view(): DataView {
    return this.#content.view;
  }

  /** Whether to keep the row that the reader has read. Adds a note if not. */
  keeps(): boolean {
    const { from, to, excludeQualityControl } = this.#rules;
    const hasDays = from !== undefined || to !== undefined;
    const day = hasDays
      ? this.#reader.lookUp(this.#days, this.#columns[DATE]!) ?? "withoutDate"
      : "inside";
    const isControl = excludeQualityControl && day === "inside" && this.#isQualityControlRow();
    const reason = isControl ? "qualityControl" : day;
    if (reason !== "inside") this.#notes.note(reason);
    return reason === "inside";
  }

  /** Maximum length (bytes) of the cells in JSON, with their quotes. `lower` and `upper` can repeat `value`. */
  get length(): number {
    return 3 * (this.#content.length - REST_AT) + REST_AT;
  }

  /** Whether rows have the columns of {@linkcode TidyRow}. */
  get isTidy(): boolean {
    return this.#rules.tidy === true;
  }

  /** Fills the cells of the row that the reader has read. */
  fillCells(): void {
    if (!this.#rules.tidy) return;
    this.#content.length = REST_AT;
    const resultColumn = this.#columns[RESULT]!;
    const limitColumn = this.#columns[LIMIT]!;
    const result = this.#kindOfNumber(resultColumn);
    const limit = this.#kindOfNumber(limitColumn);
    const condition = this.#reader.lookUp(this.#conditions, this.#columns[CONDITION]!) ?? "absent";
    const { censoring, number, isContradictory } = classifyResult(result, condition, limit);
    if (isContradictory) this.#notes.note("contradictory");
    if (result === "text" || limit === "text") this.#notes.note("textInNumber");
    if (condition === "new") this.#notes.note("unknownCondition");

    this.kinds.fill(EMPTY);
    if (number !== undefined) {
      const isResult = number === "result";
      this.#fillValue(isResult ? resultColumn : limitColumn);
      this.#fillUnit(this.#columns[isResult ? RESULT_UNIT : LIMIT_UNIT]!);
      if (this.#rules.units !== undefined) this.#convert(this.#rules.units);
      if (censoring === "none" || censoring === "right") this.#copyCell(0, 3);
      if (censoring === "none" || censoring === "left") this.#copyCell(0, 4);
    }
    this.#setWord(2, PLAIN_STRING, censoring);
    const timeEnd = this.#writeTime();
    if (timeEnd > 0) this.#setCell(5, this.#timeKind, TIME_AT + 1, timeEnd);
    this.#setWord(6, SCALAR, this.#isQualityControlRow() ? "true" : "false");
  }

  #setWord(cell: number, kind: number, word: typeof WORDS[number]): void {
    const start = WORD_LENGTH * WORDS.indexOf(word) + 1;
    this.#setCell(cell, kind, start, start + word.length);
  }

  #setCell(cell: number, kind: number, start: number, end: number): void {
    this.kinds[cell] = kind;
    this.starts[cell] = start;
    this.ends[cell] = end;
  }

  #isQualityControlRow(): boolean {
    const column = this.#columns[TYPE]!;
    const { starts, kinds } = this.#reader;
    const { bytes } = this.#window;
    const start = starts[column]!;
    // Skips the cache for nearly all other types: those of quality control begin with "Q", "Sample-P" or "Sample-N".
    const letter = bytes[start + 7];
    const mayBeControl = bytes[start] === LETTER_Q || letter === LETTER_N || letter === LETTER_P;
    if (!mayBeControl && kinds[column] !== ESCAPED_STRING) return false;
    return this.#reader.lookUp(this.#controlTypes, this.#columns[TYPE]!) ?? false;
  }

  #findDay(
    page: Uint8Array,
    start: number,
    end: number,
  ): "inside" | "outsideDays" | "withoutDate" | "unreadableDate" {
    const { from = "", to = "\uffff" } = this.#rules;
    const date = textAt(page, start, end);
    if (BLANK.test(date)) return "withoutDate";
    const bytes = utf8Encoder.encode(date);
    if (dayNumber(bytes, 0, bytes.length) === NO_NUMBER) return "unreadableDate";
    return date >= from && date <= to ? "inside" : "outsideDays";
  }

  #kindOfNumber(column: number): NumberKind {
    const { starts, ends, kinds } = this.#reader;
    const { bytes } = this.#window;
    const kind = kinds[column] ?? EMPTY;
    if (kind === EMPTY) return "absent";
    const start = starts[column]!;
    // `true` and `false` begin with letters; other scalars are numbers.
    if (kind === SCALAR) return bytes[start]! < 0x40 ? "number" : "text";
    if (kind === NESTED) return "text";
    if (kind === ESCAPED_STRING) return kindOfNumber(this.#reader.lookUp(this.#texts, column)!);
    if (skipNumber(bytes, start) === ends[column]) return "number";
    let at = start;
    while (bytes[at] === SPACE) at++;
    return at === ends[column] ? "absent" : "text";
  }

  /** Copies a number to the cell `value` without parsing it, so that it keeps its digits. */
  #fillValue(column: number): void {
    const { starts, ends, kinds } = this.#reader;
    if (kinds[column] === ESCAPED_STRING) {
      this.#write(0, SCALAR, utf8Encoder.encode(this.#reader.lookUp(this.#texts, column)!));
    } else {
      this.#write(0, SCALAR, this.#window.bytes, starts[column]!, ends[column]!);
    }
  }

  #fillUnit(column: number): void {
    const { starts, ends, kinds } = this.#reader;
    const kind = kinds[column] ?? EMPTY;
    if (kind === EMPTY || kind === SCALAR || kind === NESTED) return;
    const { bytes } = this.#window;
    const start = starts[column]!;
    // A unit that begins with a space or an escape may be blank.
    const mayBeBlank = bytes[start] === SPACE || kind === ESCAPED_STRING;
    if (mayBeBlank && BLANK.test(this.#reader.lookUp(this.#texts, column)!)) return;
    this.#write(1, kind, bytes, start, ends[column]!);
  }

  /** Appends bytes as the content of a cell, in quotes if it is a string. */
  #write(cell: number, kind: number, source: Uint8Array, start = 0, end = source.length): void {
    const isString = kind !== SCALAR;
    const content = this.#content;
    const bytes = content.reserve(end - start + 2);
    if (isString) bytes[content.length++] = QUOTE;
    const cellStart = content.length;
    for (let from = start; from < end; from++) bytes[content.length++] = source[from]!;
    this.#setCell(cell, kind, cellStart, content.length);
    if (isString) bytes[content.length++] = QUOTE;
  }

  #copyCell(from: number, to: number): void {
    this.#setCell(to, this.kinds[from]!, this.starts[from]!, this.ends[from]!);
  }

  /** Converts the cells `value` and `unit`, if a unit is requested for the characteristic of the row. */
  #convert(units: Readonly<Record<string, string>>): void {
    const characteristic = this.#text(CHARACTERISTIC);
    if (!Object.hasOwn(units, characteristic)) return;
    const target = units[characteristic]!;
    const hasUnit = this.kinds[1] !== EMPTY;
    const unit = hasUnit ? this.#texts.get(this.bytes, this.starts[1]! - 1, this.ends[1]! + 1) : "";
    const key = `${unit}\n${target}`;
    if (!this.#converters.has(key)) this.#converters.set(key, unitConverter(unit, target));
    const digits = String.fromCharCode(...this.bytes.subarray(this.starts[0], this.ends[0]));
    const converted = this.#converters.get(key)?.(digits);
    if (converted === undefined) {
      return this.#notes.note("otherUnit");
    }
    this.#write(0, SCALAR, utf8Encoder.encode(converted));
    this.#write(1, PLAIN_STRING, utf8Encoder.encode(target));
    this.#notes.note("forms", characteristic, this.#text(FORM));
    this.#notes.note("fractions", characteristic, this.#text(FRACTION));
  }

  #text(field: number): string {
    return this.#reader.lookUp(this.#texts, this.#columns[field]!) ?? "";
  }

  /** Writes the start of the activity in UTC. Returns the offset of its closing quote; 0 if the time is not known. */
  #writeTime(): number {
    const { starts, ends, kinds } = this.#reader;
    const date = this.#columns[DATE]!;
    const time = this.#columns[TIME]!;
    const zone = this.#columns[ZONE]!;
    if ((kinds[zone] ?? EMPTY) === EMPTY) return 0;
    if (isUnescaped(kinds[date]) && isUnescaped(kinds[time]) && isUnescaped(kinds[zone])) {
      const { bytes } = this.#window;
      const [zoneAt, zoneEnd] = [starts[zone]!, ends[zone]!];
      const [dateAt, dateEnd, timeAt] = [starts[date]!, ends[date]!, starts[time]!];
      return this.#subtractOffset(bytes, dateAt, dateEnd, timeAt, ends[time]!, zoneAt, zoneEnd);
    }
    const [day, clock, offset] = [this.#text(DATE), this.#text(TIME), this.#text(ZONE)];
    const end = day.length + clock.length;
    // The lengths are numbers of bytes up to a character that is not ASCII, and no date or time has one.
    const text = utf8Encoder.encode(day + clock + offset);
    return this.#subtractOffset(text, 0, day.length, day.length, end, end, text.length);
  }

  #subtractOffset(
    bytes: Uint8Array,
    dateAt: number,
    dateEnd: number,
    timeAt: number,
    timeEnd: number,
    zoneAt: number,
    zoneEnd: number,
  ): number {
    const offset = readOffset(bytes, zoneAt, zoneEnd);
    if (offset !== NO_NUMBER) {
      return writeUtc(bytes, dateAt, dateEnd, timeAt, timeEnd, offset, this.bytes, TIME_AT);
    }
    if (isLetter(bytes[zoneAt]!)) this.#notes.note("zoneAbbreviation");
    return 0;
  }
}

const LETTER_N = 0x4e;
const LETTER_P = 0x50;
const LETTER_Q = 0x51;

function textAt(page: Uint8Array, start: number, end: number): string {
  const value = parseBytes(page, start, end);
  return typeof value === "string" ? value : JSON.stringify(value);
}

/** Whether the bytes of a value are those of its text. */
function isUnescaped(kind: number | undefined): boolean {
  return kind === PLAIN_STRING || kind === NEEDS_QUOTES;
}

function isLetter(byte: number): boolean {
  return (byte | 0x20) >= 0x61 && (byte | 0x20) <= 0x7a;
}
