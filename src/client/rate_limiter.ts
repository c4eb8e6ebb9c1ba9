// Lets one request run at a time. The process, a Durable Object or Deno KV stores the state, a
// `LimiterState`. All times are in milliseconds.
import { abortable, type Clock, startTimeLimit } from "../clock.ts";

/**
 * Requests that share a rate limit: those with the same API key to the same origin.
 */
export interface RateLimitTarget {
  /** Origin of the requests, such as `https://api.datastream.org`. */
  origin: string;
  /** SHA-256 of the API key in hexadecimal digits; `undefined` for requests without a key. */
  keyHash: string | undefined;
}

/**
 * A request for permission to send one HTTP request.
 */
export interface PermitRequest extends RateLimitTarget {
  /** Maximum number of requests that start per second; `Infinity` for no limit. */
  requestsPerSecond: number;
  /** Maximum time (ms) to wait for the permit. Default: no maximum. */
  maxWait?: number | undefined;
}

/**
 * Refusal of a {@linkcode PermitRequest}, because no permit will be available within `maxWait`.
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
 * import type { Permit } from "@weir/datastream/deno-kv";
 *
 * const permit: Permit = { responded() {}, extend() {}, release() {} };
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
 * const createClient = (limiter: RateLimiter) => new DataStream({ rateLimiter: withLog(limiter) });
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

/** Makes the interval 530 ms at 2 requests per second, because network jitter can shorten it. */
const INTERVAL_MARGIN = 1.06;
/** Age after which a permit that was not extended is given to another request. */
const PERMIT_TTL = 5_000;
/** Minimum wait before a request replaces an expired permit: a process that was busy extends its own one first. */
const MIN_TAKEOVER_WAIT = 1_000;
/** Time without a message after which a waiter is skipped. */
const WAITER_TTL = 2_500;
/** Time (ms) until a shared limiter answers. A waiter keeps its place for half a second longer. */
export const MAX_POLL_TIME = 2_000;
/** Time without a request after which the next one probably opens a connection, and arrives later. */
const CONNECTION_TTL = 5_000;
const MAX_BLOCK_TIME = 3_600_000;
const MAX_SLOWDOWN = 8;
/** Minimum interval that a slowdown multiplies. Without a rate limit, the interval is 0. */
const MIN_SLOWED_INTERVAL = 500;
/** Minimum time after a block, or after a change of `slowdown`, before a success halves it. */
const SLOWDOWN_TIME = 10_000;
/** Weight of the last request in `averageTime`. */
const AVERAGE_WEIGHT = 0.25;

export const NEW_STATE = {
  /** Whether several processes share it, each with its own connections. */
  isShared: true,
  holder: undefined as string | undefined,
  /** Time of the last message from the holder. */
  seenAt: 0,
  /** Whether the holder's request probably opens a connection. */
  connects: false,
  /** Time from which the interval to the next start counts. */
  startedAt: -Infinity,
  interval: 0,
  /** Factor on the interval: 1, 2, 4 or 8. */
  slowdown: 1,
  /** End of the block after a 429; later, the time of the last change of `slowdown`. */
  blockedUntil: 0,
  /** Moving average of the time for which a permit is held. */
  averageTime: 0,
};

export type LimiterState = typeof NEW_STATE;

/** Times are durations, because the clocks of machines differ. */
export interface AcquireMessage {
  id: string;
  /** Minimum time between the start of this request and those before and after it. */
  interval: number;
  /** `null` for no maximum, because JSON has no `Infinity`. */
  maxWait: number | null;
  /** Time since the request began to wait: its place in the queue. */
  waited: number;
}

interface Ticket {
  id: string;
  interval: number;
  since: number;
  deadline: number;
  /** Time at which the request is skipped unless it has sent another message. */
  expiresAt: number;
  wake(): void;
}

/** `wait`: time after which to try again; `Infinity` if the request is not the first in the queue. */
export type Answer = { granted: true } | PermitRefusal | { wait: number };

export interface ReleaseMessage {
  id: string;
  /** Time since the headers of the response arrived; absent if they did not arrive. */
  responseAge?: number | undefined;
  succeeded?: boolean;
}

/**
 * Grants or refuses a permit, or returns the time to wait.
 *
 * @param position Number of requests before it in the queue
 */
