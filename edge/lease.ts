import type { Clock } from "../src/clock.ts";

/** Interval (ms) at which a lease is renewed. */
const LEASE_RENEWAL_INTERVAL = 1_000;
/** Age (ms) after which a lease that was not renewed has expired. */
const LEASE_TTL = 5_000;

/**
 * Indicates that the request that runs a shared task has not ended. A lease expires unless its request renews
 * it, because workerd can drop a request without running its `finally` blocks or timers.
 */
export class Lease {
  readonly #clock: Clock;
  readonly #ended = new AbortController();
  #renewedAt = 0;

  /** Starts the lease, and renews it until it is ended. */
  constructor(clock: Clock) {
    this.#clock = clock;
    this.#renew().catch(() => {});
  }

  /** Whether the lease has expired, because its request was probably dropped. */
  get isExpired(): boolean {
    return this.#clock.now() - this.#renewedAt > LEASE_TTL;
  }

  /** Stops the renewal. Further calls have no effect. */
  end(): void {
    this.#ended.abort();
  }

  async #renew(): Promise<void> {
    for (;;) {
      this.#renewedAt = this.#clock.now();
      await this.#clock.sleep(LEASE_RENEWAL_INTERVAL, this.#ended.signal);
    }
  }
}
