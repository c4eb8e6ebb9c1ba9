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
      // Bun warns of a negative time.
      const timer = setTimeout(finish, Math.max(0, milliseconds));
      signal?.addEventListener("abort", abort, { once: true });
    }),
};

/** Calls a function after a time (ms). The wait does not keep the process running. */
export function callLater(clock: Clock, milliseconds: number, run: () => void): void {
  if (clock !== systemClock) return void clock.sleep(milliseconds).then(run);
  const timer = setTimeout(run, Math.max(0, milliseconds)) as { unref?: () => void };
  timer.unref?.();
}

export interface TimeLimit {
  readonly signal: AbortSignal;
  stop(): void;
}

/** The signal aborts after `milliseconds`. */
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

/** Rejects immediately when the signal aborts. */
export function abortable<T>(
  promise: PromiseLike<T>,
  signal: AbortSignal | undefined,
  onLate?: (value: T) => unknown,
): Promise<T> {
  return new Promise((resolve, reject) => {
    const abort = () => reject(signal?.reason);
    signal?.addEventListener("abort", abort, { once: true });
    const finish = () => signal?.removeEventListener("abort", abort);
    const accept = (value: T) => {
      resolve(value);
      return signal?.aborted && onLate?.(value);
    };
    promise.then(accept, reject).then(finish, finish);
    if (signal?.aborted) abort();
  });
}
