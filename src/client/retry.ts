import { amendError, type DataStreamError } from "../errors.ts";
import type { FailedAttempt } from "./http_error.ts";

/** The option `retry` of a client, with its defaults. */
export interface RetryPolicy {
  attempts: number;
  backoff: number;
  retryAfter: number;
}

/** Default retry options. */
export const DEFAULT_RETRY: RetryPolicy = { attempts: 6, backoff: 30_000, retryAfter: 120_000 };

/** Maximum delay (ms) of the first backoff. It doubles with each attempt. */
const FIRST_BACKOFF = 1_000;

/** Maximum delay (ms) after a 429 without `Retry-After`. */
const MAX_RATE_LIMIT_DELAY = 60_000;
/** Maximum sum (ms) of the delays after responses with status 429. */
const MAX_BLOCKED = 900_000;

/** How to retry after an error. */
interface RetryRule {
  /** Whether to wait for a delay that grows with each attempt. */
  usesBackoff?: true;
  /** Whether the rate limiter delays every request with the same API key. */
  blocksKey?: true;
  /** Whether to request half as many rows. */
  halvesTop?: true;
}

const BACKOFF_RULES: readonly RetryRule[] = [{ usesBackoff: true }];
/**
 * Rules for a timeout. It has two possible causes: an outage, which is temporary, and a page that is too
 * large.
 */
const TIMEOUT_RULES: readonly RetryRule[] = [
  { usesBackoff: true },
  { usesBackoff: true, halvesTop: true },
];

/**
 * Rules by status. Rule *n* applies to the *n*-th error of the request; the last rule applies to all
 * later ones. Errors that share one array are counted together: a 408 after a 504 halves `$top`.
 *
 * Any other 5xx status has `BACKOFF_RULES`. Every other status has no rule, and is not retried.
 *
 * Source: DataStream Public API, "Errors".
 */
const RULES_BY_STATUS: Record<number, readonly RetryRule[]> = {
  408: TIMEOUT_RULES,
  413: [{ halvesTop: true }],
  429: [{ blocksKey: true }],
  504: TIMEOUT_RULES,
};
/** Rules by the kind of an error. Kind `status` has no rule for a status that is not retried. */
const RULES_BY_KIND: Record<DataStreamError["kind"], readonly RetryRule[]> = {
  status: [],
  network: BACKOFF_RULES,
  "rate-limit": BACKOFF_RULES,
  page: BACKOFF_RULES,
  "next-link": [],
  incomplete: [],
  "too-many-rows": [],
};

/**
 * What to do after a failed attempt: to throw an error, or to wait for a delay (ms) and then request a
 * page of `top` rows.
 *
 * `blockTime` is the time (ms) for which the rate limiter delays every request with the same API key;
 * `undefined` for no delay. It applies even if this request is not retried.
 */
export type RetryDecision =
  | { action: "fail"; error: DataStreamError; blockTime: number | undefined }
  | { action: "retry"; delay: number; top: number | undefined; blockTime: number | undefined };

/**
 * Decides after a failed attempt whether, when and with which `$top` to retry. It counts the attempts.
 *
 * @param top The `$top` of the failed attempt, if it had one
 */
export type RetryDecider = (attempt: FailedAttempt, top?: number) => RetryDecision;

/** Creates the function that decides after each failed attempt at one page or one count. */
export function createRetryDecider(policy: RetryPolicy): RetryDecider {
  const { attempts: maxAttempts, retryAfter: maxRetryAfter } = policy;
  const timesApplied = new Map<readonly RetryRule[], number>();
  let attempts = 0;
  let backoffLeft = policy.backoff;
  /** Number of responses with status 429, and the sum of the delays after them. */
  let blocks = 0;
  let blocked = 0;

  const nextRule = (error: DataStreamError): RetryRule | undefined => {
    const rules = rulesFor(error);
    const times = timesApplied.get(rules) ?? 0;
    timesApplied.set(rules, times + 1);
    return rules[times] ?? rules.at(-1);
  };

  return ({ error, isPermanent }, top) => {
    const { retryAfter } = error;
    const rule = nextRule(error);
    if (rule?.blocksKey && maxAttempts > 1) blocks++;
    else attempts++;
    const blockDelay = Math.min(randomBackoff(blocks), MAX_RATE_LIMIT_DELAY);
    const delay = Math.min(randomBackoff(attempts), backoffLeft);
    const blockTime = rule?.blocksKey
      ? Math.min(retryAfter ?? blockDelay, maxRetryAfter)
      : undefined;
    const fail = (error: DataStreamError) => ({ action: "fail" as const, error, blockTime });
    const retry = (delay: number, top: number | undefined) => ({
      action: "retry" as const,
      delay,
      top,
      blockTime,
    });

    if (rule === undefined || isPermanent) return fail(error);
    if (attempts >= maxAttempts) return fail(withAttempts(error, attempts));
    if (retryAfter !== undefined && retryAfter > maxRetryAfter) {
      return fail(withRetryTime(error, retryAfter));
    }
    if (blockTime !== undefined) {
      // At least the backoff, so that `Retry-After: 0` does not repeat the request forever.
      blocked += Math.max(blockTime, blockDelay);
      return blocked > MAX_BLOCKED ? fail(withAttempts(error, blocks)) : retry(blockTime, top);
    }
    const canHalve = rule.halvesTop && top !== undefined && top > 1;
    const nextTop = canHalve ? Math.floor(top / 2) : top;
    if (!rule.usesBackoff) {
      // 413: retry with a smaller `$top`, immediately unless the header `Retry-After` sets a delay.
      return canHalve ? retry(retryAfter ?? 0, nextTop) : fail(withAttempts(error, attempts));
    }
    if (retryAfter !== undefined && retryAfter >= delay) return retry(retryAfter, nextTop);
    if (backoffLeft <= 0) return fail(withAttempts(error, attempts));
    backoffLeft -= delay;
    return retry(delay, nextTop);
  };
}

function rulesFor({ kind, status }: DataStreamError): readonly RetryRule[] {
  if (kind !== "status" || status === undefined) return RULES_BY_KIND[kind];
  return RULES_BY_STATUS[status] ?? (status >= 500 ? BACKOFF_RULES : RULES_BY_KIND.status);
}

/**
 * Returns a random backoff delay (ms) between half of its maximum and the maximum, so that clients that
 * failed at the same time retry at different times.
 */
function randomBackoff(attempts: number): number {
  return FIRST_BACKOFF * 2 ** (attempts - 1) * (0.5 + Math.random() / 2);
}

/** Adds the number of attempts to the detail of an error. */
function withAttempts(error: DataStreamError, attempts: number): DataStreamError {
  if (attempts === 1) return error;
  return amendError(error, { detail: `${error.detail}, ${attempts} times` });
}

/** Replaces the hint of an error by the time of a retry. */
function withRetryTime(error: DataStreamError, milliseconds: number): DataStreamError {
  const seconds = Math.ceil(milliseconds / 1000);
  return amendError(error, { hint: `try again in ${seconds} s, as DataStream asks` });
}
