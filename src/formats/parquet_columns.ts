import { utf8Decoder } from "../bytes.ts";
import type { FieldType } from "../odata/fields.ts";
import { isListOfStrings } from "../validation.ts";
import { minify } from "./json.ts";
import { hashOf, JSON_NUMBER, MINUS, parseBytes, POINT, ZERO } from "./json_scanner.ts";
import { ByteBuffer, releaseBuffer } from "./page_writer.ts";
import type { Codes, ColumnValues } from "./parquet_chunks.ts";
import { type Cells, EMPTY, ESCAPED_STRING, NESTED, SCALAR } from "./row_reader.ts";
import { dayNumber, NO_NUMBER, readTwo } from "./utc_time.ts";

/** Type of the values of a column. `time` is an instant in UTC. */
export type ColumnType =
  | "integer"
  | "number"
  | "text"
  | "texts"
  | "date"
  | "time"
  | "boolean"
  | "point";

/** What a value of a type must be, for messages. */
export const EXPECTED: Readonly<Record<ColumnType, string>> = {
  integer: "an integer",
  number: "a number",
  text: "text",
  texts: "text or a list of texts",
  date: "a date such as 2024-06-01",
  time: "a time such as 2024-06-01T17:30:00Z",
  boolean: "true or false",
  point: "a position",
};

/** Type of the column of a field, unless it is a date. */
export function columnType(type: FieldType): ColumnType {
  if (type === "integer") return "integer";
  if (type === "number" || type === "number?") return "number";
  return type === "texts" || type === "dates?" ? "texts" : "text";
}

/** A value that does not fit its column. `NaN` is no value. */
const MISFIT = undefined;

/** Result of `ValueColumn.add()` for a row without a geometry. */
export const WITHOUT_GEOMETRY = -2;

/** Indices of the cells from which a point is made: longitude, latitude, reference system. */
export type PointCells = readonly [longitude: number, latitude: number, system: number];

/** Number of rows for which a column reserves memory first. */
const INITIAL_ROWS = 1_024;

/** Values of one column of a row group. */
export interface ValueColumn {
  /** Number of bytes that each row takes. */
  readonly width: number;
  /**
   * Adds the value of a cell. A value that does not fit becomes null.
   *
   * @returns The number of bytes that the value takes in addition to `width`; −1 if it does not fit
   */
  add(row: number, cells: Cells, cell: number): number;
  /** Removes the rows from `rows` on. */
  truncate(rows: number): void;
  /** Copies the first rows. */
  copy(rows: number): ValueColumn;
  /** Returns the values of the first rows. Typed arrays are those of the column, without a copy. */
  values(rows: number): ColumnValues;
}

/**
 * Creates an empty column.
 *
 * @param point Cells of a column of points
 * @param rows Number of rows to reserve memory for
 */
export function createColumn(
  type: ColumnType,
  point?: PointCells,
  rows = INITIAL_ROWS,
): ValueColumn {
  if (type === "point") return new PointColumn(point!);
  return type === "text" || type === "texts"
    ? new TextColumn(type === "texts", rows)
    : new NumberColumn(type, new Float64Array(rows));
}

type NumberType = Exclude<ColumnType, "text" | "texts" | "point">;

/** Reads a cell that is not empty. */
type ReadNumber = (cells: Cells, cell: number) => number | undefined;

const READ_NUMBER: Readonly<Record<NumberType, ReadNumber>> = {
  number: readNumber,
  integer(cells, cell) {
    const number = readNumber(cells, cell);
    return Number.isSafeInteger(number) ? number : MISFIT;
  },
  date: readDate,
  time: instantOf,
  boolean({ bytes, starts, kinds }, cell) {
    const letter = bytes[starts[cell]!];
    return kinds[cell] !== SCALAR ? MISFIT : letter === 0x74 ? 1 : letter === 0x66 ? 0 : MISFIT;
  },
};

class NumberColumn implements ValueColumn {
  readonly width = 8;
  readonly #type: NumberType;
  /** `NaN` is null. */
  #numbers: Float64Array;

  constructor(type: NumberType, numbers: Float64Array) {
    this.#type = type;
    this.#numbers = numbers;
  }

