import type { RowId, RowIds } from "../formats/page_writer.ts";
import type { PageRequest } from "./fetch_page.ts";
import { toIdNumber } from "./next_link.ts";

/**
 * Records the rows of one page that are delivered before the page is complete, in all attempts at the page.
 *
 * Only rows with rising integer Ids are delivered early, so that a page that breaks can be continued after the
 * last delivered Id.
 */
export class DeliveredRows {
  /** Whether the current attempt has requested only the rows after the last delivered one. */
  isContinued = false;
  readonly #page: PageRequest;
  readonly #mayDeliver: boolean;
  readonly #mayContinue: boolean;
  /** Ids of the rows of earlier attempts. */
  #earlierIds: RowId[] = [];
  /** Ids of all rows of the current attempt. Those of the delivered ones are not copied: a page has 10,000. */
  #ids: RowIds = [];
  /** Whether a row of the page has no integer Id, or came after a row with an equal or greater Id. */
  #isDisordered = false;
  /** Number of rows of the current attempt that were delivered. */
  #ofAttempt = 0;
  /** Id of the last row that was delivered; `undefined` if none was. */
  #last: RowId | undefined;

  /**
   * @param page Request for the whole page
   * @param mayDeliver Whether rows may be delivered early; otherwise only the complete page is checked
   * @param mayContinue Whether a count will show that a row is missing, if an attempt requests only the rows after
   *   the last delivered one
   */
  constructor(page: PageRequest, mayDeliver: boolean, mayContinue: boolean) {
    this.#page = page;
    this.#mayDeliver = mayDeliver;
    this.#mayContinue = mayContinue;
  }

  /** Whether rows were delivered, and rows before the last of them may be missing. */
  get mayHaveGaps(): boolean {
    return this.#isDisordered && this.#last !== undefined;
  }

  /**
   * Returns the request of the next attempt.
   *
   * It begins after the last delivered row, and has the rows that the page lacks. If the rows were not in order, a
   * row with a lower Id may not have been delivered, so the whole page is requested again. The same applies if no
   * count would show that such a row is missing. The delivered rows are then left out of the result.
   */
  nextRequest(): PageRequest {
    const page = this.#page;
    this.#endAttempt();
    if (this.#last === undefined) return page;
    const delivered = this.#earlierIds;
    this.isContinued = this.#mayContinue && !this.#isDisordered;
    if (!this.isContinued) return { ...page, omittedIds: new Set(delivered as number[]) };
    const top = page.top - delivered.length;
    const rowsWanted = page.rowsWanted - delivered.length;
    const position = this.#position;
    return { ...page, position, top, pageTop: page.top, rowsWanted };
  }

  /** Starts an attempt. Returns the check of the order of its rows. */
  startAttempt({ position, omittedIds, top }: PageRequest): RowOrder {
    const after = position === undefined ? -1 : Number(toIdNumber(position) ?? NaN);
    const isRising = this.#mayDeliver && omittedIds === undefined && !Number.isNaN(after);
    return new RowOrder(isRising, after, top, (isDisordered) => {
      this.#isDisordered ||= isDisordered;
      return this.#last !== undefined;
    });
  }

  /**
   * Adds the next rows of the current attempt.
   *
   * @param ids Ids of all rows of the attempt; the order of these rows was checked
   * @param rows Number of rows to add
   * @returns The skip token after the rows
   */
  add(ids: RowIds, rows: number): string {
    this.#ids = ids;
    this.#ofAttempt += rows;
    if (this.#ofAttempt > 0) this.#last = ids[this.#ofAttempt - 1];
    return this.#position;
  }

  get #position(): string {
    return `Id:${this.#last}`;
  }

  #endAttempt(): void {
    const ids = this.#ids.slice(0, this.#ofAttempt);
    this.#earlierIds = [...this.#earlierIds, ...ids as RowId[]];
    this.#ids = [];
    this.#ofAttempt = 0;
  }
}

/** Checks the order of the rows of one attempt while they arrive. */
class RowOrder {
  /** Whether the Ids have risen so far, so that the rows can be delivered before the page is complete. */
  isRising: boolean;
  #last: number;
  readonly #top: number;
  readonly #onFault: (isDisordered: boolean) => boolean;
  /** Number of rows that are checked. */
  #checked = 0;

  /**
   * @param isRising Whether rows may be delivered early; otherwise no row is checked
   * @param last Id before the first row
   * @param top Maximum number of rows
   * @param onFault Called for the first row that is not in order, without an integer Id or beyond `top`.
   *   Its argument says whether rows before it may be missing. Returns whether rows were already delivered
   */
  constructor(
    isRising: boolean,
    last: number,
    top: number,
    onFault: (isDisordered: boolean) => boolean,
  ) {
    this.isRising = isRising;
    this.#last = last;
    this.#top = top;
    this.#onFault = onFault;
  }

  /**
   * Checks the rows that have arrived since the last call.
   *
   * @param ids Ids of all rows of the last list
   * @param lists Number of lists of rows. Each replaces the earlier ones
   * @returns The fault of the page, if rows of it were already delivered. Otherwise `undefined`; if the Ids do
   *   not rise, or the rows replace others, the rows are held until the page is complete
   */
  check(ids: RowIds, lists: number): string | undefined {
    // If such a page breaks, an attempt after a row of the second list would not get the rows of the first one.
    if (lists > 1) this.isRising = false;
    if (!this.isRising) return undefined;
    for (; this.#checked < ids.length; this.#checked++) {
      const id = ids[this.#checked];
      const isAfter = typeof id === "number" && id > this.#last;
      if (isAfter && this.#checked < this.#top) {
        this.#last = id;
        continue;
      }
      this.isRising = false;
      // If the first row is not after the position, the service ignored the position.
      const isDisordered = typeof id !== "number" || !isAfter && this.#checked > 0;
      if (!this.#onFault(isDisordered)) return undefined;
      if (isAfter) return `more than ${this.#top} rows`;
      if (typeof id !== "number") return "a row without an integer Id";
      return `the row with Id ${id} after the row with Id ${this.#last}`;
    }
    return undefined;
  }
}
