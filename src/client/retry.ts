import { amendError, DataStreamError } from "../errors.ts";
import type { PageWriter } from "../formats/page_writer.ts";
import { temporaryFaultOf } from "./http_error.ts";
import type { ClientSettings, RetryPolicy } from "./options.ts";
import type { Cursor, Progress } from "./query.ts";

export type Writable<T> = { -readonly [Name in keyof T]: T[Name] };

export interface Run {
  readonly settings: ClientSettings;
  readonly signal: AbortSignal;
  readonly onProgress: (progress: Progress) => void;
  /** Facts about requests. The rest of the progress is a view of the position. */
  readonly progress: Writable<Omit<Progress, keyof DeliveredRows | "responseDate">>;
  /** Of the query that the run is for, not of its requests for locations or versions. */
  position: DeliveredRows;
  /** Time (ms since 1970) of the last response, by the clock of the service if it sends it. */
  responseDate?: number;
  /** Ascending; `undefined` until the Ids are requested. */
  locations?: readonly number[];
  /** First and last years of datasets, if their versions were requested. */
  years?: number[];
  /** Longest path with query string (bytes) to send, after a longer one was refused. */
  targetLength?: number;
  /** Time (ms) for which the last block delays requests, and whether the rate limiter does that. */
  block?: { wait: number; isEnforced: boolean };
  /** Error of the last response, until it is known what it is about. */
  fault?: DataStreamError | undefined;
  /** What the service has answered, by `requestName()`. */
  readonly answered: Set<string>;
}

type DeliveredRows = Pick<Cursor, "rows" | "expectedRows" | "missingRows" | "surplusRows">;

/** `after` is the position that the query continues after. */
export function createRun(
  { settings, signal, onProgress = () => {} }: {
    settings: ClientSettings;
    signal: AbortSignal | undefined;
    onProgress: ((progress: Progress) => void) | undefined;
  },
  stop: AbortSignal,
  writer?: Pick<PageWriter, "state">,
  after?: DeliveredRows,
): Run {
  return {
    settings: after === undefined ? settings : { ...settings, maxWait: undefined },
    signal: signal ? AbortSignal.any([signal, stop]) : stop,
    onProgress(progress) {
      const { notes } = writer?.state ?? {};
      onProgress(notes ? { ...progress, notes } : progress);
    },
    progress: { pages: 0, requests: 0, retries: 0, waits: 0, retrying: undefined },
    position: after ?? { rows: 0 },
    answered: new Set(),
  };
}

export function reportProgress(run: Run, changes: Partial<Run["progress"]>): void {
  const { rows, expectedRows, missingRows, surplusRows } = run.position;
  run.onProgress({
    ...Object.assign(run.progress, changes),
    rows,
    expectedRows,
    ...(run.responseDate !== undefined && { responseDate: run.responseDate }),
    ...(missingRows !== undefined && { missingRows }),
    ...(surplusRows !== undefined && { surplusRows }),
  });
}

/** Maximum delay (ms) after the first failure. It doubles with each further one. */
const FIRST_BACKOFF = 1_000;

/** Maximum sum (ms) of the delays after responses with status 429. */
const MAX_BLOCKED = 900_000;

const NO_ATTEMPTS = {
  /** Number of failed attempts, without those with status 429. */
  failed: 0,
  /** Number of blocks, and the sum (ms) of the delays after them. */
  blocks: 0,
  blocked: 0,
  /** Responses with status 408 or 504. */
  timeouts: 0,
  /** Sum (ms) of the waits that the option `maxWait` limits. */
  waited: 0,
  /** Whether earlier attempts failed because of an outage. */
  hasRestarted: false,
};

/** Attempts at one page or one count since the last rows were delivered. */
export type Attempts = typeof NO_ATTEMPTS & {
  readonly policy: RetryPolicy;
  /** Time (ms) that is left for delays which the service did not ask for. */
  backoff: number;
};

export function startAttempts(policy: RetryPolicy, hasRestarted = false): Attempts {
  return { ...NO_ATTEMPTS, policy, backoff: policy.backoff, hasRestarted };
}

export interface RetryDecision {
  fault: DataStreamError;
  /** Absent if the request is repeated. */
  error?: DataStreamError;
  /** Delay (ms) before the next attempt with `$top`. */
  delay: number;
  top: number | undefined;
}

