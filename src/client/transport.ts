// Sends one HTTP request when the rate limiter permits it, and reads its response within the timeouts.
import { toRequest } from "../endpoint/to_request.ts";
import type { RequestOptions } from "../endpoint/types.ts";
import { type Bytes, utf8Decoder } from "../bytes.ts";
import { type ByteTarget, concatBytes } from "../formats/page_writer.ts";
import { abortable, type Clock, startTimeLimit } from "../clock.ts";
import {
  FailedAttempt,
  isRedirect,
  limiterFailure,
  lostPermit,
  networkFailure,
  permitRefusal,
  statusError,
} from "./http_error.ts";
import type { Permit, PermitRefusal, RateLimiter } from "./rate_limiter.ts";
import type { StartLimits } from "./start_limits.ts";

/**
 * Timeouts of each request, in milliseconds.
 *
 * @example Two minutes for the headers of a slow server
 * ```ts
 * import { DataStream, type Timeouts } from "@weir/datastream";
 * import { assert } from "@std/assert";
 *
 * const timeouts: Partial<Timeouts> = { headers: 120_000 };
 * assert(new DataStream({ timeouts }).metadata().url);
 * ```
 */
export interface Timeouts {
  /**
   * Maximum time from the start of a request to the headers of its response, from 1 to 3600000.
   * Default 45000.
   */
  headers: number;
  /** Maximum time between two chunks of the body (idle timeout), from 1 to 3600000. Default 30000. */
  bytes: number;
}

/** Default timeouts. The service ends a request after 30 s; the network may add to that. */
export const DEFAULT_TIMEOUTS: Timeouts = { headers: 45_000, bytes: 30_000 };

/** Settings for sending requests. */
export interface TransportOptions {
  fetch: (request: Request) => Promise<Response>;
  requestsPerSecond: number;
  timeouts: Timeouts;
  clock: Clock;
  rateLimiter: RateLimiter;
  /**
   * Returns the identifier of the API key for the rate limiter: its SHA-256, or the key itself for the limiter of the
   * process.
   */
  keyHash: () => string | undefined | Promise<string>;
  /** Maximum time (ms) that a request may wait for its permit. Default: no maximum. */
  maxWait?: number | undefined;
  /** Limits until a response of a server has its first content. Default: none. */
  startLimits?: StartLimits | undefined;
  /** API key. Error messages that quote the service show `[key]` instead of it. */
  apiKey: string | undefined;
}

/** A response with status 200. */
export interface ServiceResponse {
  /** URL of the request. */
  url: string;
  headers: Headers;
  /**
   * Reads the next bytes of the body into a target. Returns false at the end of the body.
   *
   * @throws {FailedAttempt} If the body is incomplete or late
   * @throws The error of the target
   */
  readBody(target: ByteTarget): Promise<boolean>;
  /** Replaces the API key in a text that an error message quotes. */
  redact: (text: string) => string;
}

/**
 * Reads a response with status 200 while it arrives.
 *
 * @typeParam P Type of the parts that it yields before the response is complete
 * @typeParam T Type of the result
 */
export type ResponseReader<P, T> = (response: ServiceResponse) => AsyncGenerator<P, T, void>;

/** Number of bytes after which the body of an error response is cancelled. */
const MAX_ERROR_BODY = 2_000;

/**
 * Sends one request when the rate limiter permits it, and reads the response. Releases the permit as soon
 * as the body has ended.
 *
 * @param onStart Called when the request starts, after the wait for the rate limiter
 * @param readResponse Reads the response if its status is 200
 * @throws {FailedAttempt} If the status is not 200, or the response is incomplete or late
 * @throws The error of `readResponse`
 */
