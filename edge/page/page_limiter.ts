import type { Clock } from "../../src/clock.ts";
import type { RateLimiter } from "../../src/client/rate_limiter.ts";
import { ExpiringSet } from "../lease.ts";

/** While downloads are running, one request in four is for the page. */
const DOWNLOAD_SHARE = 4;
/** Interval (ms) at which a request of the page checks whether it may be sent. */
const PAGE_POLL_INTERVAL = 100;

/**
 * Returns a function that wraps the rate limiter of a client, so that people who use the page do not delay
 * downloads. All clients of the page share the function.
 *
 * At most one request of the page waits in the queue that it shares with the downloads. While downloads are
 * running, it enters this queue after at least four intervals since the last request of the page. Otherwise it
 * is sent when no other request waits, and so before no other one.
 *
 * A waiter polls, because workerd ends a request that awaits a promise of another request.
 *
 * @param hasDownloads Returns whether downloads are running
 */
export function createPageLimits(
  hasDownloads: () => boolean,
  clock: Clock,
): (limiter: RateLimiter) => RateLimiter {
  /** Request of the page that may enter the queue: none or one. */
  const turns = new ExpiringSet<object>(clock);
  let lastStart = -Infinity;
  return (limiter) => ({
    async acquire(request, signal) {
      const { requestsPerSecond, maxWait = Infinity } = request;
      const deadline = clock.now() + maxWait;
      const share = 1000 * DOWNLOAD_SHARE / requestsPerSecond;
      let endTurn: (() => void) | undefined;
      try {
        for (;;) {
          const now = clock.now();
          const remaining = Math.max(0, deadline - now);
          if (endTurn === undefined && turns.entries().length === 0) endTurn = turns.add({});
          const isDue = now >= lastStart + share;
          if (endTurn !== undefined && (isDue || !hasDownloads())) {
            const ownMax = maxWait === Infinity ? undefined : remaining;
            const wait = isDue ? ownMax : 0;
            const result = await limiter.acquire({ ...request, maxWait: wait }, signal);
            const isRefused = "retryAfter" in result;
            if (!isRefused) lastStart = clock.now();
            if (!isRefused || isDue) return result;
          }
          if (remaining === 0) return { retryAfter: share };
          await clock.sleep(Math.min(remaining, PAGE_POLL_INTERVAL), signal);
        }
      } finally {
        endTurn?.();
      }
    },
    penalize: (target, blockTime) => limiter.penalize(target, blockTime),
  });
}
