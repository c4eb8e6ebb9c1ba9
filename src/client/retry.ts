import type { DataStreamError } from "../errors.ts";

/** How faults are met; times in milliseconds. */
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

/** The faults at one page so far, and what to do about the next. */
export class Faults {
  #times = new Map<readonly Remedy[], number>();

  /** What to do about a fault; undefined where nothing helps. */
  remedyFor({ kind, status }: DataStreamError): Remedy | undefined {
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
 * How long to back off after a fault: longer each time, and never quite alike, so that clients
 * that failed together do not come back together.
 *
 * @param faults How many faults there were, this one counted
 */
export function pauseAfter(faults: number): number {
  return FIRST_PAUSE * 2 ** (faults - 1) * (0.5 + Math.random() / 2);
}
