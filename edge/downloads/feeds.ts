// Downloads that belong to no client. A feed is one document. One run fetches it, and each client is a reader with an
// index into its parts.
//
// Requests share plain data only, never a promise, stream, signal or iterator: in workerd, a request that awaits a
// promise of another one fails, and what a request has created ends with it. A waiting request creates its own promise,
// leaves the function that resolves it in its reader, and has a timer of its own.
import type { Bytes } from "../../src/bytes.ts";
import type { Cursor } from "../../src/client/batches.ts";
import type { Clock } from "../../src/clock.ts";
import { concatBytes } from "../../src/formats/page_writer.ts";
import { HttpProblem } from "../problem.ts";
import { BEAT_TTL, startBeat } from "./beat.ts";
import { FairLine, MAX_LINE_WAIT } from "./fair_line.ts";

/** A part of a document: rows that have arrived, or its end. */
export interface FeedPart {
  readonly data: Bytes;
  readonly rows: number;
  readonly isPageEnd: boolean;
  /** Whether the service announced more rows. */
  readonly hasMore: boolean;
  /** Whether it is the end of the document. */
  readonly isLast: boolean;
  /** Position after the part. Absent if the document has only one part. */
  readonly cursor?: Cursor;
}

/** State of all datasets that can contain rows of a document. */
export interface DatasetState {
  /** Hash of their DOIs, versions and publication times. */
  readonly digest: string;
  /** Latest publication time (ms since 1970); `undefined` if there is none. */
  readonly publishedAt: number | undefined;
}

/** The requests of one client. Each reader brings its own. */
export interface FeedSource {
  /**
   * Requests the document.
   *
   * @param from Position to continue after; `undefined` to begin with the first row
   */
  start(from: Cursor | undefined, signal: AbortSignal): AsyncIterator<FeedPart>;
  /** Requests the state of the datasets. Absent if the document is never longer than one page. */
  requestState?(signal: AbortSignal): Promise<DatasetState>;
  /** Returns the time (ms since 1970) at which the service sent its last response. */
  responseDate?(): number;
  /** Whether to request a page before a client has read the page before it completely. */
  readonly readsAhead?: boolean;
  /** Keeps the request of a Worker alive while a promise is pending. */
  waitUntil?(promise: Promise<unknown>): void;
}

/** Time (ms) that a publication can precede the first rows with it. */
const PUBLICATION_TIME = 600_000;
/** Maximum time (ms) for which a document without a part waits for memory. */
const MAX_MEMORY_WAIT = 20_000;
/** Time (ms) after which a slow reader is disconnected if another one needs its memory. */
const SLOW_READER_TIME = 10_000;
/** Maximum length (bytes) that is reserved for the first page of a document; 10,000 records take about 3 MB as CSV. */
const MAX_FIRST_PAGE_LENGTH = 4_000_000;

/** A document. */
interface Feed {
  readonly key: string;
  /** Whether more than one page needs the state of the datasets. */
  readonly hasState: boolean;
  /** Parts that are in memory, and `undefined` for those that were dropped. */
  readonly parts: (FeedPart & { readonly fetchedBy: number } | undefined)[];
  /** Number of parts that were dropped. */
  dropped: number;
  /** Number of bytes of the parts in memory. */
  bytes: number;
  /** Number of bytes that the page which is being requested will probably add. */
  reserved: number;
  /** Length of the longest page. */
  pageLength: number;
  /** Length of the current page so far. */
  arrived: number;
  /** Number of complete pages. */
  pages: number;
  /** Index of the first part of the last page. */
  pageStart: number;
  /** Position after the last part. */
  position: Cursor | undefined;
  /** State of the datasets after the first page; `undefined` until a second page is needed. */
  state: DatasetState | undefined;
  /** Time (ms since 1970) at which the service sent the first page. */
  firstPageDate: number | undefined;
  /** Time at which its first run got a slot. */
  startedAt: number | undefined;
  endedAt: number | undefined;
  readonly readers: Set<Reader>;
  run: FeedRun | undefined;
  /** Set when the document is complete or has failed. */
  end: { readonly error?: unknown } | undefined;
}

