// The rate limit as plain JSON data, and the functions that change it. All times are in milliseconds.

/**
 * Safety factor on the interval between requests: 530 ms instead of 500 ms at 2 requests per second. Because of
 * network jitter, requests can arrive closer together than they were sent.
 */
const INTERVAL_MARGIN = 1.06;
/**
 * Interval at which the first waiter polls while another request has the permit. Other waiters poll at most this
 * often.
 */
const POLL_INTERVAL = 10;
/** `POLL_INTERVAL` of a distributed state, whose polls are messages to another machine. */
const REMOTE_POLL_INTERVAL = 50;
/** Age after which a permit that was not extended is reclaimed. */
export const PERMIT_TTL = 5_000;
/** Time without a poll after which a waiter is treated as abandoned. */
const WAITER_TTL = 5_000;
/** Maximum time that a waiter sleeps between two polls. */
const MAX_SLEEP = WAITER_TTL / 2;
/**
 * Minimum age at which a distributed state updates a time, because each update is a write to a store.
 * `UPDATE_AGE + MAX_SLEEP` is less than `WAITER_TTL`, so a waiter does not expire while it sleeps.
 */
const UPDATE_AGE = WAITER_TTL / 4;
/**
 * Time without a request after which connections are assumed to be closed. The next request
 * reaches the service later than usual, because it opens a new connection.
 */
const CONNECTION_TTL = 5_000;
const MINUTE = 60_000;
/** Time for which a client's rate applies to the other clients after its last request. */
const RATE_TTL = MINUTE;
/** Multiplier on the slowdown of a key for each penalty. */
const SLOWDOWN_PER_PENALTY = 2;
/** Maximum slowdown of a key. */
const MAX_SLOWDOWN = 8;
/** Multiplier on the slowdown of a key for each successful response. */
const SLOWDOWN_PER_SUCCESS = 0.9;
/** Multiplier on the slowdown of a key for each minute without a request. */
const SLOWDOWN_PER_IDLE_MINUTE = 0.5;
/**
 * Minimum interval that a slowdown multiplies. Without it, a slowdown would have no effect on a client
 * without a rate limit, whose interval is 0.
 */
const MIN_SLOWED_INTERVAL = 500;
/** Weight of the latest permit in the moving average of the times for which permits were held. */
const HOLD_WEIGHT = 0.25;

/** A request that waits for the permit. */
interface Waiter {
  id: string;
  key: string | undefined;
  /** Time of its last poll. */
  polledAt: number;
}

/** The request that has the permit. */
interface Holder {
  id: string;
  key: string | undefined;
  /** Time at which the permit was granted. */
  since: number;
  /** Time at which the permit expires unless extended. */
  expiresAt: number;
  /** Whether the request probably opens a new connection. */
  opensConnection: boolean;
}

/** Penalty of one API key after a response with status 429. */
interface Penalty {
  key: string | undefined;
  /** Time before which no request with the key starts. */
  blockedUntil: number;
  /** Multiplier on the interval between two requests. */
  slowdown: number;
  /** Time of the last request with the key, or of the last penalty if that is later. */
  lastUsed: number;
}

/**
 * State of one rate limit: the request that has the permit, the queue, and the penalties.
 *
 * Every entry expires unless renewed, because an edge runtime may drop a request without running its `finally`
 * blocks or timers. Waiters poll, because the runtime may end a request that awaits a promise of another
 * request.
 */
export interface RateLimitState {
  /** Whether several processes share it. Each of them opens its own connections. */
  readonly isDistributed: boolean;
  /**
   * Time from which the next interval counts; `undefined` before the first request. It is the start of the last
   * request. If that opened a connection, it becomes the arrival of the response headers. A distributed state always
   * uses the arrival, or the end of the permit if no headers arrived.
   */
  intervalStart: number | undefined;
  /** Intervals that recent polls have asked for, each with the time of its last poll. */
  intervals: { interval: number; requestedAt: number }[];
  penalties: Penalty[];
  /** The request that has the permit; `undefined` if the permit is free. */
  holder: Holder | undefined;
  /** Requests that wait for the permit, in the order of arrival. */
  waiters: Waiter[];
  /** Moving average of the time for which permits were held. */
  averageHold: number;
}

