import type { Clock } from "../clock.ts";
import {
  createRateLimitState,
  extendPermit,
  leaveQueue,
  penalizeKey,
  PERMIT_TTL,
  type Poll,
  pollPermit,
  type PollResult,
  type RateLimitState,
  type Release,
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
 * Response to a {@linkcode PermitRequest} whose permit cannot be given within `maxWait`.
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
  /** Estimated time (ms) until a permit can be given. */
  retryAfter: number;
}

/**
 * Permission to send one HTTP request. The next permit is given when this one is released or expires.
 *
 * The client calls the methods while the request runs, and does not wait for their promises. An error of
 * `responded` or `release` has no effect on the request: a permit that is not released expires.
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
   * Records that the request is still running, so that the permit does not expire. It is called at least
   * once a second.
   *
   * If the result is `false` or an error, another request may get the permit soon. The client then aborts
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
 * Limits the rate of requests. All clients with the same API key must share one limiter, because
 * DataStream limits their requests together. `docs/rate-limiting.md` in the repository describes what an
 * implementation must do.
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

type MaybePromise<T> = T | PromiseLike<T>;

/**
 * Stores one rate limit: each method calls the function of `rate_limit_state.ts` that has the same purpose. A
 * store on another machine returns promises.
 */
export interface RateLimitStore {
  poll(request: Poll): MaybePromise<PollResult>;
  extend(id: string): MaybePromise<boolean>;
  release(id: string, release: Release): MaybePromise<void>;
  /** Removes a request from the queue, and releases its permit if it has one. */
  leave(id: string): MaybePromise<void>;
  penalize(key: string | undefined, blockTime: number): MaybePromise<void>;
}

/** Creates a store over a state in memory. */
export function createMemoryStore(
  state: RateLimitState,
  now: () => number,
): RateLimitStore {
  return {
    poll: (request) => pollPermit(state, request, now()),
    extend: (id) => extendPermit(state, id, now()),
    release: (id, release) => releasePermit(state, id, release, now()),
    leave: (id) => leaveQueue(state, id, now()),
    penalize: (key, blockTime) => penalizeKey(state, key, blockTime, now()),
  };
}

/**
 * Age (ms) from which a permit that could not be extended is treated as lost. Its request is then aborted
 * within a second, and so before the permit expires in the store.
 */
const LOST_AGE = PERMIT_TTL - 2_000;
/** Maximum time (ms) to wait for the answer of a store. */
const STORE_TIMEOUT = 10_000;
/** Age (ms) from which a permit is extended in its store. */
const EXTENSION_AGE = 900;

/**
 * Creates a rate limiter whose waiters poll a store.
 *
 * @param storeOf Returns the store of an origin and a key
 * @param createId Returns an identifier that no other request to the store has
 */
export function createPollingLimiter(
  storeOf: (target: RateLimitTarget) => RateLimitStore,
  createId: () => string,
  clock: Clock,
): RateLimiter {
  return {
    async acquire(request, signal) {
      signal?.throwIfAborted();
      const { keyHash: key, requestsPerSecond, maxWait } = request;
      const store = storeOf(request);
      const id = createId();
      const start = clock.now();
      let polling: MaybePromise<PollResult> | undefined;
      try {
        for (let isFirst = true;; isFirst = false) {
          const polledAt = clock.now();
          const remaining = maxWait === undefined ? undefined : start + maxWait - polledAt;
          polling = store.poll({ id, key, requestsPerSecond, isFirst, maxWait: remaining });
          const result = isPromise(polling)
            ? await answerWithin(
              Math.min(STORE_TIMEOUT, Math.max(0, remaining ?? Infinity)),
              polling,
              clock,
              signal,
            )
            : polling;
          if (result.status === "refused") return { retryAfter: result.retryAfter };
          if (result.status === "waiting") await clock.sleep(result.delay, signal);
          else if (clock.now() - polledAt < LOST_AGE) {
            return createPermit(store, id, clock, polledAt);
          } else await store.leave(id); // the permit arrived too late to be used
        }
      } catch (error) {
        const leave = () => store.leave(id);
        if (isPromise(polling)) polling.then(leave, leave).then(undefined, () => {});
        else leave();
        throw error;
      }
    },
    penalize: (target, blockTime) =>
      storeOf(target).penalize(target.keyHash, blockTime) as void | Promise<void>,
  };
}

