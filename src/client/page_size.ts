/** Number of pages without an error after which a reduced page size is doubled. */
const GOOD_PAGES = 3;
/** Upper limit of this number, which doubles each time that a doubled page size is refused. */
const MAX_GOOD_PAGES = 96;

/**
 * The page size that the service can deliver. It is halved after a page that was too large or too slow. It is
 * doubled, up to the wanted size, after some good pages (pages without an error).
 *
 * A service that can never deliver a size would refuse it each time. Therefore each refusal directly after
 * a doubling also doubles the number of good pages before the next attempt.
 */
export class PageSize {
  #max = Infinity;
  #goodPages = 0;
  #goodPagesToGrow = GOOD_PAGES;
  #hasJustGrown = false;

  /** Returns the page size to request if the caller wants `wanted` rows per page. */
  limit(wanted: number): number {
    return Math.min(wanted, this.#max);
  }

  /** Records that a page was too large or too slow, and is requested with `top` rows. */
  shrinkTo(top: number): void {
    if (this.#hasJustGrown) {
      this.#goodPagesToGrow = Math.min(MAX_GOOD_PAGES, 2 * this.#goodPagesToGrow);
    }
    this.#max = top;
    this.#goodPages = 0;
    this.#hasJustGrown = false;
  }

  /** Records a good page that was requested with `top` rows; `wanted` is the size without reduction. */
  succeeded(top: number, wanted: number): void {
    this.#hasJustGrown = false;
    if (this.#max === Infinity || ++this.#goodPages < this.#goodPagesToGrow) return;
    this.#goodPages = 0;
    this.#hasJustGrown = true;
    this.#max = 2 * top >= wanted ? Infinity : 2 * top;
  }
}
