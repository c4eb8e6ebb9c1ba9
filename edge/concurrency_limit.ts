import type { Clock } from "../src/clock.ts";
import { HttpProblem } from "./problem.ts";

/** Interval (ms) at which the holder of a permit renews it. */
const RENEWAL_INTERVAL = 5_000;
/** Age (ms) after which a permit that was not renewed is reclaimed. */
const TASK_PERMIT_TTL = 30_000;
/** Delay (s) after which a rejected client may try again. */
const RETRY_DELAY = 30;

/** Permission to run one task under a {@linkcode ConcurrencyLimit}. */
export interface TaskPermit {
  /** Returns the permit. Further calls have no effect. */
  release(): void;
}

/**
 * Limits how many tasks run concurrently.
 *
 * Permits expire unless renewed, because workerd can drop a request without running its `finally`
 * blocks or timers; a counter would leak.
 */
export class ConcurrencyLimit {
  /** Number of tasks that were refused. */
  refused = 0;
  readonly #held = new Set<{ renewedAt: number }>();

  /**
   * @param max Maximum number of concurrent permits
   * @param tasks Plural noun for the tasks, used in the 503 message
   * @param clock Clock for expiry and renewal
   */
  constructor(readonly max: number, readonly tasks: string, readonly clock: Clock) {}

  /** Number of permits that are held. */
  get held(): number {
    const now = this.clock.now();
    for (const entry of this.#held) {
      if (now - entry.renewedAt > TASK_PERMIT_TTL) this.#held.delete(entry);
    }
    return this.#held.size;
  }

  /**
   * Acquires a permit and renews it until it is released.
   *
   * @throws {HttpProblem} 503 if all permits are held
   */
  acquire(): TaskPermit {
    if (this.held >= this.max) {
      this.refused++;
      throw new HttpProblem({
        status: 503,
        title: "Too many concurrent requests",
        detail: `The server is at its limit of ${this.max} concurrent ${this.tasks}`,
        hint: `try again after ${RETRY_DELAY} s`,
      }, { "retry-after": String(RETRY_DELAY) });
    }
    const entry = { renewedAt: this.clock.now() };
    const released = new AbortController();
    this.#held.add(entry);
    const renew = async () => {
      for (;;) {
        await this.clock.sleep(RENEWAL_INTERVAL, released.signal);
        if (released.signal.aborted) return;
        entry.renewedAt = this.clock.now();
        // The permit may have expired while the whole process was suspended.
        this.#held.add(entry);
      }
    };
    renew().catch(() => {});
    return {
      release: () => {
        released.abort();
        this.#held.delete(entry);
      },
    };
  }

  /**
   * Runs a task while it holds a permit.
   *
   * @throws {HttpProblem} 503 if all permits are held
   */
  async run<T>(task: () => Promise<T>): Promise<T> {
    const permit = this.acquire();
    try {
      return await task();
    } finally {
      permit.release();
    }
  }
}
