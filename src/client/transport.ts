import { toRequest } from "../endpoint/to_request.ts";
import type { RequestOptions } from "../endpoint/types.ts";
import { type Bytes, releaseBuffer } from "../bytes.ts";
import { abortable, type Clock, startTimeLimit } from "../clock.ts";
import { DataStreamError } from "../errors.ts";
import { describe } from "../validation.ts";
import {
  isRedirect,
  limiterFailure,
  messagesOf,
  networkFailure,
  permitRefusal,
  statusError,
} from "./http_error.ts";
import type { ClientSettings } from "./options.ts";
import type { Permit, PermitRefusal } from "./rate_limiter.ts";

export interface ServiceResponse {
  url: string;
  headers: Headers;
  /** Returns `undefined` at the end. The bytes are valid until the next call. */
  read(): Promise<Uint8Array | undefined>;
  /** Cancels the rest of the body and releases the permit. Closing it again has no effect. */
  close(): void;
  redact: (text: string) => string;
}

/** Bytes of an error response to read; the rest is cancelled. */
const MAX_ERROR_BODY = 2_000;

/**
 * Releases the permit when the body has ended or the response is closed. `onStart` is called after the wait for the
 * rate limiter, and `onFault` while the failed request still has its permit, so that no other request can start.
 */
export async function sendRequest(
  options: RequestOptions,
  settings: ClientSettings,
  signal: AbortSignal,
  onStart: () => void,
  onFault: (fault: DataStreamError) => Promise<unknown>,
): Promise<ServiceResponse> {
  const { url } = options;
  const { fetch, apiKey } = settings;
  const redact = redactionOf(apiKey);
  const permit = await acquirePermit(url, settings, signal);
  const transfer = startTransfer(options, permit, settings, signal);
  let misuse: TypeError | undefined;
  const fail = async (error: unknown) => {
    const fault = error instanceof DataStreamError || error === misuse
      ? error
      : networkFailure(error, url, apiKey === undefined ? undefined : redact);
    try {
      signal.throwIfAborted();
      if (fault instanceof DataStreamError) await onFault(fault);
    } finally {
      transfer.end();
    }
    return fault;
  };
  try {
    signal.throwIfAborted(); // it may have aborted after the permit was given
    onStart();
    const response = await abortable(
      Promise.resolve(fetch(transfer.request)),
      transfer.stopped,
      (late) => late.body?.cancel(),
    );
    if (!isResponse(response)) throw misuse = invalidResponse(response);
    ignoreErrors(() => permit.responded());
    transfer.open(response.body);
    if (response.status !== 200) {
      const text = await readStart(response, transfer);
      signal.throwIfAborted();
      throw statusError(response, url, text, redact);
    }
    return {
      url,
      headers: response.headers,
      redact,
      async read() {
        try {
          const bytes = await transfer.read();
          if (bytes === undefined) transfer.end(isJson(response.headers) ? "success" : undefined);
          return bytes;
        } catch (error) {
          throw await fail(error);
        }
      },
      close: () => transfer.end(),
    };
  } catch (error) {
    throw await fail(error);
  }
}

/** Returns a function that replaces the key in a text. */
export function redactionOf(apiKey: string | undefined): (text: string) => string {
  return (text) =>
    apiKey
      ? text.replaceAll(apiKey, "[key]").replaceAll(encodeURIComponent(apiKey), "[key]")
      : text;
}

type Transfer = ReturnType<typeof startTransfer>;

/**
 * Starts a request and its response, which hold a permit until they end. Stops them when a timeout expires, the signal
 * aborts, or the permit is lost.
 */
