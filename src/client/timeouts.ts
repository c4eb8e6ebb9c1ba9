import type { Clock } from "../clock.ts";

/**
 * Timeouts of each request, in milliseconds.
 *
 * @example Two minutes for the headers of a slow server
 * ```ts
 * import { DataStream, type Timeouts } from "@weir/datastream";
 * import { assert } from "@std/assert";
 *
 * const timeouts: Partial<Timeouts> = { headers: 120_000 };
 * assert(new DataStream({ timeouts }).metadata().url);
 * ```
 */
export interface Timeouts {
  /**
   * Maximum time from the start of a request to the headers of its response, from 1 to 3600000.
   * Default 45000.
   */
  headers: number;
  /** Maximum time between two chunks of the body (idle timeout), from 1 to 3600000. Default 30000. */
  bytes: number;
}

/** Default timeouts. The service ends a request after 30 s; the network may add to that. */
export const DEFAULT_TIMEOUTS: Timeouts = { headers: 45_000, bytes: 30_000 };

/**
 * Maximum interval (ms) between two checks of the timeouts. Each check also renews the permit of the
 * request, so it must be well below the TTL of a permit.
 */
const CHECK_INTERVAL = 1_000;

/** The timer of one request: for the headers first, then for each chunk of the body. */
interface TimeoutTimer {
  /** Restarts the timer with the idle timeout, because headers or bytes have arrived. */
  restart(): void;
  /** Stops the timer. Stopping it again has no effect. */
  stop(): void;
}

/**
 * Starts the timer of a request that is being sent.
 *
 * @param onCheck Called immediately, and then at least once a second while the request runs
 * @param onTimeout Called at most once: with a `TimeoutError` if the headers or bytes do not arrive in
 *   time, or with the error of the clock if that fails
 */
export function startTimeouts(
  { headers, bytes }: Timeouts,
  clock: Clock,
  onCheck: () => void,
  onTimeout: (error: DOMException) => void,
): TimeoutTimer {
  const stopped = new AbortController();
  let startedAt = clock.now();
  let timeout = headers;
  let missing = "headers";
  const run = async () => {
    for (;;) {
      const left = startedAt + timeout - clock.now();
      if (left <= 0) break;
      onCheck();
      // At most `bytes`, because restart() may set that timeout during the sleep.
      await clock.sleep(Math.min(left, bytes, CHECK_INTERVAL), stopped.signal);
    }
    onTimeout(new DOMException(`no ${missing} within ${timeout / 1000} s`, "TimeoutError"));
  };
  run().catch((error) => {
    if (!stopped.signal.aborted) onTimeout(error);
  });
  return {
    restart() {
      startedAt = clock.now();
      timeout = bytes;
      missing = "bytes";
    },
    stop: () => stopped.abort(),
  };
}