function acquire(
  state: LimiterState,
  ticket: Ticket,
  position: number,
  now: number,
): Answer {
  const { id, since, deadline } = ticket;
  if (extend(state, id, now)) return { granted: true }; // the answer to an earlier call was lost
  // The clock can have been set back.
  state.startedAt = Math.min(state.startedAt, now);
  state.seenAt = Math.min(state.seenAt, now);
  state.blockedUntil = Math.min(state.blockedUntil, now + MAX_BLOCK_TIME);
  const expiry = Math.max(state.seenAt + PERMIT_TTL, since + MIN_TAKEOVER_WAIT);
  if (position === 0 && state.holder !== undefined && now >= expiry) {
    state.holder = undefined;
    state.startedAt = state.seenAt + PERMIT_TTL; // the request may have been sent until then
  }
  const normal = Math.max(state.interval, ticket.interval);
  const { slowdown } = state;
  const interval = slowdown === 1 ? normal : Math.max(normal, MIN_SLOWED_INTERVAL) * slowdown;
  const wait = Math.max(0, state.startedAt + interval - now, state.blockedUntil - now);
  if (position === 0 && state.holder === undefined && wait === 0) {
    state.connects = state.isShared || now - state.startedAt > CONNECTION_TTL;
    Object.assign(state, { holder: id, seenAt: now, startedAt: now, interval: ticket.interval });
    return { granted: true };
  }
  const cycle = Math.max(interval, state.averageTime);
  const holderWait = state.holder === undefined ? 0 : state.startedAt + cycle - now;
  const estimate = Math.max(wait, holderWait) + position * cycle;
  if (now >= deadline || now + estimate > deadline) {
    return { retryAfter: Math.max(estimate, cycle) };
  }
  if (position > 0) return { wait: Infinity };
  return { wait: state.holder === undefined ? wait : expiry - now }; // the release wakes it
}

function extend(state: LimiterState, id: string, now: number): boolean {
  if (state.holder !== id) return false;
  state.seenAt = now;
  return true;
}

function release(state: LimiterState, message: ReleaseMessage, now: number): void {
  // A request to a shared state may have been sent until now, because its messages take time.
  const { id, responseAge = state.isShared ? 0 : undefined, succeeded = false } = message;
  if (state.holder !== id) return;
  state.holder = undefined;
  state.averageTime += AVERAGE_WEIGHT * (now - state.startedAt - state.averageTime);
  // Opening a connection delayed the arrival of this request. The next request may reuse the connection and arrive
  // without that delay, so an interval that counts from the start would be too short.
  if (state.connects && responseAge !== undefined) state.startedAt = now - responseAge;
  if (succeeded && state.slowdown > 1 && now - state.blockedUntil >= SLOWDOWN_TIME) {
    state.slowdown /= 2;
    state.blockedUntil = now;
  }
}

/** Source: DataStream Public API, "Errors", status 429 (RFC 6585). */
function penalize(state: LimiterState, blockTime: number, now: number): void {
  state.blockedUntil = Math.max(state.blockedUntil, now + blockTime);
  state.slowdown = Math.min(MAX_SLOWDOWN, state.slowdown * 2);
}

/** May call the function again after a conflict with another process. */
export type ChangeState = <T>(apply: (state: LimiterState, now: number) => T) => T | Promise<T>;

export interface PermitQueue {
  acquire(message: AcquireMessage): Promise<Answer>;
  extend(message: { id: string }): boolean | Promise<boolean>;
  release(message: ReleaseMessage): Promise<unknown>;
  penalize(message: { blockTime: number }): Promise<unknown>;
}

/**
 * Creates a queue. A waiting request is woken by the request before it, and has at most one timer.
 *
 * @param pollTime Time after which `acquire()` answers `{ wait: 0 }`: the request sends its message
 *   again, within `WAITER_TTL`. `Infinity`: requests always leave the queue
 * @param pollInterval Interval of checks for a permit that another process releases; 0 for none
 */