/** One poll of a request that waits. */
export interface Poll {
  /** Identifier of the request. */
  id: string;
  /** Identifier of the API key to which penalties apply; `undefined` if all requests use the same key. */
  key?: string | undefined;
  /** Maximum number of requests that start per second; `Infinity` for no limit. */
  requestsPerSecond: number;
  /** Whether the request has not polled before. */
  isFirst: boolean;
  /** Remaining time that the request may wait. Default: no maximum. */
  maxWait?: number | undefined;
}

/**
 * Result of a poll: the permit, the time until the next poll, or a refusal. `pollTime` is the time
 * between the arrival of the poll at the store and the grant. Default: 0.
 */
export type PollResult =
  | { status: "granted"; pollTime?: number }
  | { status: "waiting"; delay: number }
  | { status: "refused"; retryAfter: number };

/** Outcome of a request, passed when its permit is released. */
export interface Release {
  /** Time since the headers of the response arrived; `undefined` if they did not arrive. */
  responseAge: number | undefined;
  /** Whether the response was complete and successful, which reduces the slowdown of the key. */
  succeeded: boolean;
}

/**
 * Creates an empty state.
 *
 * @param isDistributed Whether several processes share the state. Intervals then count from the response, and
 *   waiters poll less often
 */
export function createRateLimitState(isDistributed: boolean): RateLimitState {
  return {
    isDistributed,
    intervalStart: undefined,
    intervals: [],
    penalties: [],
    holder: undefined,
    waiters: [],
    averageHold: 0,
  };
}

/**
 * Polls for a request, and grants the permit if the request is first in the queue and may start now. A new
 * request joins the end of the queue. A request whose key is blocked is overtaken by the others.
 */
export function pollPermit(
  state: RateLimitState,
  { id, key, requestsPerSecond, isFirst, maxWait }: Poll,
  now: number,
): PollResult {
  // The request has the permit already: the response to an earlier poll was lost.
  if (extendPermit(state, id, now)) return { status: "granted" };
  recordInterval(state, 1000 * INTERVAL_MARGIN / requestsPerSecond, now);
  let waiter = state.waiters.find((other) => other.id === id);
  // If this waiter polls late, the whole process may have been suspended, so no other waiter is treated as
  // abandoned.
  const polledLate = !isFirst && (waiter === undefined || now - waiter.polledAt >= WAITER_TTL);
  if (waiter === undefined) state.waiters.push(waiter = { id, key, polledAt: now });
  if (isDue(state, waiter.polledAt, now)) waiter.polledAt = now;
  if (!polledLate) removeAbandoned(state, now);
  const penalty = currentPenalty(state, key, now);
  const interval = currentInterval(state, penalty, now);
  const delay = delayOf(state, waiter, { penalty, interval, polledLate }, now);
  if (delay <= 0) {
    grantPermit(state, waiter, penalty, now);
    return { status: "granted" };
  }
  if (maxWait === undefined) return { status: "waiting", delay };
  const wait = estimateWait(state, waiter, { penalty, interval }, now);
  if (maxWait > 0 && wait <= maxWait) return { status: "waiting", delay: Math.min(delay, maxWait) };
  leaveQueue(state, id, now);
  return { status: "refused", retryAfter: Math.max(wait, interval) };
}

/**
 * Renews the permit of a running request, so that the permit does not expire.
 *
 * @returns Whether the request still has the permit
 */
export function extendPermit(state: RateLimitState, id: string, now: number): boolean {
  if (state.holder?.id !== id) return false;
  state.holder.expiresAt = now + PERMIT_TTL;
  return true;
}

/** Releases the permit of a request. Has no effect if the request does not have the permit. */
export function releasePermit(
  state: RateLimitState,
  id: string,
  { responseAge, succeeded }: Release,
  now: number,
): void {
  const { holder, isDistributed } = state;
  if (holder?.id !== id) return;
  const penalty = state.penalties.find(({ key }) => key === holder.key);
  if (succeeded && penalty !== undefined) penalty.slowdown *= SLOWDOWN_PER_SUCCESS;
  state.averageHold += HOLD_WEIGHT * (now - holder.since - state.averageHold);
  // Opening a connection delayed the arrival of this request. The next request may reuse the connection and
  // arrive without that delay, so an interval that counts from the start would be too short.
  if (isDistributed) state.intervalStart = now - (responseAge ?? 0);
  else if (holder.opensConnection && responseAge !== undefined) {
    state.intervalStart = now - responseAge;
  }
  state.holder = undefined;
}

