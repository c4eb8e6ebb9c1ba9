import type { Clock } from "../src/clock.ts";

/** Interval (ms) at which an entry is renewed. */
const RENEWAL_INTERVAL = 5_000;
/** Age (ms) after which an entry that was not renewed is removed. */
const ENTRY_TTL = 30_000;

/**
 * A set of entries that belong to requests. An entry that is not renewed is removed.
 *
 * Workerd can drop a request without running its `finally` blocks or timers. Its entries would otherwise
 * stay in the set.
 */
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
    const deleted = new AbortController();
    const renew = async () => {
      while (!deleted.signal.aborted) {
        // This also restores an entry that expired while the process was suspended.
        this.#renewedAt.set(entry, this.clock.now());
        await this.clock.sleep(RENEWAL_INTERVAL, deleted.signal);
      }
    };
    renew().catch(() => {});
    return () => {
      deleted.abort();
      this.#renewedAt.delete(entry);
    };
  }
}
