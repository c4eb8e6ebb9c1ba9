import { beginsFormula, writeEscapedText } from "./csv_text.ts";
import { QUOTE } from "./json_bytes.ts";
import { cutOff, letGo } from "./let_go.ts";
import { AS_IT_IS, type Cells, EMPTY, ESCAPED_TEXT, NESTED, QUOTED_TEXT } from "./row_reader.ts";

const APOSTROPHE = 0x27;
/** From so many bytes on, a copy by the engine is faster than one by hand. */
const LONG = 48;

/** Writes lines of CSV in bytes, out of what a reader has found in a row. */
export class LineWriter {
  #out: Uint8Array<ArrayBuffer>;
  #to: number;

  /**
   * @param page The page that the rows stand in
   * @param separator The byte between two cells
   * @param escapeFormulas Whether a text that looks like a formula gets an apostrophe in front
   * @param columns How many cells a line has
   * @param nestedCell The cell of a value that holds others
   * @param before What stands before the first line
   */
  constructor(
    readonly page: Uint8Array,
    readonly separator: number,
    readonly escapeFormulas: boolean,
    readonly columns: number,
    readonly nestedCell: (json: Uint8Array) => Uint8Array,
    before: Uint8Array,
  ) {
    // A file of CSV is smaller than its JSON; memory that is not written to costs nothing.
    this.#out = new Uint8Array(page.length + before.length);
    this.#out.set(before);
    this.#to = before.length;
  }

  /**
   * Writes a line.
   *
   * @param length The bytes of the row in JSON
   */
  write({ starts, ends, needs }: Cells, length: number): void {
    const { page, separator, escapeFormulas } = this;
    const cells = this.columns;
    // A cell is no longer than its JSON, but for an apostrophe, its separator and the line end.
    let out = this.#withRoom(length + 2 * cells + 4);
    let to = this.#to;
    const start = to;
    for (let cell = 0; cell < cells; cell++) {
      if (cell > 0) out[to++] = separator;
      const need = needs[cell]!;
      if (need === EMPTY) continue;
      let from = starts[cell]!;
      const end = ends[cell]!;
      if (need === NESTED) {
        const nested = this.nestedCell(page.subarray(from, end));
        this.#to = to;
        out = this.#withRoom(nested.length + length + 2 * cells + 4);
        out.set(nested, to);
        to += nested.length;
        continue;
      }
      if (need === ESCAPED_TEXT) {
        to = writeEscapedText(page, from, end, out, to, separator, escapeFormulas);
        continue;
      }
      if (need === QUOTED_TEXT) out[to++] = QUOTE;
      if (escapeFormulas && need !== AS_IT_IS && beginsFormula(page[from]!)) {
        out[to++] = APOSTROPHE;
      }
      if (end - from > LONG) {
        out.set(page.subarray(from, end), to);
        to += end - from;
      } else {
        while (from < end) out[to++] = page[from++]!;
      }
      if (need === QUOTED_TEXT) out[to++] = QUOTE;
    }
    if (cells === 1 && to === start) {
      // A blank line is skipped by many readers: the row would be lost.
      out[to++] = QUOTE;
      out[to++] = QUOTE;
    }
    out[to++] = 0x0d;
    out[to++] = 0x0a;
    this.#to = to;
  }

  /** The bytes that were written; nothing more can be. */
  end(): Uint8Array<ArrayBuffer> {
    return cutOff(this.#out, this.#to);
  }

  #withRoom(bytes: number): Uint8Array<ArrayBuffer> {
    const needed = this.#to + bytes;
    if (needed > this.#out.length) {
      const larger = new Uint8Array(2 * needed);
      larger.set(this.#out.subarray(0, this.#to));
      letGo(this.#out);
      this.#out = larger;
    }
    return this.#out;
  }
}
