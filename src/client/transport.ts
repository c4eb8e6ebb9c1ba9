import { toRequest } from "../endpoint/to_request.ts";
import type { RequestOptions } from "../endpoint/types.ts";
import { DataStreamError, oneLine } from "../errors.ts";
import type { Clock } from "./clock.ts";
import { isRedirect, statusError } from "./http_error.ts";
import { takeTurn } from "./rate_limiter.ts";
import { type Timeouts, watch } from "./timeouts.ts";

/** What sending needs to know. */
export interface Transport {
  fetch: (request: Request) => Promise<Response>;
  requestsPerSecond: number;
  timeouts: Timeouts;
  clock: Clock;
  /** Never shown: wherever the service repeats it, it is blotted out. */
  apiKey: string | undefined;
}

/** A whole answer with status 200; of one that is no JSON, a little of its body. */
export interface Answer {
  url: string;
  headers: Headers;
  bytes: Uint8Array<ArrayBuffer>;
  /** Replaces the key in a text that the service sent, for error messages. */
  withoutKey: (text: string) => string;
}

/** An attempt without a whole answer. */
export class FailedAttempt extends Error {
  override readonly name = "FailedAttempt";
  /**
   * @param fault What a caller is told
   * @param isHopeless Whether another attempt could not go better
   */
  constructor(readonly fault: DataStreamError, readonly isHopeless = false) {
    super(fault.message, { cause: fault });
  }
}

/** So many bytes of a body that holds no rows are read, and hardly more. */
const LONGEST_OTHER_BODY = 2_000;
/** A turn is given up when its request has not been watched over for so long. */
const LEASE = 5_000;

/**
 * Sends one request in its turn and reads the whole answer.
 *
 * @param onStart Told when the turn has come
 * @throws {FailedAttempt} If the status is not 200, or no whole answer came in time
 */
export async function send(
  options: RequestOptions,
  { fetch, requestsPerSecond, timeouts, clock, apiKey }: Transport,
  signal: AbortSignal,
  onStart: () => void,
): Promise<Answer> {
  const { url } = options;
  const { origin } = new URL(url);
  const withoutKey = (text: string) =>
    apiKey
      ? text.replaceAll(apiKey, "[key]").replaceAll(encodeURIComponent(apiKey), "[key]")
      : text;
  const attempt = new AbortController();
  const request = toRequest(options, { signal: attempt.signal });
  const turn = await takeTurn(
    origin,
    { requestsPerSecond, lease: LEASE, clock, key: apiKey },
    signal,
  );
  const stop = () => attempt.abort(signal.reason);
  signal.addEventListener("abort", stop, { once: true });
  const watching = watch(timeouts, clock, turn.extend, (error) => attempt.abort(error));
  try {
    signal.throwIfAborted(); // since the turn was given
    onStart();
    const response = await unlessAborted(fetch(request), attempt.signal);
    turn.answered();
    watching.sign();
    const isGood = response.status === 200;
    const most = isRedirect(response)
      ? 0
      : isGood && isJson(response.headers)
      ? Infinity
      : LONGEST_OTHER_BODY;
    const bytes = await readBody(response, attempt.signal, watching.sign, most)
      .catch((error) => {
        if (isGood) throw error;
        return new Uint8Array(); // the status says more than what broke after it
      });
    signal.throwIfAborted();
    if (!isGood) {
      const body = new TextDecoder().decode(bytes);
      throw new FailedAttempt(statusError(response, url, body, withoutKey));
    }
    attempt.signal.throwIfAborted();
    turn.welcomed();
    return { url, headers: response.headers, bytes, withoutKey };
  } catch (error) {
    signal.throwIfAborted();
    if (error instanceof FailedAttempt) throw error;
    const message = withoutKey(reasonOf(error));
    const isHopeless = error instanceof Error && error.name === "NotCapable";
    throw new FailedAttempt(
      new DataStreamError(`No whole answer from ${origin} (${message})`, {
        kind: "network",
        url,
        hint: isHopeless
          ? `let it reach the service: deno run --allow-net=${new URL(url).host}`
          : "check the connection and the base URL, then try again",
        cause: apiKey === undefined ? error : withoutSecrets(error, withoutKey),
      }),
      isHopeless,
    );
  } finally {
    watching.end();
    signal.removeEventListener("abort", stop);
    // Held until here: Node lets go of the way from a signal to a request that nobody holds.
    void request.signal;
    turn.end();
  }
}

/**
 * The answer, or the signal's reason as soon as it aborts: not every fetch hears the signal of its
 * request. The body of an answer that comes too late is cancelled.
 */
async function unlessAborted(sending: Promise<Response>, signal: AbortSignal): Promise<Response> {
  let stop = () => {};
  const aborted = new Promise<never>((_, reject) => {
    stop = () => reject(signal.reason);
  });
  signal.addEventListener("abort", stop, { once: true });
  if (signal.aborted) stop();
  try {
    return await Promise.race([sending, aborted]);
  } catch (error) {
    sending.then((late) => late.body?.cancel()).catch(() => {});
    throw error;
  } finally {
    signal.removeEventListener("abort", stop);
  }
}

