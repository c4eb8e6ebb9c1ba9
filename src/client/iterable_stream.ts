/**
 * A `ReadableStream` that is async-iterable in each runtime.
 *
 * Its type is assignable to the `ReadableStream` of browsers, Deno and `node:stream/web`, which are not
 * assignable to each other. So `new Response()`, `writeFile()` of Node and Deno, and `Readable.fromWeb()`
 * accept it with each `lib` of TypeScript.
 *
 * @typeParam T Type of a chunk
 *
 * @example
 * ```ts
 * import { DataStream, type IterableStream } from "@weir/datastream";
 * import { createSandbox } from "@weir/datastream/sandbox";
 * import { assert } from "@std/assert";
 *
 * const { apiKey, url, fetch } = createSandbox();
 * const client = new DataStream({ apiKey, baseUrl: url, fetch });
 * const csv: IterableStream<Uint8Array> = client.locations({ limit: 1 }).csv();
 * for await (const bytes of csv) assert(bytes.length > 0);
 * ```
 */
export interface IterableStream<T> extends ReadableStream<T> {
  /** Always throws a `TypeError`: the stream has no reader that fills a buffer of the caller. */
  getReader(options: { mode: "byob" }): never;
  /** Locks the stream and returns a reader. */
  getReader(
    options?: { mode?: undefined },
  ):
    & { read(): Promise<{ done: false; value: T } | { done: true; value: undefined }> }
    & ReadableStreamDefaultReader<T>;
  /** Pipes the stream through a transform stream. */
  pipeThrough<R>(
    transform: { readable: R; writable: StreamDestination<T> },
    options?: Parameters<ReadableStream["pipeThrough"]>[1],
  ): R;
  /** Pipes the stream to a writable stream. The promise is fulfilled when all chunks are written. */
  pipeTo(
    destination: StreamDestination<T>,
    options?: Parameters<ReadableStream["pipeTo"]>[1],
  ): Promise<void>;
  /** Locks the stream and returns two streams with the same chunks. */
  tee(): [IterableStream<T>, IterableStream<T>];
  /** Iterates over the chunks. Leaving the loop early cancels the stream. */
  values(): AsyncIteratorObject<T, undefined, unknown>;
  /** Iterates over the chunks. Leaving the loop early cancels the stream. */
  [Symbol.asyncIterator](): AsyncIteratorObject<T, undefined, unknown>;
}

/** @internal Members that the `WritableStream` types of browsers, Deno and Node have in common. */
interface StreamDestination<T> {
  /** Whether a writer is active. */
  readonly locked: boolean;
  /** Aborts the stream. */
  abort(reason?: unknown): Promise<void>;
  /** Closes the stream. */
  close(): Promise<void>;
  /** Locks the stream and returns a writer. */
  getWriter(): { write(chunk: T): Promise<void> };
}

/** Adds the iterators in runtimes without `ReadableStream.prototype[Symbol.asyncIterator]`, such as Safari 18. */
export function toIterableStream<T>(stream: ReadableStream<T>): IterableStream<T> {
  if (Symbol.asyncIterator in stream) return stream as IterableStream<T>;
  const values = () => iterate(stream);
  const { tee } = stream as ReadableStream<T>;
  return Object.assign(stream, {
    values,
    [Symbol.asyncIterator]: values,
    tee: () => tee.call(stream).map(toIterableStream),
  }) as IterableStream<T>;
}

/**
 * Creates a stream of chunks. A pull enqueues all chunks that `next` returns.
 *
 * @param next Returns `undefined` at the end
 * @param signal Stops the stream
 * @param cancel Stops the pending call of `next`
 */