  add(row: number, cells: Cells, cell: number): number {
    if (row >= this.#numbers.length) this.#numbers = enlarge(this.#numbers);
    const number = cells.kinds[cell] === EMPTY ? NaN : READ_NUMBER[this.#type](cells, cell);
    // Not -0, which a dictionary cannot tell from 0.
    this.#numbers[row] = (number ?? NaN) + 0;
    return number === MISFIT ? -1 : 0;
  }

  truncate(): void {}

  copy(rows: number): ValueColumn {
    return new NumberColumn(this.#type, this.#numbers.slice(0, Math.max(rows, INITIAL_ROWS)));
  }

  values(rows: number): ColumnValues {
    const numbers = this.#numbers.subarray(0, rows);
    if (this.#type !== "boolean") return numbers;
    return Array.from(numbers, (number) => Number.isNaN(number) ? null : number === 1);
  }
}

/** Bytes that a distinct text takes in addition to twice its length: its entries in a map and two lists. */
const TEXT_OVERHEAD = 64;

/**
 * Texts, each stored once. A row has the number of its text; 0 is null.
 *
 * Of several texts with the same hash, only the first is found again. The others are stored each time, so that adding
 * a value takes constant time.
 */
class TextColumn implements ValueColumn {
  readonly width = 4;
  readonly #isList: boolean;
  /** With two bytes each after the first 255 texts; a row group has fewer rows than they can count. */
  #codes: Codes;
  /** JSON of the texts, one after the other, and the end of each. */
  readonly #json = new ByteBuffer(INITIAL_ROWS);
  readonly #ends: number[] = [0];
  readonly #values: (string | readonly string[] | null)[] = [null];
  /** Code by hash. */
  readonly #byHash = new Map<number, number>();
  #last = 0;

  constructor(isList: boolean, rows = INITIAL_ROWS) {
    this.#isList = isList;
    this.#codes = new Uint8Array(rows);
  }

  add(row: number, cells: Cells, cell: number): number {
    if (row >= this.#codes.length) this.#codes = enlarge(this.#codes);
    const kind = cells.kinds[cell]!;
    if (kind === EMPTY) {
      this.#codes[row] = 0;
      return 0;
    }
    const quote = kind === SCALAR || kind === NESTED ? 0 : 1;
    const start = cells.starts[cell]! - quote;
    const end = cells.ends[cell]! + quote;
    const { bytes } = cells;
    // Rows are in the order of datasets and locations, so most values repeat the one before.
    if (this.#isEqual(this.#last, bytes, start, end)) {
      this.#codes[row] = this.#last;
      return 0;
    }
    const hash = hashOf(bytes, start, end);
    const found = this.#byHash.get(hash);
    if (found !== undefined && this.#isEqual(found, bytes, start, end)) {
      this.#codes[row] = this.#last = found;
      return 0;
    }
    const value = this.#isList
      ? textsOfCell(bytes, kind, start, end)
      : textOfCell(bytes, kind, start, end);
    if (value === MISFIT) {
      this.#codes[row] = 0;
      return -1;
    }
    this.#last = this.#values.length;
    if (this.#last > 0xff && this.#codes instanceof Uint8Array) {
      const narrow = this.#codes;
      this.#codes = new Uint16Array(narrow);
      releaseBuffer(narrow as { buffer: ArrayBuffer });
    }
    this.#codes[row] = this.#last;
    if (found === undefined) this.#byHash.set(hash, this.#last);
    this.#values.push(value);
    this.#json.append(bytes.subarray(start, end));
    this.#ends.push(this.#json.length);
    return 2 * (end - start) + TEXT_OVERHEAD;
  }

  truncate(rows: number): void {
    let count = 1;
    for (let row = 0; row < rows; row++) count = Math.max(count, this.#codes[row]! + 1);
    this.#last = rows > 0 ? this.#codes[rows - 1]! : 0;
    for (const [hash, code] of this.#byHash) if (code >= count) this.#byHash.delete(hash);
    this.#values.length = this.#ends.length = count;
    this.#json.length = this.#ends[count - 1]!;
  }

  copy(rows: number): ValueColumn {
    const copy = new TextColumn(this.#isList);
    copy.#codes = this.#codes.slice(0, Math.max(rows, INITIAL_ROWS));
    for (let code = 1; code < this.#values.length; code++) copy.#values.push(this.#values[code]!);
    copy.#ends.length = 0;
    for (const end of this.#ends) copy.#ends.push(end);
    copy.#json.append(this.#json.bytes.subarray(0, this.#json.length));
    for (const [hash, code] of this.#byHash) copy.#byHash.set(hash, code);
    copy.truncate(rows);
    return copy;
  }

  values(rows: number): ColumnValues {
    const codes = this.#codes.subarray(0, rows);
    if (this.#isList) return Array.from(codes, (code) => this.#values[code]);
    return { codes, texts: this.#values as (string | null)[] };
  }

  #isEqual(code: number, bytes: Uint8Array, start: number, end: number): boolean {
    if (code === 0) return false;
    let at = this.#ends[code - 1]!;
    if (this.#ends[code]! - at !== end - start) return false;
    const json = this.#json.bytes;
    while (start < end) if (json[at++] !== bytes[start++]) return false;
    return true;
  }
}

function enlarge<T extends Float64Array | Codes>(array: T): T {
  const larger = new (array.constructor as new (length: number) => T)(2 * array.length);
  larger.set(array);
  releaseBuffer(array as { buffer: ArrayBuffer });
  return larger;
}

/** Returns the text of a CSV cell. */
function textOfCell(bytes: Uint8Array, kind: number, start: number, end: number): string {
  if (kind === SCALAR) return utf8Decoder.decode(bytes.subarray(start, end));
  if (kind === ESCAPED_STRING) return parseBytes(bytes, start, end) as string;
  if (kind !== NESTED) return decodePlain(bytes, start + 1, end - 1);
  const value = parseBytes(bytes, start, end);
  return isListOfStrings(value) ? value.join("; ") : minify(bytes.subarray(start, end));
}

/** A byte order mark at the start of a text is part of it, but a decoder would remove it. */
const FIRST_OF_BOM = 0xef;

function decodePlain(bytes: Uint8Array, start: number, end: number): string {
  if (bytes[start] === FIRST_OF_BOM) return parseBytes(bytes, start - 1, end + 1) as string;
  return utf8Decoder.decode(bytes.subarray(start, end));
}

function textsOfCell(
  bytes: Uint8Array,
  kind: number,
  start: number,
  end: number,
): readonly string[] | undefined {
  if (kind === SCALAR) return MISFIT;
  const value = parseBytes(bytes, start, end);
  return typeof value === "string" ? [value] : isListOfStrings(value) ? value : MISFIT;
}

/** Powers of ten that a double represents exactly. */
const POWERS = /* @__PURE__ */ Array.from({ length: 16 }, (_, exponent) => 10 ** exponent);

/** Reads a number, or a text that is one. */
function readNumber({ bytes, starts, ends, kinds }: Cells, cell: number): number | undefined {
  const kind = kinds[cell];
  const start = starts[cell]!;
  const end = ends[cell]!;
  if (kind === SCALAR) {
    // `true` and `false` begin with letters.
    if (bytes[start]! >= 0x40) return MISFIT;
    return readDecimal(bytes, start, end) ?? finite(Number(asciiText(bytes, start, end)));
  }
  if (kind === NESTED) return MISFIT;
  const text = parseBytes(bytes, start - 1, end + 1) as string;
  return JSON_NUMBER.test(text) ? finite(Number(text)) : MISFIT;
}

function finite(number: number): number | undefined {
  return Number.isFinite(number) ? number : MISFIT;
}

/**
 * Reads a number of at most 15 digits without an exponent, as `Number()` does: both the digits as an integer and the
 * power of ten are exact, and a quotient of exact numbers is rounded once.
 *
 * @returns `undefined` for other numbers
 */
function readDecimal(bytes: Uint8Array, start: number, end: number): number | undefined {
  const isNegative = bytes[start] === MINUS;
  let at = isNegative ? start + 1 : start;
  if (end - at > POWERS.length) return undefined;
  let digits = 0;
  let fraction = 0;
  for (; at < end; at++) {
    const digit = bytes[at]! - ZERO;
    if (digit >= 0 && digit <= 9) digits = 10 * digits + digit;
    else if (bytes[at] === POINT) fraction = end - at - 1;
    else return undefined;
  }
  if (digits > Number.MAX_SAFE_INTEGER) return undefined;
  const number = fraction > 0 ? digits / POWERS[fraction]! : digits;
  return isNegative ? -number : number;
}

function asciiText(bytes: Uint8Array, start: number, end: number): string {
  return utf8Decoder.decode(bytes.subarray(start, end));
}

/** Returns the number of days since 1970-01-01. */
function readDate(cells: Cells, cell: number): number | undefined {
  const days = dayNumber(...textBytes(cells, cell));
  return days === NO_NUMBER ? MISFIT : days;
}

/** Returns the number of milliseconds since 1970-01-01, of a cell that `writeUtc()` has written. */
function instantOf(cells: Cells, cell: number): number | undefined {
  const [bytes, start, end] = textBytes(cells, cell);
  const days = dayNumber(bytes, start, start + 10);
  const seconds = Number(asciiText(bytes, start + 17, end - 1));
  const minutes = 60 * readTwo(bytes, start + 11) + readTwo(bytes, start + 14);
  return days === NO_NUMBER
    ? MISFIT
    : 86_400_000 * days + 60_000 * minutes + Math.round(1_000 * seconds);
}

/** Returns the bytes of a text without its quotes; none if the value is not text. */
function textBytes(
  { bytes, starts, ends, kinds }: Cells,
  cell: number,
): [bytes: Uint8Array, start: number, end: number] {
  const kind = kinds[cell];
  if (kind === SCALAR || kind === NESTED) return [bytes, 0, 0];
  if (kind !== ESCAPED_STRING) return [bytes, starts[cell]!, ends[cell]!];
  const text = parseBytes(bytes, starts[cell]! - 1, ends[cell]! + 1) as string;
  const ascii = Uint8Array.from(text, (char) => char < "\x80" ? char.charCodeAt(0) : 0);
  return [ascii, 0, ascii.length];
}

/** Little-endian, type point (OGC Simple Features, 8.2). */
const POINT_HEAD = [1, 1, 0, 0, 0];

/** Reference system of OGC:CRS84, in which GeoParquet has its coordinates. */
const WGS84 = "WGS84";

/** Points in the well-known binary form. A row of another reference system has none. */
class PointColumn implements ValueColumn {
  readonly width = 16;
  /** Cells of the longitude, the latitude and the reference system. */
  readonly #cells: PointCells;
  #positions: Float64Array;

  constructor(cells: PointCells, positions = new Float64Array(2 * INITIAL_ROWS)) {
    this.#cells = cells;
    this.#positions = positions;
  }

  add(row: number, cells: Cells): number {
    if (2 * row >= this.#positions.length) this.#positions = enlarge(this.#positions);
    const [longitudeCell, latitudeCell, systemCell] = this.#cells;
    const { kinds, starts, ends, bytes } = cells;
    const kind = kinds[systemCell]!;
    const hasSystem = this.#cells.every((cell) => kinds[cell] !== EMPTY) &&
      kind !== SCALAR && kind !== NESTED &&
      textOfCell(bytes, kind, starts[systemCell]! - 1, ends[systemCell]! + 1) === WGS84;
    const longitude = hasSystem ? readNumber(cells, longitudeCell) : MISFIT;
    const latitude = hasSystem ? readNumber(cells, latitudeCell) : MISFIT;
    const hasBoth = longitude !== MISFIT && latitude !== MISFIT;
    this.#positions[2 * row] = hasBoth ? longitude! : NaN;
    this.#positions[2 * row + 1] = hasBoth ? latitude! : NaN;
    return hasBoth ? 0 : WITHOUT_GEOMETRY;
  }

  truncate(): void {}

  copy(rows: number): ValueColumn {
    const positions = this.#positions.slice(0, 2 * Math.max(rows, INITIAL_ROWS));
    return new PointColumn(this.#cells, positions);
  }

  values(rows: number): unknown[] {
    return Array.from({ length: rows }, (_, row) => {
      const [longitude, latitude] = this.#positions.subarray(2 * row, 2 * row + 2);
      if (Number.isNaN(longitude!)) return null;
      const point = new Uint8Array(21);
      point.set(POINT_HEAD);
      const view = new DataView(point.buffer);
      view.setFloat64(5, longitude!, true);
      view.setFloat64(13, latitude!, true);
      return point;
    });
  }
}
