// Sends requests, waits before they are repeated, and tells the rate limiter what responses say about the service.
import { abortable } from "../clock.ts";
import { endpoint } from "../endpoint/endpoint.ts";
import type { RequestOptions } from "../endpoint/types.ts";
import { DataStreamError } from "../errors.ts";
import { RESOURCES } from "../odata/resources.ts";
import {
  blockError,
  dateOf,
  outcomeOf,
  refusedQuery,
  temporaryFaultOf,
  withoutLength,
} from "./http_error.ts";
import type { ClientSettings } from "./options.ts";
import { readAnswer } from "./page_reader.ts";
import {
  MAX_PROBE_DELAY,
  processLimiter,
  type ServiceOutcome,
  type ServiceState,
  UNKNOWN_SERVICE,
} from "./rate_limiter.ts";
import { type Attempts, reportProgress, type RetryDecision, type Run } from "./retry.ts";
import { isJson, sendRequest, type ServiceResponse } from "./transport.ts";

/** Sends a request of a query. While the key is rejected, the known-good request goes first. */
export async function send(
  run: Run,
  attempts: Attempts,
  options: RequestOptions,
): Promise<ServiceResponse> {
  const { is, wait } = knownService(run.settings);
  if (is === "key rejected" && wait === 0) {
    const error = await tryKnownGood(run, attempts);
    if (error !== undefined) throw isRefused(run, error) ? await rejectKey(run, error) : error;
  }
  return await transmit(run, attempts, options);
}

async function transmit(
  run: Run,
  attempts: Attempts,
  options: RequestOptions,
  maxWait = maxWaitOf(run, attempts),
): Promise<ServiceResponse> {
  const { settings, signal, progress } = run;
  const { clock } = settings;
  const queuedAt = clock.now();
  let wait: number | undefined;
  const onStart = () => {
    progress.requests++;
    progress.waits += wait = clock.now() - queuedAt;
  };
  try {
    const response = await sendRequest(
      options,
      { ...settings, maxWait },
      signal,
      onStart,
      (fault) => reportFault(run, fault),
    );
    // While it has the permit, as for other faults.
    if (!isJson(response.headers)) await report(run, { is: "silent", cause: "no JSON" });
    run.responseDate = dateOf(response.headers) ?? Date.now();
    const { targetLength } = run;
    if (targetLength !== undefined && targetLength < knownService(settings).targetLength) {
      await report(run, { targetLength });
    }
    return response;
  } finally {
    attempts.waited += wait ?? clock.now() - queuedAt;
  }
}

/** A server limits only the time to the first row. */
function maxWaitOf({ settings, position }: Run, { waited }: Attempts): number | undefined {
  const { maxWait } = settings;
  return maxWait === undefined || position.rows > 0 ? undefined : maxWait - waited;
}

export async function waitForRetry(
  run: Run,
  attempts: Attempts,
  { fault, error, delay }: RetryDecision,
): Promise<void> {
  const { progress, settings } = run;
  const { clock } = settings;
  if (error !== undefined) throw error;
  // `maxWait` limits only the waits for the rate limit. A server limits the backoff after an outage by itself.
  const isRateLimit = fault.kind === "rate-limit" || fault.retryAfter !== undefined;
  if (isRateLimit && delay > (maxWaitOf(run, attempts) ?? Infinity)) throw fault;
  reportProgress(run, { retries: progress.retries + 1, retrying: { fault, wait: delay } });
  settings.onRetry?.(fault, delay);
  // After a block, the rate limiter delays the next request, and `send()` adds that wait.
  const isEnforced = temporaryFaultOf(fault) === "block" && run.block?.isEnforced;
  if (!isEnforced && delay > 0) {
    const start = clock.now();
    await waitForService(run, attempts, delay, fault.retryAfter === undefined);
    const waited = clock.now() - start;
    progress.waits += waited;
    if (isRateLimit) attempts.waited += waited;
  }
  progress.retrying = undefined;
}

/** Milliseconds. */
const MAX_PROBE_WAIT = 1_000;

/** Ends early if the service answers another request. With `probeInterval`, it is asked. */
async function waitForService(
  run: Run,
  attempts: Attempts,
  delay: number,
  mayEndEarly: boolean,
): Promise<void> {
  const { settings, signal } = run;
  const { clock, probeInterval = Infinity } = settings;
  const isSilent = () => knownService(settings).is === "silent";
  if (!mayEndEarly || !isSilent()) return await clock.sleep(delay, signal);
  const end = clock.now() + delay;
  let probedAt = -Infinity;
  for (let now = clock.now(); now < end; now = clock.now()) {
    const { checkedAge = Infinity } = knownService(settings);
    const lastProbe = Math.max(now - checkedAge, probedAt);
    const nextProbe = probeInterval === Infinity ? Infinity : lastProbe + probeInterval;
    const wait = Math.max(0, Math.min(MAX_PROBE_DELAY, nextProbe - now));
    await clock.sleep(Math.min(end - now, wait), signal);
    if (isSilent() && clock.now() >= nextProbe) {
      probedAt = clock.now();
      // Another download may be asking now.
      if (await tryKnownGood(run, attempts, MAX_PROBE_WAIT) === undefined) return;
    }
    if (!isSilent()) return;
  }
}

