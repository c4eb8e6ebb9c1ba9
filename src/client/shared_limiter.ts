// The rate limiter whose gates are in a store that several processes share: a Durable Object or Deno KV.
import { abortable, type Clock, startTimeLimit } from "../clock.ts";
import {
  type AcquireAnswer,
  type AcquireMessage,
  type Outcome,
  type Permit,
  PERMIT_TTL,
  type RateLimiter,
  type RateLimitTarget,
} from "./rate_limiter.ts";

/** Store of a gate in another process. */
export interface GateStore {
  /** Waits for the permit, up to `MAX_POLL_TIME`. */
  acquire(message: AcquireMessage): Promise<AcquireAnswer>;
  /** Extends the permit. Returns whether the request has it. */
  extend(id: string): Promise<boolean>;
  /** Releases the permit, or removes the request from the queue. */
  release(id: string, outcome: Outcome): Promise<unknown>;
  penalize(blockTime: number): Promise<unknown>;
}

/** Maximum time of `GateStore.acquire()`. It is shorter than `WAITER_TTL`, so that a waiter keeps its place. */
export const MAX_POLL_TIME = 2_000;
/** Age of the last extension from which a permit is lost. The request is aborted within a second, before it expires. */
const MAX_EXTENSION_AGE = PERMIT_TTL - 2_000;
/** Minimum time between two extensions of a permit. */
const MIN_EXTENSION_INTERVAL = 900;
/** Maximum time without an answer of a store in another process. */
const STORE_TIMEOUT = 10_000;
/** Delay before a message to a store is sent again after an error. */
const STORE_RETRY_DELAY = 200;

/**
 * Creates a rate limiter whose gates are in a store that several processes share.
 *
 * @param storeOf Returns the store of an origin and key
 * @param waitUntil Called with the promise of each message that must be sent after its request has ended
 */
export function createSharedLimiter(
  storeOf: (target: RateLimitTarget) => GateStore,
  clock: Clock,
  waitUntil?: (promise: Promise<unknown>) => void,
): RateLimiter {
  /** Sends a message until the store answers it. */
  async function send<T>(call: () => Promise<T>, signal?: AbortSignal): Promise<T> {
    const end = clock.now() + STORE_TIMEOUT;
    const limit = startTimeLimit(clock, STORE_TIMEOUT, "its store did not answer");
    const ended = signal ? AbortSignal.any([limit.signal, signal]) : limit.signal;
    try {
      for (;;) {
        try {
          return await abortable(call(), ended);
        } catch (error) {
          if (ended.aborted || clock.now() + STORE_RETRY_DELAY >= end) throw error;
          await clock.sleep(STORE_RETRY_DELAY, signal);
        }
      }
    } finally {
      limit.stop();
    }
  }

  /** Sends a message that the caller may not await. */
  function sendDetached(call: () => Promise<unknown>): Promise<unknown> {
    const sent = send(call);
    waitUntil?.(sent.catch(() => {}));
    return sent;
  }

  /** @param extendedAt Earliest time at which the store can have granted the permit */
  function createPermit(store: GateStore, id: string, extendedAt: number): Permit {
    let triedAt = extendedAt;
    let respondedAt: number | undefined;
    let isReleased = false;
    return {
      responded() {
        respondedAt = clock.now();
      },
      async extend() {
        const start = clock.now();
        if (start - triedAt >= MIN_EXTENSION_INTERVAL) {
          triedAt = start;
          const isHeld = await store.extend(id).catch(() => undefined);
          if (isHeld === false) return false;
          if (isHeld) extendedAt = Math.max(extendedAt, start);
        }
        return clock.now() - extendedAt < MAX_EXTENSION_AGE;
      },
      async release(outcome) {
        if (isReleased) return;
        isReleased = true;
        const responseAge = respondedAt === undefined ? undefined : clock.now() - respondedAt;
        const succeeded = outcome === "success";
        await sendDetached(() => store.release(id, { responseAge, succeeded }));
      },
    };
  }

  return {
    async acquire({ requestsPerSecond, maxWait = Infinity, ...target }, signal) {
      signal?.throwIfAborted();
      const store = storeOf(target);
      const id = crypto.randomUUID();
      const start = clock.now();
      let sentAt = start;
      let sent: Promise<AcquireAnswer> | undefined;
      const call = () => {
        sentAt = clock.now();
        const waited = sentAt - start;
        return sent = store.acquire({ id, requestsPerSecond, maxWait: maxWait - waited, waited });
      };
      try {
        for (;;) {
          const answer = await send(call, signal);
          if ("retryAfter" in answer) return answer;
          if ("granted" in answer) {
            const grantedAt = sentAt + (answer.delay ?? 0);
            const permit = createPermit(store, id, grantedAt);
            if (clock.now() - grantedAt < MAX_EXTENSION_AGE) return permit;
            await permit.release(); // it arrived too late to be used
          } else if (answer.wait === 0) await clock.sleep(0, signal);
          else throw new Error("its store gave an unknown answer");
        }
      } catch (error) {
        const leave = () => sendDetached(() => store.release(id, {}));
        Promise.resolve(sent).then(leave, leave).catch(() => {});
        throw error;
      }
    },
    async penalize(target, blockTime) {
      await sendDetached(() => storeOf(target).penalize(blockTime));
    },
  };
}
