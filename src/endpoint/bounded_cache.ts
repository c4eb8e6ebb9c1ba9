/** So many entries are kept, of keys so long at most. */
const ENTRIES = 200;
const LONGEST_KEY = 2_000;

/**
 * A memory for what is made from the same text again and again. It is bounded, as texts may come
 * from outside: past the bound the oldest entry goes.
 */
export class BoundedCache<T> {
  readonly #entries = new Map<string, T>();
  readonly #make: (key: string) => T;

  /** @param make Makes what is not there; what it throws is not kept */
  constructor(make: (key: string) => T) {
    this.#make = make;
  }

  /** What belongs to the key, made or remembered; it is shared, so it must not be changed. */
  get(key: string): T {
    const known = this.#entries.get(key);
    if (known !== undefined) return known;
    const made = this.#make(key);
    if (key.length > LONGEST_KEY) return made;
    if (this.#entries.size >= ENTRIES) this.#entries.delete(this.#entries.keys().next().value!);
    this.#entries.set(key, made);
    return made;
  }
}