/** Fetches the document of a feed, with the requests of one reader. */
interface FeedRun {
  readonly reader: Reader;
  beat: number;
  /** Ends the run. Only its own request calls it. */
  readonly stop: AbortController;
  wake(): void;
}

/** A client that reads a feed. */
export class Reader {
  /** Number of parts that the client has read completely. */
  next = 0;
  /** Whether the client is reading the part after them. */
  isReading = false;
  /** Error with which another request ends the reader. */
  error: Error | undefined;
  /** Time of the last sign of life. */
  seenAt = 0;
  /** Time since which the client always has a part to read; `undefined` if it waits for one. */
  behindSince: number | undefined;
  isClosed = false;
  /** Requests of an earlier run, the position after them, and what ends them. */
  paused: {
    parts: AsyncIterator<FeedPart>;
    position: Cursor | undefined;
    stop: AbortController;
  } | undefined;
  wake: () => void = () => {};
  readonly #feeds: Feeds;
  readonly #clock: Clock;
  readonly #stopBeat: () => void;

  constructor(
    feeds: Feeds,
    readonly feed: Feed,
    readonly source: FeedSource,
    readonly client: string | undefined,
    readonly id: number,
    clock: Clock,
  ) {
    this.#feeds = feeds;
    this.#clock = clock;
    this.#giveSignOfLife();
    this.#stopBeat = startBeat(clock, () => {
      this.#giveSignOfLife();
      this.wake();
    });
  }

  #giveSignOfLife(): void {
    this.seenAt = this.#clock.now();
    if (this.error === undefined) this.feed.readers.add(this);
  }

  /** Time (ms) for which the rows can still be cached. */
  get remainingTtl(): number {
    return this.#feeds.remainingTtl(this.feed);
  }

  /**
   * Returns the state of the datasets of the document, if it is known.
   *
   * @param known State that was requested, and the time of its response. It must be older than the rows
   */
  stateOf(known: { state: DatasetState; at: number } | undefined): DatasetState | undefined {
    const { state, startedAt = Infinity } = this.feed;
    return state ?? (known && known.at <= startedAt ? known.state : undefined);
  }

  /**
   * Returns the next part, or `undefined` after the last one. Fetches the document if no other reader does.
   *
   * @throws The error of the service, of a limit of the server, or the reason of the signal
   */
  async read(signal?: AbortSignal): Promise<FeedPart | undefined> {
    const wake = () => this.wake();
    signal?.addEventListener("abort", wake);
    if (this.isReading) {
      this.isReading = false;
      this.next++;
      this.#feeds.onRead(this);
    }
    try {
      for (;;) {
        signal?.throwIfAborted();
        if (this.error !== undefined) throw this.error;
        this.#giveSignOfLife(); // its timer is late after the process was suspended
        const part = this.feed.parts[this.next];
        if (part !== undefined) {
          this.isReading = true;
          this.#feeds.onTake(this, part.isPageEnd && !part.isLast && part.fetchedBy !== this.id);
          return part;
        }
        this.behindSince = undefined;
        if (this.feed.end !== undefined) {
          if (this.feed.end.error !== undefined) throw this.feed.end.error;
          return undefined;
        }
        this.#feeds.fetch(this);
        await new Promise<void>((resolve) => this.wake = resolve);
      }
    } finally {
      signal?.removeEventListener("abort", wake);
    }
  }

  /** Ends the reader. Further calls have no effect. */
  close(): void {
    if (this.isClosed) return;
    this.isClosed = true;
    this.#stopBeat();
    this.#feeds.onClose(this);
  }
}

/** Limits of {@linkcode Feeds}. */
export interface FeedLimits {
  maxDownloads: number;
  maxDownloadsPerClient: number;
  /** Maximum number of bytes of all parts in memory. */
  maxCachedBytes: number;
  /** Time (ms) for which a document is given to further clients. */
  cacheTtl: number;
  clock: Clock;
}