function startTransfer(
  options: RequestOptions,
  permit: Permit,
  { timeouts, clock }: ClientSettings,
  signal: AbortSignal,
) {
  const controller = new AbortController();
  const { signal: stopped } = controller;
  const request = toRequest(options, { signal: stopped });
  let body: BodyReader | undefined;
  const stop = (reason: unknown) => {
    controller.abort(reason);
    body?.cancel(reason);
  };
  const extend = async () => {
    try {
      if (await permit.extend() !== false) return;
    } catch {
      // The limiter may now give the permit to another request.
    }
    stop(limiterFailure(options.url, "did not extend the permit of a running request"));
  };
  const timer = startTimeouts(timeouts, clock, extend, stop);
  let isEnded = false;
  const end = (outcome?: "success") => {
    if (isEnded) return;
    isEnded = true;
    timer.stop();
    signal.removeEventListener("abort", abort);
    if (outcome === undefined) body?.cancel();
    ignoreErrors(() => permit.release(outcome));
    // Keeps the request and its signal referenced until here. Node may otherwise garbage-collect them
    // while the request is in flight, and an abort then has no effect (nodejs/node#55428).
    void request.signal;
  };
  // The listener also releases the permit: workerd runs no `finally` after the client of the app has left.
  const abort = () => {
    stop(signal.reason);
    end();
  };
  signal.addEventListener("abort", abort, { once: true });
  return {
    request,
    stopped,
    /** Starts to read the body of the response. */
    open(stream: ReadableStream<Bytes> | null) {
      timer.restart();
      body = openBody(stream);
      if (stopped.aborted) body.cancel(); // the limiter may have aborted it
      stopped.throwIfAborted();
    },
    /** Returns `undefined` at the end of the body. */
    async read() {
      const bytes = await body!.read();
      stopped.throwIfAborted();
      timer.restart();
      return bytes;
    },
    /** Stops the request unless it has succeeded, and releases the permit. Ending it again has no effect. */
    end,
  };
}

/** By its members, because `fetch` of another library or realm has a class of its own. */
export function isResponse(value: unknown): value is Response {
  const { body } = Object(value);
  return hasHead(value) && (body === null || typeof body?.getReader === "function");
}

function hasHead(value: unknown): boolean {
  const { status, headers } = Object(value);
  return typeof status === "number" && typeof headers?.get === "function";
}

/** An error of the program, which a retry would repeat. */
function invalidResponse(value: unknown): TypeError {
  const got = typeof value === "string" ? "a string" : describe(value);
  const body = hasHead(value) ? " whose body is neither a web stream nor null" : "";
  return new TypeError(`The option fetch must return a Response, got ${got}${body}`);
}

/** Time (ms) after the maximum wait at which a rate limiter is treated as failed. */
const LIMITER_GRACE_PERIOD = 2_000;

async function acquirePermit(
  url: string,
  { rateLimiter, target, requestsPerSecond, maxWait, clock }: ClientSettings,
  signal: AbortSignal,
): Promise<Permit> {
  // A limiter of another program may never answer.
  const timeLimit = maxWait === undefined
    ? undefined
    : startTimeLimit(clock, maxWait + LIMITER_GRACE_PERIOD, "no answer");
  const ended = timeLimit ? AbortSignal.any([signal, timeLimit.signal]) : signal;
  let permit: Permit | PermitRefusal;
  try {
    const request = { ...await target(), requestsPerSecond, maxWait };
    const answer = Promise.resolve(rateLimiter.acquire(request, ended));
    permit = await abortable(answer, ended, (late) => "release" in late && late.release());
    if ("retryAfter" in permit && !Number.isFinite(permit.retryAfter)) {
      throw new TypeError(`retryAfter must be a number of milliseconds, got ${permit.retryAfter}`);
    }
  } catch (error) {
    signal.throwIfAborted();
    throw limiterFailure(url, `failed (${messagesOf(error)})`, error);
  } finally {
    timeLimit?.stop();
  }
  if ("retryAfter" in permit) throw permitRefusal(permit, url);
  return permit;
}

/** A rate limiter's errors do not affect the request. */
async function ignoreErrors(call: () => void | Promise<void>): Promise<void> {
  try {
    await call();
  } catch {
    // A permit that is not released expires.
  }
}

