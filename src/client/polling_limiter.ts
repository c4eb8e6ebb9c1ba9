// A rate limiter whose queue is in a store that several processes share.
import { abortable, type Clock } from "../clock.ts";
import {
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
import type { Permit, RateLimiter, RateLimitTarget } from "./rate_limiter.ts";

/** Result of a function that can be synchronous or asynchronous. */
type MaybePromise<T> = T | PromiseLike<T>;

/**
 * Store of one rate limit. Each method calls the corresponding function of `rate_limit_state.ts`. A store on
 * another machine returns promises.
 */
export interface RateLimitStore {
  poll(request: Poll): MaybePromise<PollResult>;
  extend(id: string): MaybePromise<boolean>;
  release(id: string, release: Release): MaybePromise<void>;
  /** Removes a request from the queue, and releases its permit if it has one. */
  leave(id: string): MaybePromise<void>;
  penalize(key: string | undefined, blockTime: number): MaybePromise<void>;
}

/** Creates a store for a state in memory. */
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
 * Time (ms) without an extension after which a permit is treated as lost. The request is aborted within the
 * following second, before the permit expires in the store.
 */
const MAX_UNEXTENDED_AGE = PERMIT_TTL - 2_000;
/** Maximum time (ms) without a response from a store. */
const STORE_TIMEOUT = 10_000;
/** Grace period (ms) after the maximum wait, in which a store can still respond with a refusal. */
const REFUSAL_GRACE_PERIOD = 1_000;
/** Delay (ms) before a failed poll is repeated. */
const STORE_RETRY_DELAY = 500;
/** Minimum time (ms) between two extensions of a permit in its store. */
const MIN_EXTENSION_INTERVAL = 900;

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
      const { keyHash: key, requestsPerSecond, maxWait = Infinity } = request;
      const store = storeOf(request);
      const id = createId();
      const deadline = clock.now() + maxWait;
      let answeredAt = clock.now();
      let failure: unknown;
      let answer: Promise<PollResult> | undefined;
      try {
        for (let isFirst = true;; isFirst = false) {
          const polledAt = clock.now();
          const end = Math.min(deadline + REFUSAL_GRACE_PERIOD, answeredAt + STORE_TIMEOUT);
          const remaining = deadline === Infinity ? undefined : deadline - polledAt;
          let result: PollResult;
          try {
            const poll = { id, key, requestsPerSecond, isFirst, maxWait: remaining };
            answer = Promise.resolve(store.poll(poll));
            result = await answerBefore(end, answer, clock, signal);
            answeredAt = clock.now();
            failure = undefined;
          } catch (error) {
            signal?.throwIfAborted();
            failure ??= error;
            // The request keeps its place in the queue if the store fails for a short time.
            if (clock.now() + STORE_RETRY_DELAY >= end) throw failure;
            result = { status: "waiting", delay: STORE_RETRY_DELAY };
          }
          if (result.status === "refused") return { retryAfter: result.retryAfter };
          if (result.status === "waiting") await clock.sleep(result.delay, signal);
          else if (result.status !== "granted") {
            // A store of another version, or another program at its address.
            throw new Error("its store responded with an unknown status");
          } else {
            const { pollTime = 0 } = result;
            const grantedAt = polledAt + pollTime;
            if (clock.now() - grantedAt < MAX_UNEXTENDED_AGE) {
              return createPermit(store, id, clock, grantedAt);
            }
            await store.leave(id); // the permit arrived too late to be used
          }
        }
      } catch (error) {
        const leave = () => store.leave(id);
        Promise.resolve(answer).then(leave, leave).catch(() => {});
        throw error;
      }
    },
    async penalize(target, blockTime) {
      const answer = Promise.resolve(storeOf(target).penalize(target.keyHash, blockTime));
      await answerBefore(clock.now() + STORE_TIMEOUT, answer, clock, undefined);
    },
  };
}

/**
 * Creates the permit of a request. `extendedAt` is the earliest time at which the store can have granted it.
 */
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
    async extend() {
      const start = clock.now();
      const isValid = () => clock.now() - extendedAt < MAX_UNEXTENDED_AGE;
      if (isExtending) return isValid();
      if (start - extendedAt < MIN_EXTENSION_INTERVAL) return true;
      isExtending = true;
      try {
        const isHeld = await store.extend(id);
        extendedAt = start;
        return isHeld;
      } catch {
        return isValid();
      } finally {
        isExtending = false;
      }
    },
    async release(outcome) {
      if (isReleased) return;
      isReleased = true;
      const responseAge = respondedAt === undefined ? undefined : clock.now() - respondedAt;
      await store.release(id, { responseAge, succeeded: outcome === "success" });
    },
  };
}

/** Waits for the response of a store. Rejects at the time `end`, or when the signal aborts. */
async function answerBefore<T>(
  end: number,
  answer: PromiseLike<T>,
  clock: Clock,
  signal: AbortSignal | undefined,
): Promise<T> {
  const stopped = new AbortController();
  const late = clock.sleep(Math.max(0, end - clock.now()), stopped.signal).then(() => {
    throw new Error("its store did not respond in time");
  });
  late.catch(() => {});
  try {
    return await abortable(Promise.race([answer, late]), signal);
  } finally {
    stopped.abort("stopped"); // without a reason, an error with a stack would be created
  }
}