/** All feeds of an app: one limit of runs, and one limit of memory. */
export class Feeds {
  /** Limit of the runs. */
  readonly slots: FairLine;
  /** Number of pages that readers got from the run of another reader. */
  hits = 0;
  /** Number of pages that runs have fetched. */
  misses = 0;
  /** Number of slow readers that were disconnected. */
  disconnected = 0;
  readonly #limits: FeedLimits;
  /** Feeds that further clients can join. */
  readonly #joinable = new Map<string, Feed>();
  /** All feeds with parts in memory or readers, the oldest first. */
  readonly #feeds = new Set<Feed>();
  #lastId = 0;

  constructor(limits: FeedLimits) {
    this.#limits = limits;
    this.slots = new FairLine({
      max: limits.maxDownloads,
      maxPerClient: limits.maxDownloadsPerClient,
      tasks: "downloads, counts and requests for citations",
      clock: limits.clock,
    });
  }

  /** Number of bytes in memory. */
  get bytes(): number {
    let bytes = 0;
    for (const feed of this.#feeds) bytes += feed.bytes;
    return bytes;
  }

  /**
   * Opens a document: one that is being fetched or was fetched recently, or else a new one.
   *
   * @param key Everything that determines the bytes of the document
   * @param client Client for which the document is fetched
   */
  open(key: string, source: FeedSource, client: string | undefined): Reader {
    this.#dropOld();
    const found = this.#joinable.get(key);
    const feed = found !== undefined && this.#canJoin(found) ? found : this.#create(key, source);
    return new Reader(this, feed, source, client, ++this.#lastId, this.#limits.clock);
  }

  /** Returns a complete document of one part, and the time at which it was complete, without a request. */
  find(key: string): { part: FeedPart; at: number } | undefined {
    const feed = this.#joinable.get(key);
    const part = feed?.parts[0];
    if (part === undefined || !this.#canJoin(feed!) || feed!.endedAt === undefined) {
      return undefined;
    }
    return { part, at: feed!.endedAt };
  }

  remainingTtl({ startedAt }: Feed): number {
    const { clock, cacheTtl } = this.#limits;
    return Math.max(0, cacheTtl - (startedAt === undefined ? 0 : clock.now() - startedAt));
  }

  /** Called when a client begins to read a part. Requests the next page meanwhile. */
  onTake(reader: Reader, isHit: boolean): void {
    const { feed } = reader;
    if (isHit) this.hits++;
    reader.behindSince ??= this.#limits.clock.now();
    if (feed.end === undefined && this.#isNeeded(feed)) this.fetch(reader);
  }

  /** Called when a client has read a part. */
  onRead({ feed }: Reader): void {
    this.#dropReadParts(feed, !this.#canJoin(feed));
    for (const other of this.#feeds) other.run?.wake();
  }

  onClose(reader: Reader): void {
    const { feed } = reader;
    feed.readers.delete(reader);
    const { run } = feed;
    if (run?.reader === reader && this.#readersOf(feed).length === 0) run.stop.abort();
    if (run?.reader !== reader) dropPaused(reader);
    this.#dropReadParts(feed, !this.#canJoin(feed));
    for (const other of this.#feeds) other.run?.wake();
  }

  /** Starts a run of a feed with the requests of a reader, unless a run is alive. */
  fetch(reader: Reader): void {
    const { feed, source } = reader;
    const { clock } = this.#limits;
    // A run of the reader's own request lives as long as the reader, also if its timer is late.
    const isAlive = feed.run?.reader === reader ||
      feed.run !== undefined && clock.now() - feed.run.beat <= BEAT_TTL;
    if (isAlive) return;
    const { paused } = reader;
    if (paused?.position !== feed.position || paused?.stop.signal.aborted) dropPaused(reader);
    const stop = reader.paused?.stop ?? new AbortController();
    const run: FeedRun = { reader, beat: clock.now(), stop, wake() {} };
    feed.run = run;
    feed.reserved = 0;
    const running = this.#run(feed, run);
    source.waitUntil?.(running);
  }

  /** Fetches pages as long as readers need them, the client of the run is there and no other client has to wait. */
  async #run(feed: Feed, run: FeedRun): Promise<void> {
    const { clock } = this.#limits;
    const { reader, stop: { signal } } = run;
    const stopBeat = startBeat(clock, () => {
      run.beat = clock.now();
      // Nobody else can end it: only its own request can abort the signal.
      const isAbandoned = reader.isClosed && this.#readersOf(feed).length === 0;
      if (feed.run !== run || isAbandoned) run.stop.abort();
      run.wake();
    });
    let leave: (() => void) | undefined;
    try {
      const maxWait = feed.parts.length === 0 ? MAX_LINE_WAIT : Infinity;
      leave = await this.slots.enter(reader.client, signal, maxWait);
      feed.startedAt ??= clock.now();
      const parts = reader.paused?.parts ?? reader.source.start(feed.position, signal);
      reader.paused = undefined;
      while (feed.end === undefined && this.#isNeeded(feed)) {
        if (feed.pages > 0) await this.#checkFirstPage(feed, run);
        await this.#reserve(feed, run);
        await this.#fetchPage(feed, run, parts);
        if (reader.isClosed || this.slots.shouldYield(reader.client)) break;
      }
      if (feed.end === undefined && !reader.isClosed) {
        reader.paused = { parts, position: feed.position, stop: run.stop };
      } else {
        parts.return?.().catch(() => {});
      }
    } catch (error) {
      // A run that was replaced or abandoned leaves the feed to other readers.
      if (feed.run !== run) return;
      if (signal.aborted) return;
      const isOwn = error instanceof HttpProblem && !(error instanceof DataChanged);
      if (isOwn) reader.error = error;
      else this.#fail(feed, error);
    } finally {
      stopBeat();
      if (feed.run === run) {
        feed.run = undefined;
        feed.reserved = 0;
      }
      leave?.();
      for (const { wake } of feed.readers) wake();
    }
  }

  /** Requests one page, and gives its parts to the readers while they arrive. */
  async #fetchPage(feed: Feed, run: FeedRun, parts: AsyncIterator<FeedPart>): Promise<void> {
    /** End of a page that is perhaps the last one, until the versions of the datasets are compared. */
    let held: FeedPart | undefined;
    for (;;) {
      const { value: part } = await parts.next();
      this.#requireCurrent(feed, run);
      if (part.rows > 0 && feed.pages > 0) await this.#checkFirstPage(feed, run);
      if (part.isLast) {
        if (feed.state !== undefined) await this.#compareState(feed, run);
        if (held !== undefined) this.#publish(feed, run, held);
        this.#publish(feed, run, part);
        this.#finish(feed);
        return;
      }
      if (held !== undefined) this.#publish(feed, run, held);
      held = undefined;
      feed.firstPageDate ??= run.reader.source.responseDate?.();
      if (!part.isPageEnd || part.hasMore || feed.pages === 0) this.#publish(feed, run, part);
      else held = part;
      if (!part.isPageEnd) continue;
      feed.pages++;
      this.misses++;
      if (part.hasMore) return;
    }
  }

  /**
   * Requests the state of the datasets after the first page, if it is not known. If a dataset was published shortly
   * before the first page or later, requests the page again.
   *
   * @throws {HttpProblem} If the page has changed
   */
  async #checkFirstPage(feed: Feed, run: FeedRun): Promise<void> {
    const { source } = run.reader;
    if (feed.state !== undefined || source.requestState === undefined) return;
    const { signal } = run.stop;
    const state = await source.requestState(signal);
    this.#requireCurrent(feed, run);
    const { publishedAt = -Infinity } = state;
    if (publishedAt > feed.firstPageDate! - PUBLICATION_TIME) {
      const known = concatBytes(feed.parts.map((part) => part!.data));
      const again = source.start(undefined, signal);
      try {
        for (let offset = 0; offset < known.length;) {
          const { value: part } = await again.next();
          this.#requireCurrent(feed, run);
          const expected = known.subarray(offset, offset + part.data.length);
          offset += part.data.length;
          const isShorter = part.isLast && offset < known.length;
          if (isShorter || expected.some((byte, index) => byte !== part.data[index])) {
            throw new DataChanged();
          }
        }
      } finally {
        again.return?.().catch(() => {});
      }
    }
    feed.state = state;
  }

  /** Compares the state of the datasets with the one after the first page. */
  async #compareState(feed: Feed, run: FeedRun): Promise<void> {
    const { digest } = await run.reader.source.requestState!(run.stop.signal);
    this.#requireCurrent(feed, run);
    if (digest !== feed.state!.digest) throw new DataChanged();
  }

  /** Throws if the run was replaced by another one, or is abandoned. */
  #requireCurrent(feed: Feed, run: FeedRun): void {
    if (feed.run !== run) run.stop.abort();
    run.stop.signal.throwIfAborted();
  }

  #publish(feed: Feed, run: FeedRun, part: FeedPart): void {
    feed.position = part.cursor;
    feed.arrived += part.data.length;
    feed.bytes += part.data.length;
    feed.reserved = Math.max(0, feed.reserved - part.data.length);
    feed.parts.push({ ...part, fetchedBy: run.reader.id });
    if (part.isPageEnd) {
      feed.pageLength = Math.max(feed.pageLength, feed.arrived);
      feed.reserved = 0;
    }
    for (const { wake } of feed.readers) wake();
  }

