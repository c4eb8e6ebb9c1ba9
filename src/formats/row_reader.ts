import {
  BACKSLASH,
  CLOSE_OBJECT,
  COMMA,
  OPEN_LIST,
  OPEN_OBJECT,
  passColon,
  passLiteral,
  passNumber,
  passSpace,
  passSpecial,
  passString,
  passValue,
  QUOTE,
} from "./json_scanner.ts";
import type { RowId } from "./page_writer.ts";

/** What a value needs to become a cell. */
export const EMPTY = 0;
export const AS_IT_IS = 1;
const TEXT = 2;
export const QUOTED_TEXT = 3;
export const ESCAPED_TEXT = 4;
export const NESTED = 5;

/** What a byte inside a string means. */
const PLAIN = 0;
const SEPARATOR = 1;
const SPECIAL = 2;
const OTHER = 3;

const NULL = new DataView(new TextEncoder().encode("null").buffer).getInt32(0, true);
/** So often a layout is learnt on a page; rows that change more often are read without one. */
const MOST_LAYOUTS = 16;

/** Where the value of each column stands in a row, and what it needs. */
export interface Cells {
  /** The place of the first byte, a text's after its quote. */
  starts: Int32Array;
  /** The place after the last byte. */
  ends: Int32Array;
  needs: Uint8Array;
}

/** Reads rows in bytes. */
export class RowReader {
  /** What was read last. */
  cells: Cells;
  /** Fields of open rows that are not columns, in order of appearance. */
  readonly newFields: Set<string> = new Set();
  readonly #page: Uint8Array;
  readonly #view: DataView;
  readonly #meaning: Uint8Array;
  readonly #names: FieldNames;
  /** Cells of rows that are laid out as learnt, and of others: the former leave the same ones empty. */
  readonly #regular: Cells;
  readonly #other: Cells;
  #layout: RowLayout | undefined;
  /** The column of each value of the layout. */
  #columns = new Int32Array();
  #layouts = 0;
  #wasRegular = false;

  /**
   * @param separator The byte that a text needs quotes for, beside quotes and line ends
   * @param fields The columns
   */
  constructor(page: Uint8Array, separator: number, fields: readonly string[]) {
    this.#page = page;
    this.#view = new DataView(page.buffer, page.byteOffset, page.byteLength);
    this.#meaning = meaningOfBytes(separator);
    this.#names = new FieldNames(fields);
    this.#regular = toCells(fields.length);
    this.#other = toCells(fields.length);
    this.cells = this.#other;
  }

