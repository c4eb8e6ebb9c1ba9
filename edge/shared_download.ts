// A download whose pages come from the cache, from a download that fetches them, or from the service.
import type { Bytes } from "../src/bytes.ts";
import type { BatchPart, Cursor } from "../src/client/batches.ts";
import { readAhead } from "../src/client/read_ahead.ts";
import type { Clock } from "../src/clock.ts";
import { DataStreamError } from "../src/errors.ts";
import { concatBytes } from "../src/formats/page_writer.ts";
import type { TaskPermit } from "./concurrency_limit.ts";
import type { OutputBuffer } from "./output_budget.ts";
import { keyOfPage, type PageCache } from "./page_cache.ts";
import { HttpProblem } from "./problem.ts";
import type { StartDeadline } from "./start_deadline.ts";
import type { DocumentPart, PageEnd, SharedPage } from "./shared_page.ts";

/** Interval (ms) at which a download polls a page that another one fetches. */
const GROWTH_POLL_INTERVAL = 20;
/** Interval (ms) at which a download that waits for a permit checks whether one is free. */
const PERMIT_POLL_INTERVAL = 100;
/** Number of failed fetches of a page by other downloads after which a download fails too. */
const MAX_FAILED_FETCHES = 2;

/** Permits for a download that requests pages. */
export interface FetchPermits {
  /**
   * Acquires a permit.
   *
   * @throws {HttpProblem} If none is free
   */
  acquire(): TaskPermit;
  /** Acquires a permit; returns `undefined` if none is free. */
  tryAcquire(): TaskPermit | undefined;
  /** Acquires a permit in place of one that is not used; returns `undefined` if that is not possible. */
  takeOver(unused: object): TaskPermit | undefined;
}

/** Options of {@linkcode shareDownload}. */
export interface SharedDownloadOptions {
  cache: PageCache;
  /** Counts the pages that the client reads. */
  buffer: OutputBuffer;
  permits: FetchPermits;
  /** JSON value that identifies the document. It contains no key, token or signature. */
  document: unknown;
  /**
   * Digest of the versions of the datasets. Without it, the download stores no pages. It then uses a page only while
   * it is fetched, or if its fetch began after the download.
   */
  datasetsDigest: string | undefined;
  /** Limits of the time until the response has its first content. Its signal ends the download. */
  deadline: Pick<StartDeadline, "signal" | "lastByteAt" | "followRequests">;
  /** Requests the pages after a cursor, or all pages. */
  request: (after: Cursor | undefined) => AsyncIterator<BatchPart<Bytes>>;
  /** Whether to request a page while the client reads the one before. */
  readsNextPage: boolean;
  clock: Clock;
  /** Called with the number of rows of each part that is delivered. */
  onRows: (rows: number) => void;
  /**
   * Called with an error of the store. A page that cannot be read is fetched; one that cannot be written is not
   * stored.
   */
  onStoreError: (error: unknown) => void;
}

/** A download whose pages are shared. */
export interface SharedDownload {
  /** Bytes of the document. They are shared: they must not be changed or transferred. */
  stream: ReadableStream<Bytes>;
  /** Records that the client has read the next chunk of the stream. */
  release(): void;
  /** Ends the download, and releases its permit. */
  close(): void;
}

/** A part of a page for one client. */
interface PageItem extends DocumentPart {
  isPageEnd: boolean;
}