export function createPermitQueue(
  change: ChangeState,
  clock: Clock,
  pollTime: number,
  pollInterval: number = 0,
): PermitQueue {
  const queue: Ticket[] = [];
  let lastHolder: string | undefined;
  /** Removes a request, and wakes the next one, which may now be the first. */
  const leave = (ticket: Ticket) => {
    if (queue.includes(ticket)) queue.splice(queue.indexOf(ticket), 1);
    ticket.wake();
    queue[0]?.wake();
  };
  return {
    async acquire({ id, interval, maxWait, waited }) {
      const start = clock.now();
      const earlier = queue.findIndex((other) => other.id === id);
      const ticket: Ticket = {
        id,
        interval,
        since: queue[earlier]?.since ?? start - waited,
        deadline: start + (maxWait ?? Infinity),
        expiresAt: pollTime === Infinity ? Infinity : start + WAITER_TTL,
        wake() {},
      };
      queue[earlier < 0 ? queue.length : earlier] = ticket;
      queue.sort((a, b) => a.since - b.since);
      for (;;) {
        const woken = new Promise<void>((resolve) => ticket.wake = resolve);
        let mustPoll = false;
        const answer = await change((state, now) => {
          while (queue[0] !== ticket && (queue[0]?.expiresAt ?? Infinity) <= now) queue.shift();
          mustPoll = pollInterval > 0 && state.holder !== undefined && state.holder !== lastHolder;
          return acquire(state, ticket, queue.indexOf(ticket), now);
        });
        const now = clock.now();
        if (!("wait" in answer)) {
          if ("granted" in answer) lastHolder = id;
          leave(ticket);
          return answer;
        }
        // A later message of the request, or its release, removes the ticket.
        if (now >= start + pollTime || !queue.includes(ticket)) return { wait: 0 };
        const wait = mustPoll ? Math.min(answer.wait, pollInterval) : answer.wait;
        const next = now + wait + pollInterval * Math.random(); // so that no process is always the first
        await sleepUntil(Math.min(next, start + pollTime, ticket.deadline), woken, clock);
      }
    },
    extend: ({ id }) => change((state, now) => extend(state, id, now)),
    async release(message) {
      const ticket = queue.find(({ id }) => id === message.id);
      if (ticket !== undefined) leave(ticket);
      await change((state, now) => release(state, message, now));
      queue[0]?.wake();
    },
    async penalize({ blockTime }) {
      await change((state, now) => penalize(state, blockTime, now));
      for (const { wake } of queue) wake(); // their waits may now exceed their maximum
    },
  };
}

/** Ends early if the promise resolves. `Infinity` for no timer. */
async function sleepUntil(time: number, woken: Promise<void>, clock: Clock): Promise<void> {
  const stopped = new AbortController();
  // setTimeout() accepts 24 days at most.
  const sleep = () => clock.sleep(Math.min(time - clock.now(), MAX_BLOCK_TIME), stopped.signal);
  try {
    await (time === Infinity ? woken : Promise.race([woken, sleep()]));
  } finally {
    stopped.abort("stopped"); // without a reason, an error with a stack would be created
  }
}

type Send = <T>(
  call: () => T | Promise<T>,
  timeout: number,
  signal?: AbortSignal,
) => Promise<T>;

/** Maximum time for the answer of a store in another process. */
const STORE_TIMEOUT = 10_000;
/**
 * Maximum time for the answer to an extension, so that a lost permit is noticed before it expires. A permit that took
 * longer to arrive is extended first.
 */
const EXTENSION_TIMEOUT = 2_000;

