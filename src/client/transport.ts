// Sends one HTTP request when the rate limiter permits it, and reads its response within the timeouts.
import { toRequest } from "../endpoint/to_request.ts";
import type { RequestOptions } from "../endpoint/types.ts";
import type { Bytes } from "../bytes.ts";
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

/** The option `timeouts` of a client, with its defaults. */
export interface Timeouts {
  headers: number;
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
  /** API key. Error messages that quote the service show `[key]` instead of it. */
  apiKey: string | undefined;
}

/** A response with status 200. */
export interface ServiceResponse {
  /** URL of the request. */
  url: string;
  headers: Headers;
  /**
   * Reads the next bytes of the body; `undefined` at its end. They are valid until the next call.
   *
   * @throws {FailedAttempt} If the body is incomplete or late
   */
  read(): Promise<Uint8Array | undefined>;
  /** Ends the request: cancels the rest of the body and releases the permit. Closing it again has no effect. */
  close(): void;
  /** Replaces the API key in a text that an error message quotes. */
  redact: (text: string) => string;
}

/** Number of bytes after which the body of an error response is cancelled. */
const MAX_ERROR_BODY = 2_000;

/**
 * Sends one request when the rate limiter permits it. Releases the permit when the body has ended or the response
 * is closed.
 *
 * @param onStart Called when the request starts, after the wait for the rate limiter
 * @returns The response, if its status is 200
 * @throws {FailedAttempt} If the status is not 200, or the headers are late
 */
export async function sendRequest(
  options: RequestOptions,
  transport: TransportOptions,
  signal: AbortSignal,
  onStart: () => void,
): Promise<ServiceResponse> {
  const { url } = options;
  const { fetch, timeouts, clock, apiKey } = transport;
  const redact = (text: string) =>
    apiKey
      ? text.replaceAll(apiKey, "[key]").replaceAll(encodeURIComponent(apiKey), "[key]")
      : text;
  const attempt = new AbortController();
  const request = toRequest(options, { signal: attempt.signal });
  const permit = await acquirePermit(url, transport, signal);
  let body: BodyReader | undefined;
  const loseUnless = (isHeld: boolean | void) => {
    if (isHeld === false) attempt.abort(lostPermit(url));
  };
  const extend = () => callLimiter(() => permit.extend(), loseUnless, () => loseUnless(false));
  const timer = startTimeouts(timeouts, clock, extend, (error) => attempt.abort(error));
  let isReleased = false;
  const release = (outcome?: "success") => {
    if (!isReleased) callLimiter(() => permit.release(outcome));
    isReleased = true;
  };
  // The listener also releases the permit: workerd runs no `finally` after the client of the app has left.
  const abort = () => {
    attempt.abort(signal.reason);
    release();
  };
  signal.addEventListener("abort", abort, { once: true });
  const cancel = () => body?.cancel(attempt.signal.reason);
  attempt.signal.addEventListener("abort", cancel, { once: true });
  let isClosed = false;
  const end = (outcome?: "success") => {
    if (isClosed) return;
    isClosed = true;
    timer.stop();
    signal.removeEventListener("abort", abort);
    attempt.signal.removeEventListener("abort", cancel);
    if (outcome === undefined) body?.cancel();
    release(outcome);
    // Keeps the request and its signal referenced until here. Node may otherwise garbage-collect them
    // while the request is in flight, and an abort then has no effect (nodejs/node#55428).
    void request.signal;
  };
  const onBytes = () => timer.restart();
  /** Ends the request, and converts an error to the one of the attempt. */
  const fail = (error: unknown) => {
    end();
    signal.throwIfAborted();
    return error instanceof FailedAttempt
      ? error
      : networkFailure(error, url, apiKey === undefined ? undefined : redact);
  };
  try {
    signal.throwIfAborted(); // it may have aborted after the permit was given
    onStart();
    const response = await abortable(closeIfLate(fetch(request), attempt.signal), attempt.signal);
    callLimiter(() => permit.responded());
    onBytes();
    body = openBody(response.body);
    if (attempt.signal.aborted) cancel();
    if (response.status !== 200) {
      const text = await readStart(response, body, onBytes);
      signal.throwIfAborted();
      throw new FailedAttempt(statusError(response, url, text, redact));
    }
    const { read } = body;
    return {
      url,
      headers: response.headers,
      redact,
      async read() {
        let bytes;
        try {
          bytes = await read();
          attempt.signal.throwIfAborted();
        } catch (error) {
          throw fail(error);
        }
        if (bytes === undefined) end("success");
        else onBytes();
        return bytes;
      },
      close: () => end(),
    };
  } catch (error) {
    throw fail(error);
  }
}

