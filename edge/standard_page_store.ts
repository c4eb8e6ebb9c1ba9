import type { Bytes } from "../src/bytes.ts";
import { sha256Hex, utf8Decoder, utf8Encoder } from "../src/bytes.ts";
import { isCursor } from "../src/client/batches.ts";
import { abortable, type Clock, startTimeLimit, systemClock } from "../src/clock.ts";
import { type DocumentPart, isFresh, type PageEnd, type SharedPage } from "./shared_page.ts";

/** Name of the cache. Use another name when the format of the entries changes. */
const CACHE_NAME = "weir-pages-1";
/** Base URL of entries. No request is sent to it: `.invalid` is reserved (RFC 2606). */
const ENTRY_ROOT = "https://weir.invalid/pages/";
/** Header with the time (ms since 1970) at which the fetch of the page began. */
const FETCHED_AT = "x-weir-fetched-at";
/** Header with the length (bytes) of the body. */
const LENGTH = "x-weir-length";
/** Maximum time (ms) of one operation of the cache, because a cache that never responds would block downloads. */
const OPERATION_TIMEOUT = 10_000;
/** Time (ms) for which the cache is not used after a timeout. */
const RECOVERY_TIME = 60_000;

/**
 * Members of `CacheStorage` that the store uses. They are declared here because some runtimes lack the types.
 */
interface Caches {
  open(name: string): Promise<StandardCache>;
}

/** Members of `Cache` that the store uses. */
interface StandardCache {
  match(url: string): Promise<Response | undefined>;
  put(url: string, response: Response): Promise<void>;
  delete(url: string): Promise<boolean>;
  /** Some runtimes do not have this method. */
  keys?(): Promise<readonly Request[]>;
}

/** Options of a {@linkcode StandardPageStore}. */
interface PageStoreOptions {
  /** Maximum number of bytes. */
  maxBytes: number;
  /** Age (ms) at which a page is stale. */
  ttl: number;
  /** Returns the time in milliseconds since 1970. */
  now: () => number;
  /** Default: `caches` of the runtime. */
  caches?: Caches | undefined;
  /** Clock for the timeout. Default: the clock of the process, because a cache takes real time. */
  clock?: Clock;
}

/** First line of the body of an entry, as JSON. The bytes of the page follow it. */
interface EntryHead extends PageEnd {
  rows: number;
}

/** A page in the store. */
export interface StoredPage extends DocumentPart, PageEnd {
  /** Time (ms since 1970) at which the fetch began. */
  readonly fetchedAt: number;
}

/**
 * Stores pages in a cache of the standard `caches`. It removes stale pages itself, and the least recently used
 * pages above the maximum, because Deno's cache has no maximum and ignores `max-age`.
 *
 * The maximum applies to the pages that this process has stored or has found at its first write. Workers cannot
 * list the entries, so the maximum applies only to the pages that this isolate has stored. Cloudflare evicts
 * the others.
 *
 * Source: Service Workers, "Cache".
 */
export class StandardPageStore {
  readonly #options: PageStoreOptions;
  /** Known entries by URL, the least recently used first. */
  readonly #entries = new Map<string, { length: number; fetchedAt: number }>();
  #isListed = false;
  /** Time (ms) of the clock until which the cache is not used. */
  #unusableUntil = -Infinity;

  constructor(options: PageStoreOptions) {
    this.#options = options;
  }

  /** Number of bytes of the known entries. */
  get bytes(): number {
    let bytes = 0;
    for (const { length } of this.#entries.values()) bytes += length;
    return bytes;
  }

  /**
   * Reads a page.
   *
   * @param notBefore Earliest time (ms since 1970) at which the fetch may have begun
   * @param reserve Called before the page is read into memory
   * @returns The page; `undefined` if it is missing, stale or damaged
   * @throws The error of the cache, or of `reserve`; an error if the cache does not respond in time
   */
  async load(
    key: string,
    notBefore: number,
    reserve: () => Promise<void>,
  ): Promise<StoredPage | undefined> {
    const url = await urlOfEntry(key);
    const response = await this.#inTime(async () => (await this.#open()).match(url));
    if (response === undefined) return undefined;
    const info = entryInfoOf(response);
    if (info === undefined || !isFresh(info.fetchedAt, notBefore, this.#options.now())) {
      response.body?.cancel().catch(() => {});
      return undefined;
    }
    await reserve();
    const body = await this.#inTime(() => response.arrayBuffer());
    const page = readEntry(new Uint8Array(body), info);
    if (page === undefined) return undefined;
    this.#entries.delete(url);
    this.#entries.set(url, info);
    return page;
  }

  /**
   * Stores a complete page, unless it is longer than the maximum.
   *
   * @throws The error of the cache; an error if the cache does not respond in time
   */
  async save(page: SharedPage): Promise<void> {
    await this.#inTime(() => this.#write(page));
  }

  async #write({ key, parts, end, fetchedAt }: SharedPage): Promise<void> {
    const { ttl, maxBytes } = this.#options;
    const url = await urlOfEntry(key);
    const rows = parts.reduce((sum, part) => sum + part.rows, 0);
    const head: EntryHead = { ...end!, rows };
    const line = utf8Encoder.encode(`${JSON.stringify(head)}\n`);
    const length = parts.reduce((sum, { data }) => sum + data.length, line.length);
    if (length > maxBytes) return;
    const cache = await this.#open();
    await this.#listEntries(cache);
    this.#entries.delete(url);
    await this.#removeEntries(cache, length);
    this.#entries.set(url, { length, fetchedAt });
    const headers = {
      // Workers do not store a response without this header.
      "cache-control": `public, max-age=${Math.max(1, Math.ceil(ttl / 1000))}`,
      "content-type": "application/octet-stream",
      [FETCHED_AT]: String(fetchedAt),
      [LENGTH]: String(length),
    };
    const body = streamOf([line, ...parts.map(({ data }) => data)]);
    try {
      await cache.put(url, new Response(body, { headers }));
    } catch (error) {
      this.#entries.delete(url);
      throw error;
    }
  }

  /** Runs an operation of the cache. Rejects if it takes too long, or if the cache is not used after a timeout. */
  async #inTime<T>(operation: () => Promise<T>): Promise<T> {
    const { clock = systemClock } = this.#options;
    if (clock.now() < this.#unusableUntil) {
      throw new Error(`the cache is not used for ${RECOVERY_TIME / 1000} s after a timeout`);
    }
    const { signal, stop } = startTimeLimit(clock, OPERATION_TIMEOUT, "no response from the cache");
    try {
      return await abortable(operation(), signal);
    } catch (error) {
      if (signal.aborted) this.#unusableUntil = clock.now() + RECOVERY_TIME;
      throw error;
    } finally {
      stop();
    }
  }

