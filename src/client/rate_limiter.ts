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
  /** What is known about the service, for the message of the error. Default: it answers. */
  service?: ServiceState | undefined;
}

/** What is known about the service for one origin and key. Times are durations, because the clocks of machines differ. */
export interface ServiceState {
  /** `blocked`: it refuses all requests for a time. `silent`: no answers arrive. */
  readonly is: "answering" | "blocked" | "silent" | "key rejected";
  /** Why it is not answering: an HTTP status, or words such as `connection refused`. */
  readonly cause?: number | string | undefined;
  /** Time (ms) since this state began. */
  readonly age: number;
  /** Time (ms) until the next request may start; 0 for now. */
  readonly wait: number;
  /** Time (ms) since the last report or success; absent if there was none. */
  readonly checkedAge?: number | undefined;
  /** Time (ms) since the last complete response to the key; absent if there was none. */
  readonly answeredAge?: number | undefined;
  /** Longest query string (bytes) to send: one that was accepted after a longer one was refused. At the start 8000. */
  readonly targetLength: number;
}

/** What a response, or its absence, says about the service. */
export interface ServiceOutcome
  extends Partial<Pick<ServiceState, "is" | "cause" | "targetLength">> {
  /** Time (ms) that the service asks to wait. Default: a time that doubles with each report, up to 60 s. */
  wait?: number | undefined;
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
 *     report: (target, outcome) => limiter.report!(target, outcome),
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
   * Records what a response says about the service, and returns what is known about it. After a block, a rejected key or
   * silence, it delays all requests with the key.
   *
   * A limiter can omit this method. Each download then waits by itself, and does not know what others know.
   *
   * @param target Origin and key of the request
   * @param outcome Default: none. The state is then returned without a promise, as this process last knew it
   */
  report?(
    target: RateLimitTarget,
    outcome?: ServiceOutcome,
  ): ServiceState | Promise<ServiceState>;
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
/** Delay after the first refusal without `Retry-After`. It doubles up to the maximum. */
const FIRST_BLOCK_DELAY = 1_000;
const MAX_BLOCK_DELAY = 60_000;
/** Delay after the first failure, and maximum, while the service is silent. */
const FIRST_PROBE_DELAY = 500;
export const MAX_PROBE_DELAY = 2_000;
/** Time without an answer to a request after which the service is silent. */
const MAX_ANSWER_TIME = 10_000;
/** Time between two requests with a key that the service rejects. */
const REJECTED_KEY_DELAY = 60_000;
/** Bytes of a path with its query string; common gateways reject more than 8 KB. */
export const MAX_TARGET_LENGTH = 8_000;
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
  /** Whether the holder's request has an answer. */
  isAnswered: false,
  /** Time from which the interval to the next start counts. */
  startedAt: -Infinity,
  interval: 0,
  /** Factor on the interval: 1, 2, 4 or 8. */
  slowdown: 1,
  /** End of the block after a 429; later, the time of the last change of `slowdown`. */
  blockedUntil: 0,
  /** Moving average of the time for which a permit is held. */
  averageTime: 0,
  service: "answering" as ServiceState["is"],
  cause: undefined as ServiceState["cause"],
  /** Start of the state of the service. */
  since: -Infinity,
  /** Number of reports since then. */
  reports: 0,
  /** Time of the last report or success. */
  checkedAt: -Infinity,
  /** Time of the last success. */
  answeredAt: -Infinity,
  /** Bytes; common gateways reject more than 8 KB. */
  targetLength: MAX_TARGET_LENGTH,
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
export type Answer = { granted: true; service?: ServiceState } | PermitRefusal | { wait: number };

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
  const blockTime = state.blockedUntil - now;
  if (state.service === "key rejected" && blockTime > 0) return { retryAfter: blockTime };
  const expiry = Math.max(state.seenAt + PERMIT_TTL, since + MIN_TAKEOVER_WAIT);
  if (position === 0 && state.holder !== undefined && now >= expiry) {
    state.holder = undefined;
    state.startedAt = state.seenAt + PERMIT_TTL; // the request may have been sent until then
  }
  const normal = Math.max(state.interval, ticket.interval);
  const { slowdown } = state;
  const interval = slowdown === 1 ? normal : Math.max(normal, MIN_SLOWED_INTERVAL) * slowdown;
  const wait = Math.max(0, state.startedAt + interval - now, blockTime);
  if (position === 0 && state.holder === undefined && wait === 0) {
    state.connects = state.isShared || now - state.startedAt > CONNECTION_TTL;
    Object.assign(state, { holder: id, seenAt: now, startedAt: now, interval: ticket.interval });
    state.isAnswered = false;
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

function extend(state: LimiterState, id: string, now: number, isAnswered = false): boolean {
  if (state.holder !== id) return false;
  state.seenAt = now;
  state.isAnswered ||= isAnswered;
  return true;
}

function release(state: LimiterState, message: ReleaseMessage, now: number): void {
  // A request to a shared state may have been sent until now, because its messages take time.
  const { id, responseAge = state.isShared ? 0 : undefined, succeeded = false } = message;
  if (state.holder !== id) return;
  state.holder = undefined;
  if (succeeded) {
    report(state, { is: "answering" }, now);
    state.answeredAt = now;
  }
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
function report(state: LimiterState, outcome: ServiceOutcome, now: number): void {
  const { is, cause, wait, targetLength } = outcome;
  if (targetLength !== undefined) state.targetLength = targetLength;
  if (is === undefined) return;
  if (is !== state.service) Object.assign(state, { service: is, since: now, reports: 0 });
  Object.assign(state, { cause, checkedAt: now });
  if (is === "answering") return;
  const times = state.reports++;
  const doubled = (first: number, max: number, times: number) => Math.min(max, first * 2 ** times);
  const delay = is === "key rejected"
    ? REJECTED_KEY_DELAY
    : is === "silent"
    ? doubled(FIRST_PROBE_DELAY, MAX_PROBE_DELAY, times)
    : wait === undefined
    ? doubled(FIRST_BLOCK_DELAY, MAX_BLOCK_DELAY, times)
    // A wait that is too short, such as 0, must not repeat requests forever.
    : Math.max(wait, doubled(FIRST_BLOCK_DELAY, MAX_BLOCK_DELAY, times - 1));
  state.blockedUntil = Math.max(state.blockedUntil, now + delay);
  if (is === "blocked") state.slowdown = Math.min(MAX_SLOWDOWN, state.slowdown * 2);
}

function serviceOf(state: LimiterState, now: number): ServiceState {
  const { service: is, cause, since, blockedUntil, checkedAt, answeredAt, targetLength } = state;
  const age = (time: number) => time === -Infinity ? undefined : Math.max(0, now - time);
  const unanswered = state.holder === undefined || state.isAnswered ? 0 : now - state.startedAt;
  // No error says it yet.
  const isLate = is === "answering" && unanswered > MAX_ANSWER_TIME;
  return {
    is: isLate ? "silent" : is,
    cause: isLate ? `no answer for ${Math.floor(unanswered / 1000)} s` : cause,
    age: isLate ? unanswered : age(since) ?? 0,
    wait: is === "answering" ? 0 : Math.max(0, blockedUntil - now),
    checkedAge: age(checkedAt),
    answeredAge: age(answeredAt),
    targetLength,
  };
}

/** Returns a state that was known some time (ms) ago as it is now. */
function later(service: ServiceState, time: number): ServiceState {
  const { age, wait, checkedAge, answeredAge } = service;
  return {
    ...service,
    age: age + time,
    wait: Math.max(0, wait - time),
    checkedAge: checkedAge === undefined ? undefined : checkedAge + time,
    answeredAge: answeredAge === undefined ? undefined : answeredAge + time,
  };
}

/** State of a service of which nothing is known. */
export const UNKNOWN_SERVICE: ServiceState = serviceOf(NEW_STATE, 0);

/** May call the function again after a conflict with another process. */
export type ChangeState = <T>(apply: (state: LimiterState, now: number) => T) => T | Promise<T>;

export interface PermitQueue {
  acquire(message: AcquireMessage): Promise<Answer>;
  extend(message: { id: string; isAnswered?: boolean }): boolean | Promise<boolean>;
  release(message: ReleaseMessage): Promise<ServiceState>;
  report(message: ServiceOutcome): Promise<ServiceState>;
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
          const answer = acquire(state, ticket, queue.indexOf(ticket), now);
          return "wait" in answer ? answer : { ...answer, service: serviceOf(state, now) };
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
    extend: ({ id, isAnswered }) => change((state, now) => extend(state, id, now, isAnswered)),
    async release(message) {
      const ticket = queue.find(({ id }) => id === message.id);
      if (ticket !== undefined) leave(ticket);
      const service = await change((state, now) => {
        release(state, message, now);
        return serviceOf(state, now);
      });
      queue[0]?.wake();
      return service;
    },
    async report(outcome) {
      const service = await change((state, now) => {
        report(state, outcome, now);
        return serviceOf(state, now);
      });
      for (const { wake } of queue) wake(); // their waits may now exceed their maximum
      return service;
    },
  };
}

/** Ends early if the promise resolves. `Infinity` for no timer. */
async function sleepUntil(time: number, woken: Promise<void>, clock: Clock): Promise<void> {
  const stopped = new AbortController();
  // setTimeout() accepts 24 days at most.
  const sleep = () =>
    clock.sleep(Math.max(0, Math.min(time - clock.now(), MAX_BLOCK_TIME)), stopped.signal);
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
  const entryOf = cacheByTarget(createQueue, clock);
  async function sendDetached<T>(call: () => Promise<T>): Promise<T> {
    const sent = send(call, STORE_TIMEOUT);
    waitUntil?.(sent.catch(() => {}));
    return await sent;
  }

  return {
    async acquire({ requestsPerSecond, maxWait = Infinity, ...target }, signal) {
      signal?.throwIfAborted();
      const { queue, learn } = entryOf(target);
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
        extend: () => {
          const isAnswered = respondedAt !== undefined;
          return send(() => queue.extend({ id, isAnswered }), EXTENSION_TIMEOUT);
        },
        release: (outcome) =>
          sendDetached(() => {
            const responseAge = respondedAt === undefined ? undefined : clock.now() - respondedAt;
            return queue.release({ id, responseAge, succeeded: outcome === "success" });
          }).then(learn),
      };
      try {
        for (;;) {
          const answer = await send(call, STORE_TIMEOUT, signal);
          if ("service" in answer) learn(answer.service);
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
    report(target, outcome) {
      const { queue, learn, known } = entryOf(target);
      if (outcome === undefined) return known();
      return sendDetached(() => queue.report(outcome)).then(learn).then(known);
    },
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
/** Number above which the longest unused one is removed in any case: anyone can send keys to a server. */
const MAX_RECENT_TARGETS = 10_000;

interface Entry {
  queue: PermitQueue;
  usedAt: number;
  /** Records what an answer of the queue says. */
  learn(service: ServiceState | undefined): void;
  known(): ServiceState;
}

function createEntry(queue: PermitQueue, clock: Clock): Entry {
  let [service, at] = [UNKNOWN_SERVICE, clock.now()];
  return {
    queue,
    usedAt: at,
    learn(answer) {
      if (answer !== undefined) [service, at] = [answer, clock.now()];
    },
    known: () => later(service, clock.now() - at),
  };
}

/** Keeps a queue for each origin and key for an hour at least, unless there are too many. */
function cacheByTarget(
  createQueue: (target: RateLimitTarget) => PermitQueue,
  clock: Clock,
): (target: RateLimitTarget) => Entry {
  /** In the order of their last use. */
  const entries = new Map<string, Entry>();
  return (target) => {
    const now = clock.now();
    const name = `${target.origin} ${target.keyHash ?? ""}`;
    const entry = entries.get(name) ?? createEntry(createQueue(target), clock);
    entry.usedAt = now;
    entries.delete(name);
    entries.set(name, entry);
    for (const [other, { usedAt }] of entries) {
      const isRecent = now - usedAt <= MAX_BLOCK_TIME && entries.size <= MAX_RECENT_TARGETS;
      if (entries.size <= MAX_TARGETS || isRecent) break;
      entries.delete(other);
    }
    return entry;
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
