// The gate: lets one request start at a time. Its state is plain data, which the process, a Durable Object and Deno KV
// each store. All times are in milliseconds.
import { abortable, type Clock } from "../clock.ts";

/**
 * Requests that share a rate limit: those with the same API key to the same origin.
 *
 * @example
 * ```ts
 * import type { RateLimitTarget } from "@weir/datastream/deno-kv";
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
 * import type { PermitRequest } from "@weir/datastream/deno-kv";
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
 * import type { PermitRefusal } from "@weir/datastream/deno-kv";
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
 * import type { Permit } from "@weir/datastream/deno-kv";
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
 * Safety factor on the interval between requests: 530 ms instead of 500 ms at 2 requests per second. Because of
 * network jitter, requests can arrive closer together than they were sent.
 */
const INTERVAL_MARGIN = 1.06;
/** Age after which a permit that was not extended is given to another request. */
const PERMIT_TTL = 5_000;
/** Minimum wait before a request takes over a permit: a process that was busy first extends its own. */
const MIN_TAKEOVER_WAIT = 1_000;
/** Time without a sign of life after which a waiter is skipped. */
const WAITER_TTL = 2_500;
/**
 * Time without a request after which connections are assumed to be closed. The next request reaches the service later
 * than usual, because it opens a new connection.
 */
const CONNECTION_TTL = 5_000;
/** Maximum time for which a 429 blocks a key. */
const MAX_BLOCK_TIME = 3_600_000;
/** Maximum factor by which status 429 lengthens the interval. */
const MAX_SLOWDOWN = 8;
/** Minimum interval that a slowdown multiplies, for clients without a rate limit, whose interval is 0. */
const MIN_SLOWED_INTERVAL = 500;
/** Minimum time between two reductions of the slowdown. */
const SLOWDOWN_TIME = 10_000;
/** Weight of the last permit in the average time. */
const AVERAGE_WEIGHT = 0.25;

/** Gate of an origin and key to which no request was sent. */
export const NEW_GATE = {
  /** Whether several processes share it. Each of them opens its own connections. */
  isShared: true,
  /** Request that has the permit. */
  holder: undefined as string | undefined,
  /** Last sign of life of the holder. */
  seenAt: 0,
  /** Whether the holder opens a connection. */
  connects: false,
  /** Time from which the interval to the next start counts. */
  startedAt: -Infinity,
  /** Interval that the last request asked for. */
  interval: 0,
  /** Factor on the interval: 1, 2, 4 or 8. */
  slowdown: 1,
  /** Time before which no request starts because of a 429. Later, the time of the last change of `slowdown`. */
  blockedUntil: 0,
  /** Moving average of the times for which permits were held. */
  averageTime: 0,
};

/** State of the rate limit of one origin and API key. */
export type Gate = typeof NEW_GATE;

/** Message that asks for the permit. It has durations, because the clocks of machines differ. */
export interface AcquireMessage {
  id: string;
  /** Minimum time between the start of this request and those before and after it. */
  interval: number;
  /** Remaining time that the request may wait; `null` for no maximum, because JSON has no `Infinity`. */
  maxWait: number | null;
  /** Time since the request began to wait. It determines the place in the queue. */
  waited: number;
}

/** A request that waits for the permit. */
export type Ticket = ReturnType<typeof createTicket>;

/** Creates the ticket of a message that arrives now. */
function createTicket(message: AcquireMessage, pollTime: number, now: number) {
  return {
    ...message,
    /** Time at which the request began to wait. */
    since: now - message.waited,
    /** Time after which the request no longer waits. */
    deadline: now + (message.maxWait ?? Infinity),
    /** Time at which the request is skipped unless it has sent another message. */
    expiresAt: now + (pollTime === Infinity ? Infinity : WAITER_TTL),
    /** Ends the current wait. */
    wake() {},
  };
}

/**
 * Result of a request for the permit: the permit and the time that it took, a refusal, or the time after which to try
 * again. `wait` is `Infinity` for a request that is not the first in the queue.
 */
export type Answer = { granted: true; delay: number } | PermitRefusal | { wait: number };

/** Message that releases the permit, or leaves the queue. */
export interface ReleaseMessage {
  id: string;
  /** Time since the headers of the response arrived; absent if they did not arrive. */
  responseAge?: number | undefined;
  /** Whether the response was complete and its status 200. */
  succeeded?: boolean;
}

