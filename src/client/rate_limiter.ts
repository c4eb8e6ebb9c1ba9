import type { Clock } from "../clock.ts";

/**
 * Factor that lengthens the interval between requests: 530 ms instead of 500 ms at 2 per second. The
 * network delays requests unequally, so they can arrive closer together than they were sent.
 */
const INTERVAL_MARGIN = 1.06;
/** Interval (ms) at which the first waiter checks whether the permit is free. Others poll at most this often. */
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
/**
 * Minimum interval (ms) that a slowdown multiplies. Without it, a slowdown would have no effect on a client
 * without a rate limit, whose interval is 0.
 */
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

/** Permission to send one HTTP request. The next permit is given when this one is released or expires. */
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
 * Waiters poll it instead of awaiting a promise, and every entry expires unless renewed. The reason is
 * that an edge runtime may drop a request without running its `finally` blocks or timers, and may end
 * a request that awaits a promise of another request.
 */
interface Queue {
  /**
   * Time from which the next interval counts: the start of the last request, or the arrival of its
   * response headers if it opened a connection.
   */
  intervalStart: number;
  /** Map from each requested interval (ms) between requests to the time at which it was last requested. */
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

/** Queues by clock and origin. All clients share them, because the service limits them together. */
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
      // Opening the connection delayed this request. If the next request reuses the connection, it is
      // not delayed, and would arrive too early after an interval that counts from the start.
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
 * Applies a penalty after a 429 (RFC 6585): blocks the requests with a key to an origin for some time, and
 * then lengthens the interval between them.
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

/** Returns the time (ms) until a waiter should poll again; 0 or less if it may start now. */
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
    // If the first waiter starts, this one has to wait for at least one interval. If the first waiter
    // leaves the queue instead, this one may start earlier, so it polls after half an interval.
    return Math.max(POLL_INTERVAL, Math.min(interval / 2, MAX_SLEEP));
  }
  // An expired permit is not reclaimed by a waiter that overslept: if the process was suspended, the
  // holder had no opportunity to renew it.
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
