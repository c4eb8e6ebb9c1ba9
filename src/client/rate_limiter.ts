import type { Clock } from "./clock.ts";

/**
 * Factor by which requests start further apart than the rate requires: 530 ms at 2 per second. The
 * network delays requests unequally, so the service may receive two of them closer together.
 */
const INTERVAL_MARGIN = 1.06;
/** Interval (ms) at which the next waiter checks whether the permit before it was released. */
const POLL_INTERVAL = 10;
/** Age (ms) after which a permit that was not renewed is reclaimed. */
const PERMIT_TTL = 5_000;
/** Time (ms) without a poll after which a waiter is treated as abandoned. */
const WAITER_TTL = 5_000;
/** Maximum time (ms) that a waiter sleeps between two polls. */
const MAX_SLEEP = WAITER_TTL / 2;
/**
 * Time (ms) without a request after which connections are assumed to be closed. The next request
 * then reaches the service later, because it opens a new one.
 */
const CONNECTION_TTL = 5_000;
/** Time (ms) for which the rate of a client applies to every client, counted from its last request. */
const RATE_TTL = 60_000;
/** Factor by which each penalty lengthens the interval between two requests. */
const PENALTY_FACTOR = 2;
/** Maximum factor of all penalties together. */
const MAX_PENALTY_FACTOR = 8;
/** Part of the penalty factor that remains after each successful response. */
const DECAY_PER_SUCCESS = 0.9;
/** Part of the penalty factor that remains after each minute without a request. */
const DECAY_PER_MINUTE = 0.5;
/** Minimum interval (ms) that the penalty factor is applied to, for rates that set a shorter one. */
const MIN_PENALIZED_INTERVAL = 500;

/** Who requests a permit, and at which rate. */
interface PermitOptions {
  /** Maximum number of requests that start per second; `Infinity` for no limit. */
  requestsPerSecond: number;
  /** Clock by which to wait. Only callers with the same clock share a queue. */
  clock: Clock;
  /** API key that is sent. Penalties apply per key. */
  key: string | undefined;
}

