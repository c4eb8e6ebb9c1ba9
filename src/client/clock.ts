/** The time, and waiting by it; give another one to test without waiting. */
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
