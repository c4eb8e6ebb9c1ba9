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
export const PERMIT_TTL = 5_000;
/** Time without a sign of life after which a waiter is skipped. */
const WAITER_TTL = 2_500;
/**
 * Delay of a timer from which the machine is assumed to have been suspended. The holder then has this time to extend
 * its permit. The client extends it every second.
 */
const MAX_TIMER_DELAY = 1_000;
/** Longest delay that `setTimeout()` accepts. */
const MAX_TIMEOUT = 2 ** 31 - 1;
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
/** Weight of the last permit in the average time. */
const AVERAGE_WEIGHT = 0.25;
/** Minimum time between two reductions of the slowdown. */
const SLOWDOWN_TIME = 10_000;

/** State of the rate limit of one origin and API key. */
export interface Gate {
  /** Whether several processes share it. Each of them opens its own connections. */
  readonly isShared: boolean;
  /** Time from which the interval to the next start counts; `undefined` before the first request. */
  startedAt: number | undefined;
  /** Interval that the last request asked for. */
  interval: number;
  /** Time before which no request starts because of a 429. Later, the time of the last change of `slowdown`. */
  blockedUntil: number;
  /** Factor on the interval: 1, 2, 4 or 8. */
  slowdown: number;
  /** Moving average of the times for which permits were held. */
  averageTime: number;
  /** The request that has the permit since a time, its last sign of life, and whether it opens a connection. */
  holder: { id: string; since: number; seenAt: number; connects: boolean } | undefined;
  /** Requests that wait for the permit, in the order of `since`. */
  queue: Ticket[];
}

/** A request that waits for the permit. */
export interface Ticket {
  id: string;
  /** Time at which the request began to wait. */
  since: number;
  /** Time of the last sign of life. `Infinity`: the request always leaves the queue when it ends. */
  seenAt: number;
  /** Maximum number of requests that start per second; `Infinity` for no limit. */
  requestsPerSecond: number;
  /** Time after which the request no longer waits. */
  deadline: number;
  /** Wakes the waiter, so that it calls `acquire()` again. */
  wake?: () => void;
}

/**
 * Result of `acquire()`: the permit, a refusal, or the time until the request may start. `wait` is 0 if only the
 * holder is in the way, and `Infinity` for a request that is not the first in the queue.
 */
export type Answer = { granted: true } | PermitRefusal | { wait: number };

/** Result of a request. */
export interface Outcome {
  /** Time since the headers of the response arrived; absent if they did not arrive. */
  responseAge?: number | undefined;
  /** Whether the response was complete and its status 200. */
  succeeded?: boolean;
}

/** Creates the gate of an origin and key to which no request was sent. */
export function createGate(isShared: boolean): Gate {
  const times = { startedAt: undefined, interval: 0, blockedUntil: 0, slowdown: 1, averageTime: 0 };
  return { isShared, ...times, holder: undefined, queue: [] };
}

/**
 * Grants the permit to a request if it is the first in the queue and may start now. A new request enters the queue.
 *
 * @param mayReclaim Whether an expired permit can be granted. It must be false unless the caller has just slept and
 *   woken in time: if the machine was suspended, the holder could not extend its permit
 */
export function acquire(gate: Gate, ticket: Ticket, now: number, mayReclaim: boolean): Answer {
  const { queue, holder } = gate;
  if (extend(gate, ticket.id, now)) return { granted: true }; // the answer to an earlier call was lost
  if (!queue.includes(ticket)) enterQueue(queue, ticket);
  while (queue[0] !== ticket && now - queue[0]!.seenAt >= WAITER_TTL) queue.shift();
  // The clock can have been set back.
  gate.startedAt &&= Math.min(gate.startedAt, now);
  gate.blockedUntil = Math.min(gate.blockedUntil, now + MAX_BLOCK_TIME);
  if (holder !== undefined) holder.seenAt = Math.min(holder.seenAt, now);
  if (holder !== undefined && mayReclaim && now - holder.seenAt >= PERMIT_TTL) {
    // A holder in another process may have sent its request at any time before the permit expired.
    if (gate.isShared) gate.startedAt = holder.seenAt + PERMIT_TTL;
    gate.holder = undefined;
  }
  const { interval, wait } = remainingWait(gate, ticket, now);
  const position = queue.indexOf(ticket);
  if (position === 0 && gate.holder === undefined && wait === 0) {
    const connects = gate.isShared || now - (gate.startedAt ?? -Infinity) > CONNECTION_TTL;
    gate.holder = { id: ticket.id, since: now, seenAt: now, connects };
    gate.startedAt = now;
    gate.interval = intervalOf(ticket);
    leaveQueue(queue, ticket);
    return { granted: true };
  }
  const cycle = Math.max(interval, gate.averageTime);
  const holderTime = gate.holder === undefined ? 0 : gate.holder.since + cycle - now;
  const estimate = Math.max(wait, holderTime) + position * cycle;
  if (now < ticket.deadline && now + estimate <= ticket.deadline) {
    return { wait: position === 0 ? wait : Infinity };
  }
  leaveQueue(queue, ticket);
  return { retryAfter: Math.max(estimate, interval) };
}

