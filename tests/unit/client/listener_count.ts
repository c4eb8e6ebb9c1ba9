/** Counts the listeners on abort signals that were added but neither removed nor called. */
export class ListenerCount {
  readonly #listeners = new Map<AbortSignal, Set<string>>();
  readonly #ids = new Map<unknown, number>();
  readonly #add = EventTarget.prototype.addEventListener;
  readonly #remove = EventTarget.prototype.removeEventListener;

  constructor() {
    // deno-lint-ignore no-this-alias -- the methods have the event target as `this`
    const count = this;
    EventTarget.prototype.addEventListener = function (
      ...args: Parameters<EventTarget["addEventListener"]>
    ) {
      if (this instanceof AbortSignal && !this.aborted) count.#of(this).add(count.#keyOf(args));
      return count.#add.apply(this, args);
    };
    EventTarget.prototype.removeEventListener = function (
      ...args: Parameters<EventTarget["removeEventListener"]>
    ) {
      if (this instanceof AbortSignal) count.#of(this).delete(count.#keyOf(args));
      return count.#remove.apply(this, args);
    };
  }

  /** Number of listeners on signals that have not aborted, since an aborted signal calls none again. */
  get left(): number {
    return [...this.#listeners]
      .reduce((sum, [signal, { size }]) => signal.aborted ? sum : sum + size, 0);
  }

  [Symbol.dispose](): void {
    EventTarget.prototype.addEventListener = this.#add;
    EventTarget.prototype.removeEventListener = this.#remove;
  }

  #of(signal: AbortSignal): Set<string> {
    const listeners = this.#listeners.get(signal) ?? new Set();
    this.#listeners.set(signal, listeners);
    return listeners;
  }

  #keyOf([type, listener]: readonly [string, unknown, ...unknown[]]): string {
    const id = this.#ids.get(listener) ?? this.#ids.size;
    this.#ids.set(listener, id);
    return `${type} ${id}`;
  }
}
