import { toRequest } from "../endpoint/to_request.ts";
import type { RequestOptions } from "../endpoint/types.ts";
import { DataStreamError, oneLine } from "../errors.ts";
import type { Clock } from "./clock.ts";
import { takeTurn } from "./pace.ts";
import { statusError } from "./status_error.ts";

/** What sending needs to know. */
export interface Transport {
  fetch: (request: Request) => Promise<Response>;
  requestsPerSecond: number;
  clock: Clock;
  /** Never shown: wherever the service repeats it, it is blotted out. */
  apiKey: string | undefined;
}

/** A whole answer with status 200. */
export interface Answer {
  url: string;
  headers: Headers;
  bytes: Uint8Array<ArrayBuffer>;
}

/**
 * Sends one request in its turn and reads the whole answer.
 *
 * @throws {DataStreamError} If the status is not 200, or no whole answer came
 */
export async function send(
  options: RequestOptions,
  transport: Transport,
  signal: AbortSignal,
): Promise<Answer> {
  const { origin } = new URL(options.url);
  const { apiKey } = transport;
  const withoutKey = (text: string) =>
    apiKey
      ? text.replaceAll(apiKey, "[key]").replaceAll(encodeURIComponent(apiKey), "[key]")
      : text;
  const request = toRequest(options, { signal });
  const turn = await takeTurn(origin, transport.requestsPerSecond, transport.clock, signal);
  try {
    const response = await transport.fetch(request);
    turn.answered();
    if (response.status !== 200) throw await statusError(response, options.url, withoutKey);
    const bytes = await readAll(response, signal, turn.extend);
    signal.throwIfAborted();
    return { url: options.url, headers: response.headers, bytes };
  } catch (error) {
    signal.throwIfAborted();
    if (error instanceof DataStreamError) throw error;
    throw new DataStreamError(`No whole answer from ${origin} (${withoutKey(oneLine(error))})`, {
      kind: "network",
      url: options.url,
      hint: "check the connection and the base URL, then try again",
      cause: mentions(error, apiKey) ? new Error(withoutKey(oneLine(error))) : error,
    });
  } finally {
    // Held until here: Node lets go of the way from a signal to a request that nobody holds.
    void request.signal;
    turn.end();
  }
}

/** Whether an error or one of those behind it shows the key, in its message or its stack. */
function mentions(error: unknown, apiKey: string | undefined): boolean {
  if (apiKey === undefined || error === undefined) return false;
  if (!(error instanceof Error)) return String(error).includes(apiKey);
  return `${error.message} ${error.stack}`.includes(apiKey) || mentions(error.cause, apiKey);
}

async function readAll(
  response: Response,
  signal: AbortSignal,
  onBytes: () => void,
): Promise<Uint8Array<ArrayBuffer>> {
  const chunks: Uint8Array[] = [];
  let length = 0;
  const reader = response.body?.getReader();
  // Not every body hears the signal of its request.
  const stop = () => void reader?.cancel(signal.reason).catch(() => {});
  signal.addEventListener("abort", stop, { once: true });
  try {
    while (reader) {
      const { done, value } = await reader.read();
      if (done) break;
      onBytes();
      chunks.push(value);
      length += value.length;
    }
  } finally {
    signal.removeEventListener("abort", stop);
  }
  const bytes = new Uint8Array(length);
  let offset = 0;
  for (const chunk of chunks) {
    bytes.set(chunk, offset);
    offset += chunk.length;
  }
  return bytes;
}