/** Permission to send one request. The next permit is given after this one is released. */
interface Permit {
  /** Records that the headers of the response have arrived, so that the request reached the service. */
  responded(): void;
  /** Records a successful response, which reduces the penalty of the key. */
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

/** The consequence of too many requests with one key. */
interface Penalty {
  /** Time before which no request with the key starts. */
  until: number;
  /** Factor by which the interval between two requests is lengthened. */
  factor: number;
  /** Time of the last request with the key. */
  lastStart: number;
}

/**
 * State of one origin, shared by all clients of the process.
 *
 * It is plain data, and every entry expires unless renewed: an edge runtime may drop a request
 * without running its `finally` blocks or timers, and may end requests that await a promise of
 * another request.
 */
interface Queue {
  /** Time of the last start. */
  lastStart: number;
  /** Requested intervals (ms) between two starts, with the time at which each was last requested. */
  intervals: Map<number, number>;
  /** Penalties by key. */
  penalties: Map<string | undefined, Penalty>;
  /** Who holds the permit; `undefined` if nobody does. */
  holder: Waiter | undefined;
  /** Time at which the permit expires unless renewed. */
  expiresAt: number;
  /** In the order of arrival. */
  waiters: Waiter[];
}

/** Module state, because the service's limit applies to all clients together. */
const queues = new WeakMap<Clock, Map<string, Queue>>();

/**
 * Waits for permission to send a request to an origin.
 *
 * Requests are sent one at a time, in the order of the calls, and at the lowest rate that any caller
 * requested in the last minute.
 *
 * @param signal Ends the wait; the promise rejects with its reason
 * @returns The permit, to be released when the response has been read
 *
 * Source: DataStream Public API, "Errors", status 429.
 */
export async function acquirePermit(
  origin: string,
  { requestsPerSecond, clock, key }: PermitOptions,
  signal?: AbortSignal,
): Promise<Permit> {
  signal?.throwIfAborted();
  const queue = queueOf(origin, clock);
  const interval = 1000 * INTERVAL_MARGIN / requestsPerSecond;
  const self: Waiter = { polledAt: clock.now(), wasRemoved: false, key };
  queue.waiters.push(self);
  try {
    for (;;) {
      queue.intervals.set(interval, clock.now());
      const delay = poll(queue, self, clock.now());
      if (delay <= 0) break;
      await clock.sleep(delay, signal);
    }
  } finally {
    queue.waiters = queue.waiters.filter((other) => other !== self);
  }
  const start = clock.now();
  const penalty = currentPenalty(queue, key, start);
  if (penalty !== undefined) queue.penalties.set(key, { ...penalty, lastStart: start });
  const opensConnection = start - queue.lastStart > CONNECTION_TTL;
  queue.holder = self;
  queue.expiresAt = start + PERMIT_TTL;
  queue.lastStart = start;
  return {
    responded() {
      // The next request reuses the connection and arrives sooner, so its interval starts here.
      if (opensConnection && queue.holder === self) queue.lastStart = clock.now();
    },
    succeeded() {
      const current = queue.penalties.get(key);
      if (current !== undefined) current.factor *= DECAY_PER_SUCCESS;
    },
    renew() {
      if (queue.holder === self) queue.expiresAt = clock.now() + PERMIT_TTL;
    },
    release() {
      if (queue.holder === self) queue.holder = undefined;
    },
  };
}

/**
 * Delays all requests with a key to an origin and lengthens the interval between them, because the
 * service has reported too many.
 *
 * @param milliseconds Time during which no request with the key starts
 *
 * Source: DataStream Public API, "Errors", status 429.
 */
export function penalize(
  origin: string,
  { clock, key }: Pick<PermitOptions, "clock" | "key">,
  milliseconds: number,
): void {
  const queue = queueOf(origin, clock);
  const now = clock.now();
  const { until = now, factor = 1 } = currentPenalty(queue, key, now) ?? {};
  queue.penalties.set(key, {
    until: Math.max(until, now + milliseconds),
    factor: Math.min(MAX_PENALTY_FACTOR, factor * PENALTY_FACTOR),
    lastStart: now,
  });
}

/** Returns the time (ms) until a waiter should poll again, or at most 0 if it may start now. */
function poll(queue: Queue, self: Waiter, now: number): number {
  // If this waiter was not woken in time, then perhaps no other was: none counts as abandoned.
  const overslept = now - self.polledAt >= WAITER_TTL;
  self.polledAt = now;
  let next = nextWaiter(queue, now);
  while (!overslept && next && now - next.polledAt >= WAITER_TTL) {
    next.wasRemoved = true;
    queue.waiters.splice(queue.waiters.indexOf(next), 1);
    next = nextWaiter(queue, now);
  }
  if (self.wasRemoved) {
    self.wasRemoved = false;
    queue.waiters.push(self);
  }
  const penalty = currentPenalty(queue, self.key, now);
  const penaltyLeft = (penalty?.until ?? now) - now;
  if (penaltyLeft > 0) return Math.min(penaltyLeft, MAX_SLEEP);
  const interval = currentInterval(queue, penalty, now);
  // After the next waiter has started, an interval passes before this one may start.
  if (next !== self) return Math.max(POLL_INTERVAL, Math.min(interval / 2, MAX_SLEEP));
  // If the whole process was suspended, the holder may be about to renew its expired permit.
  if (queue.holder !== undefined && (overslept || queue.expiresAt > now)) return POLL_INTERVAL;
  return Math.min(queue.lastStart + interval - now, MAX_SLEEP);
}

/** Returns the first waiter whose key has no penalty; the others keep their places. */
function nextWaiter({ waiters, penalties }: Queue, now: number): Waiter | undefined {
  return waiters.find(({ key }) => (penalties.get(key)?.until ?? now) <= now);
}

/** Returns the longest interval requested recently, lengthened by the penalty. */
function currentInterval({ intervals }: Queue, penalty: Penalty | undefined, now: number): number {
  for (const [interval, requestedAt] of intervals) {
    if (now - requestedAt > Math.max(RATE_TTL, interval)) intervals.delete(interval);
  }
  const longest = Math.max(...intervals.keys());
  return penalty === undefined
    ? longest
    : Math.max(longest, MIN_PENALIZED_INTERVAL) * penalty.factor;
}

/** Returns the penalty of a key after its decay, and deletes one that has no effect any more. */
function currentPenalty(
  { penalties }: Queue,
  key: string | undefined,
  now: number,
): Penalty | undefined {
  const penalty = penalties.get(key);
  if (penalty === undefined) return undefined;
  const { until, factor, lastStart } = penalty;
  const idleMinutes = Math.floor((now - Math.max(lastStart, until)) / 60_000);
  const decayed = factor * DECAY_PER_MINUTE ** Math.max(0, idleMinutes);
  if (until > now || decayed > 1) return { ...penalty, factor: Math.max(1, decayed) };
  penalties.delete(key);
  return undefined;
}

function queueOf(origin: string, clock: Clock): Queue {
  const byOrigin = queues.get(clock) ?? new Map<string, Queue>();
  queues.set(clock, byOrigin);
  const queue = byOrigin.get(origin) ??
    {
      lastStart: -Infinity,
      intervals: new Map<number, number>(),
      penalties: new Map(),
      holder: undefined,
      expiresAt: -Infinity,
      waiters: [],
    };
  byOrigin.set(origin, queue);
  return queue;
}
