import type { Clock } from "../src/client/clock.ts";
import { releaseBuffer } from "../src/formats/page_writer.ts";
import type { Bytes } from "./negotiate.ts";

/** What a download needs. */
interface Download {
  /** The bytes, a chunk a page. */
  stream: Bytes;
  headers: Record<string, string>;
  /** Aborts when the reader leaves; later, the body's own end says so. */
  signal: AbortSignal;
  /** How long a reader may take nothing, in milliseconds. */
  readerTimeout: number;
  clock: Clock;
  /** Told of a fault after the first page, which a broken transfer alone would not explain. */
  onFault: (error: unknown) => void;
  /** Told once that nothing more comes: all was taken, the reader left, or it broke. */
  onEnd: () => void;
}

/** A page goes out in pieces, so that a reader on a slow line is seen to take some of it. */
const PIECE = 65_536;

/**
 * Answers with a stream once its first chunk is there, so that a fault before it can still become a
 * status. A later one errors the body: the transfer breaks, and no reader takes it for the end.
 *
 * @throws What the stream errors with before its first chunk
 */
export async function downloadResponse(download: Download): Promise<Response> {
  const { stream, headers, signal, onEnd } = download;
  const reader = stream.getReader();
  // Some runtimes abort the signal of every request when it has been answered: it counts until then.
  const leave = () => void reader.cancel(signal.reason);
  signal.addEventListener("abort", leave, { once: true });
  if (signal.aborted) leave();
  try {
    const first = await reader.read();
    signal.throwIfAborted();
    return new Response(bodyOf(reader, first, download), { headers });
  } catch (error) {
    onEnd();
    throw error;
  } finally {
    signal.removeEventListener("abort", leave);
  }
}

type Reader = ReadableStreamDefaultReader<Uint8Array<ArrayBuffer>>;

/** The chunks in pieces; the next one is read when the reader has taken all of the last. */
function bodyOf(
  reader: Reader,
  first: Awaited<ReturnType<Reader["read"]>>,
  { readerTimeout, clock, onFault, onEnd }: Download,
): Bytes {
  let pieces = toPieces(first.value);
  let isDone = first.done;
  let idle = new AbortController();
  /** Cuts a reader that does not come back in time. */
  const expectReader = (controller: ReadableStreamDefaultController) => {
    idle = new AbortController();
    clock.sleep(readerTimeout, idle.signal).then(() => {
      const error = new Error(`the reader took nothing for ${readerTimeout / 1000} s`);
      pieces = [];
      controller.error(error);
      void reader.cancel(error);
      onFault(error);
      onEnd();
    }, () => {});
  };
  return new ReadableStream<Uint8Array<ArrayBuffer>>({
    start: expectReader,
    async pull(controller) {
      idle.abort();
      try {
        while (!isDone && pieces.length === 0) {
          const { done, value } = await reader.read();
          isDone = done;
          pieces = toPieces(value);
        }
      } catch (error) {
        onFault(error);
        onEnd();
        throw error;
      }
      if (isDone) {
        controller.close();
        return onEnd();
      }
      controller.enqueue(pieces.shift()!);
      expectReader(controller);
    },
    async cancel(reason) {
      idle.abort();
      onEnd();
      await reader.cancel(reason);
    },
  }, { highWaterMark: 0 });
}

/** A chunk in pieces with memory of their own: each is free when its reader has taken it. */
function toPieces(chunk: Uint8Array<ArrayBuffer> = new Uint8Array()): Uint8Array<ArrayBuffer>[] {
  const pieces = Array.from(
    { length: Math.ceil(chunk.length / PIECE) },
    (_, index) => chunk.slice(index * PIECE, (index + 1) * PIECE),
  );
  releaseBuffer(chunk);
  return pieces;
}
