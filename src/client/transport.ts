import { toRequest } from "../endpoint/to_request.ts";
import type { RequestOptions } from "../endpoint/types.ts";
import { DataStreamError, oneLine } from "../errors.ts";
import { readBody } from "./body.ts";
import { isJson } from "./content_type.ts";
import type { Clock } from "./clock.ts";
import { takeTurn } from "./pace.ts";
import { isRedirect, statusError } from "./status_error.ts";
import { type Timeouts, watch } from "./watch.ts";

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
