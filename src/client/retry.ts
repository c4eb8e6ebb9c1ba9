import { abortable } from "../clock.ts";
import { amendError, DataStreamError } from "../errors.ts";
import type { Clause } from "../odata/clause.ts";
import type { CheckedQuery } from "../odata/query_options.ts";
import { FailedAttempt } from "./http_error.ts";
import type { RetryPolicy } from "./options.ts";
import { filterOf, type ServiceRequest, toRequestOptions } from "./page_request.ts";
import { readCount } from "./page_reader.ts";
import { reportProgress, type Run } from "./progress.ts";
import { sendRequest, type ServiceResponse } from "./transport.ts";

/** Maximum delay (ms) after the first failure. It doubles with each further one. */
const FIRST_BACKOFF = 1_000;

/** Maximum delay (ms) after a 429 without `Retry-After`. */
const MAX_RATE_LIMIT_DELAY = 60_000;
/** Maximum sum (ms) of the delays after responses with status 429. */
const MAX_BLOCKED = 900_000;

/** Attempts at one page or one count since the last rows were delivered. */
export interface Attempts {
  readonly policy: RetryPolicy;
  /** Number of failed attempts, without those with status 429. */
  failed: number;
  /** Number of 429s, and the sum (ms) of the delays after them. */
  blocks: number;
  blocked: number;
  /** Responses with status 408 or 504. */
  timeouts: number;
  /** Time (ms) that is left for delays which the service did not ask for. */
  backoff: number;
  /** Sum (ms) of the waits that the option `maxWait` limits. */
  waited: number;
  /** Whether earlier attempts failed because of an outage. */
  readonly hasRestarted: boolean;
}

export function startAttempts(policy: RetryPolicy, hasRestarted = false): Attempts {
  return {
    policy,
    failed: 0,
    blocks: 0,
    blocked: 0,
    timeouts: 0,
    backoff: policy.backoff,
    waited: 0,
    hasRestarted,
  };
}

export interface RetryDecision {
  error?: DataStreamError;
  /** Delay (ms) before the next attempt with `$top`. */
  delay: number;
  top: number | undefined;
  /** Time (ms) for which no request with the API key starts, also if this one has failed. */
  blockTime: number | undefined;
}