export async function* sendRequest<P, T>(
  options: RequestOptions,
  transport: TransportOptions,
  signal: AbortSignal,
  onStart: () => void,
  readResponse: ResponseReader<P, T>,
): AsyncGenerator<P, T, void> {
  const { url } = options;
  const { fetch, timeouts, clock, apiKey, startLimits } = transport;
  const redact = (text: string) =>
    apiKey
      ? text.replaceAll(apiKey, "[key]").replaceAll(encodeURIComponent(apiKey), "[key]")
      : text;
  const attempt = new AbortController();
  const request = toRequest(options, { signal: attempt.signal });
  const permit = await acquirePermit(url, transport, signal);
  const abort = () => {
    attempt.abort(signal.reason);
    // Not only in `finally`, which workerd does not run after the client of the app has left.
    callLimiter(() => permit.release());
  };
  signal.addEventListener("abort", abort, { once: true });
  const loseUnless = (isHeld: boolean | void) => {
    if (isHeld === false) attempt.abort(lostPermit(url));
  };
  const extend = () => callLimiter(() => permit.extend(), loseUnless, () => loseUnless(false));
  const timer = startTimeouts(timeouts, clock, extend, (error) => attempt.abort(error));
  const onBytes = () => {
    timer.restart();
    startLimits?.onBytes();
  };
  const end = (outcome?: "success") => {
    timer.stop();
    signal.removeEventListener("abort", abort);
    attempt.signal.removeEventListener("abort", cancel);
    callLimiter(() => permit.release(outcome));
  };
  let body: BodyReader | undefined;
  let isReading = false;
  let isEnded = false;
  const failure = (error: unknown) =>
    error instanceof FailedAttempt
      ? error
      : networkFailure(error, url, apiKey === undefined ? undefined : redact);
  // A body may ignore the signal of its request.
  const cancel = () => body?.cancel(attempt.signal.reason);
  try {
    signal.throwIfAborted(); // it may have aborted after the permit was given
    onStart();
    startLimits?.onRequest();
    const response = await rejectOnAbort(fetch(request), attempt.signal);
    callLimiter(() => permit.responded());
    onBytes();
    body = openBody(response.body);
    attempt.signal.addEventListener("abort", cancel, { once: true });
    if (attempt.signal.aborted) cancel();
    if (response.status !== 200) {
      const text = await readStart(response, body, onBytes);
      signal.throwIfAborted();
      throw new FailedAttempt(statusError(response, url, text, redact));
    }
    const { read, add } = body;
    const readBody = async (target: ByteTarget): Promise<boolean> => {
      let result;
      try {
        result = await read(target);
        attempt.signal.throwIfAborted();
      } catch (error) {
        signal.throwIfAborted();
        throw failure(error);
      }
      const { done, value } = result;
      if (done) {
        isEnded = true;
        end("success");
      } else onBytes();
      if (value !== undefined) add(target, value);
      return !done;
    };
    isReading = true;
    return yield* readResponse({ url, headers: response.headers, readBody, redact });
  } catch (error) {
    signal.throwIfAborted();
    throw isReading ? error : failure(error);
  } finally {
    if (!isEnded) body?.cancel();
    end();
    // Keeps the request and its signal referenced until here. Node may otherwise garbage-collect them
    // while the request is in flight, and an abort then has no effect (nodejs/node#55428).
    void request.signal;
  }
}

/** Time (ms) after the maximum wait after which a rate limiter is treated as failed. */
const LIMITER_GRACE_PERIOD = 2_000;

/**
 * Waits for the permit to send a request.
 *
 * @throws {FailedAttempt} If the rate limiter refuses it, or fails
 */
async function acquirePermit(
  url: string,
  { rateLimiter, keyHash, requestsPerSecond, maxWait, clock }: TransportOptions,
  signal: AbortSignal,
): Promise<Permit> {
  const { origin } = new URL(url);
  // A limiter of another program may never answer.
  const timeLimit = maxWait === undefined
    ? undefined
    : startTimeLimit(clock, maxWait + LIMITER_GRACE_PERIOD, "no answer");
  const ended = timeLimit ? AbortSignal.any([signal, timeLimit.signal]) : signal;
  let permit: Permit | PermitRefusal;
  try {
    const request = { origin, keyHash: await keyHash(), requestsPerSecond, maxWait };
    const answer = Promise.resolve(rateLimiter.acquire(request, ended));
    answer.then((late) => {
      if (ended.aborted && late && "release" in late) callLimiter(() => late.release());
    }).catch(() => {});
    permit = await abortable(answer, ended);
    if ("retryAfter" in permit && !Number.isFinite(permit.retryAfter)) {
      throw new TypeError(`retryAfter must be a number of milliseconds, got ${permit.retryAfter}`);
    }
  } catch (error) {
    signal.throwIfAborted();
    throw limiterFailure(error, url);
  } finally {
    timeLimit?.stop();
  }
  if ("retryAfter" in permit) throw permitRefusal(permit.retryAfter, url);
  return permit;
}

/**
 * Calls a function of a rate limiter, which may be on another machine, without waiting for it. Its errors do
 * not affect the request.
 */
function callLimiter<T>(
  call: () => T | PromiseLike<T>,
  onResult: (result: T) => void = () => {},
  onError: () => void = () => {},
): void {
  try {
    Promise.resolve(call()).then(onResult, onError);
  } catch {
    onError();
  }
}

