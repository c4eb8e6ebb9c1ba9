/**
 * Clock of a client. Pass another one to test without real delays.
 *
 * @example A clock that does not wait
 * ```ts
 * import { type Clock, DataStream } from "@weir/datastream";
 * import { createSandbox } from "@weir/datastream/sandbox";
 * import { assertEquals } from "@std/assert";
 *
 * let now = 0;
 * const clock: Clock = { now: () => now, sleep: (wait) => Promise.resolve(void (now += wait)) };
 * const { apiKey, url, fetch } = createSandbox({ now: () => now });
 * const client = new DataStream({ apiKey, baseUrl: url, fetch, clock });
 * assertEquals((await client.locations({ top: 10 }).toArray()).length, 60); // six requests
 * ```
 */
export interface Clock {
  /** Returns the time in milliseconds since an arbitrary moment. It never decreases. */
  now(): number;
  /** Resolves after a number of milliseconds, or rejects with the reason of the signal. */
  sleep(milliseconds: number, signal?: AbortSignal): Promise<void>;
}

/** Clock of the process: `performance.now()` and `setTimeout()`. */
export const systemClock: Clock = {
  now: () => performance.now(),
  sleep: (milliseconds, signal) =>
    new Promise((resolve, reject) => {
      signal?.throwIfAborted();
      const finish = () => {
        signal?.removeEventListener("abort", abort);
        resolve();
      };
      const abort = () => {
        clearTimeout(timer);
        reject(signal?.reason);
      };
      const timer = setTimeout(finish, milliseconds);
      signal?.addEventListener("abort", abort, { once: true });
    }),
};

/** Time limit that {@linkcode startTimeLimit} has started. */
export interface TimeLimit {
  /** Aborts when the time has passed. */
  readonly signal: AbortSignal;
  /** Stops the timer. */
  stop(): void;
}

/**
 * Starts a time limit.
 *
 * @param milliseconds Time after which the signal aborts
 * @param missing Start of the error message, such as "no response"
 */
export function startTimeLimit(clock: Clock, milliseconds: number, missing: string): TimeLimit {
  const expired = new AbortController();
  const stopped = new AbortController();
  const expire = async () => {
    await clock.sleep(milliseconds, stopped.signal);
    expired.abort(new Error(`${missing} within ${milliseconds / 1000} s`));
  };
  expire().catch(() => {});
  return { signal: expired.signal, stop: () => stopped.abort("stopped") };
}

/** Waits for a promise, and rejects immediately when the signal aborts. */
export function abortable<T>(
  promise: PromiseLike<T>,
  signal: AbortSignal | undefined,
): Promise<T> {
  return new Promise((resolve, reject) => {
    const abort = () => reject(signal?.reason);
    signal?.addEventListener("abort", abort, { once: true });
    const finish = () => signal?.removeEventListener("abort", abort);
    promise.then(resolve, reject).then(finish, finish);
    if (signal?.aborted) abort();
  });
}
