import type { Clock } from "../clock.ts";
import {
  createRateLimitState,
  extendPermit,
  leaveQueue,
  penalizeKey,
  pollPermit,
  type RateLimitState,
  releasePermit,
} from "./rate_limit_state.ts";

/**
 * Requests that share a rate limit: those with the same API key to the same origin.
 *
 * @example
 * ```ts
 * import type { RateLimitTarget } from "@weir/datastream";
 *
 * // SHA-256 of the key "example", in hexadecimal digits
 * const target: RateLimitTarget = {
 *   origin: "https://api.datastream.org",
 *   keyHash: "50d858e0985ecc7f60418aaf0cc5ab587f42c2570a884095a9e8ccacd0f6545c",
 * };
 * console.log(target.origin);
 * ```
 */
export interface RateLimitTarget {
  /** Origin of the requests, such as `https://api.datastream.org`. */
  origin: string;
  /** SHA-256 of the API key in hexadecimal digits; `undefined` for requests without a key. */
  keyHash: string | undefined;
}

/**
 * A request for permission to send one HTTP request.
 *
 * @example
 * ```ts
 * import type { PermitRequest } from "@weir/datastream";
 *
 * const request: PermitRequest = {
 *   origin: "https://api.datastream.org",
 *   keyHash: undefined,
 *   requestsPerSecond: 2,
 *   maxWait: 20_000,
 * };
 * console.log(request.maxWait);
 * ```
 */
export interface PermitRequest extends RateLimitTarget {
  /** Maximum number of requests that start per second; `Infinity` for no limit. */
  requestsPerSecond: number;
  /** Maximum time (ms) to wait for the permit. Default: no maximum. */
  maxWait?: number | undefined;
}

/**
 * Refusal of a {@linkcode PermitRequest}, because no permit will be available within `maxWait`.
 *
 * @example
 * ```ts
 * import type { PermitRefusal } from "@weir/datastream";
 *
 * const refusal: PermitRefusal = { retryAfter: 5_000 };
 * console.log(`try again in ${refusal.retryAfter / 1000} s`);
 * ```
 */
export interface PermitRefusal {
  /** Estimated time (ms) until a permit is available. */
  retryAfter: number;
}

/**
 * Permission to send one HTTP request. The next permit is granted when this one is released or expires.
 *
 * The client calls the methods while the request runs, and does not await their promises. An error in
 * `responded` or `release` does not affect the request: a permit that is not released expires.
 *
 * @example A permit that never expires
 * ```ts
 * import type { Permit } from "@weir/datastream";
 *
 * let isFree = false;
 * const permit: Permit = {
 *   responded() {},
 *   extend() {},
 *   release() {
 *     isFree = true;
 *   },
 * };
 * permit.release("success");
 * console.log(isFree); // true
 * ```
 */
export interface Permit {
  /** Records that the headers of the response have arrived. */
  responded(): void | Promise<void>;
  /**
   * Renews the permit while the request is running. The client calls it at least once a second.
   *
   * If it returns `false` or fails, the permit may soon be granted to another request. The client then aborts
   * this request and sends it again with another permit.
   */
  extend(): void | boolean | Promise<void | boolean>;
  /**
   * Releases the permit. Releasing it again has no effect.
   *
   * @param outcome `success` if the response was complete and its status 200. Default: any other outcome
   */
  release(outcome?: "success"): void | Promise<void>;
}

/**
 * Limits the rate of requests. All clients with the same API key must share one limiter, because DataStream's
 * limits apply to the key. `docs/rate-limiting.md` in the repository describes what an implementation must do.
 *
 * @example A limiter that reports each wait
 * ```ts
 * import { DataStream, type RateLimiter } from "@weir/datastream";
 *
 * function withLog(limiter: RateLimiter): RateLimiter {
 *   return {
 *     async acquire(request, signal) {
 *       const start = performance.now();
 *       const permit = await limiter.acquire(request, signal);
 *       console.log(`waited ${performance.now() - start} ms`);
 *       return permit;
 *     },
 *     penalize: (target, blockTime) => limiter.penalize(target, blockTime),
 *   };
 * }
 * const createClient = (rateLimiter: RateLimiter) =>
 *   new DataStream({ rateLimiter: withLog(rateLimiter) });
 * console.log(createClient.length);
 * ```
 */
export interface RateLimiter {
  /**
   * Waits for permission to send one request: until no other request with the key is in flight, and the
   * interval since the last one has passed. Requests are served in the order of the calls.
   *
   * @param request Origin and key of the request, rate, and maximum wait
   * @param signal Ends the wait; the promise rejects with its reason
   * @returns The permit, or a refusal as soon as the estimated wait exceeds `maxWait`
   */
  acquire(request: PermitRequest, signal?: AbortSignal): Promise<Permit | PermitRefusal>;
  /**
   * Delays every request with a key after a response with status 429.
   *
   * @param target Origin and key of the request
   * @param blockTime Time (ms) during which no request with the key may start
   */
  penalize(target: RateLimitTarget, blockTime: number): void | Promise<void>;
}

/**
 * Limiters of this process by clock. Clients share a limiter, because the service counts their requests
 * together.
 */
const processLimiters = new WeakMap<Clock, RateLimiter>();

/**
 * Returns the rate limiter of this process. It has one queue per origin, which all API keys share.
 *
 * @param clock Clock for delays. Only callers with the same clock share a limiter
 */
export function processLimiter(clock: Clock): RateLimiter {
  const limiter = processLimiters.get(clock) ?? createProcessLimiter(clock);
  processLimiters.set(clock, limiter);
  return limiter;
}

function createProcessLimiter(clock: Clock): RateLimiter {
  const states = new Map<string, RateLimitState>();
  const stateOf = (origin: string) => {
    const state = states.get(origin) ?? createRateLimitState(false);
    states.set(origin, state);
    return state;
  };
  let lastId = 0;
  return {
    async acquire({ origin, keyHash: key, requestsPerSecond, maxWait = Infinity }, signal) {
      signal?.throwIfAborted();
      const state = stateOf(origin);
      const id = `${++lastId}`;
      const deadline = clock.now() + maxWait;
      try {
        for (let isFirst = true;; isFirst = false) {
          const now = clock.now();
          const poll = { id, key, requestsPerSecond, isFirst, maxWait: deadline - now };
          const result = pollPermit(state, poll, now);
          if (result.status === "refused") return { retryAfter: result.retryAfter };
          if (result.status === "granted") return createLocalPermit(state, id, clock);
          await clock.sleep(result.delay, signal);
        }
      } catch (error) {
        leaveQueue(state, id, clock.now());
        throw error;
      }
    },
    penalize({ origin, keyHash }, blockTime) {
      penalizeKey(stateOf(origin), keyHash, blockTime, clock.now());
    },
  };
}

function createLocalPermit(state: RateLimitState, id: string, clock: Clock): Permit {
  let respondedAt: number | undefined;
  return {
    responded() {
      respondedAt = clock.now();
    },
    extend() {
      // The result is ignored: a permit of this process expires only if the process is suspended, which
      // suspends all of its requests.
      extendPermit(state, id, clock.now());
    },
    release(outcome) {
      const now = clock.now();
      const responseAge = respondedAt === undefined ? undefined : now - respondedAt;
      releasePermit(state, id, { responseAge, succeeded: outcome === "success" }, now);
    },
  };
}
