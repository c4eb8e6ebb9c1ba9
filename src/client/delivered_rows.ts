import type { RowId } from "../formats/page_writer.ts";
import type { PageRequest } from "./fetch_page.ts";
import { toIdNumber } from "./next_link.ts";

/**
 * The rows of one page that are delivered before the page is complete, over all attempts at the page.
 *
 * Only rows with rising integer Ids are delivered early, because a page that breaks is continued after the
 * last delivered Id.
 */
export class DeliveredRows {
  /** Whether a request for the page has continued after its first rows. */
  isContinued = false;
  readonly #page: PageRequest;
  readonly #mayDeliver: boolean;
  readonly #ids: number[] = [];
  /** Whether a row of the page came after a row with a greater Id that was already delivered. */
  #isDisordered = false;
  /** Number of rows of the current attempt that were delivered. */
  #ofAttempt = 0;

  /**
   * @param page Request for the whole page
   * @param mayDeliver Whether rows may be delivered early; otherwise all checks are left to the complete page
   */
  constructor(page: PageRequest, mayDeliver: boolean) {
    this.#page = page;
    this.#mayDeliver = mayDeliver;
  }

  /**
   * Returns the request of the next attempt.
   *
   * It continues after the last delivered row. If the rows were not in order, a row before it may not be
   * delivered. The whole page is then requested again, without the delivered rows.
   */
  nextRequest(): PageRequest {
    const page = this.#page;
    const delivered = this.#ids.length;
    if (delivered === 0) return page;
    if (this.#isDisordered) return { ...page, omittedIds: new Set(this.#ids) };
    this.isContinued = true;
    const rowsWanted = page.rowsWanted - delivered;
    const top = Math.min(page.top, rowsWanted);
    return { ...page, position: this.#position, top, rowsWanted, hasRows: true };
  }

  /** Starts an attempt. Returns the order of its rows. */
  startAttempt({ position, omittedIds, top }: PageRequest): RowOrder {
    this.#ofAttempt = 0;
    const after = position === undefined ? -1 : Number(toIdNumber(position) ?? NaN);
    const isRising = this.#mayDeliver && omittedIds === undefined && !Number.isNaN(after);
    return new RowOrder(isRising, after, top, (isDisordered) => {
      this.#isDisordered ||= isDisordered;
      return this.#ids.length > 0;
    });
  }

  /**
   * Adds the next rows of the current attempt.
   *
   * @param ids Ids of all rows of the attempt; the order of these rows was checked
   * @param rows Number of rows to add
   * @returns The skip token after the rows
   */
  add(ids: readonly (RowId | undefined)[], rows: number): string {
    const end = this.#ofAttempt + rows;
    for (; this.#ofAttempt < end; this.#ofAttempt++) this.#ids.push(ids[this.#ofAttempt] as number);
    return this.#position;
  }

  get #position(): string {
    return `Id:${this.#ids.at(-1)}`;
  }
}

/** Checks the order of the rows of one attempt while they arrive. */
class RowOrder {
  /** Whether the rows can be delivered before the page is complete. */
  isRising: boolean;
  readonly #first: number;
  #last: number;
  readonly #top: number;
  readonly #onFault: (isDisordered: boolean) => boolean;
  /** Ids of which the first ones are checked. */
  #ids: readonly (RowId | undefined)[] = [];
  #checked = 0;

  /**
   * @param isRising Whether rows may be delivered early
   * @param last Id before the first row
   * @param top Maximum number of rows
   * @param onFault Called if the rows cannot be delivered early. Returns whether some were already delivered
   */
  constructor(
    isRising: boolean,
    last: number,
    top: number,
    onFault: (isDisordered: boolean) => boolean,
  ) {
    this.isRising = isRising;
    this.#first = this.#last = last;
    this.#top = top;
    this.#onFault = onFault;
  }

  /** Whether all rows that have arrived are checked. */
  hasChecked(ids: readonly (RowId | undefined)[]): boolean {
    return ids === this.#ids && ids.length === this.#checked;
  }

  /**
   * Checks the rows that have arrived since the last call.
   *
   * @param ids Ids of all rows. Another array contains the rows of another list, which replaces the first one
   * @returns The fault of the page, if rows of it were already delivered; otherwise the rows are held until
   *   the page is complete
   */
  check(ids: readonly (RowId | undefined)[]): string | undefined {
    if (ids !== this.#ids) {
      this.#ids = ids;
      this.#checked = 0;
      this.#last = this.#first;
    }
    for (; this.isRising && this.#checked < ids.length; this.#checked++) {
      const id = ids[this.#checked];
      const isAfter = typeof id === "number" && id > this.#last;
      if (isAfter && this.#checked < this.#top) {
        this.#last = id;
        continue;
      }
      this.isRising = false;
      // If the first row is not after the position, the service ignored the position.
      const isDisordered = typeof id === "number" && !isAfter && this.#checked > 0;
      if (!this.#onFault(isDisordered)) return undefined;
      if (isAfter) return `more than ${this.#top} rows`;
      if (typeof id !== "number") return "a row without an integer Id";
      return `the row with Id ${id} after the row with Id ${this.#last}`;
    }
    return undefined;
  }
}
