/**
 * Rows out of pages, for a loop. By hand, because a generator's `return()` waits for the `next()`
 * before it, and so would not stop the request in flight.
 */
export function iterateRows<R>(pages: ReadableStream<R[]>): AsyncIterableIterator<R, void, void> {
  const reader = pages.getReader();
  let rows: R[] = [];
  let taken = 0;
  return {
    async next() {
      while (taken === rows.length) {
        const { done, value } = await reader.read();
        if (done) return { done, value: undefined };
        rows = value;
        taken = 0;
      }
      return { done: false, value: rows[taken++]! };
    },
    async return() {
      await reader.cancel();
      return { done: true, value: undefined };
    },
    [Symbol.asyncIterator]() {
      return this;
    },
  };
}

/** Rows out of pages, as a stream that holds one page at most. */
export function streamRows<R>(pages: ReadableStream<R[]>): ReadableStream<R> {
  const reader = pages.getReader();
  return new ReadableStream<R>({
    async pull(controller) {
      // Until there is a row: a stream whose pull brings none is not pulled again.
      for (;;) {
        const { done, value = [] } = await reader.read();
        for (const row of value) controller.enqueue(row);
        if (done) controller.close();
        if (done || value.length > 0) return;
      }
    },
    cancel: (reason) => reader.cancel(reason),
  }, { highWaterMark: 0 });
}
