import type { RowId, RowIds } from "./page_writer.ts";

/** Initial number of Ids for which there is room: as many as a page usually has. */
const PAGE_ROWS = 10_000;

/**
 * Collects the Ids of the rows of a page.
 *
 * Integers are kept outside of the heap of JavaScript. An array of 10,000 Ids survives the collections of young
 * objects while its page arrives. V8 then enlarges its young generation (by 15 MB in a million rows), and marks
 * the heap 1.5 times as often.
 */
export class RowIdList {
  #integers = new Float64Array(PAGE_ROWS);
  #length = 0;
  /** All Ids, if one of them is no integer. */
  #others: (RowId | undefined)[] | undefined;
  #ids = this.#integers.subarray(0, 0);

  /** The Ids so far. Later Ids do not change it, unless it is an ordinary array. */
  get ids(): RowIds {
    if (this.#others !== undefined) return this.#others;
    if (this.#ids.length < this.#length) this.#ids = this.#integers.subarray(0, this.#length);
    return this.#ids;
  }

  /** Adds an Id. */
  push(id: RowId | undefined): void {
    if (typeof id !== "number" || this.#others !== undefined) {
      this.#others ??= [...this.#integers.subarray(0, this.#length)];
      this.#others.push(id);
      return;
    }
    if (this.#length === this.#integers.length) {
      const larger = new Float64Array(2 * this.#length);
      larger.set(this.#integers);
      this.#integers = larger;
    }
    this.#integers[this.#length++] = id;
  }
}