/** Whether the content type of a response is JSON or a type based on it. */
export function isJson(headers: Headers): boolean {
  return /^application\/([\w.+-]+\+)?json\b/i.test(headers.get("content-type") ?? "");
}

/**
 * Maximum interval (ms) between two checks of the timeouts. Each check also renews the permit of the
 * request, so the interval must be well below the TTL of a permit.
 */
const CHECK_INTERVAL = 1_000;

/** Timer of one request. It runs first for the headers, then for each chunk of the body. */
interface TimeoutTimer {
  /** Restarts the timer with the idle timeout, because headers or bytes have arrived. */
  restart(): void;
  /** Stops the timer. Stopping it again has no effect. */
  stop(): void;
}

/**
 * Starts the timer of a request.
 *
 * @param onCheck Called immediately, and then at least once a second while the request runs
 * @param onTimeout Called at most once: with a `TimeoutError` if the headers or bytes do not arrive in
 *   time, or with the error that `clock.sleep()` throws
 */
export function startTimeouts(
  { headers, bytes }: Timeouts,
  clock: Clock,
  onCheck: () => void,
  onTimeout: (error: DOMException) => void,
): TimeoutTimer {
  const stopped = new AbortController();
  let startedAt = clock.now();
  let timeout = headers;
  let missing = "headers";
  const run = async () => {
    for (;;) {
      const remaining = startedAt + timeout - clock.now();
      if (remaining <= 0) break;
      onCheck();
      // At most `bytes`, because restart() may set that timeout during the sleep.
      await clock.sleep(Math.min(remaining, bytes, CHECK_INTERVAL), stopped.signal);
    }
    onTimeout(new DOMException(`no ${missing} within ${timeout / 1000} s`, "TimeoutError"));
  };
  run().catch((error) => {
    if (!stopped.signal.aborted) onTimeout(error);
  });
  return {
    restart() {
      startedAt = clock.now();
      timeout = bytes;
      missing = "bytes";
    },
    stop: () => stopped.abort("stopped"), // without a reason, an error with a stack would be created
  };
}

/**
 * Waits for a response, and rejects immediately when the signal aborts, because an injected `fetch` may
 * ignore the signal. Cancels the body of a response that arrives after the abort.
 */
async function rejectOnAbort(pending: Promise<Response>, signal: AbortSignal): Promise<Response> {
  let abort = () => {};
  const aborted = new Promise<never>((_, reject) => {
    abort = () => reject(signal.reason);
  });
  signal.addEventListener("abort", abort, { once: true });
  if (signal.aborted) abort();
  try {
    return await Promise.race([pending, aborted]);
  } catch (error) {
    pending.then((late) => late.body?.cancel()).catch(() => {});
    throw error;
  } finally {
    signal.removeEventListener("abort", abort);
  }
}

/** Reader of a body. Each read creates few objects, because a compressed body has thousands of reads. */
interface BodyReader {
  /** Reads the next bytes for a target. At the end, `value` is `undefined` or has no bytes. */
  read(target: ByteTarget): Promise<{ done: boolean; value?: Bytes | undefined }>;
  /** Adds the bytes of a read to its target. */
  add(target: ByteTarget, bytes: Bytes): void;
  /** Cancels the body. A pending `read()` then ends or rejects. */
  cancel(reason?: unknown): void;
}

/**
 * Opens a body for reading.
 *
 * In Deno and workerd, a byte stream is read into the memory of the target ("bring your own buffer"). With a
 * default reader, Deno allocates a buffer for each 4 KB of a compressed body. A body of 180 MB then takes 189 MB of
 * memory instead of 59 MB. Workerd reads every body in chunks of 4 KB, which takes 3.5 times the CPU time.
 *
 * Node uses a default reader: reading into the target needs the same memory and 1.1 times the CPU time, because
 * each read moves the buffer.
 */
function openBody(body: ReadableStream<Bytes> | null): BodyReader {
  if (body === null) return { read: () => Promise.resolve({ done: true }), add() {}, cancel() {} };
  const byteReader = openByteStream(body);
  if (byteReader !== undefined) {
    return {
      read: (target) => byteReader.read(target.space()),
      // Also at the end: the stream then returns the memory as an empty view, unless it was cancelled.
      add: (target, bytes) => target.add(bytes),
      cancel: (reason) => void byteReader.cancel(reason).catch(() => {}),
    };
  }
  const reader = body.getReader();
  return {
    read: () => reader.read(),
    add: (target, bytes) => target.append(bytes),
    cancel: (reason) => void reader.cancel(reason).catch(() => {}),
  };
}