/** Creates the permit of a request. `extendedAt` is the time of the poll that granted it. */
function createPermit(
  store: RateLimitStore,
  id: string,
  clock: Clock,
  extendedAt: number,
): Permit {
  let respondedAt: number | undefined;
  let isExtending = false;
  let isReleased = false;
  return {
    responded() {
      respondedAt = clock.now();
    },
    extend() {
      const now = clock.now();
      const isValid = () => clock.now() - extendedAt < LOST_AGE;
      if (isExtending) return isValid();
      if (now - extendedAt < EXTENSION_AGE) return true;
      const extension = store.extend(id);
      const finish = (isHeld: boolean) => {
        isExtending = false;
        extendedAt = now;
        return isHeld;
      };
      if (!isPromise(extension)) return finish(extension);
      isExtending = true;
      return Promise.resolve(extension).then(finish, () => {
        isExtending = false;
        return isValid();
      });
    },
    release(outcome) {
      if (isReleased) return;
      isReleased = true;
      const responseAge = respondedAt === undefined ? undefined : clock.now() - respondedAt;
      return store.release(id, {
        responseAge,
        succeeded: outcome === "success",
      }) as void | Promise<void>;
    },
  };
}

/** Limiters of this process by clock. All clients share them, because the service limits them together. */
const processLimiters = new WeakMap<Clock, RateLimiter>();

/**
 * Returns the rate limiter of this process. It has one queue for each origin, whatever the key.
 *
 * @param clock Clock by which to wait. Only callers with the same clock share a limiter
 */
export function processLimiter(clock: Clock): RateLimiter {
  let limiter = processLimiters.get(clock);
  if (limiter === undefined) {
    const stores = new Map<string, RateLimitStore>();
    let lastId = 0;
    const storeOf = ({ origin }: RateLimitTarget) => {
      let store = stores.get(origin);
      if (store === undefined) {
        const memory = createMemoryStore(createRateLimitState(false), () => clock.now());
        // A request whose permit has expired continues: its process was suspended, and so were the others.
        store = { ...memory, extend: (id) => (memory.extend(id), true) };
        stores.set(origin, store);
      }
      return store;
    };
    limiter = createPollingLimiter(storeOf, () => `${++lastId}`, clock);
    processLimiters.set(clock, limiter);
  }
  return limiter;
}

/** Returns the SHA-256 of an API key in hexadecimal digits. */
export async function hashKey(apiKey: string): Promise<string> {
  const digest = await crypto.subtle.digest("SHA-256", new TextEncoder().encode(apiKey));
  return Array.from(new Uint8Array(digest), (byte) => byte.toString(16).padStart(2, "0")).join("");
}

function isPromise<T>(value: MaybePromise<T> | undefined): value is PromiseLike<T> {
  return typeof (value as PromiseLike<T> | undefined)?.then === "function";
}

/** Waits for a store, and rejects when a time (ms) has passed or the signal aborts. */
async function answerWithin<T>(
  timeout: number,
  answer: PromiseLike<T>,
  clock: Clock,
  signal: AbortSignal | undefined,
): Promise<T> {
  const stopped = new AbortController();
  const late = clock.sleep(timeout, stopped.signal).then(() => {
    throw new Error(`its store did not answer within ${timeout / 1000} s`);
  });
  late.catch(() => {});
  try {
    return await abortable(Promise.race([answer, late]), signal);
  } finally {
    stopped.abort("stopped"); // without a reason, an error with a stack would be created
  }
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