async function reportFault(run: Run, fault: DataStreamError): Promise<void> {
  run.fault = fault;
  // While a key is rejected, only the known-good request is sent.
  const isStillRejected = isRefused(run, fault) && knownService(run.settings).is === "key rejected";
  const outcome = isStillRejected
    ? { is: "key rejected" as const, cause: fault.status }
    : outcomeOf(fault);
  if (outcome === undefined) return;
  const { wait = Infinity }: ServiceOutcome = outcome;
  const max = run.settings.retry.retryAfter;
  await report(run, { ...outcome, ...(wait < Infinity && { wait: Math.min(wait, max) }) });
}

/**
 * Tells the rate limiter what a response says about the service. If it cannot know it, the limiter of the process does,
 * and this request waits itself.
 */
export async function report(run: Run, outcome: ServiceOutcome): Promise<ServiceState> {
  const { settings: { target, rateLimiter, clock }, signal } = run;
  const known = await target();
  let service: ServiceState | undefined;
  try {
    service = await abortable(Promise.resolve(rateLimiter.report?.(known, outcome)), signal);
  } catch {
    signal.throwIfAborted();
  }
  const isEnforced = service !== undefined;
  service ??= await processLimiter(clock).report!(known, outcome);
  run.block = { wait: service.wait, isEnforced };
  return service;
}

/** What the process knows about the service, without a request. */
export function knownService(
  { target, rateLimiter, clock }: Pick<ClientSettings, "target" | "rateLimiter" | "clock">,
): ServiceState {
  const known = target();
  if (known instanceof Promise) return UNKNOWN_SERVICE; // its hash is not known before the first request
  const { report = processLimiter(clock).report! } = rateLimiter;
  const service = report.call(rateLimiter, known);
  if (!(service instanceof Promise)) return service;
  service.catch(() => {});
  return UNKNOWN_SERVICE;
}

/** Time (ms) after a success for which a key is not taken for replaced. */
const KEY_TTL = 900_000;

/** The cheapest request for which the service checks the key, and which no firewall refuses. */
function knownGoodRequest({ baseUrl, headers }: ClientSettings): RequestOptions {
  const { path } = RESOURCES.Metadata;
  return endpoint(`GET ${path}`, { baseUrl, headers, $select: "DOI", $top: 1 });
}

/** Returns the error if it fails. */
async function tryKnownGood(
  run: Run,
  attempts: Attempts,
  maxWait?: number,
): Promise<DataStreamError | undefined> {
  try {
    await readAnswer(await transmit(run, attempts, knownGoodRequest(run.settings), maxWait));
  } catch (error) {
    if (error instanceof DataStreamError) return error;
    throw error;
  }
}

/** Whether an error is a response with status 401 or 403, and it is not known what it is about. */
function isRefused({ fault }: Run, error: DataStreamError): boolean {
  return fault === error && (error.status === 401 || error.status === 403);
}

/**
 * Finds out what a 401 or 403 is about: the key, the address of this computer, or only the query. A firewall sends them
 * too. Other errors are returned as they are, but without the length as a cause that the evidence excludes.
 *
 * @param wasAnswered Whether the service has answered this query before, apart from the skip token
 */
export async function judge(
  run: Run,
  attempts: Attempts,
  error: unknown,
  wasAnswered: boolean,
): Promise<unknown> {
  if (!(error instanceof DataStreamError)) return error;
  if (!isRefused(run, error)) return wasAnswered ? withoutLength(error) : error;
  if (error.status === 401) return await rejectKey(run, error);
  let isBlock = wasAnswered;
  if (!isBlock) {
    const isKnownGood = error.url === knownGoodRequest(run.settings).url;
    const other = isKnownGood ? error : await tryKnownGood(run, attempts);
    if (other === undefined) return refusedQuery(error);
    if (!isRefused(run, other)) {
      const isAboutService = other.isTemporary || other.retryAfter !== undefined;
      return isAboutService ? other : error;
    }
    const { answeredAge = Infinity } = knownService(run.settings);
    isBlock = other.status === 403 && answeredAge < KEY_TTL;
  }
  if (!isBlock) return await rejectKey(run, withoutLength(error));
  run.fault = undefined;
  await report(run, { is: "blocked", cause: error.status, wait: error.retryAfter });
  return blockError(withoutLength(error));
}

/** A response to a request without a key only says that the service answers. */
async function rejectKey(run: Run, error: DataStreamError): Promise<DataStreamError> {
  run.fault = undefined;
  const isKey = run.settings.apiKey !== undefined;
  await report(run, isKey ? { is: "key rejected", cause: error.status } : { is: "answering" });
  return error;
}