/** Extends the permit of a request. Returns whether the request has it. */
export function extend({ holder }: Gate, id: string, now: number): boolean {
  if (holder?.id !== id) return false;
  holder.seenAt = now;
  return true;
}

/** Releases the permit of a request, or removes the request from the queue. Returns whether it had the permit. */
export function release(
  gate: Gate,
  id: string,
  { responseAge, succeeded = false }: Outcome,
  now: number,
): boolean {
  const { holder, queue } = gate;
  const ticket = queue.find((other) => other.id === id);
  if (ticket !== undefined) leaveQueue(queue, ticket);
  if (holder?.id !== id) return false;
  gate.holder = undefined;
  gate.averageTime += AVERAGE_WEIGHT * (now - holder.since - gate.averageTime);
  const [next] = queue;
  // Otherwise it already sleeps until it may start.
  if (next !== undefined && remainingWait(gate, next, now).wait === 0) next.wake?.();
  // Opening a connection delayed the arrival of this request. The next request may reuse the connection and arrive
  // without that delay, so an interval that counts from the start would be too short.
  if (holder.connects && responseAge !== undefined) gate.startedAt = now - responseAge;
  else if (gate.isShared) gate.startedAt = now;
  if (succeeded && gate.slowdown > 1 && now - gate.blockedUntil >= SLOWDOWN_TIME) {
    gate.slowdown /= 2;
    gate.blockedUntil = now;
  }
  return true;
}

/**
 * Applies a penalty after a 429 (RFC 6585): blocks the requests for some time, and doubles the interval.
 *
 * Source: DataStream Public API, "Errors", status 429.
 */
export function penalize(gate: Gate, blockTime: number, now: number): void {
  gate.blockedUntil = Math.max(gate.blockedUntil, now + blockTime);
  gate.slowdown = Math.min(MAX_SLOWDOWN, gate.slowdown * 2);
  for (const { wake } of gate.queue) wake?.(); // their waits may now exceed their maximum
}

function intervalOf({ requestsPerSecond }: Ticket): number {
  return 1000 * INTERVAL_MARGIN / requestsPerSecond;
}

/** Returns the current interval before a request, and the time until it has passed and the key is not blocked. */
function remainingWait(
  gate: Gate,
  ticket: Ticket,
  now: number,
): { interval: number; wait: number } {
  const { startedAt = -Infinity, blockedUntil, slowdown } = gate;
  const normal = Math.max(intervalOf(ticket), gate.interval);
  const interval = slowdown === 1 ? normal : Math.max(normal, MIN_SLOWED_INTERVAL) * slowdown;
  return { interval, wait: Math.max(0, startedAt + interval - now, blockedUntil - now) };
}

/** Inserts a request into the queue, or replaces its ticket of an earlier call. */
function enterQueue(queue: Ticket[], ticket: Ticket): void {
  const earlier = queue.findIndex(({ id }) => id === ticket.id);
  const next = queue.findIndex(({ since }) => since > ticket.since);
  if (earlier >= 0) queue[earlier] = ticket;
  else queue.splice(next < 0 ? queue.length : next, 0, ticket);
}

/** Removes a request from the queue. Wakes the next one if it is now the first. */
function leaveQueue(queue: Ticket[], ticket: Ticket): void {
  const position = queue.indexOf(ticket);
  queue.splice(position, 1);
  if (position === 0) queue[0]?.wake?.();
}

/** Message that asks for the permit. It has durations, because the clocks of machines differ. */
export interface AcquireMessage {
  id: string;
  requestsPerSecond: number;
  /** Remaining time that the request may wait. */
  maxWait: number;
  /** Time since the request began to wait. It determines the place in the queue. */
  waited: number;
}

/** Answer to an `AcquireMessage`. `delay` is the time from the arrival of the message to the grant. */
export type AcquireAnswer = Answer & { delay?: number };

/**
 * Waits until a request has the permit of a gate in memory. The waiter is woken by the request before it, and has at
 * most one timer.
 *
 * @param pollTime Time after which the answer is `{ wait: 0 }`, and the request sends its message again. It keeps its
 *   place for `WAITER_TTL` after its last message. `Infinity`: requests always leave the queue when they end
 * @param signal Removes the request from the queue; the promise rejects with its reason
 */
