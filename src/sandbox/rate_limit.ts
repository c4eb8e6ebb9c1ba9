/** Reason for which a request is rejected with 429. */
export type Violation = "tooFast" | "parallel";

/** Time (ms) after which a request no longer counts as in flight: the service's query time limit. */
const MAX_REQUEST_TIME = 30_000;

/**
 * Enforces the service's limits: a number of starts per second, and one request at a time.
 *
 * A request is in flight until its body is consumed. A rejected request does not count as a start.
 */
export class RequestLimit {
  /** Highest number of requests that were in flight concurrently. */
  mostInFlight = 0;
  #starts: number[] = [];
  /** Start times of the requests in flight. */
  readonly #inFlight = new Map<number, number>();
  #lastRequest = 0;

  /**
   * @param requestsPerSecond Maximum number of starts per second; `Infinity` disables both limits
   * @param now Clock in milliseconds
   */
  constructor(readonly requestsPerSecond: number, readonly now: () => number) {}

  /** Admits a request. Returns the function that ends it, or the reason for which it is rejected. */
  enter(): (() => void) | Violation {
    const now = this.now();
    for (const [request, start] of this.#inFlight) {
      if (now - start >= MAX_REQUEST_TIME) this.#inFlight.delete(request);
    }
    if (this.requestsPerSecond !== Infinity) {
      if (this.#inFlight.size > 0) return "parallel";
      const starts = Math.max(1, Math.floor(this.requestsPerSecond));
      const window = 1000 * starts / this.requestsPerSecond;
      this.#starts = this.#starts.filter((start) => now - start < window);
      if (this.#starts.length >= starts) return "tooFast";
      this.#starts.push(now);
    }
    const request = ++this.#lastRequest;
    this.#inFlight.set(request, now);
    this.mostInFlight = Math.max(this.mostInFlight, this.#inFlight.size);
    return () => this.#inFlight.delete(request);
  }
}