  #finish(feed: Feed): void {
    feed.end = {};
    feed.endedAt = this.#limits.clock.now();
    this.#dropReadParts(feed, !this.#canJoin(feed));
  }

  #fail(feed: Feed, error: unknown): void {
    feed.end = { error };
    if (this.#joinable.get(feed.key) === feed) this.#joinable.delete(feed.key);
  }

  /** Whether a reader waits for the next page, or has begun to read the last one and there is room for another. */
  #isNeeded(feed: Feed): boolean {
    return this.#readersOf(feed).some(({ next, isReading, source }) =>
      next >= feed.parts.length ||
      source.readsAhead === true && isReading && next >= feed.pageStart && this.#hasRoom(feed)
    );
  }

  /**
   * Waits until the next page fits into memory, and reserves its length.
   *
   * @throws {HttpProblem} 503 if the document has no part after 20 s
   */
  async #reserve(feed: Feed, run: FeedRun): Promise<void> {
    const { clock } = this.#limits;
    const since = clock.now();
    for (;;) {
      this.#requireCurrent(feed, run);
      const others = [...this.#feeds].filter((other) =>
        other !== feed && other.bytes + other.reserved > 0
      );
      if (this.#hasRoom(feed) || others.length === 0 && feed.bytes <= feed.pageLength) break;
      const waited = clock.now() - since;
      if (waited >= SLOW_READER_TIME && this.#disconnectSlowest()) continue;
      if (feed.parts.length === 0 && waited >= MAX_MEMORY_WAIT) throw noMemory();
      await new Promise<void>((resolve) => run.wake = resolve);
    }
    feed.pageStart = feed.parts.length;
    feed.arrived = 0;
    feed.reserved = this.#expectedLength(feed);
  }

  /** Whether the next page of a feed fits into memory, after what nobody reads was dropped. */
  #hasRoom(feed: Feed): boolean {
    const { maxCachedBytes } = this.#limits;
    const fits = () => {
      let used = feed.bytes + this.#expectedLength(feed);
      for (const other of this.#feeds) if (other !== feed) used += other.bytes + other.reserved;
      return used <= maxCachedBytes;
    };
    for (const other of this.#feeds) {
      if (fits()) return true;
      if (other !== feed && this.#readersOf(other).length === 0) this.#drop(other);
    }
    for (const other of this.#feeds) if (!fits()) this.#dropReadParts(other, true);
    return fits();
  }

  /** Returns the length (bytes) to reserve for the next page. The first pages of all runs fit into memory together. */
  #expectedLength({ pageLength }: Feed): number {
    const { maxCachedBytes, maxDownloads } = this.#limits;
    return pageLength || Math.min(MAX_FIRST_PAGE_LENGTH, maxCachedBytes / (maxDownloads + 1));
  }

  /** Disconnects the reader for which a part has waited longest, if that is long enough. */
  #disconnectSlowest(): boolean {
    const { clock } = this.#limits;
    const readers = [...this.#feeds].flatMap((feed) => this.#readersOf(feed));
    const [slowest] = readers.filter(({ behindSince }) => behindSince !== undefined)
      .sort((a, b) => a.behindSince! - b.behindSince!);
    const waited = clock.now() - (slowest?.behindSince ?? Infinity);
    if (slowest === undefined || waited < SLOW_READER_TIME) return false;
    const seconds = Math.round(waited / 1000);
    slowest.error = new Error(
      `the client read slowly for ${seconds} s, and another client needed its memory`,
    );
    slowest.feed.readers.delete(slowest);
    slowest.wake();
    this.disconnected++;
    this.#dropReadParts(slowest.feed, true);
    return true;
  }

  /** Returns the readers whose requests were not dropped. */
  #readersOf({ readers }: Feed): Reader[] {
    const now = this.#limits.clock.now();
    for (const reader of readers) if (now - reader.seenAt > BEAT_TTL) readers.delete(reader);
    return [...readers];
  }

  /** Drops the parts that all readers have read, if no further client can join. */
  #dropReadParts(feed: Feed, isAllowed: boolean): void {
    // The first page may have to be compared.
    const isKept = feed.hasState && feed.state === undefined && feed.end === undefined;
    if (!isAllowed || isKept && feed.readers.size > 0) return;
    const readers = this.#readersOf(feed);
    if (readers.length === 0 && feed.end === undefined && feed.run === undefined) {
      return this.#drop(feed);
    }
    const end = readers.reduce((end, { next }) => Math.min(end, next), feed.parts.length);
    for (; feed.dropped < end; feed.dropped++) {
      feed.bytes -= feed.parts[feed.dropped]!.data.length;
      feed.parts[feed.dropped] = undefined;
    }
    if (readers.length === 0 && feed.end !== undefined) this.#drop(feed);
  }

  /** Drops feeds without readers that are older than the cache time. */
  #dropOld(): void {
    for (const feed of this.#feeds) {
      if (this.#readersOf(feed).length === 0 && !this.#canJoin(feed)) this.#drop(feed);
    }
  }

  #drop(feed: Feed): void {
    this.#feeds.delete(feed);
    if (this.#joinable.get(feed.key) === feed) this.#joinable.delete(feed.key);
  }

  #create(key: string, source: FeedSource): Feed {
    const feed: Feed = {
      key,
      hasState: source.requestState !== undefined,
      parts: [],
      dropped: 0,
      bytes: 0,
      reserved: 0,
      pageLength: 0,
      arrived: 0,
      pages: 0,
      pageStart: 0,
      position: undefined,
      state: undefined,
      firstPageDate: undefined,
      startedAt: undefined,
      endedAt: undefined,
      readers: new Set(),
      run: undefined,
      end: undefined,
    };
    this.#feeds.add(feed);
    this.#joinable.set(key, feed);
    return feed;
  }

  #canJoin(feed: Feed): boolean {
    const hasFailed = feed.end !== undefined && "error" in feed.end;
    return !hasFailed && feed.dropped === 0 && this.remainingTtl(feed) > 0;
  }
}

/** Ends the requests of an earlier run of a reader. */
function dropPaused(reader: Reader): void {
  reader.paused?.stop.abort();
  reader.paused = undefined;
}

/** A dataset was published while its rows were being fetched. */
class DataChanged extends HttpProblem {
  constructor() {
    super({
      status: 503,
      title: "Data changed",
      detail: "A dataset was published again during the download",
      hint: "repeat the download",
    }, { "retry-after": "1" });
  }
}

function noMemory(): HttpProblem {
  return new HttpProblem({
    status: 503,
    title: "Too many concurrent requests",
    detail: "Other downloads use all the memory that this server has for downloads",
    hint: "try again after 30 s",
  }, { "retry-after": "30" });
}
