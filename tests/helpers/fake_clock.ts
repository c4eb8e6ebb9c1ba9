import type { Clock } from "../../mod.ts";

/** Maximum number of timers that one clock fires: code that never gets its turn would wait forever. */
const MAX_TIMERS = 100_000;

interface Timer {
  at: number;
  wake: () => void;
  fail: (reason: unknown) => void;
}

/** Runs when everything else has come to rest; a browser has its timers alone for that. */
const { setImmediate: atRest = (run: () => void) => void setTimeout(run) } = globalThis as {
  setImmediate?: (run: () => void) => void;
};

/**
 * A clock that jumps to the next timer as soon as everything else has come to rest: no test waits,
 * and what is waited for can be read off it.
 */
export class FakeClock implements Clock {
  #now = 0;
  #timers: Timer[] = [];
  #running = false;
  #still: Promise<unknown> = Promise.resolve();
  #fired = 0;

  /** Number of timers that have not fired. */
  get pending(): number {
    return this.#timers.length;
  }

  now(): number {
    return this.#now;
  }

  /** Moves the time on, without waking anyone. */
  advance(milliseconds: number): void {
    this.#now += milliseconds;
  }

  /** Drops every timer, as a runtime does that kills what waits: nobody is woken. */
  forget(): void {
    this.#timers = [];
  }

  /** Stands still until something is over that no timer of this clock stands for. */
  standStill<T>(work: Promise<T>): Promise<T> {
    this.#still = Promise.allSettled([this.#still, work]);
    return work;
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
      await this.#still;
      await new Promise<void>((resolve) => atRest(resolve));
      this.#timers.sort((a, b) => a.at - b.at);
      const next = this.#timers.shift();
      if (next === undefined) break;
      if (++this.#fired > MAX_TIMERS) {
        next.fail(
          new Error(`The fake clock has fired ${MAX_TIMERS} timers: something waits forever`),
        );
        continue;
      }
      this.#now = Math.max(this.#now, next.at);
      next.wake();
    }
    this.#running = false;
  }
}
