import type { Clock } from "./clock.ts";

/**
 * How long the service may give no sign, in milliseconds.
 *
 * @example Give a slow server of one's own two minutes
 * ```ts
 * import { DataStream, type Timeouts } from "@weir/datastream";
 * import { assert } from "@std/assert";
 *
 * const timeouts: Partial<Timeouts> = { headers: 120_000 };
 * assert(new DataStream({ timeouts }).metadata().url);
 * ```
 */
export interface Timeouts {
  /** From the start of a request to the headers of its answer. Default 45000. */
  headers: number;
  /** From one piece of the body to the next. Default 30000. */
  bytes: number;
}

/** The service gives up on a request after 30 s, so headers that take longer will not come. */
export const DEFAULT_TIMEOUTS: Timeouts = { headers: 45_000, bytes: 30_000 };

/**
 * How often the watch looks. Short, because its looking is what says that somebody still waits: an
 * edge runtime drops a request whose reader has left without telling anyone.
 */
const LOOK = 1_000;

/** A watch over one request. */
interface Watch {
  /** Says that headers or bytes came. */
  sign(): void;
  /** Ends the watch; ending it twice does nothing. */
  end(): void;
}

/**
 * Watches over a request that has just been sent.
 *
 * @param onLook Called at each look, a second apart at most
 * @param giveUp Called once, with a `TimeoutError`, when the service has given no sign for too long
 */
export function watch(
  { headers, bytes }: Timeouts,
  clock: Clock,
  onLook: () => void,
  giveUp: (error: DOMException) => void,
): Watch {
  const ended = new AbortController();
  let seen = clock.now();
  let limit = headers;
  let missing = "headers";
  const look = async () => {
    for (;;) {
      const left = seen + limit - clock.now();
      if (left <= 0) break;
      onLook();
      // No longer than the other limit, which may hold by then.
      await clock.sleep(Math.min(left, bytes, LOOK), ended.signal);
    }
    giveUp(new DOMException(`no ${missing} within ${limit / 1000} s`, "TimeoutError"));
  };
  look().catch((error) => {
    if (!ended.signal.aborted) giveUp(error);
  });
  return {
    sign() {
      seen = clock.now();
      limit = bytes;
      missing = "bytes";
    },
    end: () => ended.abort(),
  };
}