/** Cancels the body of a response that arrives after the signal has aborted. */
function closeIfLate(pending: Promise<Response>, signal: AbortSignal): Promise<Response> {
  pending.then((late) => signal.aborted ? late.body?.cancel() : undefined).catch(() => {});
  return pending;
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
 * @param onCheck Called at least once a second while the request runs
 * @param onTimeout Called at most once: with a `TimeoutError` if the headers or bytes do not arrive in
 *   time, or with the error that `clock.sleep()` throws
 */
function startTimeouts(
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
      // At most `bytes`, because restart() may set that timeout during the sleep.
      await clock.sleep(Math.min(remaining, bytes, CHECK_INTERVAL), stopped.signal);
      onCheck();
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

/** Reader of a body. Each read creates few objects, because a compressed body has thousands of reads. */
interface BodyReader {
  /** Reads the next bytes; `undefined` at the end. */
  read(): Promise<Bytes | undefined>;
  /** Cancels the body. A pending read rejects with the reason, also if the body ignores it. */
  cancel(reason?: unknown): void;
}

/** Length (bytes) of the memory that is filled by reads. */
const READ_LENGTH = 1 << 18;

/**
 * Opens a body for reading.
 *
 * In Deno and workerd, a byte stream is read into memory of the caller ("bring your own buffer"), which is reused.
 * With a default reader, Deno allocates a buffer for each 4 KB of a compressed body. A body of 180 MB then takes
 * 189 MB of memory instead of 59 MB. Workerd reads every body in chunks of 4 KB, which takes 3.5 times the CPU time.
 *
 * Node uses a default reader: reading into given memory needs the same memory and 1.1 times the CPU time, because
 * each read moves the buffer.
 */
function openBody(body: ReadableStream<Bytes> | null): BodyReader {
  if (body === null) return { read: () => Promise.resolve(undefined), cancel() {} };
  const byteReader = openByteStream(body);
  const reader = byteReader ?? body.getReader();
  let memory = new Uint8Array(byteReader ? READ_LENGTH : 0);
  const next = async () => {
    if (byteReader === undefined) {
      return (await (reader as ReadableStreamDefaultReader<Bytes>).read()).value;
    }
    const { done, value } = await byteReader.read(memory);
    if (value !== undefined) memory = new Uint8Array(value.buffer);
    return done ? undefined : value;
  };
  let rejectRead: (reason: unknown) => void = () => {};
  return {
    read: () =>
      new Promise((resolve, reject) => {
        rejectRead = reject;
        next().then(resolve, reject);
      }),
    cancel(reason) {
      rejectRead(reason);
      reader.cancel(reason).catch(() => {});
    },
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
  const decoder = new TextDecoder();
  let text = "";
  let missing = isRedirect(response) ? 0 : MAX_ERROR_BODY;
  try {
    while (missing > 0) {
      const bytes = await body.read();
      if (bytes === undefined) break;
      onBytes();
      text += decoder.decode(bytes, { stream: true });
      missing -= bytes.length;
    }
  } catch {
    return ""; // the status explains the failure better than this error
  }
  return text + decoder.decode();
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
