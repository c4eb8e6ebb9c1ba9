import { utf8Decoder, utf8Encoder } from "../bytes.ts";
import type { FieldType } from "../odata/fields.ts";
import { isListOfStrings } from "../validation.ts";
import { minify } from "./json.ts";
import { hashOf, JSON_NUMBER, MINUS, parseBytes, POINT, ZERO } from "./json_scanner.ts";
import { ByteBuffer, releaseBuffer } from "./page_writer.ts";
import type { CodedTexts, ColumnValues } from "./parquet_chunks.ts";
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

/** Maximum number of rows of a row group. Each group adds about 5 kB to the end of the file. */
export const GROUP_ROWS = 50_000;

/**
 * Values of one column of a row group. It has memory for all rows of a group from the start, of which the system commits
 * only what is written: enlarged arrays would leave their old memory behind.
 */
export interface ValueColumn {
  /** Number of bytes that each row takes. */
  readonly width: number;
  /**
   * Adds the value of a cell. A value that does not fit becomes null.
   *
   * @returns The number of bytes that the value takes in addition to `width`; −1 if it does not fit
   */
  add(row: number, cells: Cells, cell: number): number;
  truncate(rows: number): void;
  copy(rows: number): ValueColumn;
  /** Returns the values of the first rows. Typed arrays are those of the column, without a copy. */
  values(rows: number): ColumnValues;
}

/** Creates an empty column; `point` has the cells of a column of points. */
export function createColumn(type: ColumnType, point?: PointCells): ValueColumn {
  if (type === "point") return new PointColumn(point!);
  if (type === "texts") return new ListColumn();
  return type === "text" ? new TextColumn() : new NumberColumn(type);
}