export function createStream<C>(
  next: () => Promise<readonly C[] | undefined>,
  signal: AbortSignal | undefined,
  cancel: (reason: unknown) => void,
): IterableStream<C> {
  let dropQueue = () => {};
  return toIterableStream(
    new ReadableStream<C>({
      async pull(controller) {
        signal?.removeEventListener("abort", dropQueue);
        // Repeat until a chunk is enqueued: a stream is not pulled again after a pull that adds nothing.
        for (;;) {
          const chunks = await next();
          signal?.throwIfAborted();
          if (chunks === undefined) return controller.close();
          if (chunks.length === 0) continue;
          // While chunks are queued, `next` is not called, so it cannot notice an abort.
          dropQueue = () => controller.error(signal?.reason);
          if (chunks.length > 1) signal?.addEventListener("abort", dropQueue, { once: true });
          for (const chunk of chunks) controller.enqueue(chunk);
          return;
        }
      },
      cancel(reason) {
        signal?.removeEventListener("abort", dropQueue);
        cancel(reason);
      },
    }, { highWaterMark: 0 }),
  );
}

/**
 * Iterates over the items of the chunks.
 *
 * This is neither a generator nor the iterator of the stream, because their `return()` waits for a
 * pending `next()` instead of cancelling the request.
 */
export function iterate<C, T = C>(
  chunks: ReadableStream<C>,
  signal?: AbortSignal,
  itemsOf: (chunk: C) => readonly T[] = (chunk) => [chunk as C & T],
): AsyncIterableIterator<T, undefined, undefined> {
  const reader = chunks.getReader();
  let items: readonly T[] = [];
  let taken = 0;
  let isDone = false;
  let reading: Promise<void> | undefined;
  const read = async () => {
    const { done, value } = await reader.read();
    if (done) {
      isDone = true;
      return;
    }
    items = itemsOf(value);
    taken = 0;
  };
  return {
    async next() {
      try {
        while (!isDone && taken === items.length) {
          [items, taken] = [[], 0]; // frees the memory of the chunk while the next one arrives
          // Concurrent calls of `next()` wait for the same chunk.
          reading ??= read().finally(() => reading = undefined);
          await reading;
        }
        if (isDone) return { done: true, value: undefined };
        signal?.throwIfAborted();
        return { done: false, value: items[taken++]! };
      } catch (error) {
        isDone = true;
        throw error;
      }
    },
    async return() {
      // A stream that has failed cannot be cancelled. `Array.fromAsync()` of V8 endlessly repeats a `return()` that fails.
      if (!isDone) {
        isDone = true;
        await reader.cancel();
      }
      return { done: true, value: undefined };
    },
    [Symbol.asyncIterator]() {
      return this;
    },
  };
}

/** Maximum number of bytes of buffered parts and the next page, which is probably as long as the last one. */
const MAX_BUFFERED = 1 << 25;

/**
 * Reads a page without waiting for the reader, because a page in transit blocks other requests.
 * Buffers at most the page that the reader is taking, and the next one if `readsNextPage`.
 */
export function readAhead<P extends { data: Uint8Array; isPageEnd: boolean }>(
  next: () => Promise<P | undefined>,
  readsNextPage: boolean,
): () => Promise<P | undefined> {
  /**
   * Parts to take. It is empty only if no page is being read: while one is, the last part is pending,
   * and `readPage()` adds the next one before the caller receives it.
   */
  const queue: Promise<P | undefined>[] = [];
  let queueLength = 0;
  /** Bytes of the last page; 0 until it is complete. */
  let pageLength = 0;
  const readPage = async () => {
    pageLength = 0;
    let arrived = 0;
    try {
      for (let isPageEnd = false; !isPageEnd;) {
        const reading = next();
        queue.push(reading);
        let part = await reading;
        arrived += part?.data.length ?? 0;
        queueLength += part?.data.length ?? 0;
        isPageEnd = part?.isPageEnd ?? true;
        part = undefined; // frees its memory while the next part arrives
      }
      pageLength = arrived;
    } catch {
      // The caller that takes the part gets the error.
    }
    readNextPage();
  };
  const readNextPage = () => {
    const isPartlyTaken = queueLength < pageLength;
    if (!readsNextPage || !isPartlyTaken || queueLength + pageLength > MAX_BUFFERED) return;
    readPage();
  };
  return async () => {
    if (queue.length === 0) readPage();
    const part = await queue.shift();
    queueLength -= part?.data.length ?? 0;
    readNextPage();
    return part;
  };
}
