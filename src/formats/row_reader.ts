// Reads rows from the bytes of a page: where each value begins and ends. Methods that read return an offset as the
// functions of `json_scanner.ts` do.
import { utf8Decoder, utf8Encoder } from "../bytes.ts";
import { MAX_SAFE_DIGITS, parseWholeNumber } from "../validation.ts";
import {
  BACKSLASH,
  BytesCache,
  CLOSE_OBJECT,
  COMMA,
  OPEN_ARRAY,
  OPEN_OBJECT,
  PageFault,
  parseBytes,
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

/** An integer, or a string such as the UUIDs of Metadata. */
export type RowId = number | string;

export const ID_FIELD = "Id";

/** Safe integers, and strings of their digits, become numbers; other strings are kept. */
export function toRowId(value: unknown): RowId | undefined {
  if (typeof value === "number") return Number.isSafeInteger(value) ? value : undefined;
  if (typeof value !== "string" || value === "") return undefined;
  return parseWholeNumber(value) ?? value;
}

// Kinds of values, which say how a CSV cell is written.
/** Null, an empty string, or a field that the row does not have. */
export const EMPTY = 0;
export const SCALAR = 1;
export const PLAIN_STRING = 2;
/** A string with a special character of the format but without escape sequences. */
export const NEEDS_QUOTES = 3;
export const ESCAPED_STRING = 4;
export const NESTED = 5;

/** Returns the number of bytes of the quote on each side of a value, which its offsets do not include. */
export function quoteLength(kind: number | undefined): 0 | 1 {
  return kind === SCALAR || kind === NESTED ? 0 : 1;
}

/** Maximum number of columns, unless more were selected. A page of n fields and n empty rows becomes n² bytes of CSV. */
const MAX_COLUMNS = 1_000;

/** Maximum number of shapes to learn from a page; rows of other shapes are read by name. */
const MAX_SHAPES = 16;

const MISMATCH = -1;

/** `null` as a little-endian integer: one comparison is 1.1 to 1.5 times as fast as four. */
const NULL = new DataView(utf8Encoder.encode("null").buffer).getInt32(0, true);

/** Followed by zeros (see `json_scanner.ts`). */
export interface PageBytes {
  readonly bytes: Uint8Array;
  readonly view: DataView;
}

export interface Cells extends PageBytes {
  /** First byte of each value; of a string, the byte after the quote. */
  readonly starts: Int32Array;
  /** After the last byte of each value; of a string, the closing quote. */
  readonly ends: Int32Array;
  /** The offsets of an `EMPTY` value are undefined. */
  readonly kinds: Uint8Array;
}

/**
 * Reads rows without creating objects or strings. Rows nearly always have the same shape (see
 * `RowShape`), so a row is first read by the shape of the one before: 1/3 to 1/7 of the time of
 * reading by name. Other rows are read by name.
 *
 * The ratios in this file are times of `csvFromPage` with and without each optimisation, in Deno
 * 2.9, on the pages of `tests/bench/csv_pages.ts`.
 */
export class RowReader implements Cells {
  readonly columns: string[] = [];
  idColumn = -1;
  // Values of the last row by column. The last entry receives the values of fields without a column.
  readonly starts: Int32Array;
  readonly ends: Int32Array;
  readonly kinds: Uint8Array;
  /** Offset of the comma or opening brace before the Id's member, with the white space before it. */
  idMemberStart = 0;
  idMemberEnd = 0;
  /** Whether the last row is known to have no white space between its tokens. */
  isCompact = false;
  readonly #window: PageBytes;
  readonly #byteClasses: Uint8Array;
  readonly #addsColumns: boolean;
  /** Columns by the bytes of their names: 2.8 times as fast as parsing names if every row has another shape. */
  readonly #columnsByBytes = new BytesCache((page, start, end) =>
    this.#columnOf(parseBytes(page, start, end) as string)
  );
  #shape: RowShape | undefined;
  #learnedShapes = 0;
  #wasShaped = false;
  /** Whether the last row has an array or object, which can contain white space. */
  #hasNested = false;

  constructor(
    window: PageBytes,
    special: string,
    columns: readonly string[],
    addsColumns: boolean,
  ) {
    this.#window = window;
    this.#byteClasses = classifyBytes(special);
    const length = Math.max(MAX_COLUMNS, columns.length) + 1;
    this.starts = new Int32Array(length);
    this.ends = new Int32Array(length);
    this.kinds = new Uint8Array(length);
    for (const field of columns) this.#addColumn(field);
    this.#addsColumns = addsColumns;
  }

  get bytes(): Uint8Array {
    return this.#window.bytes;
  }

  get view(): DataView {
    return this.#window.view;
  }

  read(at: number): number {
    this.#hasNested = false;
    this.idMemberEnd = 0;
    if (!this.#wasShaped) this.kinds.fill(EMPTY);
    const end = this.#readByShape(at);
    if (end !== MISMATCH) {
      this.#wasShaped = true;
      this.isCompact = this.#shape!.isCompact && !this.#hasNested;
      return end;
    }
    // A single row of another shape does not replace the learned shape; two in succession do.
    const isLearned = !this.#wasShaped && this.#learnedShapes < MAX_SHAPES;
    this.#wasShaped = false;
    this.isCompact = false;
    this.kinds.fill(EMPTY);
    return this.#readByName(at, isLearned);
  }

  findColumn(field: string): number {
    return this.columns.indexOf(field);
  }

  #columnOf(field: string): number {
    const column = this.columns.indexOf(field);
    if (column >= 0) return column;
    return this.#addsColumns ? this.#addColumn(field) : this.kinds.length - 1;
  }

  #addColumn(field: string): number {
    const column = this.columns.length;
    if (column === this.kinds.length - 1) {
      const hint = "select the fields you need";
      throw new PageFault(`The rows have more than ${column} fields`, { hint });
    }
    this.columns.push(field);
    if (field === ID_FIELD) this.idColumn = column;
    return column;
  }

  #readByShape(at: number): number {
    if (this.#shape === undefined) return MISMATCH;
    const { columns, lengths, words, tail } = this.#shape;
    const { bytes: page, view } = this.#window;
    const { idColumn } = this;
    let word = 0;
    for (let index = 0; index < columns.length; index++) {
      const start = at;
      const length = lengths[index]!;
      const pieceEnd = at + length;
      if (length < 8) {
        if (view.getInt32(at, true) !== words[word++]) return MISMATCH;
        if (view.getInt32(pieceEnd - 4, true) !== words[word++]) return MISMATCH;
      } else {
        for (; at + 8 < pieceEnd; at += 8) {
          if (view.getFloat64(at, true) !== words[word++]) return MISMATCH;
        }
        if (view.getFloat64(pieceEnd - 8, true) !== words[word++]) return MISMATCH;
      }
      const column = columns[index]!;
      at = this.#readValue(page, view, pieceEnd, column);
      if (at < 0) return MISMATCH;
      if (column === idColumn) {
        this.idMemberStart = start;
        this.idMemberEnd = at;
      }
    }
    for (let index = 0; index < tail.length; index++) {
      if (page[at++] !== tail[index]) return MISMATCH;
    }
    return at;
  }

  #readByName(at: number, isLearned: boolean): number {
    const { bytes: page, view } = this.#window;
    const columns: number[] = [];
    const pieces: Uint8Array[] = [];
    let start = at;
    at = skipWhiteSpace(page, at + 1);
    if (page[at] === CLOSE_OBJECT) return at + 1;
    for (;;) {
      const nameEnd = skipString(page, at);
      if (nameEnd < 0) return nameEnd;
      const value = skipColon(page, nameEnd);
      if (value < 0) return value;
      const column = this.#columnsByBytes.get(page, at, nameEnd);
      if (isLearned) {
        columns.push(column);
        pieces.push(page.subarray(start, value));
      }
      at = this.#readValue(page, view, value, column);
      if (at < 0) return at;
      if (column === this.idColumn) {
        this.idMemberStart = start;
        this.idMemberEnd = at;
      }
      start = at;
      at = skipWhiteSpace(page, at);
      if (page[at] === CLOSE_OBJECT) {
        if (isLearned) this.#learn(columns, pieces, page.subarray(start, at + 1));
        return at + 1;
      }
      if (page[at] !== COMMA) return ~at;
      at = skipWhiteSpace(page, at + 1);
    }
  }

  #learn(columns: number[], pieces: Uint8Array[], tail: Uint8Array): void {
    this.#learnedShapes++;
    this.#shape = {
      columns: Int32Array.from(columns),
      lengths: Int32Array.from(pieces, ({ length }) => length),
      words: Float64Array.from(pieces.flatMap(wordsOf)),
      tail: tail.slice(),
      // Space within a name also counts: such rows are copied token by token.
      isCompact: [...pieces, tail].every((piece) => piece.every((byte) => byte > SPACE)),
    };
  }

  #readValue(page: Uint8Array, view: DataView, at: number, column: number): number {
    const { starts, ends, kinds } = this;
    const byte = page[at]!;
    if (byte === QUOTE) {
      const classes = this.#byteClasses;
      const start = ++at;
      let kind = PLAIN_STRING;
      for (;;) {
        let byteClass: number;
        while ((byteClass = classes[page[at]!]!) === PLAIN_BYTE) at++;
        if (byteClass === SPECIAL_BYTE) {
          if (kind === PLAIN_STRING) kind = NEEDS_QUOTES;
          at++;
        } else if (byteClass === ESCAPE_OR_MULTIBYTE) {
          if (page[at] === BACKSLASH) kind = ESCAPED_STRING;
          if ((at = skipEscapeOrMultibyte(page, at)) < 0) return at;
        } else break;
      }
      if (page[at] !== QUOTE) return ~at;
      starts[column] = start;
      ends[column] = at;
      kinds[column] = start === at ? EMPTY : kind;
      return at + 1;
    }
    if (view.getInt32(at, true) === NULL) {
      kinds[column] = EMPTY;
      return at + 4;
    }
    // The first byte of a number is below 0x40; that of other values is not.
    if (byte >= 0x40) return this.#readOther(page, at, column);
    starts[column] = at;
    kinds[column] = SCALAR;
    return ends[column] = skipNumber(page, at);
  }

  /** Rare values have a function of their own, because V8 inlines only small functions. */
  #readOther(page: Uint8Array, at: number, column: number): number {
    const isNested = page[at] === OPEN_OBJECT || page[at] === OPEN_ARRAY;
    if (isNested) this.#hasNested = true;
    this.starts[column] = at;
    this.kinds[column] = isNested ? NESTED : SCALAR;
    return this.ends[column] = isNested ? skipValue(page, at) : skipLiteral(page, at);
  }

  /** Like `toRowId`. Reading integers without `JSON.parse` is 1.1 to 1.2 times as fast. */
  rowId(): RowId | undefined {
    const { idColumn, kinds, starts, ends } = this;
    const kind = idColumn < 0 ? EMPTY : kinds[idColumn];
    if (kind === EMPTY || kind === NESTED) return undefined;
    const { bytes } = this.#window;
    const [start, end] = [starts[idColumn]!, ends[idColumn]!];
    let id = end - start > MAX_SAFE_DIGITS ? NaN : 0;
    for (let at = start; at < end && id >= 0; at++) {
      const digit = bytes[at]! - ZERO;
      id = digit < 0 || digit > 9 ? NaN : 10 * id + digit;
    }
    return id >= 0 ? id : toRowId(JSON.parse(this.json(idColumn)));
  }

  json(column: number): string {
    const quote = quoteLength(this.kinds[column]);
    const [start, end] = [this.starts[column]! - quote, this.ends[column]! + quote];
    return utf8Decoder.decode(this.#window.bytes.subarray(start, end));
  }

  /** Returns the bytes of a string, a number or a literal. `undefined` for other values, and if it is `EMPTY`. */
  content(column: number): Uint8Array | undefined {
    const kind = this.kinds[column];
    if (kind === EMPTY || kind === NESTED) return undefined;
    if (kind === ESCAPED_STRING) return utf8Encoder.encode(JSON.parse(this.json(column)));
    return this.#window.bytes.subarray(this.starts[column], this.ends[column]);
  }

  /** Looks up the JSON of a value in a cache. Returns `undefined` if the value is `EMPTY` or there is no such column. */
  lookUp<T>(cache: BytesCache<T>, column: number): T | undefined {
    if ((this.kinds[column] ?? EMPTY) === EMPTY) return undefined;
    const quote = quoteLength(this.kinds[column]);
    return cache.get(this.#window.bytes, this.starts[column]! - quote, this.ends[column]! + quote);
  }
}

const PLAIN_BYTE = 0;
const SPECIAL_BYTE = 1;
const ESCAPE_OR_MULTIBYTE = 2;
/** The closing quote, or a byte that JSON does not allow in a string. */
const END_BYTE = 3;

/** One look-up per byte is 1.2 to 1.4 times as fast as five comparisons. */
function classifyBytes(special: string): Uint8Array {
  return Uint8Array.from({ length: 256 }, (_, byte) => {
    if (byte < 0x20 || byte === QUOTE) return END_BYTE;
    if (byte === BACKSLASH || byte > 0x7f) return ESCAPE_OR_MULTIBYTE;
    return special.includes(String.fromCharCode(byte)) ? SPECIAL_BYTE : PLAIN_BYTE;
  });
}

/**
 * The bytes between the values of a row. A serializer writes the same ones in every row. They are
 * compared eight at a time, as doubles (1.2 to 1.6 times as fast). Doubles are equal if and only if
 * their bytes are, except for 0 and -0 (JSON has no zero bytes outside strings) and NaN (such a row
 * is read by name).
 */
interface RowShape {
  columns: Int32Array;
  lengths: Int32Array;
  /** Bytes before each value as doubles, or as two integers if they are fewer than eight. */
  words: Float64Array;
  tail: Uint8Array;
  isCompact: boolean;
}

/** Returns the words of a piece. The last one may overlap the one before. */
function wordsOf({ buffer, byteOffset, byteLength: length }: Uint8Array): number[] {
  const view = new DataView(buffer, byteOffset, length);
  // There are at least four bytes: a brace or comma, two quotes, a colon.
  if (length < 8) return [view.getInt32(0, true), view.getInt32(length - 4, true)];
  const words: number[] = [];
  for (let at = 0; at < length; at += 8) {
    words.push(view.getFloat64(Math.min(at, length - 8), true));
  }
  return words;
}