/** `top` is `undefined` for a count. Throws an error of another kind. Source: DataStream Public API, "Errors". */
export function decide(
  { block }: Run,
  attempts: Attempts,
  error: unknown,
  top?: number,
): RetryDecision {
  if (!(error instanceof DataStreamError)) throw error;
  const { policy } = attempts;
  const faultOfStatus = temporaryFaultOf(error);
  const isTooLarge = faultOfStatus === "too large";
  // A timeout has two possible causes: an outage, which is temporary, and a page that is too large.
  const isLarge = isTooLarge || faultOfStatus === "timeout" && attempts.timeouts++ > 0;
  const canHalve = isLarge && top !== undefined && top > 1;
  // A smaller page is another request, which need not wait.
  const retryAfter = isTooLarge && canHalve ? -1 : error.retryAfter ?? -1;
  const isBlock = faultOfStatus === "block";
  const times = isBlock && policy.attempts > 1 ? ++attempts.blocks : ++attempts.failed;
  const backoff = randomBackoff(times);
  const decision = {
    fault: error,
    delay: isBlock && block ? block.wait : Math.max(0, retryAfter),
    top: canHalve ? Math.floor(top / 2) : top,
  };
  const fail = (error: DataStreamError) => ({ ...decision, error });

  if (!error.isTemporary) return fail(error);
  if (retryAfter > policy.retryAfter) {
    const hint = `try again in ${Math.ceil(retryAfter / 1000)} s, as DataStream asks`;
    return fail(amendError(error, { hint }));
  }
  let isLast = attempts.failed >= policy.attempts;
  if (isBlock) {
    attempts.blocked += decision.delay;
    isLast ||= attempts.blocked > MAX_BLOCKED;
  } else if (isTooLarge && (canHalve || !attempts.hasRestarted)) {
    // A page of one row cannot be smaller. After an outage, its 413 may be temporary.
    isLast ||= !canHalve;
  } else if (retryAfter < Math.min(backoff, attempts.backoff)) {
    isLast ||= attempts.backoff <= 0;
    decision.delay = Math.min(backoff, attempts.backoff);
    attempts.backoff -= decision.delay;
  }
  if (!isLast) return decision;
  return fail(times > 1 ? amendError(error, { detail: `${error.detail}, ${times} times` }) : error);
}

/** After these, the cause is probably the size of the page, and not an outage. */
export const MAX_TIMEOUTS = 3;

export function isRefusal(error: DataStreamError): boolean {
  const fault = temporaryFaultOf(error);
  return fault === "timeout" || fault === "too large";
}

/** Random (ms), so that clients that failed at the same time retry at different times. */
function randomBackoff(attempts: number): number {
  return FIRST_BACKOFF * 2 ** (attempts - 1) * (0.5 + Math.random() / 2);
}

/** Number of pages without an error after which a reduced page size is doubled. */
const GOOD_PAGES = 3;
/** Maximum of that number, which doubles when a doubled page size is refused: a service may never deliver the size. */
const MAX_GOOD_PAGES = 96;

/**
 * Halved after a page that was too large or too slow, doubled after some pages without an error. JSON-serialisable:
 * cursors contain it.
 */
export interface PageSize {
  /** `undefined` if the size is not reduced now. */
  readonly max?: number | undefined;
  readonly goodPages: number;
  readonly goodPagesToGrow: number;
  /** Whether no page has arrived since the size was doubled. */
  readonly hasJustGrown?: boolean;
}

export function shrink(size: PageSize | undefined, top: number): PageSize {
  const { goodPagesToGrow: pages = GOOD_PAGES, hasJustGrown = false } = size ?? {};
  const goodPagesToGrow = hasJustGrown ? Math.min(MAX_GOOD_PAGES, 2 * pages) : pages;
  return { max: top, goodPages: 0, goodPagesToGrow };
}

/** `wanted` is the size without reduction. */
export function grow(size: PageSize, top: number, wanted: number): PageSize {
  const goodPages = size.goodPages + 1;
  if (size.max === undefined || goodPages < size.goodPagesToGrow) {
    return { ...size, goodPages, hasJustGrown: false };
  }
  const max = 2 * top >= wanted ? undefined : 2 * top;
  return { ...size, max, goodPages: 0, hasJustGrown: true };
}
