import { setImmediate } from "node:timers";
import type { Clock } from "../../mod.ts";

interface Timer {
  at: number;
  wake: () => void;
}

/**
 * A clock that jumps to the next timer as soon as everything else has come to rest: no test waits,
 * and what is waited for can be read off it.
 */
export class FakeClock implements Clock {
  #now = 0;
  #timers: Timer[] = [];
  #running = false;

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

  sleep(milliseconds: number, signal?: AbortSignal): Promise<void> {
    return new Promise((resolve, reject) => {
      signal?.throwIfAborted();
      const timer = { at: this.#now + Math.max(0, milliseconds), wake: resolve };
      this.#timers.push(timer);
      signal?.addEventListener("abort", () => {
        this.#timers = this.#timers.filter((other) => other !== timer);
        reject(signal.reason);
      }, { once: true });
      if (!this.#running) this.#run();
    });
  }

  async #run(): Promise<void> {
    this.#running = true;
    while (this.#timers.length > 0) {
      await new Promise((resolve) => setImmediate(resolve));
      this.#timers.sort((a, b) => a.at - b.at);
      const next = this.#timers.shift();
      if (next === undefined) break;
      this.#now = Math.max(this.#now, next.at);
      next.wake();
    }
    this.#running = false;
  }
}