/** So many errors behind an error are looked at: they may go round. */
const DEEPEST_CAUSE = 5;

/** The message of an error and of those behind it: some runtimes' own is just "fetch failed". */
function reasonOf(error: unknown, depth = 0): string {
  const cause = error instanceof Error && depth < DEEPEST_CAUSE ? error.cause : undefined;
  return cause instanceof Error
    ? `${oneLine(error)}: ${reasonOf(cause, depth + 1)}`
    : oneLine(error);
}

/**
 * A copy of an error and of those behind it, in which no text shows the key; what else hangs on it,
 * a request's headers, say, is left behind.
 */
function withoutSecrets(
  error: unknown,
  withoutKey: (text: string) => string,
  depth = 0,
): Error {
  if (!(error instanceof Error)) return new Error(withoutKey(oneLine(error)));
  const { name, message, stack } = error;
  const next = error.cause ?? (error instanceof AggregateError ? error.errors[0] : undefined);
  const cause = next === undefined || depth === DEEPEST_CAUSE
    ? undefined
    : withoutSecrets(next, withoutKey, depth + 1);
  const copy = new Error(withoutKey(message), cause && { cause });
  copy.name = name;
  if (stack !== undefined) copy.stack = withoutKey(stack);
  return copy;
}

/**
 * Reads a body: whole, or as far as it is wanted; what is not read is cancelled.
 *
 * @param response The answer
 * @param signal Stops the reading, for not every body hears the signal of its request; the bytes so
 *   far are what comes back then
 * @param onBytes Told of each piece that comes
 * @param most So many bytes are wanted at least, where there are as many
 */
async function readBody(
  response: Response,
  signal: AbortSignal,
  onBytes: () => void,
  most = Infinity,
): Promise<Uint8Array<ArrayBuffer>> {
  const chunks: Uint8Array[] = [];
  let length = 0;
  const reader = response.body?.getReader();
  const stop = () => void reader?.cancel(signal.reason).catch(() => {});
  signal.addEventListener("abort", stop, { once: true });
  if (signal.aborted) stop();
  try {
    while (reader && length < most) {
      const { done, value } = await reader.read();
      if (done) break;
      onBytes();
      chunks.push(value);
      length += value.length;
    }
  } finally {
    signal.removeEventListener("abort", stop);
    if (most !== Infinity) stop();
  }
  return join(chunks, length);
}

function join(chunks: Uint8Array[], length: number): Uint8Array<ArrayBuffer> {
  const bytes = new Uint8Array(length);
  let offset = 0;
  for (const chunk of chunks) {
    bytes.set(chunk, offset);
    offset += chunk.length;
  }
  return bytes;
}

/** Globals of the runtimes whose `fetch` needs an option of its own. */
interface RuntimeGlobals {
  Deno?: { createHttpClient?: (options: { http2: boolean }) => { close(): void } };
  Bun?: unknown;
}

/**
 * Sends a request over a new HTTP/1.1 connection in Deno and Bun, and with the plain `fetch` elsewhere.
 *
 * A client may repeat a GET by itself when its connection breaks (RFC 9110, section 9.2.2) or when an
 * HTTP/2 server refuses its stream (RFC 9113, section 8.7). The second request follows within
 * milliseconds; the service counts it, the rate limiter does not. Number of requests that a loopback
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
 * Deno before denoland/deno#36415 repeats a request on a new connection, too.
 *
 * The header `connection: close` prevents it over HTTP/1.1 in Deno and Bun only. Over HTTP/2, where the
 * header is not allowed, Deno, Bun and Node drop it and keep the connection. Workerd and Chromium ignore it.
 *
 * Cost: an empty response over TLS on loopback takes 1.1 to 1.5 ms in Deno instead of 0.2 ms, and 0.9 ms
 * in Bun instead of 0.05 ms; a network adds two round trips. Requests start 530 ms apart.
 *
 * Each request gets an HTTP client of its own in Deno (0.03 ms), because `Deno.test` can report a shared
 * one as a leaked resource.
 *
 * @param request The request to send
 * @returns The response, once its headers have arrived
 */
export async function fetchOnce(request: Request): Promise<Response> {
  const { Bun: bun, Deno: deno } = globalThis as RuntimeGlobals;
  const client = deno?.createHttpClient?.({ http2: false });
  const options = bun ? { keepalive: false, protocol: "http1.1" } : client && { client };
  try {
    return await fetch(request, options as RequestInit | undefined);
  } finally {
    client?.close(); // the connection stays open until the body has been read
  }
}

/** Whether an answer says that it is JSON, of whatever kind. */
export function isJson(headers: Headers): boolean {
  return /^application\/([\w.+-]+\+)?json\b/i.test(headers.get("content-type") ?? "");
}
