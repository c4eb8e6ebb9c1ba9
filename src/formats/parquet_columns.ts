import { ByteBuffer, releaseBuffer, utf8Encoder } from "../bytes.ts";
import type { ValueType } from "../odata/field_meanings.ts";
import { MAXIMUM_TOP } from "../odata/resources.ts";
import { isListOfStrings } from "../validation.ts";
import { minify } from "./json.ts";
import { hashOf, parseBytes } from "./json_scanner.ts";
import { readDecimal, readNumber } from "./numbers.ts";
import { type Cells, EMPTY, ESCAPED_STRING, NESTED, quoteLength, SCALAR } from "./row_reader.ts";
import type { TidyType } from "./tidy.ts";
import { dayNumber, NO_NUMBER, readTwo } from "./utc_time.ts";

/** Type of the values of a column. `point` is a position in the well-known binary form. */
export type ColumnType = ValueType | TidyType | "point";

/** Reads a number from the text of a value; `isString` tells whether it was a string. Returns `MISFIT` for other values. */
export type ReadNumber = (
  bytes: Uint8Array,
  start: number,
  end: number,
  isString: boolean,
) => number | undefined;

/** A value that does not fit its column. */
const MISFIT = undefined;

/** How to read the values of the types that are stored as numbers. */
export const READ_NUMBER: Readonly<Partial<Record<ColumnType, ReadNumber>>> = {
  number: readNumber,
  integer(...text) {
    const number = readNumber(...text);
    return Number.isSafeInteger(number) ? number : MISFIT;
  },
  boolean: (bytes, start) => bytes[start] === LETTER_T ? 1 : 0,
  date(bytes, start, end) {
    const days = dayNumber(bytes, start, end);
    return days === NO_NUMBER ? MISFIT : days;
  },
  time: readTime,
};

/** What a value must be, for messages. */
export const EXPECTED: Readonly<Partial<Record<ColumnType, string>>> = {
  integer: "an integer",
  number: "a number",
  date: "a date such as 2024-06-01",
  texts: "text or a list of texts",
};

/** Result of `ValueColumn.add()`: the value does not fit. */
export const NO_FIT = -1;

/** Number of rows after which a row group ends. Each group adds about 5 kB to the end of the file. */
export const GROUP_ROWS = 50_000;

/** Maximum number of rows of a row group, because it is whole pages. Their codes are less than 2^16. */
export const MAX_GROUP_ROWS: number = GROUP_ROWS + MAXIMUM_TOP;

/** Values of rows as numbers of distinct texts in UTF-8; 0 is null. Each number above 0 is in use. */
export interface CodedTexts {
  codes: Uint16Array;
  texts: Uint8Array;
  /** End of each text; 0 for null. */
  ends: Int32Array;
}

export type Lists = (readonly string[] | null)[];

/** Values of one column of a row group. */
export interface ValueColumn {
  /**
   * Adds the value of a cell. A value that does not fit becomes null.
   *
   * @returns The number of bytes that the value takes in addition to {@linkcode CODE_BYTES}, or `NO_FIT`
   */
  add(row: number, cells: Cells, cell: number): number;
  truncate(rows: number): void;
  /** Number of bytes in memory. */
  readonly length: number;
  /** Frees its memory. It must not be used again. */
  release(): void;
  /** Returns the values of the first rows. Typed arrays are those of the column, without a copy. */
  values(rows: number): CodedTexts | Lists;
}

/** Creates an empty column. */
export function createColumn(type: ColumnType): ValueColumn {
  return type === "texts" ? new ListColumn() : new CodedColumn(READ_NUMBER[type]);
}

/** Number of bytes that each value takes. */
export const CODE_BYTES = 2;

/** Bytes that a distinct text takes in addition to its length: its end, and its entries in a hash table. */
const TEXT_OVERHEAD = 12;

/** Number of entries of a new hash table, a power of two. */
const MIN_SLOTS = 1 << 9;

/** Maximum number of entries of a hash table to compare with a text, so that adding it takes constant time. */
const MAX_PROBES = 16;

/**
 * Values as the texts that the service sent; numbers are read when the column is written. Each text is stored once,
 * unless it is not found again because too many others have similar hashes. Typed arrays instead of strings keep V8's
 * heap small.
 */
class CodedColumn implements ValueColumn {
  readonly #readNumber: ReadNumber | undefined;
  /** Number of the text of each row; 0 is null. */
  #codes = new Uint16Array(1 << 8);
  readonly #texts = new ByteBuffer(1 << 10);
  /** End of each text in `#texts` by its number. */
  #ends = new Int32Array(1 << 8);
  #count = 0;
  /** Numbers of texts by hash, at most half full. The part up to `#mask` is in use. */
  #slots = new Uint16Array(MIN_SLOTS);
  #mask = MIN_SLOTS - 1;

  constructor(readNumber?: ReadNumber) {
    this.#readNumber = readNumber;
  }

