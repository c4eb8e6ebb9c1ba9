import type { Bytes } from "../bytes.ts";
import type { ByteTarget } from "../formats/page_writer.ts";

/** Reads a body. */
export interface BodyReader {
  /**
   * Reads the next bytes for a target.
   *
   * @returns A function that adds the bytes to the target; `undefined` at the end of the body
   */
  read(target: ByteTarget): Promise<(() => void) | undefined>;
  /** Cancels the body. A pending `read()` then ends or rejects. */
  cancel(reason?: unknown): void;
}

/**
 * Opens a body for reading.
 *
 * In Deno, a byte stream is read into the memory of the target ("bring your own buffer"). Otherwise Deno
 * allocates a buffer for each 4 KB of a compressed body: reading 180 MB takes 189 MB of memory instead of
 * 59 MB. In Node, the memory is the same, and moving the buffer for each read takes 1.1 times the CPU time.
 */
export function openBody(body: ReadableStream<Bytes> | null): BodyReader {
  if (body === null) return { read: () => Promise.resolve(undefined), cancel() {} };
  const byteReader = openByteStream(body);
  if (byteReader !== undefined) {
    return {
      async read(target) {
        const { done, value } = await byteReader.read(target.space());
        if (!done) return () => target.add(value);
        // At the end, the stream gives the memory back with an empty part. A cancelled stream keeps it.
        if (value !== undefined) target.add(value);
        return undefined;
      },
      cancel: (reason) => void byteReader.cancel(reason).catch(() => {}),
    };
  }
  const reader = body.getReader();
  return {
    async read(target) {
      const { done, value } = await reader.read();
      return done ? undefined : () => target.append(value);
    },
    cancel: (reason) => void reader.cancel(reason).catch(() => {}),
  };
}

/** Returns a reader that fills memory; `undefined` outside of Deno, or if the stream is not a byte stream. */
function openByteStream(body: ReadableStream<Bytes>): ReadableStreamBYOBReader | undefined {
  if (!("Deno" in globalThis)) return undefined;
  try {
    return body.getReader({ mode: "byob" });
  } catch {
    return undefined;
  }
}
