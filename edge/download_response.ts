// Streams a download, and disconnects a client that reads nothing or too slowly.
import type { Clock } from "../src/clock.ts";
import type { Bytes } from "../src/bytes.ts";
import type { ClientReader } from "./client_reader.ts";
import type { RequestOutcome } from "./request_log.ts";

/** A stream to send as a download. */
interface StreamedDownload {
  /** Bytes of the document. */
  stream: ReadableStream<Bytes>;
  /** Whether other downloads have the same bytes, which are therefore not freed. */
  isShared: boolean;
  /** Measures the rate of the client. */
  reader: ClientReader;
  headers: Record<string, string>;
  /** Signal of the request. It is ignored after the response is returned. */
  signal: AbortSignal;
  /** Time (ms) after which a client that reads nothing is disconnected. */
  readerTimeout: number;
  clock: Clock;
  /** Called if the download fails after its first rows. */
  onError: (error: unknown) => void;
  /** Called if the client is disconnected because it reads nothing or too slowly. */
  onDisconnect: (reason: unknown) => void;
  /** Called with each part of the stream that the client has read, or will not read. */
  onRead: (part: Bytes) => void;
  /** Called with the number of bytes of each chunk that is passed to the runtime. */
  onChunk: (bytes: number) => void;
  /** Called when the response has ended, has failed or was cancelled. May be called again. */
  onEnd: (outcome: RequestOutcome) => void;
  /** Creates the error of a body that fails, which must not contain the reason: some runtimes print it. */
  createBodyError: () => Error;
}

/**
 * Creates a streaming response after the first chunk of the stream has arrived, so that an earlier
 * error can become an HTTP status. A later error aborts the transfer, so that no client mistakes a
 * partial document for a complete one.
 *
 * @throws The error of the stream if it fails before its first chunk
 */
export async function streamDownload(download: StreamedDownload): Promise<Response> {
  const { stream, headers, signal } = download;
  const reader = stream.getReader();
  const cancel = () => void reader.cancel(signal.reason);
  signal.addEventListener("abort", cancel, { once: true });
  if (signal.aborted) cancel();
  try {
    const first = await reader.read();
    signal.throwIfAborted();
    return new Response(createBody(reader, first, download), { headers });
  } finally {
    // Deno aborts the signal of each request after its response, also when the client reads it all.
    signal.removeEventListener("abort", cancel);
  }
}

/**
 * Creates a body that divides each part of the stream into small chunks. Reads the next part when the client has
 * read the part before it.
 */
function createBody(
  reader: ReadableStreamDefaultReader<Bytes>,
  first: ReadableStreamReadResult<Bytes>,
  download: StreamedDownload,
): ReadableStream<Bytes> {
  const { isShared, reader: client, readerTimeout, clock } = download;
  const { onError, onDisconnect, onRead, onChunk, onEnd, createBodyError } = download;
  let { done: isDone, value: part } = first;
  /** Number of bytes of the part that were passed to the runtime. */
  let taken = 0;
  const dropPart = () => {
    if (part === undefined) return;
    onRead(part);
    part = undefined;
    taken = 0;
  };
  client.startWaiting(0);
  const ended = new AbortController();
  const end = (outcome: RequestOutcome) => {
    ended.abort();
    dropPart();
    onEnd(outcome);
  };
  // One timer for all chunks: a timer for each of them would take a tenth of the CPU time of a download.
  const watchClient = async () => {
    for (;;) {
      if (client.disconnectReason !== undefined) throw client.disconnectReason;
      const remaining = readerTimeout - client.idleTime;
      if (remaining <= 0) break;
      await clock.sleep(Math.min(remaining, DISCONNECT_POLL_INTERVAL), ended.signal);
    }
    throw new Error(`the client read nothing for ${readerTimeout / 1000} s`);
  };
  return new ReadableStream<Bytes>({
    start(controller) {
      watchClient().catch((error) => {
        if (ended.signal.aborted) return;
        controller.error(createBodyError());
        void reader.cancel(error);
        onDisconnect(error);
        end("disconnected");
      });
    },
    async pull(controller) {
      client.stopWaiting();
      try {
        if (part === undefined && !isDone) {
          ({ done: isDone, value: part } = await reader.read());
        }
      } catch (error) {
        onError(error);
        end("failed");
        throw createBodyError();
      }
      if (part === undefined) {
        controller.close();
        return end("complete");
      }
      const range = [taken, taken + MAX_CHUNK] as const;
      // The memory of a part of one download is freed while the runtime may still send its last chunk.
      const chunk = isShared ? part.subarray(...range) : part.slice(...range);
      taken += chunk.length;
      if (taken === part.length) dropPart();
      onChunk(chunk.length);
      controller.enqueue(chunk);
      client.startWaiting(chunk.length);
    },
    async cancel(reason) {
      end("aborted");
      await reader.cancel(reason);
    },
  }, { highWaterMark: 0 });
}

/**
 * Maximum size (bytes) of a chunk of the response. Small chunks show that a slow client still reads,
 * so it is not disconnected.
 */
const MAX_CHUNK = 65_536;
/** Interval (ms) at which a download checks whether another one has disconnected its client. */
const DISCONNECT_POLL_INTERVAL = 1_000;
