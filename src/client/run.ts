// One run of a query: its progress, and the attempts at each of its requests.
import { abortable } from "../clock.ts";
import { DataStreamError } from "../errors.ts";
import type { ResourceName } from "../odata/resources.ts";
import { FailedAttempt } from "./http_error.ts";
import type { ClientSettings } from "./options.ts";
import { type CountRequest, type PageRequest, toRequestOptions } from "./page_request.ts";
import { PageSize } from "./page_size.ts";
import { readCount } from "./page_reader.ts";
import type { Progress } from "./progress.ts";
import { createRetryDecider, type RetryDecision, type RetryPolicy } from "./retry.ts";
import { sendRequest, type ServiceResponse } from "./transport.ts";

/** One run of a query. */
export interface Run {
  readonly settings: ClientSettings;
  readonly signal: AbortSignal;
  readonly onProgress: (progress: Progress) => void;
  progress: Progress;
  /** Page sizes of the resources of which the service has refused a page. */
  readonly pageSizes: Map<ResourceName, PageSize>;
  /** Ids of the locations that rows of the query can have; `undefined` until they are requested. */
  locations?: readonly number[];
}

/** Creates a run. Nothing is requested yet. */
export function createRun(
  settings: ClientSettings,
  signal: AbortSignal,
  onProgress: (progress: Progress) => void = () => {},
): Run {
  const progress: Progress = {
    pages: 0,
    rows: 0,
    requests: 0,
    retries: 0,
    waits: 0,
    expectedRows: undefined,
    retrying: undefined,
  };
  return { settings, signal, onProgress, progress, pageSizes: new Map() };
}

/** Changes the progress of a run. */
export function changeProgress(run: Run, changes: Partial<Progress>): void {
  run.progress = { ...run.progress, ...changes };
}

/** Changes the progress of a run, and reports it. */
export function reportProgress(run: Run, changes: Partial<Progress>): void {
  changeProgress(run, changes);
  run.onProgress(run.progress);
}

/** Returns the number of rows per page that the service can deliver, at most `top`. */
export function limitTop({ pageSizes }: Run, resource: ResourceName, top: number): number {
  return pageSizes.get(resource)?.limit(top) ?? top;
}

/** The attempts at one page or one count. */
export interface Attempts {
  /**
   * Sends a request.
   *
   * @throws {FailedAttempt} If no response with status 200 arrives
   */
  send(request: PageRequest | CountRequest): Promise<ServiceResponse>;
  /**
   * Decides whether to try again after a failed attempt.
   *
   * @param top The `$top` of the failed attempt; `undefined` for a count
   */
  decide(failed: FailedAttempt, top: number | undefined): RetryDecision;
  /**
   * Waits until the next attempt may start, and reduces the page size if the decision says so.
   *
   * @throws {DataStreamError} If there is no next attempt
   */
  retry(
    failed: FailedAttempt,
    decision: RetryDecision,
    request: PageRequest | CountRequest,
  ): Promise<void>;
}

/** Creates the attempts at one page or one count. */
export function createAttempts(run: Run, retry: RetryPolicy = run.settings.retry): Attempts {
  const { settings, signal } = run;
  const { clock } = settings;
  const decide = createRetryDecider(retry);
  /** Sum of the waits for permits, and of the delays that the rate limiter or `Retry-After` caused. */
  let waited = 0;
  /** Maximum time (ms) that the next attempt may wait; `undefined` for no maximum. */
  const maxWait = () => {
    // A response of a server that has rows is no longer refused.
    if (run.progress.rows > 0) return undefined;
    return settings.maxWait && settings.maxWait - waited;
  };
  return {
    async send(request) {
      const queuedAt = clock.now();
      let isStarted = false;
      const onStart = () => {
        isStarted = true;
        const { requests, waits } = run.progress;
        const wait = clock.now() - queuedAt;
        waited += wait;
        changeProgress(run, { requests: requests + 1, waits: waits + wait });
      };
      const transport = { ...settings, maxWait: maxWait() };
      try {
        return await sendRequest(toRequestOptions(settings, request), transport, signal, onStart);
      } finally {
        if (!isStarted) waited += clock.now() - queuedAt;
      }
    },
    decide,
    async retry({ error }, decision, { resource, top }) {
      const { blockTime } = decision;
      const isPenalized = blockTime !== undefined && await penalizeKey(run, blockTime);
      if (decision.action === "fail") throw decision.error;
      const { delay, top: nextTop } = decision;
      // `maxWait` limits only the waits for the rate limit. A server limits the backoff after an outage by itself.
      const waitsForTurn = error.kind === "rate-limit" || error.retryAfter !== undefined;
      if (waitsForTurn && delay > (maxWait() ?? Infinity)) throw error;
      if (nextTop !== undefined && nextTop !== top) {
        const pageSize = run.pageSizes.get(resource) ?? new PageSize();
        pageSize.shrinkTo(nextTop);
        run.pageSizes.set(resource, pageSize);
      }
      reportProgress(run, {
        retries: run.progress.retries + 1,
        retrying: { fault: error, wait: delay },
      });
      // After a 429, the rate limiter delays the next request, and `onStart` adds that wait.
      if (!isPenalized && delay > 0) {
        await clock.sleep(delay, signal);
        changeProgress(run, { waits: run.progress.waits + delay });
        if (waitsForTurn) waited += delay;
      }
      changeProgress(run, { retrying: undefined });
    },
  };
}

/** Applies a penalty to the key. Returns false if the rate limiter fails: this request then waits itself. */
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

/** Treats a response that cannot be read as a failed attempt; rethrows any other error. */
export function toFailedAttempt(error: unknown): FailedAttempt {
  if (error instanceof FailedAttempt) return error;
  if (error instanceof DataStreamError) return new FailedAttempt(error);
  throw error;
}

/** Whether the service refused a request because it was too slow or too large. */
export function isRefusal({ status }: DataStreamError): boolean {
  return status === 408 || status === 413 || status === 504;
}

/** Number of refusals of one page or count after which the cause is probably its size, and not an outage. */
export const MAX_REFUSALS = 3;

/**
 * Requests the count of the rows that match a filter; large counts are estimates.
 *
 * @param maxRefusals Number of refusals after which no further attempt is made. Default: no maximum
 * @throws {DataStreamError} The last error, if all attempts fail
 *
 * Source: DataStream Public API, "URL Parameters", `$count`.
 */
export async function requestCount(
  run: Run,
  request: CountRequest,
  maxRefusals = Infinity,
): Promise<number> {
  const attempts = createAttempts(run);
  for (let refusals = 0;;) {
    try {
      const response = await attempts.send(request);
      try {
        return await readCount(response);
      } finally {
        response.close();
      }
    } catch (error) {
      const failed = toFailedAttempt(error);
      if (isRefusal(failed.error) && ++refusals === maxRefusals) throw failed.error;
      await attempts.retry(failed, attempts.decide(failed, undefined), request);
    }
  }
}

/** Does the same as {@linkcode requestCount}, but returns `undefined` if the service refuses to count. */
export async function tryCount(run: Run, request: CountRequest): Promise<number | undefined> {
  try {
    return await requestCount(run, request, MAX_REFUSALS);
  } catch (error) {
    // Rows that cannot be counted can still be requested.
    if (error instanceof DataStreamError && isRefusal(error)) return undefined;
    throw error;
  }
}