export function isJson(headers: Headers): boolean {
  return /^application\/([\w.+-]+\+)?json\b/i.test(headers.get("content-type") ?? "");
}

/** Interval (ms) of checks, which also renew the permit: must be well below the permit's TTL. */
const CHECK_INTERVAL = 1_000;
/** Time (ms) after which a body is cut although bytes arrive. */
const MAX_BODY_TIME = 600_000;

/**
 * First for the headers, then for each chunk of the body. Calls `onTimeout` at most once: with a
 * `TimeoutError`, or with the error of `clock.sleep()`.
 */
function startTimeouts(
  timeouts: ClientSettings["timeouts"],
  clock: Clock,
  onCheck: () => void,
  onTimeout: (error: unknown) => void,
) {
  const stopped = new AbortController();
  let startedAt = clock.now();
  let missing: keyof typeof timeouts = "headers";
  const maxBodyTime = Math.max(MAX_BODY_TIME, timeouts.bytes);
  let bodyEnd = Infinity;
  const remaining = () => Math.min(startedAt + timeouts[missing], bodyEnd) - clock.now();
  const run = async () => {
    for (let time = remaining(); time > 0; time = remaining()) {
      // At most `bytes`, because restart() may set that timeout during the sleep.
      await clock.sleep(Math.min(time, timeouts.bytes, CHECK_INTERVAL), stopped.signal);
      onCheck();
    }
    const isSlow = clock.now() >= bodyEnd;
    const seconds = (isSlow ? maxBodyTime : timeouts[missing]) / 1000;
    const what = missing === "headers" ? "answer" : isSlow ? "end" : "data";
    onTimeout(new DOMException(`no ${what} within ${seconds} s`, "TimeoutError"));
  };
  run().catch((error) => {
    if (!stopped.signal.aborted) onTimeout(error);
  });
  return {
    restart() {
      startedAt = clock.now();
      bodyEnd = Math.min(bodyEnd, startedAt + maxBodyTime);
      missing = "bytes";
    },
    stop: () => stopped.abort("stopped"), // without a reason, an error with a stack would be created
  };
}

/** Each read creates few objects, because a compressed body has thousands of reads. */
interface BodyReader {
  read(): Promise<Bytes | undefined>;
  /** A pending read rejects with the reason, also if the body ignores it. */
  cancel(reason?: unknown): void;
}

/** Bytes. */
const READ_LENGTH = 1 << 18;

/**
 * Deno and workerd read into reused memory of the caller ("bring your own buffer"). With a default
 * reader, Deno allocates a buffer for each 4 KB of a compressed body: 189 MB instead of 59 MB for a
 * body of 180 MB. Workerd reads chunks of 4 KB, which takes 3.5 times the CPU time. Node moves the
 * buffer at each read into given memory, which takes 1.1 times the CPU time.
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
    if (done) releaseBuffer(memory);
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

const FILLS_MEMORY = /^(Deno|Cloudflare-Workers)\b/.test(
  (globalThis as { navigator?: { userAgent?: string } }).navigator?.userAgent ?? "",
);

/** Returns `undefined` if the stream is not a byte stream, or a default reader is faster. */
function openByteStream(body: ReadableStream<Bytes>): ReadableStreamBYOBReader | undefined {
  if (!FILLS_MEMORY) return undefined;
  try {
    return body.getReader({ mode: "byob" });
  } catch {
    return undefined;
  }
}

async function readStart(response: Response, transfer: Transfer): Promise<string> {
  const decoder = new TextDecoder();
  let text = "";
  let missing = isRedirect(response) ? 0 : MAX_ERROR_BODY;
  try {
    while (missing > 0) {
      const bytes = await transfer.read();
      if (bytes === undefined) break;
      text += decoder.decode(bytes, { stream: true });
      missing -= bytes.length;
    }
  } catch {
    return ""; // the status explains the failure better than this error
  }
  return text + decoder.decode();
}
