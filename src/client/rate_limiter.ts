import type { Clock } from "./clock.ts";

/**
 * The service sees requests a little closer together or further apart than they were started, so
 * the gap is wider than the limit asks: 530 ms at 2 a second.
 */
const MARGIN = 1.06;
/** How often the next in line looks whether the one before it has ended. */
const POLL = 10;
/** One in line that has not looked for so long is taken for gone. */
const STALE = 5_000;
/** After so long without a request the next one connects anew, and reaches the service late. */
const COLD = 5_000;
/** For so long after a client has asked, its rate holds for everyone. */
const MEMORY = 60_000;
/** How much wider the gap becomes when the service says that there were too many, and how far. */
const WIDER = 2;
const WIDEST = 8;
/** What is left of the widening after each good answer, and after each minute without a request. */
const NARROWER = 0.9;
const NARROWER_BY_THE_MINUTE = 0.5;
/** A widened gap is at least so wide before, where there was none: the service has asked for one. */
const LEAST_WIDENED = 500;

/** How a caller keeps the pace. */
interface Pacing {
  /** The rate that it asks for; Infinity sets no gap. */
  requestsPerSecond: number;
  /** Milliseconds after which a request in flight that nobody extends is taken for lost. */
  lease: number;
  /** The clock to wait by; callers on one clock share the line. */
  clock: Clock;
  /** The key that is sent; what the service asks of those who send it holds for them alone. */
  key: string | undefined;
}

/** A turn to send one request; nobody else's begins before it ends. */
interface Turn {
  /** Says that the service has answered, so that the request has reached it. */
  answered(): void;
  /** Says that the answer was good: a gap that was widened narrows again. */
  welcomed(): void;
  /** Says that the request still goes on. */
  extend(): void;
  /** Ends the turn; ending it twice does nothing. */
  end(): void;
}

interface Waiting {
  /** When it last looked. */
  seen: number;
  /** Whether it was taken for gone. */
  dropped: boolean;
  key: string | undefined;
}

/** What the service has asked of those who send one key, when there were too many of theirs. */
interface Restraint {
  /** None of them starts before. */
  heldUntil: number;
  /** By how much their gap is wider than they asked for. */
  widening: number;
  lastStart: number;
}

/**
 * What everyone who talks to one origin shares. Plain data only, and every mark expires by itself:
 * an edge runtime may drop a request at any time without running its `finally`, and kills those
 * that wait for another request's promise.
 */
interface Line {
  lastStart: number;
  /** When each gap between two starts was last asked for. */
  gaps: Map<number, number>;
  /** By key, and only as long as there is a restraint. */
  restraints: Map<string | undefined, Restraint>;
  leasedUntil: number;
  holder: Waiting | undefined;
  waiting: Waiting[];
}

/** Module state on purpose: the limit is the service's, whichever client asks. */
const lines = new WeakMap<Clock, Map<string, Line>>();

/**
 * Waits for a turn to send a request to an origin: one at a time, first come, first served, and no
 * more often than the lowest rate that was asked for in the last minute.
 *
 * @param origin The origin that the request goes to
 * @param pacing How the caller keeps the pace
 * @param signal Ends the waiting, with its reason
 * @returns The turn, to be ended when the answer has been read
 *
 * Source: water-quality-api, Limits.
 */
export async function takeTurn(
  origin: string,
  { requestsPerSecond, lease, clock, key }: Pacing,
  signal?: AbortSignal,
): Promise<Turn> {
  signal?.throwIfAborted();
  const line = lineTo(origin, clock);
  const gap = 1000 * MARGIN / requestsPerSecond;
  const me: Waiting = { seen: clock.now(), dropped: false, key };
  line.waiting.push(me);
  try {
    for (;;) {
      line.gaps.set(gap, clock.now());
      const wait = timeToWait(line, me, clock.now());
      if (wait <= 0) break;
      await clock.sleep(wait, signal);
    }
  } finally {
    line.waiting = line.waiting.filter((other) => other !== me);
  }
  const start = clock.now();
  const restraint = restraintOf(line, key, start);
  if (restraint !== undefined) line.restraints.set(key, { ...restraint, lastStart: start });
  const cold = start - line.lastStart > COLD;
  line.holder = me;
  line.leasedUntil = start + lease;
  line.lastStart = start;
  return {
    answered() {
      // The next request will not be late as this one was: the gap counts from here.
      if (cold && line.holder === me) line.lastStart = clock.now();
    },
    welcomed() {
      const current = line.restraints.get(key);
      if (current !== undefined) current.widening *= NARROWER;
    },
    extend() {
      if (line.holder === me) line.leasedUntil = clock.now() + lease;
    },
    end() {
      if (line.holder === me) line.holder = undefined;
    },
  };
}

