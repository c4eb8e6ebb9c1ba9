import type { Clock } from "../clock.ts";

/**
 * Safety margin on the interval between requests: 530 ms instead of 500 ms at 2 per second. The network
 * delays requests unequally, so the service may receive two of them closer together.
 */
const INTERVAL_MARGIN = 1.06;
/** Interval (ms) at which the next waiter checks whether the permit holder has released its permit. */
const POLL_INTERVAL = 10;
/** Age (ms) after which a permit that was not renewed is reclaimed. */
const PERMIT_TTL = 5_000;
/** Time (ms) without a poll after which a waiter is treated as abandoned. */
const WAITER_TTL = 5_000;
/** Maximum time (ms) that a waiter sleeps between two polls. */
const MAX_SLEEP = WAITER_TTL / 2;
/**
 * Time (ms) without a request after which connections are assumed to be closed. The next request
 * reaches the service later than usual, because it opens a new connection.
 */
const CONNECTION_TTL = 5_000;
/** One minute, in milliseconds. */
const MINUTE = 60_000;
/** How long (ms) after its last request a client's rate still slows the other clients. */
const RATE_TTL = MINUTE;
/** Multiplier on the slowdown of a key for each penalty. */
const SLOWDOWN_PER_PENALTY = 2;
/** Maximum slowdown of a key. */
const MAX_SLOWDOWN = 8;
/** Multiplier on the slowdown of a key for each successful response. */
const SLOWDOWN_PER_SUCCESS = 0.9;
/** Multiplier on the slowdown of a key for each minute without a request. */
const SLOWDOWN_PER_IDLE_MINUTE = 0.5;
/** The slowdown multiplies at least this interval (ms), so that it also slows unlimited clients. */
const MIN_SLOWED_INTERVAL = 500;

/** Request for a permit. */
interface PermitRequest {
  /** Maximum number of requests that start per second; `Infinity` for no limit. */
  requestsPerSecond: number;
  /** Clock by which to wait. Only callers with the same clock share a queue. */
  clock: Clock;
  /** API key of the HTTP request. Penalties apply per key. */
  key: string | undefined;
}

/** Permission to send one HTTP request. The next permit is given after this one is released. */
interface Permit {
  /** Records that the headers of the response have arrived. */
  responded(): void;
  /** Records a successful response, which reduces the slowdown of the key. */
  succeeded(): void;
  /** Records that the request is still running, so that the permit is not reclaimed. */
  renew(): void;
  /** Releases the permit. Releasing it again has no effect. */
  release(): void;
}

/** A caller in the queue. */
interface Waiter {
  /** Time of its last poll. */
  polledAt: number;
  /** Whether it was removed from the queue as abandoned. */
  wasRemoved: boolean;
  key: string | undefined;
}

/** Delays of one API key, after the service has reported too many requests. */
interface Penalty {
  /** Time before which no request with the key starts. */
  blockedUntil: number;
  /** Factor by which the interval between two requests is lengthened. */
  slowdown: number;
  /** Time of the last request with the key, or of the last penalty if that is later. */
  lastUsed: number;
}

/**
 * State of one origin, shared by all clients of the process.
 *
 * It is plain data, and every entry expires unless renewed: an edge runtime may drop a request
 * without running its `finally` blocks or timers, and may end requests that await a promise of
 * another request.
 */
interface Queue {
  /** Start of the last request, or arrival of its response headers if it opened a connection. */
  intervalStart: number;
  /** Requested intervals (ms) between two requests, with the time of the last poll that requested each. */
  intervals: Map<number, number>;
  /** Penalties by key. */
  penalties: Map<string | undefined, Penalty>;
  /** The caller that holds the permit; `undefined` if the permit is free. */
  holder: Waiter | undefined;
  /** Time at which the permit expires unless renewed. */
  expiresAt: number;
  /** Callers that wait for a permit, in the order of arrival. */
  waiters: Waiter[];
}

/** Module state, because the service's limit applies to all clients together. */
const queues = new WeakMap<Clock, Map<string, Queue>>();

/**
 * Waits for permission to send a request to an origin.
 *
 * Requests are sent one at a time, in the order of the calls, and at the lowest rate that any caller
 * requested in the last minute. A caller whose key is blocked is overtaken by the others.
 *
 * @param signal Ends the wait; the promise rejects with its reason
 * @returns The permit, to be released when the response has been read
 *
 * Source: DataStream Public API, "Errors", status 429.
 */
export async function acquirePermit(
  origin: string,
  { requestsPerSecond, clock, key }: PermitRequest,
  signal?: AbortSignal,
): Promise<Permit> {
  signal?.throwIfAborted();
  const queue = queueOf(origin, clock);
  const interval = 1000 * INTERVAL_MARGIN / requestsPerSecond;
  const waiter: Waiter = { polledAt: clock.now(), wasRemoved: false, key };
  queue.waiters.push(waiter);
  try {
    for (;;) {
      queue.intervals.set(interval, clock.now());
      const delay = poll(queue, waiter, clock.now());
      if (delay <= 0) break;
      await clock.sleep(delay, signal);
    }
  } finally {
    queue.waiters = queue.waiters.filter((other) => other !== waiter);
  }
  const start = clock.now();
  const penalty = currentPenalty(queue, key, start);
  if (penalty !== undefined) queue.penalties.set(key, { ...penalty, lastUsed: start });
  const opensConnection = start - queue.intervalStart > CONNECTION_TTL;
  queue.holder = waiter;
  queue.expiresAt = start + PERMIT_TTL;
  queue.intervalStart = start;
  return {
    responded() {
      // The next request reuses the connection and reaches the service sooner after its start.
      if (opensConnection && queue.holder === waiter) queue.intervalStart = clock.now();
    },
    succeeded() {
      const current = queue.penalties.get(key);
      if (current !== undefined) current.slowdown *= SLOWDOWN_PER_SUCCESS;
    },
    renew() {
      if (queue.holder === waiter) queue.expiresAt = clock.now() + PERMIT_TTL;
    },
    release() {
      if (queue.holder === waiter) queue.holder = undefined;
    },
  };
}