/**
 * Grants the permit to a request if it is the first in the queue and may start now.
 *
 * @param position Number of requests before it in the queue
 */
export function acquire(gate: Gate, ticket: Ticket, position: number, now: number): Answer {
  const { id, since, deadline } = ticket;
  if (extend(gate, id, now)) return { granted: true, delay: 0 }; // the answer to an earlier call was lost
  // The clock can have been set back.
  gate.startedAt = Math.min(gate.startedAt, now);
  gate.seenAt = Math.min(gate.seenAt, now);
  gate.blockedUntil = Math.min(gate.blockedUntil, now + MAX_BLOCK_TIME);
  const expiry = Math.max(gate.seenAt + PERMIT_TTL, since + MIN_TAKEOVER_WAIT);
  if (position === 0 && gate.holder !== undefined && now >= expiry) {
    gate.holder = undefined;
    gate.startedAt = gate.seenAt + PERMIT_TTL; // the request may have been sent until then
  }
  const normal = Math.max(gate.interval, ticket.interval);
  const { slowdown } = gate;
  const interval = slowdown === 1 ? normal : Math.max(normal, MIN_SLOWED_INTERVAL) * slowdown;
  const wait = Math.max(0, gate.startedAt + interval - now, gate.blockedUntil - now);
  if (position === 0 && gate.holder === undefined && wait === 0) {
    gate.connects = gate.isShared || now - gate.startedAt > CONNECTION_TTL;
    Object.assign(gate, { holder: id, seenAt: now, startedAt: now, interval: ticket.interval });
    return { granted: true, delay: 0 };
  }
  const cycle = Math.max(interval, gate.averageTime);
  const holderWait = gate.holder === undefined ? 0 : gate.startedAt + cycle - now;
  const estimate = Math.max(wait, holderWait) + position * cycle;
  if (now >= deadline || now + estimate > deadline) {
    return { retryAfter: Math.max(estimate, cycle) };
  }
  if (position > 0) return { wait: Infinity };
  return { wait: gate.holder === undefined ? wait : expiry - now }; // the release wakes it
}

/** Extends the permit of a request. Returns whether the request has it. */
export function extend(gate: Gate, id: string, now: number): boolean {
  if (gate.holder !== id) return false;
  gate.seenAt = now;
  return true;
}

/** Releases the permit of a request, if it has it. */
export function release(gate: Gate, message: ReleaseMessage, now: number): void {
  // A request to a shared gate may have been sent until now, because its messages take time.
  const { id, responseAge = gate.isShared ? 0 : undefined, succeeded = false } = message;
  if (gate.holder !== id) return;
  gate.holder = undefined;
  gate.averageTime += AVERAGE_WEIGHT * (now - gate.startedAt - gate.averageTime);
  // Opening a connection delayed the arrival of this request. The next request may reuse the connection and arrive
  // without that delay, so an interval that counts from the start would be too short.
  if (gate.connects && responseAge !== undefined) gate.startedAt = now - responseAge;
  if (succeeded && gate.slowdown > 1 && now - gate.blockedUntil >= SLOWDOWN_TIME) {
    gate.slowdown /= 2;
    gate.blockedUntil = now;
  }
}

/**
 * Applies a penalty after a 429 (RFC 6585): blocks the requests for some time, and doubles the interval.
 *
 * Source: DataStream Public API, "Errors", status 429.
 */
export function penalize(gate: Gate, blockTime: number, now: number): void {
  gate.blockedUntil = Math.max(gate.blockedUntil, now + blockTime);
  gate.slowdown = Math.min(MAX_SLOWDOWN, gate.slowdown * 2);
}

/** Changes a stored gate. It may call the function again after a conflict with another process. */
export type ChangeGate = <T>(apply: (gate: Gate, now: number) => T) => T | Promise<T>;

/** Messages to a gate, in this process or in another one. */
export interface GateMessages {
  acquire(message: AcquireMessage): Promise<Answer>;
  /** Returns whether the request has the permit. */
  extend(message: { id: string }): boolean | Promise<boolean>;
  release(message: ReleaseMessage): Promise<unknown>;
  penalize(message: { blockTime: number }): Promise<unknown>;
}

