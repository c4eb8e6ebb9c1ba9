import type { Clock } from "../src/clock.ts";

/** Interval (ms) at which a call checks whether the execution that it waits for has ended. */
const RESULT_POLL_INTERVAL = 20;
/** Interval (ms) at which a running execution is renewed. */
const TASK_RENEWAL_INTERVAL = 1_000;
/** Age (ms) after which an execution that was not renewed is treated as abandoned. */
const TASK_TTL = 5_000;

/** One execution of a task. */
interface SharedExecution<T> {
  renewedAt: number;
  /** Result of the task; `undefined` until it succeeds. */
  result?: { value: T };
  hasFailed: boolean;
}

/**
 * Runs each task once for all concurrent calls with the same key. Results are not kept.
 *
 * Plain data that the calls poll, because workerd ends a request that awaits a promise of another request. An
 * execution expires unless it is renewed, because workerd can drop the request that runs it.
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
      while (this.#isRunning(running)) await this.#clock.sleep(RESULT_POLL_INTERVAL, signal);
      if (running.result !== undefined) return running.result.value;
      if (this.#running.get(key) === running) this.#running.delete(key);
    }
  }

  #isRunning({ result, hasFailed, renewedAt }: SharedExecution<T>): boolean {
    return result === undefined && !hasFailed &&
      this.#clock.now() - renewedAt <= TASK_TTL;
  }

  async #execute(key: string, task: () => Promise<T>): Promise<T> {
    const execution: SharedExecution<T> = { renewedAt: this.#clock.now(), hasFailed: false };
    this.#running.set(key, execution);
    const ended = new AbortController();
    const renew = async () => {
      for (;;) {
        execution.renewedAt = this.#clock.now();
        await this.#clock.sleep(TASK_RENEWAL_INTERVAL, ended.signal);
      }
    };
    renew().catch(() => {});
    try {
      const value = await task();
      execution.result = { value };
      return value;
    } catch (error) {
      execution.hasFailed = true;
      throw error;
    } finally {
      ended.abort();
      if (this.#running.get(key) === execution) this.#running.delete(key);
    }
  }
}
