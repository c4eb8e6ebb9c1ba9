/** Limit for the output that is buffered for the reader of a stream. */
export interface PageBuffer {
  /** Resolves when the next page may be requested. */
  startPage(): Promise<void>;
  /** Counts bytes of the page that have arrived. */
  add(bytes: number): void;
  /** Ends the page. It may be shorter or longer than expected. */
  endPage(): void;
}

/** Key of an internal option of `bytes()`: the `PageBuffer` of the stream. */
export const PAGE_BUFFER: unique symbol = Symbol("PAGE_BUFFER");

/** Options of `readAhead()`. */
interface ReadAheadOptions<T> {
  /** Whether an item is the last one of its page. */
  isPageEnd: (item: T) => boolean;
  /** Length (bytes) of an item. */
  lengthOf: (item: T) => number;
  /** Whether to request the next page as soon as the reader has taken the last item of a page. */
  readsNextPage: boolean;
  /** Limit for the items that are buffered. Default: no limit. */
  buffer: PageBuffer | undefined;
}

/** Length (bytes) of a page above which the next one, which is probably as long, is not read ahead. */
const MAX_PAGE_LENGTH = 1 << 25;

/**
 * Reads all items of a page without waiting for the reader, because a page that is being received blocks other
 * requests to the service. Buffers at most the items of one page.
 *
 * @param next Returns the next item, `undefined` after the last one. It is not called concurrently
 * @returns A function like `next`
 */
export function readAhead<T>(
  next: () => Promise<T | undefined>,
  { isPageEnd, lengthOf, readsNextPage, buffer }: ReadAheadOptions<T>,
): () => Promise<T | undefined> {
  const queue: (T | undefined)[] = [];
  let failure: { error: unknown } | undefined;
  let pageLength = 0;
  let isReading = false;
  let wake = () => {};
  const readPage = async () => {
    isReading = true;
    pageLength = 0;
    try {
      await buffer?.startPage();
      for (;;) {
        const item = await next();
        if (item !== undefined) buffer?.add(lengthOf(item));
        queue.push(item);
        wake();
        if (item === undefined) break;
        pageLength += lengthOf(item);
        if (isPageEnd(item)) break;
      }
      buffer?.endPage();
    } catch (error) {
      failure = { error };
    }
    isReading = false;
    wake();
  };
  return async () => {
    while (queue.length === 0) {
      if (failure !== undefined) throw failure.error;
      if (!isReading) readPage();
      else await new Promise<void>((resolve) => wake = resolve);
    }
    const item = queue.shift();
    const mayReadNext = readsNextPage && queue.length === 0 && pageLength <= MAX_PAGE_LENGTH;
    if (mayReadNext && !isReading && failure === undefined && item !== undefined) readPage();
    return item;
  };
}
