import { amendError, type DataStreamError } from "../errors.ts";
import type { FailedAttempt } from "./transport.ts";

/**
 * Retry options. All times are in milliseconds.
 *
 * @example No retries
 * ```ts
 * import { DataStream, type RetryPolicy } from "@weir/datastream";
 * import { assert } from "@std/assert";
 *
 * const retry: Partial<RetryPolicy> = { attempts: 1 };
 * assert(new DataStream({ retry }).metadata().url);
 * ```
 */
export interface RetryPolicy {
  /** Maximum number of requests for one page or one count, from 1 to 1000. Default 6. */
  attempts: number;
  /** Maximum sum of the backoff delays for one page, from 0 to 3600000. Default 30000. */
  backoff: number;
  /**
   * Maximum delay that the header `Retry-After` may ask for, from 0 to 3600000. A longer one is an
   * error. Default 120000.
   */
  retryAfter: number;
}

/** Default retry options. */
export const DEFAULT_RETRY: RetryPolicy = { attempts: 6, backoff: 30_000, retryAfter: 120_000 };

/** Maximum backoff (ms) after the first failed attempt. It doubles with each attempt. */
const FIRST_BACKOFF = 1_000;

/** How to retry after an error. */
interface RetryRule {
  /** Whether to wait for a delay that grows with each attempt. */
  backOff?: true;
  /** Whether the rate limiter delays every request with this key. */
  penalize?: true;
  /** Whether to request half as many rows. */
  halveTop?: true;
}

const BACK_OFF: readonly RetryRule[] = [{ backOff: true }];
/** A timeout has two possible causes: an outage, which passes, and a page that is too large. */
const TIMEOUT: readonly RetryRule[] = [...BACK_OFF, { backOff: true, halveTop: true }];

/**
 * Rules by status, one for each error of a page in order; the last one also applies to later errors.
 * Any other status from 500 is retried after a backoff, and the rest are not retried.
 *
 * Source: DataStream Public API, "Errors".
 */
const RULES_BY_STATUS: Record<number, readonly RetryRule[]> = {
  408: TIMEOUT,
  413: [{ halveTop: true }],
  429: [{ penalize: true }],
  504: TIMEOUT,
};
const RULES_BY_KIND: Record<DataStreamError["kind"], readonly RetryRule[]> = {
  status: [],
  network: BACK_OFF,
  page: BACK_OFF,
  "next-link": [],
  incomplete: [],
  "too-many-rows": [],
};

/** What to do after a failed attempt. */
interface RetryDecision {
  /** The error to throw; `undefined` to retry. */
  error: DataStreamError | undefined;
  /** Time (ms) for which the rate limiter delays all requests with this key, also without a retry. */
  penalty: number | undefined;
  /** Time (ms) to wait before the next attempt. */
  delay: number;
  /** The `$top` of the next attempt. */
  top: number | undefined;
}

/**
 * Returns a function that is called after each failed attempt at one page or one count, with the
 * `$top` that was requested, if any. It decides whether, when and with which `$top` to retry.
 */
export function createRetries(
  policy: RetryPolicy,
): (attempt: FailedAttempt, top?: number) => RetryDecision {
  const timesApplied = new Map<readonly RetryRule[], number>();
  let attempts = 0;
  let backoffLeft = policy.backoff;

  const nextRule = (error: DataStreamError): RetryRule | undefined => {
    const rules = rulesFor(error);
    const times = timesApplied.get(rules) ?? 0;
    timesApplied.set(rules, times + 1);
    return rules[times] ?? rules.at(-1);
  };

  return ({ error, isPermanent }, top) => {
    attempts++;
    const { retryAfter } = error;
    const rule = nextRule(error);
    const backoff = Math.min(backoffDelay(attempts), backoffLeft);
    const penalty = rule?.penalize ? Math.min(retryAfter ?? backoff, policy.retryAfter) : undefined;
    const fail = (final: DataStreamError) => ({ error: final, penalty, delay: 0, top });
    const retry = (delay: number, top: number | undefined) => ({
      error: undefined,
      penalty,
      delay,
      top,
    });

    if (rule === undefined || isPermanent) return fail(error);
    if (attempts >= policy.attempts) return fail(withAttempts(error, attempts));
    if (retryAfter !== undefined && retryAfter > policy.retryAfter) {
      return fail(withRetryTime(error, retryAfter));
    }
    const canHalve = rule.halveTop && top !== undefined && top > 1;
    const nextTop = canHalve ? Math.floor(top / 2) : top;
    if (!rule.backOff && !rule.penalize) {
      return canHalve ? retry(retryAfter ?? 0, nextTop) : fail(withAttempts(error, attempts));
    }
    // `Retry-After` replaces the backoff, and only after a 429 may it be shorter.
    if (retryAfter !== undefined && (rule.penalize || retryAfter >= backoff)) {
      return retry(retryAfter, nextTop);
    }
    if (backoffLeft <= 0) return fail(withAttempts(error, attempts));
    backoffLeft -= backoff;
    return retry(backoff, nextTop);
  };
}

function rulesFor({ kind, status }: DataStreamError): readonly RetryRule[] {
  if (kind !== "status" || status === undefined) return RULES_BY_KIND[kind];
  return RULES_BY_STATUS[status] ?? (status >= 500 ? BACK_OFF : RULES_BY_KIND.status);
}

/**
 * Returns the time (ms) to back off. It is random between half of the maximum and the maximum, so
 * that clients that failed at the same time retry at different times.
 */
function backoffDelay(attempts: number): number {
  return FIRST_BACKOFF * 2 ** (attempts - 1) * (0.5 + Math.random() / 2);
}

function withAttempts(error: DataStreamError, attempts: number): DataStreamError {
  if (attempts === 1) return error;
  return amendError(error, { detail: `${error.detail}, ${attempts} times` });
}

function withRetryTime(error: DataStreamError, milliseconds: number): DataStreamError {
  const seconds = Math.ceil(milliseconds / 1000);
  return amendError(error, { hint: `try again in ${seconds} s, as the service asks` });
}
