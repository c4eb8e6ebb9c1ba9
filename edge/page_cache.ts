import type { Cursor } from "../src/client/batches.ts";
import type { Clock } from "../src/clock.ts";
import type { DataStreamError } from "../src/errors.ts";
import { VERSION } from "../src/version.ts";
import { Lease } from "./lease.ts";
import type { OutputBudget } from "./output_budget.ts";
import type { FailureLog } from "./request_log.ts";
import type { Settings } from "./options.ts";
import { isFresh, type PageEnd, type SharedPage } from "./shared_page.ts";
import { isWorkers } from "./runtime.ts";
import { standardCaches, StandardPageStore } from "./standard_page_store.ts";

/** Options of a {@linkcode PageCache}. */
interface PageCacheOptions {
  /** Maximum total length (bytes) of the pages that no client reads. */
  maxBytes: number;
  /** Age (ms) at which a page is stale. */
  ttl: number;
  /** Returns the time in milliseconds since 1970. */
  now: () => number;
  clock: Clock;
  /** Pages that clients read. */
  budget: Pick<OutputBudget, "sharedPages">;
  /** Store for pages that no client reads. Default: memory. */
  store?: StandardPageStore | undefined;
}

/**
 * Cache of pages, for concurrent and later downloads. A page is in memory while it is fetched and while a
 * client reads it. Other pages are in the store, or in memory up to the maximum. The least recently used pages
 * are evicted first.
 */
export class PageCache {
  /** Number of pages that a download did not have to fetch. */
  hits = 0;
  /** Number of pages that were fetched. */
  misses = 0;
  /** Number of pages whose fetch has begun. */
  started = 0;
  readonly store: StandardPageStore | undefined;
  readonly #options: PageCacheOptions;
  #hasReported = false;
  /** Pages in memory, the least recently used first. */
  readonly #pages = new Map<string, SharedPage>();

  constructor(options: PageCacheOptions) {
    this.#options = options;
    this.store = options.store;
  }

  /** Number of cached bytes: complete pages in memory, and pages in the store. */
  get bytes(): number {
    let bytes = this.store?.bytes ?? 0;
    for (const page of this.#pages.values()) bytes += page.end === undefined ? 0 : sizeOf(page);
    return bytes;
  }

  /** Pages that were fetched before this time (ms since 1970) are stale. */
  get staleBefore(): number {
    return this.#options.now() - this.#options.ttl;
  }

  /**
   * Returns a page that is complete or is being fetched.
   *
   * @param first Lowest sequence number of a complete page to return. Default: return every fresh page
   */
  find(key: string, first?: number): SharedPage | undefined {
    const page = this.#pages.get(key);
    if (page === undefined || page.failure !== undefined) return undefined;
    const { end, lease, fetchedAt, number } = page;
    const isUsable = () => {
      if (end === undefined) return !lease.isExpired;
      if (first !== undefined) return number >= first;
      return isFresh(fetchedAt, this.staleBefore, this.#options.now());
    };
    if (!isUsable()) return undefined;
    this.#pages.delete(key);
    this.#pages.set(key, page);
    return page;
  }

  /** Adds a page that the caller fetches. The caller must end it with `complete()` or `fail()`. */
  start(key: string, arrival: SharedPage["arrival"]): SharedPage {
    const { now, clock } = this.#options;
    const lease = new Lease(clock);
    const number = this.started++;
    const page = { key, number, fetchedAt: now(), lease, arrival, parts: [], length: 0 };
    this.#pages.delete(key);
    this.#pages.set(key, page);
    return page;
  }

  /** Marks a page as complete. */
  complete(page: SharedPage, end: PageEnd): void {
    page.end = end;
    page.lease.end();
    this.evict();
  }

  /**
   * Marks a page as failed.
   *
   * @param error Error of the service; `undefined` if the download has ended or has no permit
   */
  fail(page: SharedPage, error?: DataStreamError): void {
    page.failure = { error };
    // An expired lease belongs to a request that workerd has dropped, and whose timers another one must not clear.
    if (!page.lease.isExpired) page.lease.end();
    if (this.#pages.get(page.key) === page) this.#pages.delete(page.key);
  }

  /** Logs the first error of the store. */
  reportStoreError(error: unknown, log: FailureLog): void {
    if (this.#hasReported) return;
    this.#hasReported = true;
    log.logFailure(
      "The page cache failed; pages are requested instead, and later errors are not logged",
      error,
    );
  }

  /**
   * Removes pages that no client reads: stale pages, pages that are longer than the maximum, and then the least
   * recently used ones until the others fit.
   */
  evict(): void {
    const { budget, maxBytes } = this.#options;
    const max = this.store === undefined ? maxBytes : 0;
    const held = budget.sharedPages;
    const { staleBefore } = this;
    const unread = [...this.#pages.values()].filter((page) =>
      page.end === undefined ? page.lease.isExpired : !held.has(page)
    );
    const isUsable = (page: SharedPage) =>
      page.end !== undefined && page.fetchedAt >= staleBefore && sizeOf(page) <= max;
    let bytes = unread.filter(isUsable).reduce((sum, page) => sum + sizeOf(page), 0);
    for (const page of unread) {
      if (isUsable(page)) {
        if (bytes <= max) continue;
        bytes -= sizeOf(page);
      }
      this.#pages.delete(page.key);
    }
  }
}

/** Returns the number of bytes that a page takes in memory. A cursor is about as long as its key. */
function sizeOf({ key, length }: SharedPage): number {
  return length + 2 * key.length;
}

/**
 * Creates the page cache of an app; `undefined` if downloads share nothing. It takes half of `maxCachedBytes`, and
 * the output that clients have not read takes the other half. On Workers, pages are in the standard cache, unless
 * the service is in process: it can have other data each time.
 */
export function createPageCache(
  { access, maxCachedBytes, cacheTtl: ttl, now, clock, dataStreamOptions: { fetch } }: Settings,
  budget: OutputBudget,
): PageCache | undefined {
  // The requests of different callers can return different results.
  if (access === "caller" || ttl === 0) return undefined;
  const maxBytes = maxCachedBytes / 2;
  const isStandard = isWorkers() && standardCaches() !== undefined && fetch === undefined;
  const store = isStandard ? new StandardPageStore({ maxBytes, ttl, now }) : undefined;
  return new PageCache({ maxBytes, ttl, now, clock, budget, store });
}

/**
 * Returns the key of a page: everything that determines its bytes, as JSON.
 *
 * @param document JSON value that identifies the document. It contains no key, token or signature
 * @param after Cursor before the page; `undefined` for the first page
 */
export function keyOfPage(document: unknown, after: Cursor | undefined): string {
  // `document` already contains the options of the query.
  return JSON.stringify([VERSION, document, after && { ...after, query: undefined }]);
}