/** Streams a document page by page. A download that has to fetch a page shares it. */
export function shareDownload(options: SharedDownloadOptions): SharedDownload {
  const { cache, buffer, permits, document, datasetsDigest, deadline, request, clock } = options;
  const { readsNextPage, onRows, onStoreError } = options;
  const stop = new AbortController();
  const { signal } = stop;
  const firstPage = datasetsDigest === undefined ? cache.started : undefined;
  const store = datasetsDigest === undefined ? undefined : cache.store;
  /** Permit of the server, held while this download fetches the pages. */
  let permit: TaskPermit | undefined;
  /** Parts of the pages that this download requests, after the last page that it has read. */
  let source: AsyncIterator<BatchPart<Bytes>> | undefined;
  /** Page that this download reads. */
  let current: SharedPage | undefined;
  /** Page of each chunk that the client has not read. */
  const unread: SharedPage[] = [];
  /** Part of the current page that the client already has, because an earlier fetch of the page failed. */
  let alreadySent: DocumentPart = { data: new Uint8Array(), rows: 0 };
  let hasStarted = false;
  let saving: Promise<void> | undefined;

  const stopFetching = () => {
    permit?.release();
    permit = undefined;
    source?.return?.().catch(() => {});
    source = undefined;
  };
  signal.addEventListener("abort", stopFetching);
  deadline.signal.addEventListener("abort", () => stop.abort(deadline.signal.reason));
  const dropUnusedPages = () => {
    for (const page of buffer.pages) {
      if (page === current || unread.some((other) => other === page)) continue;
      buffer.pages.delete(page);
      cache.evict();
    }
  };

  const save = async (page: SharedPage): Promise<void> => {
    try {
      await store?.save(page);
    } catch (error) {
      onStoreError(error);
    }
  };
  const addPart = (page: SharedPage, part: DocumentPart) => {
    page.parts.push(part);
    page.length += part.data.length;
    buffer.addShared(part.data.length);
  };
  const complete = (page: SharedPage, end: PageEnd) => {
    buffer.endPage();
    cache.complete(page, end);
  };

  /** Reads a page from the store. */
  async function load(page: SharedPage): Promise<PageItem | undefined> {
    try {
      const stored = await store?.load(page.key, cache.staleBefore, () => buffer.startPage());
      if (stored === undefined) {
        buffer.endPage();
        return undefined;
      }
      const { data, rows, cursor, isLast, fetchedAt } = stored;
      page.fetchedAt = fetchedAt;
      addPart(page, { data, rows });
      complete(page, { cursor, isLast });
      return { data, rows, isPageEnd: true };
    } catch (error) {
      signal.throwIfAborted();
      if (error instanceof HttpProblem) throw error; // no memory is free for the page
      onStoreError(error);
      return undefined;
    }
  }

  /**
   * Acquires a permit for the next page. Takes over that of the download that fetched the previous page and has not
   * begun to fetch this one: its client reads slowly.
   */
  function acquireNext(previous: SharedPage | undefined): TaskPermit | undefined {
    return permits.tryAcquire() ?? (previous?.permit && permits.takeOver(previous.permit));
  }

  /** Waits for a permit, or until the page is complete or another download fetches it. */
  async function waitForPermit(key: string, previous: SharedPage | undefined): Promise<void> {
    for (;;) {
      signal.throwIfAborted();
      if (cache.find(key, firstPage) !== undefined) return;
      permit = acquireNext(previous);
      if (permit !== undefined) return;
      await clock.sleep(PERMIT_POLL_INTERVAL, signal);
    }
  }

  /**
   * Fetches a page for this download and those that follow it. Ends early if no permit was free, so that
   * another download can fetch the page.
   */
  async function* fetchSharedPage(
    page: SharedPage,
    after: Cursor | undefined,
    previous: SharedPage | undefined,
  ): AsyncGenerator<PageItem, void, void> {
    let failure: DataStreamError | undefined;
    try {
      const stored = await load(page);
      if (stored !== undefined) {
        cache.hits++;
        stopFetching();
        return yield stored;
      }
      signal.throwIfAborted();
      if (permit?.isTakenOver) stopFetching();
      permit ??= hasStarted ? acquireNext(previous) : permits.acquire();
      if (permit === undefined) {
        // Other downloads must not wait for this permit: the client may hold all of its permits for hours.
        cache.fail(page);
        return await waitForPermit(page.key, previous);
      }
      if (previous !== undefined) previous.permit = undefined;
      const parts = source ??= request(after);
      cache.misses++;
      await buffer.startPage();
      for (;;) {
        const next = await parts.next();
        signal.throwIfAborted();
        const { data, rows, cursor, isLast, hasMore, isPageEnd } = next.value!;
        addPart(page, { data, rows });
        // The end of the document belongs to the last page.
        if (isLast || isPageEnd && hasMore) {
          complete(page, { cursor, isLast });
          page.permit = permit;
          await saving;
          saving = save(page);
          return yield { data, rows, isPageEnd: true };
        }
        yield { data, rows, isPageEnd: false };
      }
    } catch (error) {
      if (error instanceof DataStreamError) failure = error;
      throw error;
    } finally {
      // This also runs when the client has disconnected.
      if (page.end === undefined) cache.fail(page, failure);
    }
  }

  /** Reads a page that is complete, or that another download fetches. Ends early if that download fails. */
  async function* followPage(page: SharedPage): AsyncGenerator<PageItem, void, void> {
    let next = 0;
    for (;;) {
      for (; next < page.parts.length; next++) {
        const isPageEnd = page.end !== undefined && next === page.parts.length - 1;
        yield { ...page.parts[next]!, isPageEnd };
        if (isPageEnd) return;
      }
      if (page.end !== undefined) return yield { data: new Uint8Array(), rows: 0, isPageEnd: true };
      if (page.lease.isExpired && page.failure === undefined) cache.fail(page);
      if (page.failure !== undefined) return;
      deadline.followRequests(page.arrival);
      await clock.sleep(GROWTH_POLL_INTERVAL, signal);
    }
  }

  async function* deliverPage(after: Cursor | undefined): AsyncGenerator<PageItem, PageEnd, void> {
    const key = keyOfPage([document, datasetsDigest], after);
    const previous = current;
    for (let failures = 0;;) {
      signal.throwIfAborted();
      const found = cache.find(key, firstPage);
      const page = found ?? cache.start(key, deadline);
      current = page;
      buffer.hold(page);
      dropUnusedPages();
      if (found !== undefined) {
        cache.hits++;
        stopFetching();
      }
      let length = 0;
      let rows = 0;
      for await (
        const item of found === undefined
          ? fetchSharedPage(page, after, previous)
          : followPage(page)
      ) {
        const unsent = withoutSent(item, { length, rows }, alreadySent);
        length += item.data.length;
        rows += item.rows;
        yield unsent;
      }
      if (page.end !== undefined) {
        const { data, rows: sentRows } = alreadySent;
        alreadySent = { data: data.subarray(length), rows: Math.max(0, sentRows - rows) };
        return page.end;
      }
      const { error } = page.failure!;
      if (error !== undefined) {
        // A client waits once for the rate limit before its first byte, not once for each of the other downloads.
        if (!hasStarted && isRateLimited(error)) throw error;
        if (++failures === MAX_FAILED_FETCHES) throw error;
      }
      if (length <= alreadySent.data.length) continue;
      const received = concatBytes(page.parts.map(({ data }) => data));
      alreadySent = { data: received.slice(0, length), rows };
    }
  }

  async function* deliverPages(): AsyncGenerator<PageItem, void, void> {
    let end: PageEnd | undefined;
    while (!end?.isLast) end = yield* deliverPage(end?.cursor);
    await saving;
  }

  const items = deliverPages();
  const next = readAhead(
    async () => {
      const { done, value } = await items.next();
      if (done) return undefined;
      if (value.data.length > 0) unread.push(current!);
      return value;
    },
    {
      isPageEnd: ({ isPageEnd }) => isPageEnd,
      lengthOf: ({ data }) => data.length,
      readsNextPage,
      hasSpareRoom: () => buffer.hasSpareRoom(),
      buffer: undefined,
    },
  );
  return {
    stream: new ReadableStream<Bytes>({
      async pull(controller) {
        for (;;) {
          const item = await next();
          if (item === undefined) return controller.close();
          onRows(item.rows);
          // Repeat until a chunk is enqueued: a stream is not pulled again after a pull that adds nothing.
          if (item.data.length === 0) continue;
          hasStarted = true;
          return controller.enqueue(item.data);
        }
      },
      cancel(reason) {
        stop.abort(reason);
        items.return().catch(() => {});
      },
    }, { highWaterMark: 0 }),
    release() {
      unread.shift();
      dropUnusedPages();
    },
    close() {
      buffer.close();
      stop.abort();
      cache.evict();
    },
  };
}

/** Whether the rate limit of the service, its `Retry-After` or the rate limiter has caused an error. */
function isRateLimited({ kind, status, retryAfter }: DataStreamError): boolean {
  return kind === "rate-limit" || status === 429 || retryAfter !== undefined;
}

/**
 * Returns the part of an item that the client does not have yet.
 *
 * @param before Length (bytes) and rows of the page before the item
 * @param alreadySent Bytes and rows of the page that the client has
 * @throws {Error} If the bytes that the client has differ from those of the item
 */
function withoutSent(
  { data, rows, isPageEnd }: PageItem,
  before: { length: number; rows: number },
  alreadySent: DocumentPart,
): PageItem {
  const known = alreadySent.data.subarray(before.length, before.length + data.length);
  if (known.some((byte, index) => byte !== data[index])) {
    throw new Error(
      "the rows of a page changed before it was requested again: repeat the download",
    );
  }
  const newRows = Math.max(0, before.rows + rows - Math.max(before.rows, alreadySent.rows));
  return { data: data.subarray(known.length), rows: newRows, isPageEnd };
}
