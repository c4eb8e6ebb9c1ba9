/** What a download needs. */
export interface Download {
  /** The bytes, a chunk a page. */
  stream: ReadableStream<Uint8Array<ArrayBuffer>>;
  headers: Record<string, string>;
  /** Aborts when the reader leaves; later, the body's own end says so. */
  signal: AbortSignal;
  /** Told of a fault after the first page, which a broken transfer alone would not explain. */
  onFault: (error: unknown) => void;
}

/**
 * Answers with a stream once its first chunk is there, so that a fault before it can still become a
 * status. A later one errors the body: the transfer breaks, and no reader takes it for the end.
 *
 * @throws What the stream errors with before its first chunk
 */
export async function downloadResponse(
  { stream, headers, signal, onFault }: Download,
): Promise<Response> {
  const reader = stream.getReader();
  // Some runtimes abort the signal of every request when it has been answered: it counts until then.
  const leave = () => void reader.cancel(signal.reason);
  signal.addEventListener("abort", leave, { once: true });
  let first: ReadableStreamReadResult<Uint8Array<ArrayBuffer>> | undefined;
  try {
    first = await reader.read();
  } finally {
    signal.removeEventListener("abort", leave);
  }
  const body = new ReadableStream<Uint8Array<ArrayBuffer>>({
    async pull(controller) {
      const { done, value } = first ?? await reader.read().catch((error) => {
        onFault(error);
        throw error;
      });
      first = undefined;
      if (done) controller.close();
      else controller.enqueue(value);
    },
    cancel: (reason) => reader.cancel(reason),
  }, { highWaterMark: 0 });
  return new Response(body, { headers });
}
