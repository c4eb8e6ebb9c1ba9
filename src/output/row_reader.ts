import { BACKSLASH, passLiteral, passNumber, passSpecial, QUOTE } from "./json_bytes.ts";
import { learnLayout, type RowLayout } from "./row_layout.ts";

/** What a value needs to become a cell. */
export const EMPTY = 0;
export const AS_IT_IS = 1;
export const TEXT = 2;
export const QUOTED_TEXT = 3;
export const ESCAPED_TEXT = 4;

/** What a byte inside a string means. */
const PLAIN = 0;
const SEPARATOR = 1;
const SPECIAL = 2;
const OTHER = 3;

const NULL = new DataView(new TextEncoder().encode("null").buffer).getInt32(0, true);
const NO_NUMBERS = new Int32Array();

/** Reads rows of flat values in bytes: where each value stands, and what it needs. */
export class RowReader {
  /** The place of each value's first byte, a text's after its quote. */
  starts = NO_NUMBERS;
  /** The place after its last byte. */
  ends = NO_NUMBERS;
  needs = new Uint8Array();
  readonly #page: Uint8Array;
  readonly #view: DataView;
  readonly #meaning: Uint8Array;
  #layout: RowLayout | undefined;

  /** @param separator The byte that a text needs quotes for, beside quotes and line ends */
  constructor(page: Uint8Array, separator: number) {
    this.#page = page;
    this.#view = new DataView(page.buffer, page.byteOffset, page.byteLength);
    this.#meaning = meaningOfBytes(separator);
  }

  /** Learns how the row there is laid out: its names; undefined where it is no row of flat values. */
  learn(at: number): readonly string[] | undefined {
    const layout = learnLayout(this.#page, at);
    if (layout === undefined) return undefined;
    this.#layout = layout;
    this.starts = new Int32Array(layout.names.length);
    this.ends = new Int32Array(layout.names.length);
    this.needs = new Uint8Array(layout.names.length);
    return layout.names;
  }

  /**
   * Reads a row that is laid out as the one that was learnt.
   *
   * @returns The place after it; -1 where it is laid out otherwise, or no JSON
   */
  read(at: number): number {
    if (this.#layout === undefined) return -1;
    // Names of this function's own: the loop is as fast as these are near.
    const { lengths, firsts, lasts, words, tail } = this.#layout;
    const page = this.#page;
    const view = this.#view;
    const meaning = this.#meaning;
    const { starts, ends, needs } = this;
    let word = 0;
    for (let value = 0; value < needs.length; value++) {
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
      at = start;
      const byte = page[at]!;
      if (byte === QUOTE) {
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
        starts[value] = from;
        ends[value] = at;
        needs[value] = from === at ? EMPTY : need;
        at++;
      } else if (view.getInt32(at, true) === NULL) {
        needs[value] = EMPTY;
        at += 4;
      } else {
        starts[value] = at;
        at = byte < 0x40 ? passNumber(page, at) : passLiteral(page, at);
        if (at < 0) return -1;
        ends[value] = at;
        needs[value] = AS_IT_IS;
      }
    }
    for (let index = 0; index < tail.length; index++) {
      if (page[at++] !== tail[index]) return -1;
    }
    return at;
  }
}

/** What each byte means inside a string; from the closing quote on there is nothing to pass. */
function meaningOfBytes(separator: number): Uint8Array {
  return Uint8Array.from({ length: 256 }, (_, byte) => {
    if (byte < 0x20 || byte === QUOTE) return OTHER;
    if (byte === BACKSLASH || byte > 0x7f) return SPECIAL;
    return byte === separator ? SEPARATOR : PLAIN;
  });
}