/** `top` is `undefined` for a count. Source: DataStream Public API, "Errors". */
export function decide(
  attempts: Attempts,
  { error, isPermanent }: FailedAttempt,
  top?: number,
): RetryDecision {
  const { policy } = attempts;
  const { status, retryAfter = -1 } = error;
  const isBlock = status === 429;
  const times = isBlock && policy.attempts > 1 ? ++attempts.blocks : ++attempts.failed;
  const backoff = randomBackoff(times);
  const blockDelay = Math.min(backoff, MAX_RATE_LIMIT_DELAY);
  const blockTime = isBlock
    ? Math.min(retryAfter < 0 ? blockDelay : retryAfter, policy.retryAfter)
    : undefined;
  // A timeout has two possible causes: an outage, which is temporary, and a page that is too large.
  const isLarge = status === 413 || isTimeout(error) && attempts.timeouts++ > 0;
  const canHalve = isLarge && top !== undefined && top > 1;
  const decision = { delay: 0, top: canHalve ? Math.floor(top / 2) : top, blockTime };
  const fail = (error: DataStreamError) => ({ ...decision, error });

  if (isPermanent || !isTemporary(error)) return fail(error);
  if (retryAfter > policy.retryAfter) {
    const hint = `try again in ${Math.ceil(retryAfter / 1000)} s, as DataStream asks`;
    return fail(amendError(error, { hint }));
  }
  let isLast = attempts.failed >= policy.attempts;
  decision.delay = Math.max(0, retryAfter);
  if (blockTime !== undefined) {
    decision.delay = blockTime;
    // At least the backoff, so that `Retry-After: 0` does not repeat the request forever.
    attempts.blocked += Math.max(blockTime, blockDelay);
    isLast ||= attempts.blocked > MAX_BLOCKED;
  } else if (status === 413 && (canHalve || !attempts.hasRestarted)) {
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

function isTemporary({ kind, status = 0 }: DataStreamError): boolean {
  if (kind === "status") return status >= 500 || status === 408 || status === 413 || status === 429;
  return kind === "network" || kind === "rate-limit" || kind === "page";
}

export function isTimeout({ status }: DataStreamError): boolean {
  return status === 408 || status === 504;
}

/** Random (ms), so that clients that failed at the same time retry at different times. */
function randomBackoff(attempts: number): number {
  return FIRST_BACKOFF * 2 ** (attempts - 1) * (0.5 + Math.random() / 2);
}

export async function send(
  run: Run,
  attempts: Attempts,
  request: ServiceRequest,
): Promise<ServiceResponse> {
  const { settings, signal, progress } = run;
  const { clock } = settings;
  const queuedAt = clock.now();
  let wait: number | undefined;
  const onStart = () => {
    progress.requests++;
    progress.waits += wait = clock.now() - queuedAt;
  };
  const transport = { ...settings, maxWait: maxWaitOf(run, attempts) };
  try {
    return await sendRequest(toRequestOptions(settings, request), transport, signal, onStart);
  } finally {
    attempts.waited += wait ?? clock.now() - queuedAt;
  }
}

function maxWaitOf({ settings, progress }: Run, { waited }: Attempts): number | undefined {
  // A server limits only the time to the first row.
  return settings.maxWait === undefined || progress.rows > 0
    ? undefined
    : settings.maxWait - waited;
}

export async function waitForRetry(
  run: Run,
  attempts: Attempts,
  { error }: FailedAttempt,
  { error: failure, blockTime, delay }: RetryDecision,
): Promise<void> {
  const { signal, progress, settings: { clock } } = run;
  const isPenalized = blockTime !== undefined && await penalizeKey(run, blockTime);
  if (failure !== undefined) throw failure;
  // `maxWait` limits only the waits for the rate limit. A server limits the backoff after an outage by itself.
  const isRateLimit = error.kind === "rate-limit" || error.retryAfter !== undefined;
  if (isRateLimit && delay > (maxWaitOf(run, attempts) ?? Infinity)) throw error;
  reportProgress(run, { retries: progress.retries + 1, retrying: { fault: error, wait: delay } });
  // After a 429, the rate limiter delays the next request, and `send()` adds that wait.
  if (!isPenalized && delay > 0) {
    await clock.sleep(delay, signal);
    progress.waits += delay;
    if (isRateLimit) attempts.waited += delay;
  }
  progress.retrying = undefined;
}

/** Returns false if the rate limiter fails: this request then waits itself. */
async function penalizeKey({ settings, signal }: Run, blockTime: number): Promise<boolean> {
  const { baseUrl, keyHash, rateLimiter } = settings;
  try {
    const target = { origin: new URL(baseUrl).origin, keyHash: await keyHash() };
    await abortable(Promise.resolve(rateLimiter.penalize(target, blockTime)), signal);
    return true;
  } catch {
    return false;
  }
}

export function toFailedAttempt(error: unknown): FailedAttempt {
  if (error instanceof FailedAttempt) return error;
  if (error instanceof DataStreamError) return new FailedAttempt(error);
  throw error;
}

export function isRefusal(error: DataStreamError): boolean {
  return error.status === 413 || isTimeout(error);
}

/** After these, the cause is probably the size of the page, and not an outage. */
export const MAX_TIMEOUTS = 3;

/** Large counts are estimates. Source: DataStream Public API, "URL Parameters", `$count`. */
export async function requestCount(
  run: Run,
  query: CheckedQuery,
  clauses: readonly Clause[],
  maxTimeouts = Infinity,
): Promise<number> {
  const attempts = startAttempts(run.settings.retry);
  const options = { $filter: filterOf(query, clauses), $count: "true" as const };
  for (;;) {
    try {
      return await readCount(await send(run, attempts, { resource: query.resource, options }));
    } catch (error) {
      const failed = toFailedAttempt(error);
      const decision = decide(attempts, failed);
      if (attempts.timeouts === maxTimeouts) throw failed.error;
      await waitForRetry(run, attempts, failed, decision);
    }
  }
}

export async function tryCount(
  run: Run,
  query: CheckedQuery,
  clauses: readonly Clause[],
): Promise<number | undefined> {
  try {
    return await requestCount(run, query, clauses, MAX_TIMEOUTS);
  } catch (error) {
    // Rows that cannot be counted can still be requested.
    if (error instanceof DataStreamError && isRefusal(error)) return undefined;
    throw error;
  }
}

/** Pages without an error after which a reduced page size is doubled. */
const GOOD_PAGES = 3;
/** This number doubles up to here, each time that a doubled page size is refused. */
const MAX_GOOD_PAGES = 96;

/**
 * Halved after a page that was too large or too slow, doubled after some pages without an error.
 * Each refusal directly after a doubling doubles that number of pages, because a service may never
 * deliver the size. JSON-serialisable: cursors contain it.
 */
export interface PageSize {
  readonly max?: number | undefined;
  readonly goodPages: number;
  readonly goodPagesToGrow: number;
  readonly hasJustGrown: boolean;
}

export function shrink(size: PageSize | undefined, top: number): PageSize {
  const { hasJustGrown = false, goodPagesToGrow = GOOD_PAGES } = size ?? {};
  return {
    max: top,
    goodPages: 0,
    goodPagesToGrow: hasJustGrown ? Math.min(MAX_GOOD_PAGES, 2 * goodPagesToGrow) : goodPagesToGrow,
    hasJustGrown: false,
  };
}

/** `wanted` is the size without reduction. */
export function grow(
  size: PageSize | undefined,
  top: number,
  wanted: number,
): PageSize | undefined {
  if (size === undefined) return undefined;
  const goodPages = size.goodPages + 1;
  if (size.max === undefined || goodPages < size.goodPagesToGrow) {
    return { ...size, goodPages, hasJustGrown: false };
  }
  const max = 2 * top >= wanted ? undefined : 2 * top;
  return { ...size, max, goodPages: 0, hasJustGrown: true };
}