export async function waitForPermit(
  gate: Gate,
  { id, requestsPerSecond, maxWait, waited }: AcquireMessage,
  pollTime: number,
  clock: Clock,
  signal?: AbortSignal,
): Promise<AcquireAnswer> {
  const start = clock.now();
  const end = start + pollTime;
  const seenAt = pollTime === Infinity ? Infinity : start;
  const deadline = start + maxWait;
  const ticket = { id, since: start - waited, seenAt, requestsPerSecond, deadline };
  let mayReclaim = false;
  try {
    do {
      const now = clock.now();
      const answer = acquire(gate, ticket, now, mayReclaim);
      if (!("wait" in answer)) return { ...answer, delay: now - start };
      if (now >= end) break;
      const wait = Math.min(answer.wait || timeToExpiry(gate, now), end - now, deadline - now);
      mayReclaim = await sleepUntilWoken(ticket, wait, clock, signal);
    } while (gate.queue.includes(ticket)); // else a later message of the request has replaced this one
    return { wait: 0 };
  } catch (error) {
    if (gate.queue.includes(ticket)) leaveQueue(gate.queue, ticket);
    throw error;
  }
}

/** Returns the time after which the permit of the holder can be granted to another request. */
function timeToExpiry({ holder }: Gate, now: number): number {
  const remaining = holder!.seenAt + PERMIT_TTL - now;
  return remaining > 0 ? remaining : MAX_TIMER_DELAY;
}

/** Sleeps. Returns false if the timer was so late that the machine was probably suspended. */
export async function sleepInTime(
  time: number,
  clock: Clock,
  signal?: AbortSignal,
): Promise<boolean> {
  const due = clock.now() + time;
  await clock.sleep(Math.min(time, MAX_TIMEOUT), signal);
  return clock.now() < due + MAX_TIMER_DELAY;
}

/**
 * Sleeps for a time, or until the waiter is woken. Returns whether the time has passed and the timer was in time.
 *
 * Another request wakes the waiter by a function, because workerd does not let it abort a signal of this one.
 */
async function sleepUntilWoken(
  ticket: Ticket,
  wait: number,
  clock: Clock,
  signal: AbortSignal | undefined,
): Promise<boolean> {
  const stopped = new AbortController();
  const woken = new Promise<boolean>((resolve, reject) => {
    ticket.wake = () => resolve(false);
    if (wait < Infinity) sleepInTime(wait, clock, stopped.signal).then(resolve, reject);
  });
  try {
    return await abortable(woken, signal);
  } finally {
    stopped.abort("stopped"); // without a reason, an error with a stack would be created
  }
}

/** Number of gates of a process from which the unused ones are deleted. */
const MAX_GATES = 1_000;

/** Returns a function that returns the gate of an origin and key in the memory of this process. */
export function createGates(clock: Clock): (target: RateLimitTarget) => Gate {
  const gates = new Map<string, Gate>();
  const isUnused = ({ holder, queue, startedAt = 0, blockedUntil }: Gate) =>
    holder === undefined && queue.length === 0 &&
    clock.now() - Math.max(startedAt, blockedUntil) > MAX_BLOCK_TIME;
  return ({ origin, keyHash = "" }) => {
    const name = `${origin} ${keyHash}`;
    const gate = gates.get(name) ?? createGate(false);
    if (gates.size >= MAX_GATES) {
      for (const [other, old] of gates) if (isUnused(old)) gates.delete(other);
    }
    gates.set(name, gate);
    return gate;
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
export function createProcessLimiter(clock: Clock, signOfLifeInterval: number): RateLimiter {
  const gateOf = createGates(clock);
  let lastId = 0;
  return {
    async acquire({ requestsPerSecond, maxWait = Infinity, ...target }, signal) {
      signal?.throwIfAborted();
      const gate = gateOf(target);
      const id = `${++lastId}`;
      const start = clock.now();
      let respondedAt: number | undefined;
      for (;;) {
        const waited = clock.now() - start;
        const message = { id, requestsPerSecond, maxWait: maxWait - waited, waited };
        const answer = await waitForPermit(gate, message, signOfLifeInterval, clock, signal);
        if ("retryAfter" in answer) return answer;
        if ("wait" in answer) continue;
        return {
          responded: () => void (respondedAt = clock.now()),
          extend: () => extend(gate, id, clock.now()),
          release(outcome) {
            const responseAge = respondedAt === undefined ? undefined : clock.now() - respondedAt;
            release(gate, id, { responseAge, succeeded: outcome === "success" }, clock.now());
          },
        };
      }
    },
    penalize: (target, blockTime) => penalize(gateOf(target), blockTime, clock.now()),
  };
}