/** Whether the runtime is Deno or workerd. */
const FILLS_MEMORY = /^(Deno|Cloudflare-Workers)\b/.test(
  (globalThis as { navigator?: { userAgent?: string } }).navigator?.userAgent ?? "",
);

/**
 * Returns a reader that fills given memory. Returns `undefined` if the stream is not a byte stream, or a default
 * reader is faster.
 */
function openByteStream(body: ReadableStream<Bytes>): ReadableStreamBYOBReader | undefined {
  if (!FILLS_MEMORY) return undefined;
  try {
    return body.getReader({ mode: "byob" });
  } catch {
    return undefined;
  }
}

/** Reads the start of the body of an error response, unless it is a redirect. */
async function readStart(
  response: Response,
  body: BodyReader,
  onBytes: () => void,
): Promise<string> {
  const chunks: Bytes[] = [];
  let missing = isRedirect(response) ? 0 : MAX_ERROR_BODY;
  const target: ByteTarget = {
    space: () => new Uint8Array(MAX_ERROR_BODY),
    add: (filled) => target.append(filled),
    append(chunk: Bytes) {
      chunks.push(chunk);
      missing -= chunk.length;
    },
  };
  try {
    while (missing > 0) {
      const { done, value } = await body.read(target);
      if (done) break;
      onBytes();
      if (value !== undefined) body.add(target, value);
    }
  } catch {
    return ""; // the status explains the failure better than this error
  }
  return utf8Decoder.decode(concatBytes(chunks));
}

/**
 * Sends a request with the global `fetch`, in Deno and Bun over a new HTTP/1.1 connection.
 *
 * An HTTP client may repeat a GET by itself when its connection breaks (RFC 9110, section 9.2.2). It may also do
 * so when an HTTP/2 server refuses its stream (RFC 9113, section 8.7). The second request follows within
 * milliseconds; the service counts it, but the rate limiter does not. Number of requests that a loopback
 * server received for one call of `fetch`, 2026-11-22:
 *
 * | runtime | reused connection reset | stream refused | reason | option that prevents it |
 * |---|---|---|---|---|
 * | Deno 2.9.6 | 2 | 2 | denoland/deno#32566 | `Deno.createHttpClient({ http2: false })` |
 * | Bun 1.4.5 | 2 | 6, HTTP/2 is opt-in | oven-sh/bun#28706 | `keepalive: false`, `protocol: "http1.1"` |
 * | Node 20, 24 | 1 | no HTTP/2 | | not needed |
 * | Node 26 | 1 | 2 | nodejs/undici#5598 | none |
 * | workerd 1.20261117 | 2 | no HTTP/2 | capnproto/capnproto#2785 | none |
 * | Chromium 156 | 2 | 3 | `HttpNetworkTransaction::ShouldResendRequest` | none |
 *
 * Deno versions without the fix denoland/deno#36415 also repeat a request on a new connection.
 *
 * The header `connection: close` prevents the repetition over HTTP/1.1, but only in Deno and Bun. HTTP/2 does
 * not allow the header: Deno, Bun and Node drop it and keep the connection. Workerd and Chromium ignore it.
 *
 * Cost: an empty response over TLS on loopback takes 1.1 to 1.5 ms in Deno instead of 0.2 ms. In Bun, it takes 0.9 ms
 * instead of 0.05 ms. A network adds two round trips. This is little compared with the 530 ms between two requests.
 *
 * Each request gets an HTTP client of its own in Deno (0.03 ms), because `Deno.test` can report a shared
 * one as a leaked resource.
 *
 * @param request The request to send
 * @returns The response, once its headers have arrived
 */
export async function defaultFetch(request: Request): Promise<Response> {
  const { Bun: bun, Deno: deno } = globalThis as RuntimeGlobals;
  const client = deno?.createHttpClient?.({ http2: false });
  const options = bun ? { keepalive: false, protocol: "http1.1" } : client && { client };
  try {
    return await fetch(request, options as RequestInit | undefined);
  } finally {
    client?.close(); // the connection stays open until the body has been read
  }
}

/** Globals of the runtimes whose `fetch` needs a special option. */
interface RuntimeGlobals {
  Deno?: { createHttpClient?: (options: { http2: boolean }) => { close(): void } };
  Bun?: unknown;
}
