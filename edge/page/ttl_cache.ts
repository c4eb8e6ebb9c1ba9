import type { Clock } from "../../src/clock.ts";

/** Milliseconds. */
const TTL = 300_000;
/** Maximum number of bytes. An isolate of Workers has 128 MB for the page and all downloads. */
const MAX_SIZE = 32_000_000;

const BYTES_PER_CHARACTER = 2;

/** Evicts the value that was stored first, and keeps stale values until then. */
export class TtlCache {
  readonly #entries = new Map<string, { value: unknown; storedAt: number; size: number }>();
  #size = 0;

  constructor(readonly clock: Clock) {}

  /** `undefined` if missing or stale. */
  get(key: string): unknown {
    const entry = this.#entries.get(key);
    return entry && this.clock.now() - entry.storedAt < TTL ? entry.value : undefined;
  }

  getStale(key: string): unknown {
    return this.#entries.get(key)?.value;
  }

  /** `size` is the estimated number of bytes of the value. */
  set(key: string, value: unknown, size: number): void {
    this.#delete(key);
    size += BYTES_PER_CHARACTER * key.length;
    // A Map iterates in the order of insertion.
    this.#entries.set(key, { value, storedAt: this.clock.now(), size });
    this.#size += size;
    for (const oldest of this.#entries.keys()) {
      if (this.#size <= MAX_SIZE || oldest === key) break;
      this.#delete(oldest);
    }
  }

  #delete(key: string): void {
    this.#size -= this.#entries.get(key)?.size ?? 0;
    this.#entries.delete(key);
  }
}
