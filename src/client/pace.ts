import type { Clock } from "./clock.ts";

/**
 * The service sees requests a little closer together or further apart than they were started, so
 * the gap is wider than the limit asks: 530 ms at 2 a second.
 */
const MARGIN = 1.06;
/** A request in flight that gives no sign for so long is taken for lost. */
const LEASE = 50_000;
/** How often the next in line looks whether the one before it has ended. */
const POLL = 10;
/** One in line that has not looked for so long is taken for gone. */
const STALE = 5_000;
/** After so long without a request the next one connects anew, and reaches the service late. */
const COLD = 5_000;

/** A turn to send one request; nobody else's begins before it ends. */
export interface Turn {
  /** Says that the service has answered, so that the request has reached it. */
  answered(): void;
  /** Says that the request still goes on: bytes came. */
  extend(): void;
  /** Ends the turn; ending it twice does nothing. */
  end(): void;
}

interface Waiting {
  /** When it last looked. */
  seen: number;
  /** The least time between two starts that it keeps. */
  gap: number;
  /** Whether it was taken for gone. */
  dropped: boolean;
}

/**
 * What everyone who talks to one origin shares. Plain data only, and every mark expires by itself:
 * an edge runtime may drop a request at any time without running its `finally`, and kills those
 * that wait for another request's promise.
 */
interface Line {
  lastStart: number;
  /** The gap that the last one to start keeps. */
  lastGap: number;
  leasedUntil: number;
  holder: Waiting | undefined;
  waiting: Waiting[];
}

/** Module state on purpose: the limit is the service's, whichever client asks. */
const lines = new WeakMap<Clock, Map<string, Line>>();

/**
 * Waits for a turn to send a request to an origin: one at a time, first come, first served, and no
 * more often than the rate allows.
 *
 * @param origin The origin that the request goes to
 * @param requestsPerSecond The rate that the caller keeps; Infinity sets no gap
 * @param clock The clock to wait by; callers on one clock share the line
 * @param signal Ends the waiting, with its reason
 * @returns The turn, to be ended when the answer has been read
 *
 * Source: water-quality-api, Limits.
 */
export async function takeTurn(
  origin: string,
  requestsPerSecond: number,
  clock: Clock,
  signal?: AbortSignal,
): Promise<Turn> {
  signal?.throwIfAborted();
  const line = lineTo(origin, clock);
  const me: Waiting = { seen: clock.now(), gap: 1000 * MARGIN / requestsPerSecond, dropped: false };
  line.waiting.push(me);
  try {
    for (;;) {
      const wait = timeToWait(line, me, clock.now());
      if (wait <= 0) break;
      await clock.sleep(wait, signal);
    }
  } finally {
    line.waiting = line.waiting.filter((other) => other !== me);
  }
  const start = clock.now();
  const cold = start - line.lastStart > COLD;
  line.holder = me;
  line.leasedUntil = start + LEASE;
  line.lastStart = start;
  line.lastGap = me.gap;
  return {
    answered() {
      // The next request will not be late as this one was: the gap counts from here.
      if (cold && line.holder === me) line.lastStart = clock.now();
    },
    extend() {
      if (line.holder === me) line.leasedUntil = clock.now() + LEASE;
    },
    end() {
      if (line.holder === me) line.holder = undefined;
    },
  };
}

/** 0 when it is the caller's turn, else the milliseconds until it should look again. */
function timeToWait(line: Line, me: Waiting, now: number): number {
  // One that slept too long itself cannot tell who else is gone.
  const stalled = now - me.seen >= STALE;
  me.seen = now;
  while (!stalled && line.waiting[0] && now - line.waiting[0].seen >= STALE) {
    line.waiting.shift()!.dropped = true;
  }
  if (me.dropped) {
    me.dropped = false;
    line.waiting.push(me);
  }
  // Not the next one: a gap passes anyway between becoming that and starting.
  if (line.waiting[0] !== me) return Math.max(POLL, Math.min(me.gap / 2, STALE / 2));
  if (line.holder !== undefined && line.leasedUntil > now) return POLL;
  const nextStart = line.lastStart + Math.max(line.lastGap, me.gap);
  return Math.min(nextStart - now, STALE / 2);
}

function lineTo(origin: string, clock: Clock): Line {
  const byOrigin = lines.get(clock) ?? new Map<string, Line>();
  lines.set(clock, byOrigin);
  const line = byOrigin.get(origin) ??
    { lastStart: -Infinity, lastGap: 0, leasedUntil: -Infinity, holder: undefined, waiting: [] };
  byOrigin.set(origin, line);
  return line;
}