/** Removes a request from the queue, and releases the permit if the request has it. */
export function leaveQueue(state: RateLimitState, id: string, now: number): void {
  state.waiters = state.waiters.filter((other) => other.id !== id);
  releasePermit(state, id, { responseAge: undefined, succeeded: false }, now);
}

/**
 * Applies a penalty after a 429 (RFC 6585): blocks the requests with a key for some time, and then
 * lengthens the interval between them.
 *
 * Source: DataStream Public API, "Errors", status 429.
 *
 * @param blockTime Time during which no request with the key starts
 */
export function penalizeKey(
  state: RateLimitState,
  key: string | undefined,
  blockTime: number,
  now: number,
): void {
  const { blockedUntil = now, slowdown = 1 } = currentPenalty(state, key, now) ?? {};
  setPenalty(state, {
    key,
    blockedUntil: Math.max(blockedUntil, now + blockTime),
    slowdown: Math.min(MAX_SLOWDOWN, slowdown * SLOWDOWN_PER_PENALTY),
    lastUsed: now,
  });
}

/**
 * Copies a state and converts its times, for a store that machines with different clocks use.
 *
 * @param convert Returns the converted time. `name` identifies the time in the state, and stays the same when
 *   the time changes
 */
export function mapTimes(
  state: RateLimitState,
  convert: (time: number, name: string) => number,
): RateLimitState {
  const { intervalStart, intervals, penalties, holder, waiters } = state;
  return {
    ...state,
    intervalStart: intervalStart === undefined ? undefined : convert(intervalStart, "start"),
    intervals: intervals.map(({ interval, requestedAt }) => ({
      interval,
      requestedAt: convert(requestedAt, `interval ${interval}`),
    })),
    penalties: penalties.map((penalty) => ({
      ...penalty,
      blockedUntil: convert(penalty.blockedUntil, `blocked ${penalty.key}`),
      lastUsed: convert(penalty.lastUsed, `used ${penalty.key}`),
    })),
    holder: holder && {
      ...holder,
      since: convert(holder.since, `held ${holder.id}`),
      expiresAt: convert(holder.expiresAt, `expires ${holder.id}`),
    },
    waiters: waiters.map((waiter) => ({
      ...waiter,
      polledAt: convert(waiter.polledAt, `polled ${waiter.id}`),
    })),
  };
}

/** Conditions that determine when a waiter may start. */
interface Conditions {
  penalty: Penalty | undefined;
  /** Interval between requests with its key. */
  interval: number;
}

/** Returns the time until a waiter should poll again; 0 or less if it may start now. */
function delayOf(
  state: RateLimitState,
  waiter: Waiter,
  { penalty, interval, polledLate }: Conditions & { polledLate: boolean },
  now: number,
): number {
  const pollInterval = state.isDistributed ? REMOTE_POLL_INTERVAL : POLL_INTERVAL;
  const blockedFor = (penalty?.blockedUntil ?? now) - now;
  if (blockedFor > 0) return Math.min(blockedFor, MAX_SLEEP);
  const [first, second] = state.waiters.filter(({ key }) => !isBlocked(state, key, now));
  if (first !== waiter) {
    // A process notices a release only at its next poll, so its interval begins then. The second waiter
    // starts next, and therefore polls often.
    if (state.isDistributed && second === waiter) return 2 * pollInterval;
    // If the first waiter starts, this one has to wait for at least one interval. If the first waiter
    // leaves the queue instead, this one may start earlier, so it polls after half an interval.
    return Math.max(pollInterval, Math.min(interval / 2, MAX_SLEEP));
  }
  const { holder } = state;
  // A waiter that polls late does not reclaim an expired permit: if the process was suspended, the holder could
  // not extend it.
  if (holder !== undefined && (polledLate || holder.expiresAt > now)) return pollInterval;
  if (holder !== undefined && state.isDistributed) {
    // The holder may have sent its request at any time before the permit expired.
    state.intervalStart = holder.expiresAt;
    state.holder = undefined;
  }
  return Math.min(remainingInterval(state, interval, now), MAX_SLEEP);
}

/** Grants the permit to a waiter. */
function grantPermit(
  state: RateLimitState,
  { id, key }: Waiter,
  penalty: Penalty | undefined,
  now: number,
): void {
  state.waiters = state.waiters.filter((other) => other.id !== id);
  if (penalty !== undefined) setPenalty(state, { ...penalty, lastUsed: now });
  const { intervalStart = -Infinity } = state;
  const opensConnection = now - intervalStart > CONNECTION_TTL;
  state.holder = { id, key, since: now, expiresAt: now + PERMIT_TTL, opensConnection };
  state.intervalStart = now;
}