  add(row: number, cells: Cells, cell: number): number {
    if (row >= this.#codes.length) this.#codes = enlarge(this.#codes, new Uint16Array(2 * row));
    const kind = cells.kinds[cell]!;
    if (kind === EMPTY) return this.#addNull(row);
    const { bytes, starts, ends } = cells;
    if (kind !== ESCAPED_STRING && kind !== NESTED) {
      return this.#addText(row, bytes, starts[cell]!, ends[cell]!, kind !== SCALAR);
    }
    if (kind === NESTED && this.#readNumber !== undefined) return this.#addNull(row, NO_FIT);
    const text = utf8Encoder.encode(textOfCell(cells, cell));
    return this.#addText(row, text, 0, text.length, true);
  }

  #addNull(row: number, result = 0): number {
    this.#codes[row] = 0;
    return result;
  }

  /** Returns the number of bytes that the text takes if it is new, or 0; `NO_FIT` if it is not the expected number. */
  #addText(
    row: number,
    bytes: Uint8Array,
    start: number,
    end: number,
    isString: boolean,
  ): number {
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
    const readNumber = this.#readNumber;
    if (readNumber !== undefined && readNumber(bytes, start, end, isString) === MISFIT) {
      return this.#addNull(row, NO_FIT);
    }
    const length = end - start;
    // A loop, because most texts are short, and a subarray is an object.
    const out = this.#texts.reserve(length);
    while (start < end) out[this.#texts.length++] = bytes[start++]!;
    this.#codes[row] = ++this.#count;
    const ends = this.#ends;
    if (this.#count === ends.length) this.#ends = enlarge(ends, new Int32Array(2 * ends.length));
    this.#ends[this.#count] = this.#texts.length;
    if (2 * this.#count > mask) this.#rebuild(2 * (mask + 1));
    else if (code === 0) this.#slots[slot] = this.#count;
    return length + TEXT_OVERHEAD;
  }

  truncate(rows: number): void {
    this.#count = 0;
    for (let row = 0; row < rows; row++) this.#count = Math.max(this.#count, this.#codes[row]!);
    this.#texts.length = this.#ends[this.#count]!;
    let slots = MIN_SLOTS;
    while (2 * this.#count >= slots) slots *= 2;
    this.#rebuild(slots);
  }

  get length(): number {
    return this.#buffers().reduce((sum, { byteLength }) => sum + byteLength, 0);
  }

  release(): void {
    this.#buffers().forEach(releaseBuffer);
  }

  #buffers() {
    return [this.#codes, this.#texts.bytes, this.#ends, this.#slots];
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

function enlarge<T extends Int32Array<ArrayBuffer> | Uint16Array<ArrayBuffer>>(
  array: T,
  larger: T,
): T {
  larger.set(array);
  releaseBuffer(array);
  return larger;
}

/** Lists of texts. Only Metadata has them, and few rows. */
class ListColumn implements ValueColumn {
  /** An estimate. */
  length = 0;
  #lists: Lists = [];

  release(): void {
    this.#lists = [];
  }

  add(row: number, cells: Cells, cell: number): number {
    const value = parseCell(cells, cell) ?? null;
    const list = typeof value === "string" ? [value] : value;
    const isList = isListOfStrings(list);
    this.#lists[row] = isList ? list : null;
    const bytes = isList ? 2 * (cells.ends[cell]! - cells.starts[cell]!) : 0;
    this.length += CODE_BYTES + bytes;
    return list !== null && !isList ? NO_FIT : bytes;
  }

  truncate(rows: number): void {
    this.#lists.length = rows;
  }

  values(rows: number): Lists {
    return this.#lists.slice(0, rows);
  }
}

/** Parses the value of a cell. Returns `undefined` if it is empty. */
function parseCell({ bytes, starts, ends, kinds }: Cells, cell: number): unknown {
  const kind = kinds[cell];
  if (kind === EMPTY) return undefined;
  const quote = quoteLength(kind);
  return parseBytes(bytes, starts[cell]! - quote, ends[cell]! + quote);
}

function textOfCell(cells: Cells, cell: number): string {
  const value = parseCell(cells, cell);
  if (typeof value === "string") return value;
  if (isListOfStrings(value)) return value.join("; ");
  return minify(cells.bytes.subarray(cells.starts[cell], cells.ends[cell]));
}

const LETTER_T = 0x74;

/** Returns the number of milliseconds since 1970-01-01, of a time that `writeUtc()` has written. */
function readTime(bytes: Uint8Array, start: number, end: number): number {
  const days = dayNumber(bytes, start, start + 10);
  const minutes = 60 * readTwo(bytes, start + 11) + readTwo(bytes, start + 14);
  const seconds = readDecimal(bytes, start + 17, end - 1)!;
  return 86_400_000 * days + 60_000 * minutes + Math.round(1_000 * seconds);
}