type NumberType = Exclude<ColumnType, "text" | "texts" | "point">;

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
  /** `NaN` is null; of true or false, 1 is true. */
  readonly #numbers = new Float64Array(GROUP_ROWS);

  constructor(type: NumberType) {
    this.#type = type;
  }

  add(row: number, cells: Cells, cell: number): number {
    const number = cells.kinds[cell] === EMPTY ? NaN : READ_NUMBER[this.#type](cells, cell);
    // Not -0, which a dictionary cannot tell from 0.
    this.#numbers[row] = (number ?? NaN) + 0;
    return number === MISFIT ? -1 : 0;
  }

  truncate(): void {}

  copy(rows: number): ValueColumn {
    const copy = new NumberColumn(this.#type);
    copy.#numbers.set(this.values(rows));
    return copy;
  }

  values(rows: number): Float64Array {
    return this.#numbers.subarray(0, rows);
  }
}

/** Bytes that a distinct text takes in addition to its length: its end, and its entries in a hash table. */
const TEXT_OVERHEAD = 12;

/** Number of entries of a new hash table, a power of two. */
const MIN_SLOTS = 1 << 9;

/** Maximum number of entries of a hash table to compare with a text, so that adding it takes constant time. */
const MAX_PROBES = 16;

/**
 * Texts in UTF-8. Each is stored once, unless it is not found again because too many others have similar hashes. Typed
 * arrays instead of strings keep V8's heap small.
 */
class TextColumn implements ValueColumn {
  readonly width = 2;
  /** Number of the text of each row; 0 is null. */
  readonly #codes = new Uint16Array(GROUP_ROWS);
  readonly #texts = new ByteBuffer(1 << 10);
  /** End of each text in `#texts` by its number. */
  #ends = new Int32Array(1 << 8);
  #count = 0;
  /** Numbers of texts by hash, at most half full. The part up to `#mask` is in use. */
  #slots = new Uint16Array(MIN_SLOTS);
  #mask = MIN_SLOTS - 1;

  add(row: number, cells: Cells, cell: number): number {
    const kind = cells.kinds[cell]!;
    if (kind === EMPTY) return this.addNull(row);
    const { bytes, starts, ends } = cells;
    const start = starts[cell]!;
    const end = ends[cell]!;
    if (kind !== ESCAPED_STRING && kind !== NESTED) return this.addText(row, bytes, start, end);
    const text = utf8Encoder.encode(textOfCell(bytes, kind, start, end));
    return this.addText(row, text, 0, text.length);
  }

  protected addNull(row: number): number {
    return this.#codes[row] = 0;
  }

  /** Returns the number of bytes that the text takes if it is new, or 0. */
  protected addText(row: number, bytes: Uint8Array, start: number, end: number): number {
    // Rows are in the order of datasets and locations, so most values repeat the one before.
    let code = row > 0 ? this.#codes[row - 1]! : 0;
    if (this.#isEqual(code, bytes, start, end)) {
      this.#codes[row] = code;
      return 0;
    }
    const mask = this.#mask;
    let slot = firstSlot(bytes, start, end, mask);
    for (let probe = 0; (code = this.#slots[slot]!) > 0; slot = slot + 1 & mask) {
      if (this.#isEqual(code, bytes, start, end)) {
        this.#codes[row] = code;
        return 0;
      }
      if (++probe === MAX_PROBES) break;
    }
    this.#texts.append(bytes.subarray(start, end));
    this.#codes[row] = ++this.#count;
    if (this.#count === this.#ends.length) this.#ends = enlarge(this.#ends);
    this.#ends[this.#count] = this.#texts.length;
    if (2 * this.#count > mask) this.#rebuild(2 * (mask + 1));
    else if (code === 0) this.#slots[slot] = this.#count;
    return end - start + TEXT_OVERHEAD;
  }

  truncate(rows: number): void {
    this.#count = 0;
    for (let row = 0; row < rows; row++) this.#count = Math.max(this.#count, this.#codes[row]!);
    this.#texts.length = this.#ends[this.#count]!;
    let slots = MIN_SLOTS;
    while (2 * this.#count >= slots) slots *= 2;
    this.#rebuild(slots);
  }

  copy(rows: number): ValueColumn {
    const copy = this.createEmpty();
    const { codes, texts, ends } = this.values(rows);
    copy.#codes.set(codes);
    copy.#texts.append(texts);
    copy.#ends = ends.slice();
    copy.truncate(rows);
    return copy;
  }

  protected createEmpty(): TextColumn {
    return new TextColumn();
  }

  values(rows: number): CodedTexts {
    return {
      codes: this.#codes.subarray(0, rows),
      texts: this.#texts.bytes.subarray(0, this.#texts.length),
      ends: this.#ends.subarray(0, this.#count + 1),
    };
  }

  #rebuild(length: number): void {
    if (length > this.#slots.length) {
      releaseBuffer(this.#slots);
      this.#slots = new Uint16Array(length);
    } else this.#slots.fill(0, 0, length);
    const mask = this.#mask = length - 1;
    for (let code = 1; code <= this.#count; code++) {
      let slot = firstSlot(this.#texts.bytes, this.#ends[code - 1]!, this.#ends[code]!, mask);
      for (let probe = 0; probe < MAX_PROBES; probe++, slot = slot + 1 & mask) {
        if (this.#slots[slot] !== 0) continue;
        this.#slots[slot] = code;
        break;
      }
    }
  }

  #isEqual(code: number, bytes: Uint8Array, start: number, end: number): boolean {
    if (code === 0) return false;
    let at = this.#ends[code - 1]!;
    if (this.#ends[code]! - at !== end - start) return false;
    const texts = this.#texts.bytes;
    while (start < end) if (texts[at++] !== bytes[start++]) return false;
    return true;
  }
}

function firstSlot(bytes: Uint8Array, start: number, end: number, mask: number): number {
  const hash = Math.imul(hashOf(bytes, start, end), 0x9e3779b1);
  return (hash ^ hash >>> 15) & mask;
}

function enlarge(array: Int32Array<ArrayBuffer>): Int32Array<ArrayBuffer> {
  const larger = new Int32Array(2 * array.length);
  larger.set(array);
  releaseBuffer(array);
  return larger;
}

/** Lists of texts. Only Metadata has them, and few rows. */
class ListColumn implements ValueColumn {
  readonly width = 8;
  #lists: (readonly string[] | null)[] = [];

  add(row: number, { bytes, starts, ends, kinds }: Cells, cell: number): number {
    const kind = kinds[cell]!;
    const list = kind === EMPTY ? null : textsOfCell(bytes, kind, starts[cell]!, ends[cell]!);
    this.#lists[row] = list ?? null;
    return list === MISFIT ? -1 : 2 * (ends[cell]! - starts[cell]!);
  }

  truncate(rows: number): void {
    this.#lists.length = rows;
  }

  copy(rows: number): ValueColumn {
    const copy = new ListColumn();
    copy.#lists = this.values(rows);
    return copy;
  }

  values(rows: number): (readonly string[] | null)[] {
    return this.#lists.slice(0, rows);
  }
}

function textOfCell(bytes: Uint8Array, kind: number, start: number, end: number): string {
  if (kind !== NESTED) return parseBytes(bytes, start - 1, end + 1) as string;
  const value = parseBytes(bytes, start, end);
  return isListOfStrings(value) ? value.join("; ") : minify(bytes.subarray(start, end));
}

function textsOfCell(
  bytes: Uint8Array,
  kind: number,
  start: number,
  end: number,
): readonly string[] | undefined {
  if (kind === SCALAR) return MISFIT;
  if (kind !== NESTED) return [parseBytes(bytes, start - 1, end + 1) as string];
  const value = parseBytes(bytes, start, end);
  return isListOfStrings(value) ? value : MISFIT;
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
class PointColumn extends TextColumn {
  readonly #cells: PointCells;
  readonly #point = Uint8Array.from({ length: 21 }, (_, index) => POINT_HEAD[index] ?? 0);
  readonly #view = new DataView(this.#point.buffer);

  constructor(cells: PointCells) {
    super();
    this.#cells = cells;
  }

  override add(row: number, cells: Cells, _cell: number): number {
    const [longitudeCell, latitudeCell, systemCell] = this.#cells;
    const { kinds, starts, ends, bytes } = cells;
    const kind = kinds[systemCell]!;
    const hasSystem = this.#cells.every((cell) => kinds[cell] !== EMPTY) &&
      kind !== SCALAR && kind !== NESTED &&
      textOfCell(bytes, kind, starts[systemCell]!, ends[systemCell]!) === WGS84;
    const longitude = hasSystem ? readNumber(cells, longitudeCell) : MISFIT;
    const latitude = hasSystem ? readNumber(cells, latitudeCell) : MISFIT;
    if (longitude === MISFIT || latitude === MISFIT) {
      this.addNull(row);
      return WITHOUT_GEOMETRY;
    }
    this.#view.setFloat64(5, longitude, true);
    this.#view.setFloat64(13, latitude, true);
    return this.addText(row, this.#point, 0, this.#point.length);
  }

  protected override createEmpty(): TextColumn {
    return new PointColumn(this.#cells);
  }
}
