import type { Clock } from "../src/clock.ts";
import { Lease } from "./lease.ts";

/** Interval (ms) at which a call checks whether the execution that it waits for has ended. */
const RESULT_POLL_INTERVAL = 20;

/** One execution of a task. */
interface SharedExecution<T> {
  readonly lease: Lease;
  /** Result of the task; `undefined` until it succeeds. */
  result?: { value: T };
  hasFailed: boolean;
}

/**
 * Runs each task once for all concurrent calls with the same key. Results are not kept.
 *
 * Plain data that the calls poll, because workerd ends a request that awaits a promise of another request.
 */
export class SharedTasks<T> {
  readonly #clock: Clock;
  readonly #running = new Map<string, SharedExecution<T>>();

  /** @param clock Clock for polls and expiry */
  constructor(clock: Clock) {
    this.#clock = clock;
  }

  /**
   * Returns the result of a running task with the same key, or runs the task. If the running task fails or is
   * abandoned, one of the calls that wait for it runs its own task.
   *
   * @param task Called if no task with the key is running. Only this call receives its error
   * @param signal Ends the wait for the task of another call; the promise rejects with its reason
   */
  async run(key: string, task: () => Promise<T>, signal?: AbortSignal): Promise<T> {
    for (;;) {
      signal?.throwIfAborted();
      const running = this.#running.get(key);
      if (running === undefined) return await this.#execute(key, task);
      while (isRunning(running)) await this.#clock.sleep(RESULT_POLL_INTERVAL, signal);
      if (running.result !== undefined) return running.result.value;
      if (this.#running.get(key) === running) this.#running.delete(key);
    }
  }

  async #execute(key: string, task: () => Promise<T>): Promise<T> {
    const execution: SharedExecution<T> = { lease: new Lease(this.#clock), hasFailed: false };
    this.#running.set(key, execution);
    try {
      const value = await task();
      execution.result = { value };
      return value;
    } catch (error) {
      execution.hasFailed = true;
      throw error;
    } finally {
      execution.lease.end();
      if (this.#running.get(key) === execution) this.#running.delete(key);
    }
  }
}

function isRunning({ result, hasFailed, lease }: SharedExecution<unknown>): boolean {
  return result === undefined && !hasFailed && !lease.isExpired;
}
