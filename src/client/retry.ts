import { DataStreamError } from "../errors.ts";
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

/** As DESIGN decision 7 has it. */
export const DEFAULT_RETRY: RetryPolicy = { attempts: 6, backoff: 30_000, retryAfter: 120_000 };

/** What to do about a fault: try again after a pause, hold everyone back first, or ask for fewer rows. */
export type Remedy = "back-off" | "hold-back" | "fewer-rows";

const TOO_SLOW: readonly Remedy[] = ["back-off", "fewer-rows"];
const BACK_OFF: readonly Remedy[] = ["back-off"];

/**
 * What to do about each status, the first time on a page, the second time, and so on; the last
 * holds from then on. Another 5xx is backed off from, and no attempt would help with the rest
 * (water-quality-api, Errors).
 */
const BY_STATUS: Record<number, readonly Remedy[]> = {
  408: TOO_SLOW,
  413: ["fewer-rows"],
  429: ["hold-back"],
  504: TOO_SLOW,
};
const BY_KIND: Record<DataStreamError["kind"], readonly Remedy[]> = {
  status: [],
  network: BACK_OFF,
  page: BACK_OFF,
  "next-link": [],
};

/** What comes after a failed attempt. */
export interface NextStep {
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
    const hold = remedy === "hold-back" ? Math.min(retryAfter ?? pause, longest) : undefined;
    const finish = (end: DataStreamError) => ({ end, hold, wait: 0, top });

    if (remedy === undefined || isHopeless) return finish(fault);
    if (made >= attempts) return finish(inVain(fault, made));
    if (retryAfter !== undefined && retryAfter > longest) {
      return finish(tooLong(fault, retryAfter));
    }
    if (remedy === "fewer-rows") {
      if (top === undefined || top === 1) return finish(inVain(fault, made));
      return { end: undefined, hold, wait: retryAfter ?? 0, top: Math.floor(top / 2) };
    }
    // A time that the service asks for stands in for the pause, but does not shorten it.
    const isTold = retryAfter !== undefined && (remedy === "hold-back" || retryAfter >= pause);
    if (isTold) return { end: undefined, hold, wait: retryAfter, top };
    if (this.#backoffLeft <= 0) return finish(inVain(fault, made));
    this.#backoffLeft -= pause;
    return { end: undefined, hold, wait: pause, top };
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
  return attempts === 1 ? fault : reworded(fault, `${fault.detail}, ${attempts} times`, fault.hint);
}

function tooLong(fault: DataStreamError, milliseconds: number): DataStreamError {
  const seconds = Math.ceil(milliseconds / 1000);
  return reworded(fault, fault.detail, `try again in ${seconds} s, as the service asks`);
}

function reworded(fault: DataStreamError, detail: string, hint: string): DataStreamError {
  const { kind, url, status, retryAfter, cause } = fault;
  return new DataStreamError(detail, { kind, url, hint, status, retryAfter, cause });
}
