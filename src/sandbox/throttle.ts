/** Why a request is turned away with 429. */
export type Violation = "tooFast" | "parallel";

/** The service gives up on a request after 30 seconds: none is in flight for longer. */
const LONGEST_REQUEST = 30_000;

/**
 * The service's limit: so many starts in any second, and one request at a time.
 *
 * A request is in flight until its body has been taken; one that is turned away is no start.
 */
export class Throttle {
  /** The most requests that were in flight at once. */
  mostInFlight = 0;
  #starts: number[] = [];
  #inFlight = new Map<number, number>();
  #last = 0;

  /**
   * @param requestsPerSecond Infinity sets no limit at all
   * @param now The clock, in milliseconds
   */
  constructor(readonly requestsPerSecond: number, readonly now: () => number) {}

  /** Lets a request in and gives the function that ends it, or says why it is turned away. */
  enter(): (() => void) | Violation {
    const now = this.now();
    for (const [request, start] of this.#inFlight) {
      if (now - start >= LONGEST_REQUEST) this.#inFlight.delete(request);
    }
    if (this.requestsPerSecond !== Infinity) {
      if (this.#inFlight.size > 0) return "parallel";
      const starts = Math.max(1, Math.floor(this.requestsPerSecond));
      const window = 1000 * starts / this.requestsPerSecond;
      this.#starts = this.#starts.filter((start) => now - start < window);
      if (this.#starts.length >= starts) return "tooFast";
      this.#starts.push(now);
    }
    const request = ++this.#last;
    this.#inFlight.set(request, now);
    this.mostInFlight = Math.max(this.mostInFlight, this.#inFlight.size);
    return () => this.#inFlight.delete(request);
  }
}