/** @param waitUntil Called with each message that must be sent even if its request has ended */
export function createLimiter(
  createQueue: (target: RateLimitTarget) => PermitQueue,
  clock: Clock,
  send: Send = async (call, _, signal) => await abortable(Promise.resolve(call()), signal),
  waitUntil?: (promise: Promise<unknown>) => void,
): RateLimiter {
  const queueOf = cacheByTarget(createQueue, clock);
  async function sendDetached(call: () => Promise<unknown>): Promise<void> {
    const sent = send(call, STORE_TIMEOUT);
    waitUntil?.(sent.catch(() => {}));
    await sent;
  }

  return {
    async acquire({ requestsPerSecond, maxWait = Infinity, ...target }, signal) {
      signal?.throwIfAborted();
      const queue = queueOf(target);
      const id = crypto.randomUUID();
      const interval = 1000 * INTERVAL_MARGIN / requestsPerSecond;
      const start = clock.now();
      let sentAt = start;
      let sent: Promise<Answer> | undefined;
      const call = () => {
        sentAt = clock.now();
        const waited = sentAt - start;
        return sent = queue.acquire({ id, interval, maxWait: maxWait - waited, waited });
      };
      let respondedAt: number | undefined;
      const permit: Permit = {
        responded: () => void (respondedAt = clock.now()),
        extend: () => send(() => queue.extend({ id }), EXTENSION_TIMEOUT),
        release: (outcome) =>
          sendDetached(() => {
            const responseAge = respondedAt === undefined ? undefined : clock.now() - respondedAt;
            return queue.release({ id, responseAge, succeeded: outcome === "success" });
          }),
      };
      try {
        for (;;) {
          const answer = await send(call, STORE_TIMEOUT, signal);
          if ("retryAfter" in answer) return answer;
          if ("granted" in answer) {
            // An answer that took long may be about a permit that has expired.
            if (clock.now() - sentAt < EXTENSION_TIMEOUT || await permit.extend()) return permit;
          } else if (!("wait" in answer)) throw new Error("its store gave an unknown answer");
        }
      } catch (error) {
        const leave = () => sendDetached(() => queue.release({ id })).catch(() => {});
        leave();
        sent?.then((answer) => void ("granted" in answer && leave())).catch(() => {});
        throw error;
      }
    },
    penalize: (target, blockTime) => sendDetached(() => queueOf(target).penalize({ blockTime })),
  };
}

/** Delay (ms) after an error. */
const MESSAGE_RETRY_DELAY = 200;

export function sendUntilAnswered(clock: Clock): Send {
  return async (call, timeout, signal) => {
    const end = clock.now() + timeout;
    const limit = startTimeLimit(clock, timeout, "its store did not answer");
    const ended = signal ? AbortSignal.any([limit.signal, signal]) : limit.signal;
    try {
      for (;;) {
        try {
          return await abortable(Promise.resolve(call()), ended);
        } catch (error) {
          if (ended.aborted || clock.now() + MESSAGE_RETRY_DELAY >= end) throw error;
          await clock.sleep(MESSAGE_RETRY_DELAY, signal);
        }
      }
    } finally {
      limit.stop();
    }
  };
}

/** Number of origins and keys above which unused ones are removed. */
const MAX_TARGETS = 1_000;

/** Keeps a queue for each origin and key for an hour at least. */
function cacheByTarget(
  createQueue: (target: RateLimitTarget) => PermitQueue,
  clock: Clock,
): typeof createQueue {
  /** In the order of their last use. */
  const entries = new Map<string, { queue: PermitQueue; usedAt: number }>();
  return (target) => {
    const now = clock.now();
    const name = `${target.origin} ${target.keyHash ?? ""}`;
    const { queue } = entries.get(name) ?? { queue: createQueue(target) };
    entries.delete(name);
    entries.set(name, { queue, usedAt: now });
    for (const [other, { usedAt }] of entries) {
      if (entries.size <= MAX_TARGETS || now - usedAt <= MAX_BLOCK_TIME) break;
      entries.delete(other);
    }
    return queue;
  };
}

/** Poll time of waiters. Cloudflare Workers drop a request without running its `finally` blocks or timers. */
const WAITER_HEARTBEAT =
  (globalThis as { navigator?: { userAgent?: string } }).navigator?.userAgent ===
      "Cloudflare-Workers"
    ? 1_000
    : Infinity;

/** Clients with the same clock share a limiter, because the service counts their requests together. */
const processLimiters = new WeakMap<Clock, RateLimiter>();

export function processLimiter(clock: Clock): RateLimiter {
  const limiter = processLimiters.get(clock) ?? createProcessLimiter(clock, WAITER_HEARTBEAT);
  processLimiters.set(clock, limiter);
  return limiter;
}

export function createProcessLimiter(clock: Clock, pollTime: number): RateLimiter {
  const createQueue = () => {
    const state = { ...NEW_STATE, isShared: false };
    return createPermitQueue((apply) => apply(state, clock.now()), clock, pollTime);
  };
  return createLimiter(createQueue, clock);
}
