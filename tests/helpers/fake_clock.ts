import type { Clock } from "../../mod.ts";

/** Maximum number of timers that one clock fires, to stop code that polls without end. */
const MAX_TIMERS = 100_000;

interface Timer {
  at: number;
  wake: () => void;
  fail: (reason: unknown) => void;
}

/** Runs a function after all pending microtasks and I/O events; browsers have only timers for that. */
const { setImmediate: runWhenIdle = (run: () => void) => void setTimeout(run) } = globalThis as {
  setImmediate?: (run: () => void) => void;
};

/** Number of operations of Web Crypto, on threads that keep the event loop idle. */
let pendingOperations = 0;
const { subtle } = crypto;
for (const name of ["digest", "importKey", "sign", "verify"] as const) {
  const operate = subtle[name].bind(subtle) as (...values: unknown[]) => Promise<unknown>;
  const counted = async (...values: unknown[]) => {
    pendingOperations++;
    try {
      return await operate(...values);
    } finally {
      pendingOperations--;
    }
  };
  Object.assign(subtle, { [name]: counted });
}

/**
 * A clock that jumps to its next timer when the event loop is idle. Tests need no real time, and can
 * read the time that the code has waited.
 */
export class FakeClock implements Clock {
  #now = 0;
  #timers: Timer[] = [];
  #running = false;
  #fired = 0;

  get pending(): number {
    return this.#timers.length;
  }

  now(): number {
    return this.#now;
  }

  /** Advances the time without firing timers. */
  advance(milliseconds: number): void {
    this.#now += milliseconds;
  }

  /** Removes all timers without firing them, like a runtime that drops a request. */
  dropTimers(): void {
    this.#timers = [];
  }

  sleep(milliseconds: number, signal?: AbortSignal): Promise<void> {
    return new Promise((resolve, reject) => {
      signal?.throwIfAborted();
      const abort = () => {
        this.#timers = this.#timers.filter((other) => other !== timer);
        reject(signal?.reason);
      };
      const wake = () => {
        signal?.removeEventListener("abort", abort);
        resolve();
      };
      const timer = { at: this.#now + Math.max(0, milliseconds), wake, fail: reject };
      this.#timers.push(timer);
      signal?.addEventListener("abort", abort, { once: true });
      if (!this.#running) this.#run();
    });
  }

  async #run(): Promise<void> {
    this.#running = true;
    while (this.#timers.length > 0) {
      do {
        await new Promise<void>((resolve) => runWhenIdle(resolve));
      } while (pendingOperations > 0);
      this.#timers.sort((a, b) => a.at - b.at);
      const next = this.#timers.shift();
      if (next === undefined) break;
      if (++this.#fired > MAX_TIMERS) {
        next.fail(
          new Error(`The fake clock has fired ${MAX_TIMERS} timers: the code may poll without end`),
        );
        continue;
      }
      this.#now = Math.max(this.#now, next.at);
      next.wake();
    }
    this.#running = false;
  }
}