/**
 * Returns the functions that answer messages to a stored gate. A request that waits is woken by the request before it,
 * and has at most one timer.
 *
 * @param pollTime Time after which `acquire()` answers `{ wait: 0 }`, and the request sends its message again. It keeps
 *   its place for `WAITER_TTL` after its last message. `Infinity`: requests always leave the queue when they end
 * @param pollInterval Interval at which the first request looks for a permit that another process releases; 0 if there
 *   is none
 */
export function openGate(
  change: ChangeGate,
  clock: Clock,
  pollTime: number,
  pollInterval: number = 0,
): GateMessages {
  /** Waiting requests of this process, in the order of `since`. */
  const queue: Ticket[] = [];
  let lastHolder: string | undefined;
  return {
    async acquire(message) {
      const start = clock.now();
      const ticket = createTicket(message, pollTime, start);
      enterQueue(queue, ticket);
      for (;;) {
        const woken = new Promise<void>((resolve) => ticket.wake = resolve);
        const { answer, mustPoll } = await change((gate, now) => {
          while (queue[0] !== ticket && (queue[0]?.expiresAt ?? Infinity) <= now) queue.shift();
          return {
            answer: acquire(gate, ticket, queue.indexOf(ticket), now),
            mustPoll: pollInterval > 0 && gate.holder !== undefined && gate.holder !== lastHolder,
          };
        });
        const now = clock.now();
        if (!("wait" in answer)) {
          if ("granted" in answer) lastHolder = ticket.id;
          leaveQueue(queue, ticket);
          return { ...answer, delay: now - start };
        }
        // A later message of the request, or its release, removes the ticket.
        if (now >= start + pollTime || !queue.includes(ticket)) return { wait: 0 };
        const wait = mustPoll ? Math.min(answer.wait, pollInterval) : answer.wait;
        const next = now + wait + pollInterval * Math.random(); // so that no process is always the first
        await sleepUntil(Math.min(next, start + pollTime, ticket.deadline), woken, clock);
      }
    },
    extend: ({ id }) => change((gate, now) => extend(gate, id, now)),
    async release(message) {
      const ticket = queue.find(({ id }) => id === message.id);
      if (ticket !== undefined) leaveQueue(queue, ticket);
      await change((gate, now) => release(gate, message, now));
      queue[0]?.wake();
    },
    async penalize({ blockTime }) {
      await change((gate, now) => penalize(gate, blockTime, now));
      for (const { wake } of queue) wake(); // their waits may now exceed their maximum
    },
  };
}

/** Inserts a request into the queue, or replaces its ticket of an earlier message. */
function enterQueue(queue: Ticket[], ticket: Ticket): void {
  const earlier = queue.findIndex(({ id }) => id === ticket.id);
  const next = queue.findIndex(({ since }) => since > ticket.since);
  if (earlier >= 0) queue[earlier] = ticket;
  else queue.splice(next < 0 ? queue.length : next, 0, ticket);
}

/** Removes a request from the queue, and ends its wait. Wakes the next request if it is now the first. */
function leaveQueue(queue: Ticket[], ticket: Ticket): void {
  const position = queue.indexOf(ticket);
  if (position >= 0) queue.splice(position, 1);
  ticket.wake();
  if (position === 0) queue[0]?.wake();
}

/** Sleeps until a time, `Infinity` for no timer, or until the promise resolves. */
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

/**
 * Calls a function that sends a message.
 *
 * @param timeout Maximum time for the answer
 */
export type Send = <T>(
  call: () => T | Promise<T>,
  timeout: number,
  signal?: AbortSignal,
) => Promise<T>;

/** Maximum time without an answer of a store in another process. */
const STORE_TIMEOUT = 10_000;
/**
 * Maximum time without an answer to the extension of a permit, and maximum age of a permit that arrives. The client
 * extends its permit every second. A permit that is lost is thus noticed before it expires.
 */
const EXTENSION_TIMEOUT = 2_000;

/**
 * Creates a rate limiter.
 *
 * @param gateOf Returns the gate of an origin and key
 * @param send Sends the messages to the gates. Default: they are in this process, and always answer
 * @param waitUntil Called with the promise of each message that must be sent after its request has ended
 */
