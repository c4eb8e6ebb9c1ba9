import type { Clock } from "../src/clock.ts";
import { ExpiringSet } from "./expiring_set.ts";
import { HttpProblem } from "./problem.ts";

/** Delay (s) after which a rejected client may try again. */
const RETRY_DELAY = 30;
/** Interval (ms) at which a task that waits for a permit checks whether one is free. */
const PERMIT_POLL_INTERVAL = 100;

/** Permission to run one task under a {@linkcode ConcurrencyLimit}. */
export interface TaskPermit {
  /** Returns the permit. Further calls have no effect. */
  release(): void;
}

/** Limits how many tasks run concurrently. */
export class ConcurrencyLimit {
  /** Number of tasks that were refused. */
  refused = 0;
  readonly #clock: Clock;
  readonly #permits: ExpiringSet<TaskPermit>;

  /**
   * @param max Maximum number of concurrent permits
   * @param tasks Plural noun for the tasks, used in the 503 message
   * @param clock Clock for expiry and renewal
   */
  constructor(readonly max: number, readonly tasks: string, clock: Clock) {
    this.#clock = clock;
    this.#permits = new ExpiringSet(clock);
  }

  /** Number of permits that are held. */
  get held(): number {
    return this.#permits.sum(() => 1);
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
    const permit = { release: () => {} };
    permit.release = this.#permits.add(permit);
    return permit;
  }

  /**
   * Waits for a permit, acquires it and renews it until it is released.
   *
   * @param signal Ends the wait; the promise rejects with its reason
   */
  async wait(signal: AbortSignal): Promise<TaskPermit> {
    while (this.held >= this.max) await this.#clock.sleep(PERMIT_POLL_INTERVAL, signal);
    return this.acquire();
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
