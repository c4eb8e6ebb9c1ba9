import type { Clock } from "../../src/clock.ts";

interface CacheOptions {
  /** Milliseconds. */
  ttl: number;
  /** Default: no limit. */
  maxEntries?: number;
  clock: Clock;
}

/** Evicts the value that was stored first, and keeps stale values until then. */
export class TtlCache<V> {
  readonly #entries = new Map<string, { value: V; storedAt: number }>();
  readonly #options: CacheOptions;

  constructor(options: CacheOptions) {
    this.#options = options;
  }

  /** `undefined` if missing or stale. */
  get(key: string): V | undefined {
    const entry = this.#entries.get(key);
    const { ttl, clock } = this.#options;
    return entry && clock.now() - entry.storedAt < ttl ? entry.value : undefined;
  }

  getStale(key: string): V | undefined {
    return this.#entries.get(key)?.value;
  }

  set(key: string, value: V): void {
    const { maxEntries = Infinity, clock } = this.#options;
    // A Map iterates in the order of insertion, and replacing a value does not change its position.
    this.#entries.delete(key);
    this.#entries.set(key, { value, storedAt: clock.now() });
    const [oldest] = this.#entries.keys();
    if (this.#entries.size > maxEntries && oldest !== undefined) this.#entries.delete(oldest);
  }
}
