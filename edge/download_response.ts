// Streams a download, and disconnects a client that reads nothing.
import type { Clock } from "../src/clock.ts";
import type { Bytes } from "../src/bytes.ts";
import { releaseBuffer } from "../src/formats/page_writer.ts";
import type { RequestOutcome } from "./request_log.ts";

/** A stream to send as a download. */
interface StreamedDownload {
  /** Bytes of the document. */
  stream: ReadableStream<Bytes>;
  headers: Record<string, string>;
  /** Signal of the request. It is ignored after the response is returned. */
  signal: AbortSignal;
  /** Time (ms) after which a client that reads nothing is disconnected. */
  readerTimeout: number;
  clock: Clock;
  /** Called if the download fails after its first page, or the client reads nothing for too long. */
  onError: (error: unknown) => void;
  /** Called with the number of bytes of each chunk that is passed to the runtime. */
  onChunk: (bytes: number) => void;
  /** Called when the response has ended, has failed or was cancelled. May be called again. */
  onEnd: (outcome: RequestOutcome) => void;
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

/** Creates a body of smaller chunks. Reads the stream only when the client has read all of them. */
function createBody(
  reader: ReadableStreamDefaultReader<Bytes>,
  first: ReadableStreamReadResult<Bytes>,
  { readerTimeout, clock, onError, onChunk, onEnd }: StreamedDownload,
): ReadableStream<Bytes> {
  let chunks = splitChunk(first.value);
  let isDone = first.done;
  let timeout = new AbortController();
  const startTimeout = (controller: ReadableStreamDefaultController) => {
    const { signal } = timeout = new AbortController();
    const expire = async () => {
      await clock.sleep(readerTimeout, signal);
      throw new Error(`the client read nothing for ${readerTimeout / 1000} s`);
    };
    expire().catch((error) => {
      if (signal.aborted) return;
      chunks = [];
      controller.error(error);
      void reader.cancel(error);
      onError(error);
      onEnd("failed");
    });
  };
  return new ReadableStream<Bytes>({
    start: startTimeout,
    async pull(controller) {
      timeout.abort();
      try {
        while (!isDone && chunks.length === 0) {
          const { done, value } = await reader.read();
          isDone = done;
          chunks = splitChunk(value);
        }
      } catch (error) {
        onError(error);
        onEnd("failed");
        throw error;
      }
      if (isDone) {
        controller.close();
        return onEnd("complete");
      }
      const chunk = chunks.shift()!;
      onChunk(chunk.length);
      controller.enqueue(chunk);
      startTimeout(controller);
    },
    async cancel(reason) {
      timeout.abort();
      onEnd("aborted");
      await reader.cancel(reason);
    },
  }, { highWaterMark: 0 });
}

/**
 * Maximum size (bytes) of a chunk of the response. Small chunks show that a slow client still reads,
 * so it is not disconnected.
 */
const MAX_CHUNK = 65_536;

/**
 * Copies a chunk into smaller ones and releases its buffer, so that memory is freed while the client
 * reads.
 */
function splitChunk(chunk: Bytes = new Uint8Array()): Bytes[] {
  const chunks = Array.from(
    { length: Math.ceil(chunk.length / MAX_CHUNK) },
    (_, index) => chunk.slice(index * MAX_CHUNK, (index + 1) * MAX_CHUNK),
  );
  releaseBuffer(chunk);
  return chunks;
}
