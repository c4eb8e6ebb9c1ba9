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
} from "./json_bytes.ts";
import { FieldNames } from "./field_names.ts";
import { learnLayout, readName, type RowLayout } from "./row_layout.ts";

/** What a value needs to become a cell. */
export const EMPTY = 0;
export const AS_IT_IS = 1;
export const TEXT = 2;
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
