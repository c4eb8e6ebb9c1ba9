/** Limits the output that is buffered for the reader of a stream. */
export interface PageBuffer {
  /** Resolves when the next page may be requested. */
  startPage(): Promise<void>;
  /** Counts bytes of the page that have arrived. */
  add(bytes: number): void;
  /** Called at the end of the page. */
  endPage(): void;
}

/** Key of an internal option of `bytes()`: the `PageBuffer` of the stream. */
export const PAGE_BUFFER: unique symbol = Symbol("PAGE_BUFFER");

/** How far to read ahead. */
interface ReadAheadOptions<T> {
  /** Whether an item ends a page. */
  isPageEnd: (item: T) => boolean;
  /** Length (bytes) of an item. */
  lengthOf: (item: T) => number;
  /** Whether to request the next page when the reader has taken all of a page. */
  readsNextPage: boolean;
  /** Limits the items that are buffered. Default: no limit. */
  buffer: PageBuffer | undefined;
}

/** Maximum length (bytes) of a page after which the next one is read ahead. It is probably as long. */
const MAX_PAGE_LENGTH = 1 << 25;

/**
 * Reads the items of a page without waiting for the reader, so that the service is free for the next request as
 * soon as possible. Buffers the rest of one page.
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