  /**
   * Reads a row: by the layout of those before it, else member by member.
   *
   * @param isOpen Whether to add fields that are not columns to `newFields`
   * @returns The place after it; -1 if it is not JSON
   */
  read(at: number, isOpen: boolean): number {
    const end = this.#readRegular(at);
    if (end >= 0) {
      this.#wasRegular = true;
      this.cells = this.#regular;
      return end;
    }
    // One row among others is odd; two in a row are the beginning of more.
    if (!this.#wasRegular && this.#layouts < MOST_LAYOUTS) this.#learn(at);
    this.#wasRegular = false;
    this.cells = this.#other;
    return this.#readAny(at, isOpen);
  }

  #learn(at: number): void {
    const layout = learnLayout(this.#page, at);
    if (layout === undefined) return;
    this.#layouts++;
    this.#layout = layout;
    this.#columns = Int32Array.from(layout.names, (name) => this.#names.columnOf(name));
    this.#regular.needs.fill(EMPTY);
  }

  /** Reads a row that is laid out as the one that was learnt; -1 for any other. */
  #readRegular(at: number): number {
    if (this.#layout === undefined) return -1;
    const { lengths, firsts, lasts, words, tail } = this.#layout;
    const columns = this.#columns;
    const page = this.#page;
    const view = this.#view;
    let word = 0;
    for (let value = 0; value < lengths.length; value++) {
      const length = lengths[value]!;
      const start = at + length;
      if (start + 4 > page.length) return -1;
      if (length < 8) {
        if (view.getInt32(at, true) !== firsts[value]) return -1;
        if (view.getInt32(start - 4, true) !== lasts[value]) return -1;
      } else {
        for (; at + 8 < start; at += 8) {
          if (view.getFloat64(at, true) !== words[word++]) return -1;
        }
        if (view.getFloat64(start - 8, true) !== words[word++]) return -1;
      }
      at = this.#readValue(start, columns[value]!, this.#regular);
      if (at < 0) return -1;
    }
    for (let index = 0; index < tail.length; index++) {
      if (page[at++] !== tail[index]) return -1;
    }
    return at;
  }

  /** Reads any row, member by member. */
  #readAny(at: number, isOpen: boolean): number {
    const page = this.#page;
    this.#other.needs.fill(EMPTY);
    if (page[at] !== OPEN_OBJECT) return -1;
    at = passSpace(page, at + 1);
    if (page[at] === CLOSE_OBJECT) return at + 1;
    for (;;) {
      const end = passString(page, at);
      if (end < 0) return -1;
      const column = this.#names.columnAt(page, at, end);
      if (isOpen && column === this.#names.none) this.newFields.add(readName(page, at, end));
      at = passColon(page, end);
      if (at < 0 || (at = this.#readValue(at, column, this.#other)) < 0) return -1;
      at = passSpace(page, at);
      if (page[at] === CLOSE_OBJECT) return at + 1;
      if (page[at] !== COMMA) return -1;
      at = passSpace(page, at + 1);
    }
  }

  /** Reads a value; gives the place after it, or -1. */
  #readValue(at: number, column: number, { starts, ends, needs }: Cells): number {
    const page = this.#page;
    const byte = page[at]!;
    if (byte === QUOTE) {
      const meaning = this.#meaning;
      const from = ++at;
      let need = TEXT;
      for (;;) {
        let kind: number;
        while ((kind = meaning[page[at]!]!) === PLAIN) at++;
        if (kind === SEPARATOR) {
          if (need === TEXT) need = QUOTED_TEXT;
          at++;
        } else if (kind === SPECIAL) {
          if (page[at] === BACKSLASH) need = ESCAPED_TEXT;
          if ((at = passSpecial(page, at)) < 0) return -1;
        } else break;
      }
      if (page[at] !== QUOTE) return -1;
      starts[column] = from;
      ends[column] = at;
      needs[column] = from === at ? EMPTY : need;
      return at + 1;
    }
    if (at + 4 <= page.length && this.#view.getInt32(at, true) === NULL) {
      needs[column] = EMPTY;
      return at + 4;
    }
    const isNested = byte === OPEN_OBJECT || byte === OPEN_LIST;
    const end = isNested
      ? passValue(page, at)
      : byte < 0x40
      ? passNumber(page, at)
      : passLiteral(page, at);
    starts[column] = at;
    ends[column] = end;
    needs[column] = isNested ? NESTED : AS_IT_IS;
    return end;
  }
}

/** The last place is for what is no column. */
function toCells(columns: number): Cells {
  return {
    starts: new Int32Array(columns + 1),
    ends: new Int32Array(columns + 1),
    needs: new Uint8Array(columns + 1),
  };
}

/** What each byte means inside a string; from the closing quote on there is nothing to pass. */
function meaningOfBytes(separator: number): Uint8Array {
  return Uint8Array.from({ length: 256 }, (_, byte) => {
    if (byte < 0x20 || byte === QUOTE) return OTHER;
    if (byte === BACKSLASH || byte > 0x7f) return SPECIAL;
    return byte === separator ? SEPARATOR : PLAIN;
  });
}

/**
 * How a row is laid out: what stands before each of its values, and after the last, to the byte.
 *
 * One serializer writes its rows alike, so that a row can be told by comparing eight bytes at a time,
 * as doubles. Of those, two are equal where their bytes are, but for zeros, which no text has, and
 * for what is not a number, which equals nothing: such a row goes another way.
 */
interface RowLayout {
  /** The names of the values, in order. */
  names: string[];
  /** How many bytes stand before each value. */
  lengths: Int32Array;
  /** The first and the last four of them: of less than eight, these are all. */
  firsts: Int32Array;
  lasts: Int32Array;
  /** All of them, where they are eight or more; the last eight may overlap those before. */
  words: Float64Array;
  /** What stands after the last value. */
  tail: Uint8Array;
}

/**
 * Learns the layout of a row.
 *
 * @param at The place of its opening brace
 * @returns The layout; undefined where the row has no members or a name twice, or is no JSON
 */
export function learnLayout(page: Uint8Array, at: number): RowLayout | undefined {
  const names: string[] = [];
  const glue: Uint8Array[] = [];
  let from = at;
  if (page[at] !== OPEN_OBJECT) return undefined;
  do {
    const name = passSpace(page, at + 1);
    const nameEnd = passString(page, name);
    if (nameEnd < 0) return undefined;
    names.push(readName(page, name, nameEnd));
    const value = passColon(page, nameEnd);
    if (value < 0) return undefined;
    // A copy, which the slice of a Buffer would not be.
    glue.push(new Uint8Array(page.subarray(from, value)));
    from = passValue(page, value);
    if (from < 0) return undefined;
    at = passSpace(page, from);
  } while (page[at] === COMMA);
  if (page[at] !== CLOSE_OBJECT || new Set(names).size < names.length) return undefined;
  return { names, ...toWords(glue), tail: page.slice(from, at + 1) };
}

/** Each piece is of four bytes at least: a brace or comma, a name in quotes, a colon. */
function toWords(glue: readonly Uint8Array[]): Omit<RowLayout, "names" | "tail"> {
  const views = glue.map(({ buffer }) => new DataView(buffer));
  const words: number[] = [];
  for (const view of views.filter(({ byteLength }) => byteLength >= 8)) {
    for (let at = 0; at < view.byteLength; at += 8) {
      words.push(view.getFloat64(Math.min(at, view.byteLength - 8), true));
    }
  }
  return {
    lengths: Int32Array.from(glue, ({ length }) => length),
    firsts: Int32Array.from(views, (view) => view.getInt32(0, true)),
    lasts: Int32Array.from(views, (view) => view.getInt32(view.byteLength - 4, true)),
    words: Float64Array.from(words),
  };
}

const decoder = new TextDecoder();

/** The text of a name, from its first quote to its last. */
function readName(page: Uint8Array, at: number, end: number): string {
  return JSON.parse(decoder.decode(page.subarray(at, end)));
}

/** So many names are known by their bytes; others are read anew each time. */
const MOST_KNOWN = 1_000;

interface Known {
  bytes: Uint8Array;
  column: number;
}

/** The columns of fields, by their names as text or as bytes. */
class FieldNames {
  /** What stands for a name that is no column's. */
  readonly none: number;
  readonly #columns: Map<string, number>;
  /** By a sum of their bytes; those with the same sum in one list. */
  readonly #known = new Map<number, Known[]>();
  #size = 0;

  /** @param fields The columns in order */
  constructor(fields: readonly string[]) {
    this.none = fields.length;
    this.#columns = new Map(fields.map((field, column) => [field, column]));
  }

  /** The column of a name. */
  columnOf(name: string): number {
    return this.#columns.get(name) ?? this.none;
  }

  /** The column of a name that stands in a page, from its first quote to its last. */
  columnAt(page: Uint8Array, at: number, end: number): number {
    let sum = 0;
    for (let place = at; place < end; place++) sum = Math.imul(sum, 31) + page[place]! | 0;
    const alike = this.#known.get(sum) ?? [];
    for (const { bytes, column } of alike) {
      if (isSame(bytes, page, at, end)) return column;
    }
    const column = this.columnOf(readName(page, at, end));
    if (this.#size++ < MOST_KNOWN) {
      this.#known.set(sum, [...alike, { bytes: new Uint8Array(page.subarray(at, end)), column }]);
    }
    return column;
  }
}

function isSame(bytes: Uint8Array, page: Uint8Array, at: number, end: number): boolean {
  if (bytes.length !== end - at) return false;
  for (let index = 0; index < bytes.length; index++) {
    if (bytes[index] !== page[at + index]) return false;
  }
  return true;
}

/** The field that identifies a row, by which its position in a result is known. */
export const ID = "Id";

/** Longest run of digits that is always a safe integer. */
const MOST_DIGITS = 15;

/**
 * Reads the Id of a row: a safe integer as a number, also where it came as a text of digits; any
 * other text as it is.
 *
 * @returns The Id; undefined for any other value
 */
export function toRowId(value: unknown): RowId | undefined {
  if (typeof value === "number") return Number.isSafeInteger(value) ? value : undefined;
  if (typeof value !== "string" || value === "") return undefined;
  return /^\d{1,15}$/.test(value) ? Number(value) : value;
}

/** Returns the Ids of all rows; undefined if one has none. */
export function allIds(ids: readonly (RowId | undefined)[]): readonly RowId[] | undefined {
  return ids.every((id) => id !== undefined) ? ids : undefined;
}

/** Reads the Id of a row in bytes, as `toRowId` reads that of an object. */
export function readRowId(
  page: Uint8Array,
  { starts, ends, needs }: Cells,
  column: number,
): RowId | undefined {
  const need = needs[column];
  if (need === EMPTY || need === NESTED) return undefined;
  const start = starts[column]!;
  const end = ends[column]!;
  let id = 0;
  let at = start;
  for (; at < end && at - start < MOST_DIGITS; at++) {
    const digit = page[at]! - 0x30;
    if (digit < 0 || digit > 9) break;
    id = 10 * id + digit;
  }
  if (at === end) return id;
  const json = need === AS_IT_IS ? page.subarray(start, end) : page.subarray(start - 1, end + 1);
  return toRowId(JSON.parse(decoder.decode(json)));
}

/**
 * Returns where the member of a row begins whose value begins at `value`: at its name.
 *
 * @param page Well-formed JSON
 */
export function startOfMember(page: Uint8Array, value: number): number {
  let at = value - 1;
  while (page[at] !== QUOTE) at--;
  do at--; while (page[at] !== QUOTE);
  return at;
}
