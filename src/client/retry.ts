import { amendError, type DataStreamError } from "../errors.ts";
import type { FailedAttempt } from "./transport.ts";

/**
 * How faults are met; times in milliseconds.
 *
 * @example Tell a fault at once
 * ```ts
 * import { DataStream, type RetryPolicy } from "@weir/datastream";
 * import { assert } from "@std/assert";
 *
 * const retry: Partial<RetryPolicy> = { attempts: 1 };
 * assert(new DataStream({ retry }).metadata().url);
 * ```
 */
export interface RetryPolicy {
  /** How often one page, or one count, is asked for at most. Default 6. */
  attempts: number;
  /** How long to back off at most, all attempts at one page taken together. Default 30000. */
  backoff: number;
  /** The longest wait that the service may ask for by `Retry-After`; past it, an error. Default 120000. */
  retryAfter: number;
}

/** Default retry options. */
export const DEFAULT_RETRY: RetryPolicy = { attempts: 6, backoff: 30_000, retryAfter: 120_000 };

/** What to do before the next attempt. */
interface Remedy {
  /** Whether to wait, longer after each fault. */
  backOff?: true;
  /** Whether every request with this key waits. */
  holdBack?: true;
  /** Whether to request half as many rows. */
  fewerRows?: true;
}

const BACK_OFF: readonly Remedy[] = [{ backOff: true }];
/** A timeout may be an outage or a page that is too slow: the wait helps with one, the size with the other. */
const TOO_SLOW: readonly Remedy[] = [...BACK_OFF, { backOff: true, fewerRows: true }];

/**
 * What to do after each status: after the first fault of a page, the second, and so on; the last
 * entry holds from then on. Any other 5xx is backed off from; no attempt helps with the rest.
 *
 * Source: the service's public documentation, "Errors".
 */
const BY_STATUS: Record<number, readonly Remedy[]> = {
  408: TOO_SLOW,
  413: [{ fewerRows: true }],
  429: [{ holdBack: true }],
  504: TOO_SLOW,
};
const BY_KIND: Record<DataStreamError["kind"], readonly Remedy[]> = {
  status: [],
  network: BACK_OFF,
  page: BACK_OFF,
  "next-link": [],
  incomplete: [],
  "too-many-rows": [],
};

/** What comes after a failed attempt. */
interface NextStep {
  /** Ends the asking: no further attempt helps, or may be made. */
  end: DataStreamError | undefined;
  /** How many milliseconds everyone is held back, whether or not this one goes on. */
  hold: number | undefined;
  /** How many milliseconds to wait before the next attempt. */
  wait: number;
  /** The page size to go on with. */
  top: number | undefined;
}

/** The attempts at one page, or one count. */
export class Attempts {
  readonly #policy: RetryPolicy;
  readonly #times = new Map<readonly Remedy[], number>();
  #made = 0;
  #backoffLeft: number;

  /** @param policy How often and how long */
  constructor(policy: RetryPolicy) {
    this.#policy = policy;
    this.#backoffLeft = policy.backoff;
  }

  /**
   * Says what to do after an attempt that failed.
   *
   * @param top The page size it asked for; undefined where there are no rows to have fewer of
   */
  after({ fault, isHopeless }: FailedAttempt, top?: number): NextStep {
    const { retryAfter } = fault;
    const made = ++this.#made;
    const remedy = this.#remedyFor(fault);
    const pause = Math.min(pauseAfter(made), this.#backoffLeft);
    const { attempts, retryAfter: longest } = this.#policy;
    const hold = remedy?.holdBack ? Math.min(retryAfter ?? pause, longest) : undefined;
    const finish = (end: DataStreamError) => ({ end, hold, wait: 0, top });

    if (remedy === undefined || isHopeless) return finish(fault);
    if (made >= attempts) return finish(inVain(fault, made));
    if (retryAfter !== undefined && retryAfter > longest) {
      return finish(tooLong(fault, retryAfter));
    }
    const canShrink = remedy.fewerRows && top !== undefined && top > 1;
    const nextTop = canShrink ? Math.floor(top / 2) : top;
    if (!remedy.backOff && !remedy.holdBack) {
      if (!canShrink) return finish(inVain(fault, made));
      return { end: undefined, hold, wait: retryAfter ?? 0, top: nextTop };
    }
    // A time that the service asks for stands in for the pause, but does not shorten it.
    const isTold = retryAfter !== undefined && (remedy.holdBack || retryAfter >= pause);
    if (isTold) return { end: undefined, hold, wait: retryAfter, top: nextTop };
    if (this.#backoffLeft <= 0) return finish(inVain(fault, made));
    this.#backoffLeft -= pause;
    return { end: undefined, hold, wait: pause, top: nextTop };
  }

  #remedyFor({ kind, status }: DataStreamError): Remedy | undefined {
    const remedies = kind !== "status" || status === undefined
      ? BY_KIND[kind]
      : BY_STATUS[status] ?? (status >= 500 ? BACK_OFF : BY_KIND.status);
    const times = this.#times.get(remedies) ?? 0;
    this.#times.set(remedies, times + 1);
    return remedies[times] ?? remedies.at(-1);
  }
}

/** The pause after the first fault; it doubles with each. */
const FIRST_PAUSE = 1_000;

/**
 * How long to back off: longer each time, and never quite alike, so that clients that failed
 * together do not come back together.
 */
function pauseAfter(faults: number): number {
  return FIRST_PAUSE * 2 ** (faults - 1) * (0.5 + Math.random() / 2);
}

function inVain(fault: DataStreamError, attempts: number): DataStreamError {
  if (attempts === 1) return fault;
  return amendError(fault, { detail: `${fault.detail}, ${attempts} times` });
}

function tooLong(fault: DataStreamError, milliseconds: number): DataStreamError {
  const seconds = Math.ceil(milliseconds / 1000);
  return amendError(fault, { hint: `try again in ${seconds} s, as the service asks` });
}
