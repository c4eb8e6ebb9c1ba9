/**
 * The time, and waiting by it; give another one to test without waiting.
 *
 * @example A clock whose waits are over at once
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
  /** Milliseconds since some fixed moment; never goes back. */
  now(): number;
  /** Resolves after so many milliseconds, or rejects with the signal's reason. */
  sleep(milliseconds: number, signal?: AbortSignal): Promise<void>;
}

/** The process's own time. */
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
