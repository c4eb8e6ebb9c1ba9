import { utf8Decoder, utf8Encoder } from "../bytes.ts";
import {
  BACKSLASH,
  CLOSE_OBJECT,
  COMMA,
  OPEN_ARRAY,
  OPEN_OBJECT,
  QUOTE,
  skipColon,
  skipEscapeOrMultibyte,
  skipLiteral,
  skipNumber,
  skipString,
  skipValue,
  skipWhiteSpace,
  SPACE,
  ZERO,
} from "./json_scanner.ts";
import { type RowId, toRowId } from "./page_writer.ts";
import type { PageWindow } from "./buffers.ts";
import { ColumnLookup } from "./column_lookup.ts";
import { MAX_SAFE_DIGITS } from "../validation.ts";

// Kinds of values. The kind says how the value is written as a CSV cell.
/** No value: null, an empty string, or a field that the row does not have. */
export const EMPTY = 0;
/** A number, `true` or `false`. */
export const SCALAR = 1;
/** A string whose bytes are copied to the cell. */
export const PLAIN_STRING = 2;
/** A string with the separator but without escape sequences: the cell needs quotes. */
export const NEEDS_QUOTES = 3;
/** A string with escape sequences. */
export const ESCAPED_STRING = 4;
/** An array or an object. */
export const NESTED = 5;

/** Values of a row by column. The last entry receives the values of fields without a column, and is ignored. */
export interface RowValues {
  /** Offset in the window of the first byte of each value; of a string, the byte after the quote. */
  starts: Int32Array;
  /** Offset after the last byte of each value; of a string, the closing quote. */
  ends: Int32Array;
  /** Kind of each value. The offsets of an `EMPTY` value are undefined. */
  kinds: Uint8Array;
}

/** Maximum number of shapes to learn per page. After that, rows of other shapes are read by name. */
const MAX_SHAPES = 16;

/** `null` as a little-endian integer: one comparison instead of four is 1.1 to 1.5 times as fast. */
const NULL = new DataView(utf8Encoder.encode("null").buffer).getInt32(0, true);

/**
 * Reads the rows of a page from its bytes, without creating objects or strings.
 *
 * The rows of a page nearly always have the same shape. A row is first read by the shape of the rows
 * before it (see `RowShape`). If it differs, its members are read one by one, and each value is assigned
 * to the column of its name. With the shape, a page of records takes 1/3 to 1/7 of the time of reading
 * every row by name.
 *
 * The ratios in this file compare the times of `csvFromPage` with and without each optimisation. They were
 * measured in alternation with Deno 2.9, on the three pages of 10,000 records of `tests/bench/csv_pages.ts`.
 */
export class RowReader {
  /** Fields of the columns, in order. */
  readonly columns: readonly string[];
  /** Values of the last row. */
  values: RowValues;
  /** Whether the last row is known to have no white space between its tokens. */
  isCompact = false;
  #window: PageWindow;
  readonly #byteClasses: Uint8Array;
  readonly #columns: ColumnLookup;
  /**
   * Values of rows of the learned shape. Other rows have separate arrays, so that columns that the shape
   * does not have stay empty without being reset for each row.
   */
  readonly #shapedValues: RowValues;
  readonly #otherValues: RowValues;
  /** Columns with a value in the last row that is not of the shape; the array may be longer. */
  readonly #usedColumns: number[] = [];
  /** Number of these columns. */
  #used = 0;
  #shape: RowShape | undefined;
  /** Column of each value of the shape. */
  #shapeColumns = new Int32Array();
  #learnedShapes = 0;
  #wasShaped = false;
  /** Whether a value of the last row is an array or object, which can contain white space. */
  #hasNested = false;