  #open(): Promise<StandardCache> {
    const { caches = standardCaches() } = this.#options;
    if (caches === undefined) throw new Error("this runtime has no caches");
    return caches.open(CACHE_NAME);
  }

  /** Finds the entries of earlier processes, if the cache can list them. */
  async #listEntries(cache: StandardCache): Promise<void> {
    if (this.#isListed) return;
    for (const { url } of await keysOf(cache)) {
      if (this.#entries.has(url)) continue;
      const response = await cache.match(url);
      const info = response && entryInfoOf(response);
      await response?.body?.cancel();
      // An entry without a time is stale.
      this.#entries.set(url, info ?? { length: 0, fetchedAt: -Infinity });
    }
    this.#isListed = true;
  }

  /** Removes stale entries, and the least recently used ones until there is room. */
  async #removeEntries(cache: StandardCache, needed: number): Promise<void> {
    const { maxBytes, ttl, now } = this.#options;
    let { bytes } = this;
    for (const [url, { length, fetchedAt }] of [...this.#entries]) {
      if (bytes + needed <= maxBytes && fetchedAt >= now() - ttl) continue;
      bytes -= length;
      this.#entries.delete(url);
      await cache.delete(url);
    }
  }
}

/** Lists the entries of a cache. Returns none if the cache cannot list them: in workerd, `keys()` throws. */
async function keysOf(cache: StandardCache): Promise<readonly Request[]> {
  try {
    return await cache.keys?.() ?? [];
  } catch {
    return [];
  }
}

/** Returns `caches` of the runtime, if it has one. */
export function standardCaches(): Caches | undefined {
  return (globalThis as { caches?: Caches }).caches;
}

/** Returns the URL of an entry, with the SHA-256 of the key of its page in hexadecimal. */
async function urlOfEntry(key: string): Promise<string> {
  return ENTRY_ROOT + await sha256Hex(key);
}

/** Returns the time and length in the headers of an entry; `undefined` if one is missing. */
function entryInfoOf({ headers }: Response): { fetchedAt: number; length: number } | undefined {
  const fetchedAt = Number(headers.get(FETCHED_AT) ?? NaN);
  const length = Number(headers.get(LENGTH) ?? NaN);
  return Number.isFinite(fetchedAt) && Number.isFinite(length) ? { fetchedAt, length } : undefined;
}

/** Reads the body of an entry; returns `undefined` if it is damaged. */
function readEntry(
  body: Bytes,
  { length, fetchedAt }: { length: number; fetchedAt: number },
): StoredPage | undefined {
  const lineEnd = body.indexOf(0x0a);
  if (body.length !== length || lineEnd < 0) return undefined;
  try {
    const head: Partial<EntryHead> = JSON.parse(utf8Decoder.decode(body.subarray(0, lineEnd)));
    const { cursor, isLast, rows } = head;
    if (!isCursor(cursor) || typeof isLast !== "boolean" || typeof rows !== "number") {
      return undefined;
    }
    return { cursor, isLast, rows, data: body.subarray(lineEnd + 1), fetchedAt };
  } catch {
    return undefined;
  }
}

/** Creates a stream of copies of chunks, because the runtime may transfer the chunks that it receives. */
function streamOf(chunks: readonly Bytes[]): ReadableStream<Bytes> {
  const remaining = chunks.filter(({ length }) => length > 0);
  return new ReadableStream({
    pull(controller) {
      const chunk = remaining.shift();
      if (chunk === undefined) controller.close();
      else controller.enqueue(chunk.slice());
    },
  }, { highWaterMark: 0 });
}
