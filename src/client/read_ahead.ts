/** Options of `readAhead()`. */
interface ReadAheadOptions<T> {
  /** Whether an item is the last one of its page. */
  isPageEnd: (item: T) => boolean;
  /** Length (bytes) of an item. */
  lengthOf: (item: T) => number;
  /** Whether to request the next page when a page is complete and the reader has taken an item of it. */
  readsNextPage: boolean;
}

/** Maximum length (bytes) of the buffered items and a page ahead, which is probably as long as the page before. */
const MAX_BUFFERED = 1 << 25;

/**
 * Reads all items of a page without waiting for the reader, because a page that is being received blocks other
 * requests to the service. Buffers at most the page that the reader takes, and the next one.
 *
 * @param next Returns the next item, `undefined` after the last one. It is not called concurrently
 * @returns A function like `next`
 */
export function readAhead<T>(
  next: () => Promise<T | undefined>,
  { isPageEnd, lengthOf, readsNextPage }: ReadAheadOptions<T>,
): () => Promise<T | undefined> {
  const queue: (T | undefined)[] = [];
  let queueLength = 0;
  /** Length (bytes) of the last page; 0 until it is complete. */
  let pageLength = 0;
  let failure: { error: unknown } | undefined;
  let isReading = false;
  let wake = () => {};
  const readPage = async () => {
    isReading = true;
    pageLength = 0;
    let arrived = 0;
    try {
      for (;;) {
        const item = await next();
        const length = item === undefined ? 0 : lengthOf(item);
        arrived += length;
        queueLength += length;
        queue.push(item);
        wake();
        if (item === undefined || isPageEnd(item)) break;
      }
      pageLength = arrived;
    } catch (error) {
      failure = { error };
    }
    isReading = false;
    wake();
    readNextPage();
  };
  const readNextPage = () => {
    const isPartlyTaken = queueLength < pageLength;
    if (!readsNextPage || !isPartlyTaken || queueLength + pageLength > MAX_BUFFERED) return;
    readPage();
  };
  return async () => {
    while (queue.length === 0) {
      if (failure !== undefined) throw failure.error;
      if (!isReading) readPage();
      else await new Promise<void>((resolve) => wake = resolve);
    }
    const item = queue.shift();
    if (item !== undefined) queueLength -= lengthOf(item);
    readNextPage();
    return item;
  };
}
