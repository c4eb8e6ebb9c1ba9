import type { Clock } from "../src/clock.ts";
import { DataStreamError } from "../src/errors.ts";
import { Lease } from "./lease.ts";
import { SilenceError } from "./start_deadline.ts";

/** Interval (ms) at which a call polls the execution that it waits for. */
const RESULT_POLL_INTERVAL = 20;

/** One execution of a task. */
interface SharedExecution<T> {
  readonly lease: Lease;
  /** Result of the task; `undefined` until it succeeds. */
  result?: { value: T };
  /** Set when the task fails. */
  failure?: { error: unknown };
}

/**
 * Runs each task once for all concurrent calls with the same key. Results are not kept.
 *
 * Calls poll plain data, because workerd ends a request that awaits a promise of another request.
 */
export class SharedTasks<T> {
  readonly #clock: Clock;
  readonly #running = new Map<string, SharedExecution<T>>();

  /** @param clock Clock for polls and expiry */
  constructor(clock: Clock) {
    this.#clock = clock;
  }

  /** Number of tasks that are running, or whose request was dropped while they ran. */
  get size(): number {
    return this.#running.size;
  }

  /**
   * Returns the result of a running task with the same key, or runs the task. The running task can be abandoned, or
   * fail with an error of its own call. One of the calls that wait for it then runs its own task.
   *
   * All calls that wait receive an error of the service or the rate limiter. If each of them tried again, the last
   * one would wait for the sum of their times.
   *
   * @param task Called if no task with the key is running
   * @param signal Ends the wait for the task of another call; the promise rejects with its reason
   * @throws The error of the task, or of the service for the task of another call
   */
  async run(key: string, task: () => Promise<T>, signal?: AbortSignal): Promise<T> {
    for (;;) {
      signal?.throwIfAborted();
      const running = this.#running.get(key);
      if (running === undefined) return await this.#execute(key, task);
      while (isRunning(running)) await this.#clock.sleep(RESULT_POLL_INTERVAL, signal);
      const { result, failure } = running;
      if (result !== undefined) return result.value;
      if (failure !== undefined && isServiceError(failure.error)) throw failure.error;
      if (this.#running.get(key) === running) this.#running.delete(key);
    }
  }

  async #execute(key: string, task: () => Promise<T>): Promise<T> {
    this.#forgetDropped();
    const execution: SharedExecution<T> = { lease: new Lease(this.#clock) };
    this.#running.set(key, execution);
    try {
      const value = await task();
      execution.result = { value };
      return value;
    } catch (error) {
      execution.failure = { error };
      throw error;
    } finally {
      execution.lease.end();
      if (this.#running.get(key) === execution) this.#running.delete(key);
    }
  }

  /** Removes tasks whose request was dropped. Otherwise they stay if no later call has their key. */
  #forgetDropped(): void {
    for (const [key, { lease }] of this.#running) if (lease.isExpired) this.#running.delete(key);
  }
}

function isRunning({ result, failure, lease }: SharedExecution<unknown>): boolean {
  return result === undefined && failure === undefined && !lease.isExpired;
}

/** Whether each call would get the same error from its own task. */
function isServiceError(error: unknown): boolean {
  return error instanceof DataStreamError || error instanceof SilenceError;
}