/**
 * Delays all requests with a key to an origin, and lengthens the interval between them, after a 429
 * (RFC 6585).
 *
 * @param blockTime Time (ms) during which no request with the key starts
 *
 * Source: DataStream Public API, "Errors", status 429.
 */
export function penalize(
  origin: string,
  { clock, key }: Pick<PermitRequest, "clock" | "key">,
  blockTime: number,
): void {
  const queue = queueOf(origin, clock);
  const now = clock.now();
  const { blockedUntil = now, slowdown = 1 } = currentPenalty(queue, key, now) ?? {};
  queue.penalties.set(key, {
    blockedUntil: Math.max(blockedUntil, now + blockTime),
    slowdown: Math.min(MAX_SLOWDOWN, slowdown * SLOWDOWN_PER_PENALTY),
    lastUsed: now,
  });
}

/** Returns the time (ms) until a waiter should poll again, or at most 0 if it may start now. */
function poll(queue: Queue, waiter: Waiter, now: number): number {
  // If this waiter overslept, the whole process may have been suspended, so no waiter is removed.
  const overslept = now - waiter.polledAt >= WAITER_TTL;
  waiter.polledAt = now;
  let next = nextWaiter(queue, now);
  while (!overslept && next && now - next.polledAt >= WAITER_TTL) {
    next.wasRemoved = true;
    queue.waiters.splice(queue.waiters.indexOf(next), 1);
    next = nextWaiter(queue, now);
  }
  if (waiter.wasRemoved) {
    waiter.wasRemoved = false;
    queue.waiters.push(waiter);
  }
  const penalty = currentPenalty(queue, waiter.key, now);
  const blockedFor = (penalty?.blockedUntil ?? now) - now;
  if (blockedFor > 0) return Math.min(blockedFor, MAX_SLEEP);
  const interval = currentInterval(queue, penalty, now);
  if (next !== waiter) {
    // Another waiter is first. If it starts, this one may start after a whole interval at the earliest;
    // if it leaves the queue instead, sooner. Half an interval limits the delay in the second case.
    return Math.max(POLL_INTERVAL, Math.min(interval / 2, MAX_SLEEP));
  }
  // If the whole process was suspended, the holder may be about to renew its expired permit.
  if (queue.holder !== undefined && (overslept || queue.expiresAt > now)) return POLL_INTERVAL;
  return Math.min(queue.intervalStart + interval - now, MAX_SLEEP);
}

/** Returns the first waiter whose key is not blocked; the others keep their places. */
function nextWaiter({ waiters, penalties }: Queue, now: number): Waiter | undefined {
  return waiters.find(({ key }) => (penalties.get(key)?.blockedUntil ?? now) <= now);
}

/** Returns the longest interval requested recently, lengthened by the slowdown of a key. */
function currentInterval({ intervals }: Queue, penalty: Penalty | undefined, now: number): number {
  for (const [interval, requestedAt] of intervals) {
    if (now - requestedAt > Math.max(RATE_TTL, interval)) intervals.delete(interval);
  }
  const longest = Math.max(...intervals.keys());
  return penalty === undefined
    ? longest
    : Math.max(longest, MIN_SLOWED_INTERVAL) * penalty.slowdown;
}

/** Returns the penalty of a key with its current slowdown. Deletes it when it has no more effect. */
function currentPenalty(
  { penalties }: Queue,
  key: string | undefined,
  now: number,
): Penalty | undefined {
  const penalty = penalties.get(key);
  if (penalty === undefined) return undefined;
  const { blockedUntil, slowdown, lastUsed } = penalty;
  const idleMinutes = Math.floor((now - Math.max(lastUsed, blockedUntil)) / MINUTE);
  const decayed = slowdown * SLOWDOWN_PER_IDLE_MINUTE ** Math.max(0, idleMinutes);
  if (blockedUntil > now || decayed > 1) return { ...penalty, slowdown: Math.max(1, decayed) };
  penalties.delete(key);
  return undefined;
}

function queueOf(origin: string, clock: Clock): Queue {
  const byOrigin = queues.get(clock) ?? new Map<string, Queue>();
  queues.set(clock, byOrigin);
  const queue = byOrigin.get(origin) ??
    {
      intervalStart: -Infinity,
      intervals: new Map<number, number>(),
      penalties: new Map(),
      holder: undefined,
      expiresAt: -Infinity,
      waiters: [],
    };
  byOrigin.set(origin, queue);
  return queue;
}