  /**
   * @param window Bytes of the page
   * @param separator Byte that a CSV cell cannot contain without quotes
   * @param columns Fields of the columns, in order
   * @param addsColumns Whether to add columns for other fields, in order of appearance
   */
  constructor(
    window: PageWindow,
    separator: number,
    columns: readonly string[],
    addsColumns = false,
  ) {
    this.#window = window;
    this.#byteClasses = classifyBytes(separator);
    this.#columns = new ColumnLookup(columns, addsColumns);
    this.columns = this.#columns.fields;
    this.#shapedValues = createRowValues(columns.length);
    this.#otherValues = createRowValues(columns.length);
    this.values = this.#otherValues;
  }

  /**
   * Reads the rows of another page. The learned names and shape are kept.
   *
   * @param window Bytes of the page
   */
  startPage(window: PageWindow): void {
    this.#window = window;
    this.#learnedShapes = 0;
  }

  /** Adds columns for the fields that have none, if the reader adds columns. */
  addColumns(fields: Iterable<string>): void {
    for (const field of fields) this.#columnOf(field);
  }

  /**
   * Reads a row.
   *
   * @param at Offset of its opening brace in the window
   * @returns The offset after its closing brace; -1 if it is incomplete, malformed or nested too deep
   */
  read(at: number): number {
    this.#hasNested = false;
    const end = this.#readByShape(at);
    if (end >= 0) {
      this.#wasShaped = true;
      this.values = this.#shapedValues;
      this.isCompact = this.#shape!.isCompact && !this.#hasNested;
      return end;
    }
    // A single row of another shape does not replace the learned shape; two in succession do.
    if (!this.#wasShaped && this.#learnedShapes < MAX_SHAPES) this.#learnShape(at);
    this.#wasShaped = false;
    this.values = this.#otherValues;
    this.isCompact = false;
    return this.#readByName(at);
  }

  #learnShape(at: number): void {
    const shape = readRowShape(this.#window.bytes, at);
    if (shape === undefined) return;
    this.#learnedShapes++;
    this.#shape = shape;
    this.#shapeColumns = Int32Array.from(shape.names, (name) => this.#columnOf(name));
    this.#shapedValues.kinds.fill(EMPTY);
  }

  /** Returns the column of a field, or the number of columns if it has none. */
  #columnOf(field: string): number {
    const column = this.#columns.columnOf(field);
    if (column >= this.#shapedValues.kinds.length) {
      resizeRowValues(this.#shapedValues, 2 * column);
      resizeRowValues(this.#otherValues, 2 * column);
    }
    return column;
  }

  /** Reads a row of the learned shape; returns -1 for any other row. */
  #readByShape(at: number): number {
    if (this.#shape === undefined) return -1;
    const { lengths, firsts, lasts, words, tail } = this.#shape;
    const columns = this.#shapeColumns;
    const { bytes: page, view } = this.#window;
    let word = 0;
    for (let value = 0; value < lengths.length; value++) {
      const length = lengths[value]!;
      const start = at + length;
      if (length < 8) {
        if (view.getInt32(at, true) !== firsts[value]) return -1;
        if (view.getInt32(start - 4, true) !== lasts[value]) return -1;
      } else {
        for (; at + 8 < start; at += 8) {
          if (view.getFloat64(at, true) !== words[word++]) return -1;
        }
        if (view.getFloat64(start - 8, true) !== words[word++]) return -1;
      }
      at = this.#readValue(page, view, start, columns[value]!, this.#shapedValues);
      if (at < 0) return -1;
    }
    for (let index = 0; index < tail.length; index++) {
      if (page[at++] !== tail[index]) return -1;
    }
    return at;
  }

  #readByName(at: number): number {
    const { bytes: page, view } = this.#window;
    const used = this.#usedColumns;
    // Not `fill()`: there can be as many columns as bytes in the page.
    while (this.#used > 0) this.#otherValues.kinds[used[--this.#used]!] = EMPTY;
    if (page[at] !== OPEN_OBJECT) return -1;
    at = skipWhiteSpace(page, at + 1);
    if (page[at] === CLOSE_OBJECT) return at + 1;
    for (;;) {
      const end = skipString(page, at);
      if (end < 0) return -1;
      const column = this.#columns.knownColumnAt(page, at, end) ??
        this.#columns.learn(page, at, end, this.#columnOf(readName(page, at, end)));
      used[this.#used++] = column;
      at = skipColon(page, end);
      if (at < 0 || (at = this.#readValue(page, view, at, column, this.#otherValues)) < 0) {
        return -1;
      }
      at = skipWhiteSpace(page, at);
      if (page[at] === CLOSE_OBJECT) return at + 1;
      if (page[at] !== COMMA) return -1;
      at = skipWhiteSpace(page, at + 1);
    }
  }

  /** Reads a value into a column. Returns the offset after it, or -1. */
  #readValue(
    page: Uint8Array,
    view: DataView,
    at: number,
    column: number,
    { starts, ends, kinds }: RowValues,
  ): number {
    const byte = page[at]!;
    if (byte === QUOTE) {
      const classes = this.#byteClasses;
      const start = ++at;
      let kind = PLAIN_STRING;
      for (;;) {
        let byteClass: number;
        while ((byteClass = classes[page[at]!]!) === PLAIN_BYTE) at++;
        if (byteClass === SEPARATOR_BYTE) {
          if (kind === PLAIN_STRING) kind = NEEDS_QUOTES;
          at++;
        } else if (byteClass === ESCAPE_OR_MULTIBYTE) {
          if (page[at] === BACKSLASH) kind = ESCAPED_STRING;
          if ((at = skipEscapeOrMultibyte(page, at)) < 0) return -1;
        } else break;
      }
      if (page[at] !== QUOTE) return -1;
      starts[column] = start;
      ends[column] = at;
      kinds[column] = start === at ? EMPTY : kind;
      return at + 1;
    }
    if (view.getInt32(at, true) === NULL) {
      kinds[column] = EMPTY;
      return at + 4;
    }
    const isNested = byte === OPEN_OBJECT || byte === OPEN_ARRAY;
    if (isNested) this.#hasNested = true;
    // The first byte of a number is below 0x40; that of `true` and `false` is not.
    const end = isNested
      ? skipValue(page, at)
      : byte < 0x40
      ? skipNumber(page, at)
      : skipLiteral(page, at);
    starts[column] = at;
    ends[column] = end;
    kinds[column] = isNested ? NESTED : SCALAR;
    return end;
  }
}

function resizeRowValues(values: RowValues, columns: number): void {
  const { starts, ends, kinds } = values;
  Object.assign(values, createRowValues(columns));
  values.starts.set(starts);
  values.ends.set(ends);
  values.kinds.set(kinds);
}

function createRowValues(columns: number): RowValues {
  return {
    starts: new Int32Array(columns + 1),
    ends: new Int32Array(columns + 1),
    kinds: new Uint8Array(columns + 1),
  };
}

// Classes of bytes inside a string.
const PLAIN_BYTE = 0;
const SEPARATOR_BYTE = 1;
const ESCAPE_OR_MULTIBYTE = 2;
/** The closing quote, or a byte that JSON does not allow in a string. */
const END_BYTE = 3;

/**
 * Returns the class of each byte. One look-up per byte of a string is 1.2 to 1.4 times as fast as five comparisons.
 */
function classifyBytes(separator: number): Uint8Array {
  return Uint8Array.from({ length: 256 }, (_, byte) => {
    if (byte < 0x20 || byte === QUOTE) return END_BYTE;
    if (byte === BACKSLASH || byte > 0x7f) return ESCAPE_OR_MULTIBYTE;
    return byte === separator ? SEPARATOR_BYTE : PLAIN_BYTE;
  });
}

/**
 * The bytes of a row between its values: braces, commas, names, colons and white space.
 *
 * A serializer writes the same bytes between the values of every row, so a row has the shape if these
 * bytes are equal. They are compared eight at a time, as doubles, which is 1.2 to 1.6 times as fast as
 * one at a time. Doubles are equal if and only if their bytes are, with two exceptions. 0 equals -0, but
 * JSON has no zero bytes outside strings. NaN equals nothing, so such a row is read by name.
 */
interface RowShape {
  /** Names of the values, in order. */
  names: string[];
  /** Number of bytes before each value. */
  lengths: Int32Array;
  /** First four bytes before each value. There are at least four: brace or comma, two quotes, colon. */
  firsts: Int32Array;
  /** Last four bytes before each value. If there are fewer than eight, the first and last four cover all. */
  lasts: Int32Array;
  /** Bytes before each value, as doubles, if there are at least eight. The last double may overlap the one before. */
  words: Float64Array;
  /** The bytes after the last value. */
  tail: Uint8Array;
  /** Whether there is no white space between the tokens. */
  isCompact: boolean;
}

/** Returns the shape of a row; `undefined` if the row is empty, malformed or repeats a name. */
function readRowShape(page: Uint8Array, at: number): RowShape | undefined {
  const names: string[] = [];
  const pieces: Uint8Array[] = [];
  let start = at;
  if (page[at] !== OPEN_OBJECT) return undefined;
  do {
    const name = skipWhiteSpace(page, at + 1);
    const nameEnd = skipString(page, name);
    if (nameEnd < 0) return undefined;
    names.push(readName(page, name, nameEnd));
    const value = skipColon(page, nameEnd);
    if (value < 0) return undefined;
    pieces.push(page.slice(start, value));
    start = skipValue(page, value);
    if (start < 0) return undefined;
    at = skipWhiteSpace(page, start);
  } while (page[at] === COMMA);
  if (page[at] !== CLOSE_OBJECT || new Set(names).size < names.length) return undefined;
  const views = pieces.map(({ buffer }) => new DataView(buffer));
  const tail = page.slice(start, at + 1);
  // Space within a name also counts: such rows are copied token by token.
  const isCompact = [...pieces, tail].every((piece) => piece.every((byte) => byte > SPACE));
  return {
    names,
    lengths: Int32Array.from(pieces, ({ length }) => length),
    firsts: Int32Array.from(views, (view) => view.getInt32(0, true)),
    lasts: Int32Array.from(views, (view) => view.getInt32(view.byteLength - 4, true)),
    words: Float64Array.from(views.flatMap(wordsOf)),
    tail,
    isCompact,
  };
}

function wordsOf(piece: DataView): number[] {
  const last = piece.byteLength - 8;
  const words: number[] = [];
  for (let at = 0; last >= 0 && at < piece.byteLength; at += 8) {
    words.push(piece.getFloat64(Math.min(at, last), true));
  }
  return words;
}

/** Parses a name; its offsets include the quotes. */
function readName(page: Uint8Array, start: number, end: number): string {
  return JSON.parse(utf8Decoder.decode(page.subarray(start, end)));
}

/**
 * Reads a value as the Id of a row, like `toRowId`. Reading integers without `JSON.parse` is 1.1 to 1.2
 * times as fast.
 */
export function readRowId(
  page: Uint8Array,
  { starts, ends, kinds }: RowValues,
  column: number,
): RowId | undefined {
  const kind = kinds[column];
  if (kind === EMPTY || kind === NESTED) return undefined;
  const start = starts[column]!;
  const end = ends[column]!;
  let id = 0;
  let at = start;
  for (; at < end && at - start < MAX_SAFE_DIGITS; at++) {
    const digit = page[at]! - ZERO;
    if (digit < 0 || digit > 9) break;
    id = 10 * id + digit;
  }
  if (at === end) return id;
  const quote = kind === SCALAR ? 0 : 1;
  return toRowId(JSON.parse(utf8Decoder.decode(page.subarray(start - quote, end + quote))));
}