/**
 * Estimates the remaining wait of a waiter. It is the rest of the current cycle, or the time for which the key is
 * blocked if that is longer. Each request ahead of it adds one cycle. A cycle is the interval, or the average
 * time for which permits were held if that is longer.
 */
function estimateWait(
  state: RateLimitState,
  waiter: Waiter,
  { penalty, interval }: Conditions,
  now: number,
): number {
  const { waiters, holder, averageHold } = state;
  const cycle = Math.max(interval, averageHold);
  const blockedFor = (penalty?.blockedUntil ?? now) - now;
  const before = waiters.slice(0, waiters.indexOf(waiter))
    .filter(({ key }) => blockedFor > 0 || !isBlocked(state, key, now));
  const current = holder === undefined
    ? remainingInterval(state, interval, now)
    : holder.since + cycle - now;
  return Math.max(0, blockedFor, current) + before.length * cycle;
}

/** Returns the time until an interval has passed since the last request. */
function remainingInterval(
  { intervalStart = -Infinity }: RateLimitState,
  interval: number,
  now: number,
): number {
  return intervalStart + interval - now;
}

/** Removes the waiters at the start of the queue that no longer poll. */
function removeAbandoned(state: RateLimitState, now: number): void {
  let first = firstWaiter(state, now);
  while (first !== undefined && now - first.polledAt >= WAITER_TTL) {
    state.waiters.splice(state.waiters.indexOf(first), 1);
    first = firstWaiter(state, now);
  }
}

/** Returns the first waiter whose key is not blocked; the others keep their places. */
function firstWaiter(state: RateLimitState, now: number): Waiter | undefined {
  return state.waiters.find(({ key }) => !isBlocked(state, key, now));
}

function isBlocked({ penalties }: RateLimitState, key: string | undefined, now: number): boolean {
  return penalties.some((penalty) => penalty.key === key && penalty.blockedUntil > now);
}

/** Records that a client has requested an interval between requests. */
function recordInterval(state: RateLimitState, interval: number, now: number): void {
  const known = state.intervals.find((other) => other.interval === interval);
  if (known === undefined) state.intervals.push({ interval, requestedAt: now });
  else if (isDue(state, known.requestedAt, now)) known.requestedAt = now;
}

/** Returns whether to update a time: always in a local state, and after `UPDATE_AGE` in a distributed one. */
function isDue({ isDistributed }: RateLimitState, time: number, now: number): boolean {
  return !isDistributed || now - time >= UPDATE_AGE;
}

/** Returns the longest interval requested recently, lengthened by the slowdown of a key. */
function currentInterval(
  state: RateLimitState,
  penalty: Penalty | undefined,
  now: number,
): number {
  state.intervals = state.intervals.filter(({ interval, requestedAt }) =>
    now - requestedAt <= Math.max(RATE_TTL, interval)
  );
  const longest = Math.max(...state.intervals.map(({ interval }) => interval));
  return penalty === undefined
    ? longest
    : Math.max(longest, MIN_SLOWED_INTERVAL) * penalty.slowdown;
}

/** Returns the penalty of a key with its current slowdown. Deletes the penalties that have no more effect. */
function currentPenalty(
  state: RateLimitState,
  key: string | undefined,
  now: number,
): Penalty | undefined {
  const slowdownOf = ({ blockedUntil, slowdown, lastUsed }: Penalty) => {
    const idleMinutes = Math.floor((now - Math.max(lastUsed, blockedUntil)) / MINUTE);
    return slowdown * SLOWDOWN_PER_IDLE_MINUTE ** Math.max(0, idleMinutes);
  };
  state.penalties = state.penalties.filter((penalty) =>
    penalty.blockedUntil > now || slowdownOf(penalty) > 1
  );
  const penalty = state.penalties.find((other) => other.key === key);
  return penalty && { ...penalty, slowdown: Math.max(1, slowdownOf(penalty)) };
}

/** Replaces the penalty of a key. */
function setPenalty(state: RateLimitState, penalty: Penalty): void {
  state.penalties = [...state.penalties.filter(({ key }) => key !== penalty.key), penalty];
}
