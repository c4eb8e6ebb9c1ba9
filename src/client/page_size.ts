/** Number of good pages after which a reduced page size is doubled. */
const GOOD_PAGES = 3;
/** Maximum of that number, however often a doubled page size was refused. */
const MOST_GOOD_PAGES = 96;

/**
 * The page size that the service can deliver: halved after a page that was too large or too slow,
 * doubled again after good pages until nothing limits it.
 *
 * A service that never delivers a size would refuse each attempt to grow, so each refusal directly
 * after growing doubles the number of good pages that the next attempt takes.
 */
export class PageSize {
  #most = Infinity;
  #goodPages = 0;
  #goodPagesToGrow = GOOD_PAGES;
  #hasJustGrown = false;

  /** Returns the page size to request where `wanted` rows are wanted. */
  limit(wanted: number): number {
    return Math.min(wanted, this.#most);
  }

  /** Whether a page of `wanted` rows is requested smaller. */
  isReduced(wanted: number): boolean {
    return this.#most < wanted;
  }

  /** Records that a page had to be made smaller. */
  shrinkTo(top: number): void {
    if (this.#hasJustGrown) {
      this.#goodPagesToGrow = Math.min(MOST_GOOD_PAGES, 2 * this.#goodPagesToGrow);
    }
    this.#most = top;
    this.#goodPages = 0;
    this.#hasJustGrown = false;
  }

  /** Records a good page that was requested with `top` rows where `wanted` were wanted. */
  succeeded(top: number, wanted: number): void {
    this.#hasJustGrown = false;
    if (this.#most === Infinity || ++this.#goodPages < this.#goodPagesToGrow) return;
    this.#goodPages = 0;
    this.#hasJustGrown = true;
    this.#most = 2 * top >= wanted ? Infinity : 2 * top;
  }
}
