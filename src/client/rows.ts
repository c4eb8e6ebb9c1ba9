/**
 * Rows out of pages, for a loop. By hand, because a generator's `return()` waits for the `next()`
 * before it, and so would not stop the request in flight.
 *
 * @param signal Ends it, in the midst of a page too
 */
export function iterateRows<R>(
  pages: ReadableStream<R[]>,
  signal: AbortSignal | undefined,
): AsyncIterableIterator<R, void, void> {
  const reader = pages.getReader();
  let rows: R[] = [];
  let taken = 0;
  let isDone = false;
  let reading: Promise<void> | undefined;
  const read = async () => {
    const { done, value = [] } = await reader.read();
    isDone ||= done;
    rows = value;
    taken = 0;
  };
  return {
    async next() {
      while (!isDone && taken === rows.length) {
        // Whoever asks meanwhile waits for the same page.
        reading ??= read().finally(() => reading = undefined);
        await reading;
      }
      if (isDone) return { done: true, value: undefined };
      signal?.throwIfAborted();
      return { done: false, value: rows[taken++]! };
    },
    async return() {
      isDone = true;
      await reader.cancel();
      return { done: true, value: undefined };
    },
    [Symbol.asyncIterator]() {
      return this;
    },
  };
}

/**
 * Rows out of pages, as a stream that holds one page at most.
 *
 * @param signal Ends it, in the midst of a page too
 */
export function streamRows<R>(
  pages: ReadableStream<R[]>,
  signal: AbortSignal | undefined,
): ReadableStream<R> {
  const reader = pages.getReader();
  let stop = () => {};
  const end = () => signal?.removeEventListener("abort", stop);
  const read = () =>
    reader.read().catch((error) => {
      end();
      throw error;
    });
  return new ReadableStream<R>({
    async pull(controller) {
      end();
      stop = () => controller.error(signal?.reason);
      signal?.addEventListener("abort", stop, { once: true });
      // Until there is a row: a stream whose pull brings none is not pulled again.
      for (;;) {
        const { done, value = [] } = await read();
        if (signal?.aborted) return;
        for (const row of value) controller.enqueue(row);
        if (done) {
          end();
          controller.close();
        }
        if (done || value.length > 0) return;
      }
    },
    cancel(reason) {
      end();
      return reader.cancel(reason);
    },
  }, { highWaterMark: 0 });
}