export function createLimiter(
  gateOf: (target: RateLimitTarget) => GateMessages,
  clock: Clock,
  send: Send = async (call, _, signal) => await abortable(Promise.resolve(call()), signal),
  waitUntil?: (promise: Promise<unknown>) => void,
): RateLimiter {
  /** Sends a message that the caller may not await. */
  function sendDetached(call: () => Promise<unknown>): Promise<unknown> {
    const sent = send(call, STORE_TIMEOUT);
    waitUntil?.(sent.catch(() => {}));
    return sent;
  }

  function createPermit(gate: GateMessages, id: string): Permit {
    let respondedAt: number | undefined;
    return {
      responded: () => void (respondedAt = clock.now()),
      extend: () => send(() => gate.extend({ id }), EXTENSION_TIMEOUT),
      async release(outcome) {
        await sendDetached(() => {
          const responseAge = respondedAt === undefined ? undefined : clock.now() - respondedAt;
          return gate.release({ id, responseAge, succeeded: outcome === "success" });
        });
      },
    };
  }

  return {
    async acquire({ requestsPerSecond, maxWait = Infinity, ...target }, signal) {
      signal?.throwIfAborted();
      const gate = gateOf(target);
      const id = crypto.randomUUID();
      const interval = 1000 * INTERVAL_MARGIN / requestsPerSecond;
      const start = clock.now();
      let sentAt = start;
      let sent: Promise<Answer> | undefined;
      const call = () => {
        sentAt = clock.now();
        const waited = sentAt - start;
        return sent = gate.acquire({ id, interval, maxWait: maxWait - waited, waited });
      };
      try {
        for (;;) {
          const answer = await send(call, STORE_TIMEOUT, signal);
          if ("retryAfter" in answer) return answer;
          if ("granted" in answer) {
            const permit = createPermit(gate, id);
            if (clock.now() - sentAt - answer.delay < EXTENSION_TIMEOUT) return permit;
            await permit.release(); // it arrived too late to be used
          } else if (!("wait" in answer)) throw new Error("its store gave an unknown answer");
        }
      } catch (error) {
        const leave = () => void sendDetached(() => gate.release({ id })).catch(() => {});
        leave();
        sent?.then((answer) => "granted" in answer && leave()).catch(() => {});
        throw error;
      }
    },
    async penalize(target, blockTime) {
      await sendDetached(() => gateOf(target).penalize({ blockTime }));
    },
  };
}

/** Number of origins and keys from which the unused ones are forgotten. */
const MAX_TARGETS = 1_000;

/** Returns a function that creates a value for each origin and key, and keeps it for an hour at least. */
export function cacheByTarget<T>(
  create: (target: RateLimitTarget) => T,
  clock: Clock,
): (target: RateLimitTarget) => T {
  const entries = new Map<string, { value: T; usedAt: number }>();
  return (target) => {
    const now = clock.now();
    const name = `${target.origin} ${target.keyHash ?? ""}`;
    const { value } = entries.get(name) ?? { value: create(target) };
    entries.set(name, { value, usedAt: now });
    for (const [other, { usedAt }] of entries.size > MAX_TARGETS ? entries : []) {
      if (now - usedAt > MAX_BLOCK_TIME) entries.delete(other);
    }
    return value;
  };
}

/**
 * Interval at which the waiters of a process give a sign of life. Cloudflare Workers drop a request without running
 * its `finally` blocks, and its timers with it.
 */
const SIGN_OF_LIFE_INTERVAL =
  (globalThis as { navigator?: { userAgent?: string } }).navigator?.userAgent ===
      "Cloudflare-Workers"
    ? 1_000
    : Infinity;

/** Limiters of this process by clock. Clients share a limiter, because the service counts their requests together. */
const processLimiters = new WeakMap<Clock, RateLimiter>();

/**
 * Returns the rate limiter of this process. It has one gate per origin and API key.
 *
 * @param clock Clock for delays. Only callers with the same clock share a limiter
 */
export function processLimiter(clock: Clock): RateLimiter {
  const limiter = processLimiters.get(clock) ?? createProcessLimiter(clock, SIGN_OF_LIFE_INTERVAL);
  processLimiters.set(clock, limiter);
  return limiter;
}

/** Creates a rate limiter in the memory of the process. */
export function createProcessLimiter(clock: Clock, pollTime: number): RateLimiter {
  const openMemoryGate = () => {
    const gate = { ...NEW_GATE, isShared: false };
    return openGate((apply) => apply(gate, clock.now()), clock, pollTime);
  };
  return createLimiter(cacheByTarget(openMemoryGate, clock), clock);
}
