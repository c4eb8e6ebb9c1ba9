// Leases of requests. Workerd can drop a request without running its `finally` blocks or timers, so everything
// that a request holds expires unless the request renews it.
import type { Clock } from "../src/clock.ts";

/** Interval (ms) at which a lease is renewed. */
const LEASE_RENEWAL_INTERVAL = 1_000;
/** Age (ms) after which a lease that was not renewed has expired. */
const LEASE_TTL = 5_000;
/** Interval (ms) at which an entry of a set is renewed. */
const ENTRY_RENEWAL_INTERVAL = 5_000;
/** Age (ms) after which an entry of a set that was not renewed is removed. */
const ENTRY_TTL = 30_000;

/** Shows whether the request that runs a shared task, or fetches a shared page, is still running. */
export class Lease {
  readonly #clock: Clock;
  readonly #stopRenewal: () => void;
  #renewedAt = 0;

  /** Starts the lease, and renews it until it is ended. */
  constructor(clock: Clock) {
    this.#clock = clock;
    this.#stopRenewal = renewRegularly(clock, LEASE_RENEWAL_INTERVAL, () => {
      this.#renewedAt = clock.now();
    });
  }

  /** Whether the lease has expired, because its request was probably dropped. */
  get isExpired(): boolean {
    return this.#clock.now() - this.#renewedAt > LEASE_TTL;
  }

  /** Stops the renewal. Further calls have no effect. */
  end(): void {
    this.#stopRenewal();
  }
}

/** A set of entries that belong to requests. An entry that is not renewed is removed. */
export class ExpiringSet<T extends object> {
  readonly #renewedAt = new Map<T, number>();

  /** @param clock Clock for expiry and renewal */
  constructor(readonly clock: Clock) {}

  /** Returns the entries that have not expired, in the order in which they were added. */
  entries(): T[] {
    const now = this.clock.now();
    this.#renewedAt.forEach((renewedAt, entry) => {
      if (now - renewedAt > ENTRY_TTL) this.#renewedAt.delete(entry);
    });
    return [...this.#renewedAt.keys()];
  }

  /** Returns the sum of a number over all entries. */
  sum(valueOf: (entry: T) => number): number {
    return this.entries().reduce((sum, entry) => sum + valueOf(entry), 0);
  }

  /**
   * Adds an entry and renews it until it is deleted.
   *
   * @returns A function that deletes the entry. Further calls have no effect
   */
  add(entry: T): () => void {
    // A renewal also restores an entry that expired while the process was suspended.
    const stopRenewal = renewRegularly(this.clock, ENTRY_RENEWAL_INTERVAL, () => {
      this.#renewedAt.set(entry, this.clock.now());
    });
    return () => {
      stopRenewal();
      this.#renewedAt.delete(entry);
    };
  }
}

/**
 * Renews a lease now and at each interval (ms).
 *
 * @returns A function that stops the renewal
 */
function renewRegularly(clock: Clock, interval: number, renew: () => void): () => void {
  const stopped = new AbortController();
  const run = async () => {
    while (!stopped.signal.aborted) {
      renew();
      await clock.sleep(interval, stopped.signal);
    }
  };
  run().catch(() => {});
  return () => stopped.abort();
}