/**
 * Holds everyone back who sends a key to an origin, and widens their gap: the service has said that
 * there were too many requests of theirs.
 *
 * @param origin The origin that said so
 * @param pacing The clock that the pace is kept by, and the key
 * @param milliseconds How long nobody is to start
 *
 * Source: water-quality-api, Errors.
 */
export function holdBack(
  origin: string,
  { clock, key }: Pick<Pacing, "clock" | "key">,
  milliseconds: number,
): void {
  const line = lineTo(origin, clock);
  const now = clock.now();
  const { heldUntil = now, widening = 1 } = restraintOf(line, key, now) ?? {};
  line.restraints.set(key, {
    heldUntil: Math.max(heldUntil, now + milliseconds),
    widening: Math.min(WIDEST, widening * WIDER),
    lastStart: now,
  });
}

/** 0 when it is the caller's turn, else the milliseconds until it should look again. */
function timeToWait(line: Line, me: Waiting, now: number): number {
  // One that slept too long itself cannot tell who else is gone.
  const stalled = now - me.seen >= STALE;
  me.seen = now;
  let next = firstInLine(line, now);
  while (!stalled && next && now - next.seen >= STALE) {
    next.dropped = true;
    line.waiting.splice(line.waiting.indexOf(next), 1);
    next = firstInLine(line, now);
  }
  if (me.dropped) {
    me.dropped = false;
    line.waiting.push(me);
  }
  const restraint = restraintOf(line, me.key, now);
  const held = (restraint?.heldUntil ?? now) - now;
  if (held > 0) return Math.min(held, STALE / 2);
  // Not the next one: a gap passes anyway between becoming that and starting.
  const gap = gapAt(line, restraint, now);
  if (next !== me) return Math.max(POLL, Math.min(gap / 2, STALE / 2));
  // After a stall of the whole process, the one before it may be about to extend its lease.
  if (line.holder !== undefined && (stalled || line.leasedUntil > now)) return POLL;
  return Math.min(line.lastStart + gap - now, STALE / 2);
}

/** Who starts next: whoever is held back is passed over, and keeps its place. */
function firstInLine({ waiting, restraints }: Line, now: number): Waiting | undefined {
  return waiting.find(({ key }) => (restraints.get(key)?.heldUntil ?? now) <= now);
}

/** The gap of the lowest rate that was asked for of late, as much wider as the service made it. */
function gapAt({ gaps }: Line, restraint: Restraint | undefined, now: number): number {
  for (const [gap, asked] of gaps) if (now - asked > Math.max(MEMORY, gap)) gaps.delete(gap);
  const asked = Math.max(...gaps.keys());
  return restraint === undefined ? asked : Math.max(asked, LEAST_WIDENED) * restraint.widening;
}

/** The restraint on those who send a key, as far as it still holds. */
function restraintOf(
  { restraints }: Line,
  key: string | undefined,
  now: number,
): Restraint | undefined {
  const restraint = restraints.get(key);
  if (restraint === undefined) return undefined;
  const { heldUntil, widening, lastStart } = restraint;
  const minutes = Math.floor((now - Math.max(lastStart, heldUntil)) / 60_000);
  const left = widening * NARROWER_BY_THE_MINUTE ** Math.max(0, minutes);
  if (heldUntil > now || left > 1) return { ...restraint, widening: Math.max(1, left) };
  restraints.delete(key);
  return undefined;
}

function lineTo(origin: string, clock: Clock): Line {
  const byOrigin = lines.get(clock) ?? new Map<string, Line>();
  lines.set(clock, byOrigin);
  const line = byOrigin.get(origin) ??
    {
      lastStart: -Infinity,
      gaps: new Map<number, number>(),
      restraints: new Map(),
      leasedUntil: -Infinity,
      holder: undefined,
      waiting: [],
    };
  byOrigin.set(origin, line);
  return line;
}
