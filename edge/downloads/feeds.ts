// Downloads that belong to no client. A feed is one document. One run at a time fetches it, and each client is a reader
// with an index into its parts.
//
// Requests share plain data only, never a promise, stream, signal or iterator: in workerd, a request that awaits a
// promise of another one fails, and everything that a request has created ends with it. A request that waits creates
// its own promise and timer, and stores the function that resolves the promise in its reader.
import { concatBytes } from "../../src/bytes.ts";
import { callLater } from "../../src/clock.ts";
import { isRecent } from "../../src/client/dataset_versions.ts";
import type { ServiceState } from "../../src/client/rate_limiter.ts";
import type { Settings } from "../http/options.ts";
import { HttpProblem, LimitReached, withCause } from "../http/problem.ts";
import {
  type CompleteDocument,
  Feed,
  type FeedPart,
  type FeedRun,
  type FeedSource,
  type KnownState,
  Reader,
  type Seen,
} from "./feed.ts";
import { HEARTBEAT_TTL, MAX_WAIT, Queue, startHeartbeat } from "../http/queue.ts";

/** Maximum time (ms) for which a document without parts waits for memory. */
const MAX_MEMORY_WAIT = 20_000;
/** Time (ms) for which a run that waits for memory keeps its slot. */
const MAX_STALL = 5_000;
/** Time (ms) after which a slow reader is disconnected if another one needs its memory. */
const SLOW_READER_TIME = 10_000;
/** Maximum length (bytes) that is reserved for the buffers of a response: Deno fills up to 450,000 bytes, Node 130,000. */
const MAX_SEND_LENGTH = 250_000;
/** Maximum length (bytes) that is reserved for the first page of a document; 10,000 records take about 3 MB as CSV. */
const MAX_FIRST_PAGE_LENGTH = 4_000_000;

export type FeedLimits = Pick<
  Settings,
  "maxDownloads" | "maxDownloadsPerClient" | "maxCachedBytes" | "cacheTtl" | "clock"
>;

/** All feeds of an app: one limit of runs, and one limit of memory. */
export class Feeds {
  /** Limit of the runs. */
  readonly slots: Queue;
  /** Number of pages that readers got from the run of another reader. */
  hits = 0;
  /** Number of pages that runs have fetched. */
  misses = 0;
  disconnected = 0;
  /** Versions of datasets that were seen. */
  readonly seen: Seen = new Map();
  /** All feeds with parts in memory or readers, the oldest first. */
  readonly #feeds = new Set<Feed>();
  readonly #bytes = new Map<string, number>();
  #lastId = 0;
  /** Time for which a timer is set. */
  #nextExpiry = -Infinity;

  constructor(
    readonly limits: FeedLimits,
    toProblem?: (service: ServiceState) => LimitReached,
  ) {
    this.slots = new Queue({
      findBusy: () => {
        const readers = [...this.#feeds].flatMap(({ readers }) => [...readers]);
        const started = readers.filter(({ hasStarted }) => hasStarted);
        return new Set(started.map(({ client }) => client));
      },
      findCause: () => {
        // Of the downloads that have the slots.
        const states = [...this.#feeds].map(({ run }) => run?.reader.source.service?.());
        const state = states.find((service) => service && service.is !== "answering");
        return state && toProblem?.(state);
      },
      max: limits.maxDownloads,
      maxPerClient: limits.maxDownloadsPerClient,
      tasks: "downloads, counts and requests for citations",
      clock: limits.clock,
    });
  }

  get bytes(): number {
    return [...this.bytesByFormat().values()].reduce((sum, bytes) => sum + bytes, 0);
  }

  /** Bytes in memory, with 0 for a format that has none any more. */
  bytesByFormat(): ReadonlyMap<string, number> {
    for (const format of this.#bytes.keys()) this.#bytes.set(format, 0);
    for (const { format, bytes, held } of this.#feeds) {
      this.#bytes.set(format, (this.#bytes.get(format) ?? 0) + bytes + held);
    }
    return this.#bytes;
  }

  /** Bytes that are reserved for pages, and for responses that are being sent. */
  get reserved(): number {
    return [...this.#feeds].reduce((sum, { reserved }) => sum + reserved, this.#sending);
  }

  /** Bytes that are reserved for responses that are being sent: at most half of the limit, so that pages always have room. */
  get #sending(): number {
    let responses = 0;
    for (const { readers } of this.#feeds) {
      for (const reader of readers) responses += Number(reader.hasStarted);
    }
    return Math.min(responses * this.#sendLength, this.limits.maxCachedBytes / 2);
  }

  /** Memory (bytes) of one run: its first page and its response. One more share than runs is kept free. */
  get #share(): number {
    const { maxCachedBytes, maxDownloads } = this.limits;
    return maxCachedBytes / (maxDownloads + 1);
  }

  get #sendLength(): number {
    // A low limit is mainly for pages.
    return Math.min(MAX_SEND_LENGTH, this.#share / 12);
  }

  get #held(): number {
    let bytes = 0;
    for (const { held } of this.#feeds) bytes += held;
    return bytes;
  }

  /** Opens a document: one that is being fetched or was fetched recently, or else a new one. */
  open(key: string, source: FeedSource, client: string | undefined): Reader {
    this.#dropExpired();
    const feed = this.#find(key) ?? new Feed(key, source);
    return new Reader(this, feed, source, client, ++this.#lastId);
  }

  /** Returns a document that further clients can get from memory. */
  findComplete(key: string, known?: KnownState): CompleteDocument | undefined {
    return this.#find(key)?.toDocument(known);
  }

  #find(key: string): Feed | undefined {
    return findFirst(this.#feeds, (feed) => feed.key === key && this.#canJoin(feed));
  }

  keep(reader: Reader): void {
    reader.feed.readers.add(reader);
    this.#feeds.add(reader.feed);
  }

  remainingTtl(since: number | undefined): number {
    const { clock, cacheTtl } = this.limits;
    return Math.max(0, cacheTtl - (since === undefined ? 0 : clock.now() - since));
  }

  /** Requests the next page while the client reads. */
  onTake(reader: Reader, isHit: boolean): void {
    const { feed } = reader;
    if (isHit) this.hits++;
    reader.behindSince ??= this.limits.clock.now();
    if (feed.end === undefined && this.#isNeeded(feed)) this.fetch(reader);
  }

  onRead({ feed }: Reader): void {
    this.#dropReadParts(feed);
    for (const other of this.#feeds) other.run?.wake();
  }

  onClose(reader: Reader): void {
    const { feed } = reader;
    feed.readers.delete(reader);
    const { run } = feed;
    // Before the first part, another reader starts a run of its own, because its requests have their own time limit.
    const isUseless = this.#readersOf(feed).size === 0 || feed.parts.length === 0;
    if (run?.reader === reader && isUseless) run.stop.abort();
    this.onRead(reader);
  }

  fetch(reader: Reader): void {
    const { feed, source, client } = reader;
    const now = this.limits.clock.now();
    const { run: other } = feed;
    if (other !== undefined) {
      // A run of the reader's own request ends with the reader, so a late timer does not matter.
      const isAlive = other.reader === reader || now - other.seenAt <= HEARTBEAT_TTL;
      // A client must not wait for the turn of another one that has more downloads.
      const isLater = this.slots.isBefore(client, other.stop.signal);
      if (isAlive && !isLater) return;
    }
    const stop = new AbortController();
    const run: FeedRun = { reader, seenAt: now, leave: undefined, stop, wake() {} };
    feed.setRun(run);
    const running = this.#run(feed, run);
    source.waitUntil?.(running);
  }

  /** Fetches pages while readers need them, until its own reader is closed or another client waits for a slot. */
  async #run(feed: Feed, run: FeedRun): Promise<void> {
    const { clock } = this.limits;
    const { reader, stop: { signal } } = run;
    const stopHeartbeat = startHeartbeat(clock, () => {
      run.seenAt = clock.now();
      // Only the request that created the signal can abort it.
      const isAbandoned = reader.isClosed && this.#readersOf(feed).size === 0;
      if (feed.run !== run || isAbandoned) run.stop.abort();
      run.wake();
    });
    const since = clock.now();
    try {
      await this.#enter(feed, run, since);
      feed.startedAt ??= clock.now();
      this.#scheduleExpiry();
      if (feed.parts.length === 0 && feed.isUnchecked && reader.source.isStateFirst) {
        const state = await reader.source.requestState!(signal, true);
        this.#requireCurrent(feed, run);
        feed.state = state;
      }
      const parts = reader.source.start(feed.position, signal);
      // Held rows would be requested again, so the run continues until they are in a part.
      while (feed.end === undefined && (feed.isHeldByRun || this.#isNeeded(feed))) {
        // The document has rows of more than one response, so it needs the state of the datasets.
        if (feed.parts.length > 0) await this.#checkFirstPage(feed, run);
        await this.#reserve(feed, run, since);
        await this.#fetchPage(feed, run, parts);
        if (feed.isHeldByRun) continue;
        if (reader.isClosed || this.slots.shouldYield(reader.client)) break;
      }
      parts.return?.().catch(() => {});
    } catch (error) {
      // A run that was replaced or abandoned leaves the feed to other readers.
      if (feed.run !== run || signal.aborted) return;
      if (error instanceof LimitReached) reader.error = error;
      else feed.end = { at: clock.now(), error };
    } finally {
      stopHeartbeat();
      if (feed.run === run) feed.setRun(undefined);
      run.leave?.();
      for (const { wake } of feed.readers) wake();
    }
  }

  /** Waits for a slot. `since` is the time of the first wait. */
  async #enter(feed: Feed, run: FeedRun, since: number): Promise<void> {
    const { reader: { client }, stop: { signal } } = run;
    const maxWait = feed.parts.length === 0 ? MAX_WAIT : Infinity;
    run.leave = await this.slots.enter(client, signal, maxWait, since);
    this.#requireCurrent(feed, run);
  }

  /** Requests one page, and publishes its parts while they arrive. */
  async #fetchPage(feed: Feed, run: FeedRun, parts: AsyncIterator<FeedPart>): Promise<void> {
    /** Parts that are held back until the state of the datasets is known. */
    const pending: FeedPart[] = [];
    for (;;) {
      // The page is longer than expected.
      if (feed.arrived >= feed.reserved) {
        await this.#waitForRoom(feed, run, () => this.#hasRoom(feed));
      }
      const { value: part } = await parts.next();
      this.#requireCurrent(feed, run);
      feed.firstPageDate ??= run.reader.source.responseDate?.();
      pending.push(part);
      const { isPageEnd, hasMore, isLast } = part;
      feed.isOneResponse &&= part.isOneResponse ?? true;
      if (isLast) {
        if (!feed.isOneResponse) await this.#checkVersions(feed, run);
      } else if (feed.pages > 0 && feed.isUnchecked) {
        // A page that no link announced. While it arrives, no other request can be sent.
        if (!isPageEnd) continue;
        await this.#checkFirstPage(feed, run, false);
      }
      const mayBeLast = isPageEnd && !hasMore && !isLast && feed.state !== undefined;
      for (const ready of pending.splice(0, pending.length - Number(mayBeLast))) {
        this.#publish(feed, run, ready);
      }
      if (isLast) {
        feed.end = { at: this.limits.clock.now() };
        return this.#dropReadParts(feed);
      }
      if (!isPageEnd) continue;
      feed.pages++;
      this.misses++;
      run.reader.source.onPageEnd?.();
      if (hasMore) return;
    }
  }

  /** Fails if the datasets have changed during the download. */
  async #checkVersions(feed: Feed, run: FeedRun): Promise<void> {
    if (feed.state === undefined) return await this.#checkFirstPage(feed, run);
    const { digest } = await run.reader.source.requestState!(run.stop.signal);
    this.#requireCurrent(feed, run);
    if (digest !== feed.state.digest) throw dataChanged();
  }

  /**
   * Requests the state of the datasets after the first page. Requests the page again, and fails if it has changed, if a
   * dataset was published after it or shortly before it, or has another version than the server had seen before it.
   */
  async #checkFirstPage(feed: Feed, run: FeedRun, canCompare = true): Promise<void> {
    const { source } = run.reader;
    if (!feed.isUnchecked) {
      // Nothing was sent early, so a recent publication ends the document in place of comparing its first page.
      const { publishedAt = -Infinity } = feed.state ?? {};
      if (source.isStateFirst && isRecent(publishedAt, feed.firstPageDate!)) throw dataChanged();
      return;
    }
    const { signal } = run.stop;
    const state = await source.requestState!(signal);
    this.#requireCurrent(feed, run);
    const { publishedAt = -Infinity, changedAt = -Infinity } = state;
    if (isRecent(publishedAt, feed.firstPageDate!) || changedAt >= feed.startedAt!) {
      // Other downloads needed the memory, or a second page has arrived too.
      if (feed.dropped > 0 || !canCompare) throw dataChanged();
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
            throw dataChanged();
          }
        }
      } finally {
        again.return?.().catch(() => {});
      }
    }
    feed.state = state;
  }

  /** Throws if the run was replaced by another one, or is abandoned. */
  #requireCurrent(feed: Feed, run: FeedRun): void {
    if (feed.run !== run) run.stop.abort();
    run.stop.signal.throwIfAborted();
  }

  #publish(feed: Feed, run: FeedRun, part: FeedPart): void {
    feed.position = part.cursor;
    const { data, rows, heldBytes = 0 } = part;
    feed.arrived += data.length + heldBytes - feed.held;
    feed.held = heldBytes;
    feed.isHeldByRun = heldBytes > 0 && rows === 0;
    feed.bytes += data.length;
    // Only the last position is needed, and it can refer to a megabyte of rows.
    const { cursor: _, ...kept } = part;
    feed.parts.push({ ...kept, fetchedBy: run.reader.id });
    if (part.isPageEnd) {
      feed.pageLength = Math.max(feed.pageLength, feed.arrived);
      feed.reserved = 0;
    }
    for (const { wake } of feed.readers) wake();
  }

  /** Whether a reader waits for the next page, or has begun to read the last one and there is room for another. */
  #isNeeded(feed: Feed): boolean {
    const isNeededBy = ({ next, isReading, source }: Reader) =>
      next >= feed.parts.length ||
      source.readsAhead === true && isReading && next >= feed.pageStart &&
        this.#hasRoom(feed, this.#expectedLength(feed) + this.#held);
    return findFirst(this.#readersOf(feed), isNeededBy) !== undefined;
  }

  /** Waits until the next page fits into memory, and reserves its length. After a long wait, waits for a slot again. */
  async #reserve(feed: Feed, run: FeedRun, runSince: number): Promise<void> {
    const since = this.limits.clock.now();
    const hasRoom = () => {
      // Only further pages free held rows, so these do not stop the oldest run that has some.
      const holder = findFirst(this.#feeds, ({ held, run }) => held > 0 && run !== undefined);
      const held = feed === holder ? 0 : this.#held;
      if (this.#hasRoom(feed, this.#expectedLength(feed) + held)) return true;
      const other = findFirst(
        this.#feeds,
        (other) => other !== feed && other.bytes + other.reserved > 0,
      );
      return held === 0 && other === undefined && feed.bytes <= feed.pageLength;
    };
    const reserve = () => {
      if (!hasRoom()) return false;
      // Before the next `await`, because the other runs that wait for this room are woken too.
      if (run.leave !== undefined) feed.startPage(this.#expectedLength(feed));
      return true;
    };
    for (;;) {
      await this.#waitForRoom(feed, run, reserve, since);
      if (run.leave !== undefined) break;
      await this.#enter(feed, run, runSince);
    }
    this.#requireCurrent(feed, run);
  }

  /**
   * Waits for room in memory. If another client waits for that, slow readers are disconnected. Between pages, the run gives
   * its slot back after a while: it sends no request, and others may need less memory.
   */
  async #waitForRoom(
    feed: Feed,
    run: FeedRun,
    hasRoom: () => boolean,
    reservingSince?: number,
  ): Promise<void> {
    const { clock } = this.limits;
    const since = reservingSince ?? clock.now();
    for (;;) {
      this.#requireCurrent(feed, run);
      if (hasRoom()) return;
      const waited = clock.now() - since;
      const waiting = findFirst(this.#readersOf(feed), ({ next }) => next >= feed.parts.length);
      // While a page arrives, no other request is sent.
      const isAwaited = waiting !== undefined ||
        feed.reserved > 0 &&
          findFirst(this.#feeds, ({ run: other }) => other !== undefined && other !== run);
      if (isAwaited && waited >= SLOW_READER_TIME && this.#disconnectSlowest()) continue;
      if (feed.parts.length === 0 && waited >= MAX_MEMORY_WAIT) throw noMemory();
      if (reservingSince !== undefined && waited >= MAX_STALL) {
        run.leave?.();
        run.leave = undefined;
      }
      await new Promise<void>((resolve) => run.wake = resolve);
    }
  }

  /**
   * Whether a page of a feed fits into memory. If not, drops feeds without readers and parts that were read. Counts no held
   * rows, and without an expected length no reservations for pages: a page that arrives does not wait for them, because
   * other pages do not arrive meanwhile.
   */
  #hasRoom(feed: Feed, expected?: number): boolean {
    const { maxCachedBytes } = this.limits;
    const fits = () => {
      let used = this.#sending + (expected === undefined ? 0 : expected - feed.reserved);
      for (const { bytes, reserved } of this.#feeds) {
        used += expected === undefined ? bytes : bytes + reserved;
      }
      return used <= maxCachedBytes;
    };
    if (fits()) return true;
    for (const other of this.#feeds) {
      if (other === feed || this.#readersOf(other).size > 0) continue;
      this.#remove(other);
      if (fits()) return true;
    }
    for (const other of this.#feeds) {
      const { dropped } = other;
      this.#dropReadParts(other, true);
      if (other.dropped > dropped && fits()) return true;
    }
    return false;
  }

  /**
   * Returns the length (bytes) to reserve for the next page. That of the first page is chosen so that those of all runs fit.
   * The memory of held rows doubles when it is full.
   */
  #expectedLength({ pageLength, held, expectedLength = MAX_FIRST_PAGE_LENGTH }: Feed): number {
    const longest = Math.min(MAX_FIRST_PAGE_LENGTH, this.#share - this.#sendLength);
    return Math.max(pageLength, held) || Math.min(longest, expectedLength);
  }

  /** Disconnects the reader that has been behind for the longest time, if it is slow. Returns whether it did. */
  #disconnectSlowest(): boolean {
    const { clock } = this.limits;
    const readers = [...this.#feeds].flatMap((feed) => [...this.#readersOf(feed)]);
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
  #readersOf(feed: Feed): ReadonlySet<Reader> {
    const now = this.limits.clock.now();
    for (const reader of feed.readers) {
      if (now - reader.seenAt <= HEARTBEAT_TTL) continue;
      feed.readers.delete(reader);
      feed.hasLostReaders = true;
    }
    return feed.readers;
  }

  /**
   * Drops the parts that all readers have read. Unless it is forced, because other downloads need the memory, it keeps
   * them if further clients can join, or the first page may have to be compared.
   */
  #dropReadParts(feed: Feed, isForced = false): void {
    const isKept = this.#canJoin(feed) || feed.isUnchecked && feed.readers.size > 0;
    if (isKept && !isForced) return;
    const readers = this.#readersOf(feed);
    if (readers.size === 0 && (feed.end !== undefined || feed.run === undefined)) {
      return this.#remove(feed);
    }
    let end = feed.parts.length;
    for (const { next } of readers) end = Math.min(end, next);
    feed.dropParts(end);
  }

  #remove(feed: Feed): void {
    this.#feeds.delete(feed);
    if (!feed.hasLostReaders) feed.dropParts(feed.parts.length);
  }

  /** Drops what further clients can no longer get, and no present one needs. */
  #dropExpired(): void {
    for (const feed of this.#feeds) {
      if (this.#readersOf(feed).size > 0) this.#dropReadParts(feed);
      else if (!this.#canJoin(feed)) this.#remove(feed);
    }
  }

  /** Sets a timer for the next feed that expires. Workerd can drop it; the next download then drops the feed. */
  #scheduleExpiry(): void {
    const { clock, cacheTtl } = this.limits;
    const now = clock.now();
    const times = [...this.#feeds].map(({ startedAt = Infinity }) => startedAt + cacheTtl);
    const next = Math.min(...times.filter((time) => time > now));
    const isSet = this.#nextExpiry > now && this.#nextExpiry <= next;
    if (next === Infinity || isSet) return;
    this.#nextExpiry = next;
    callLater(clock, next - now, () => {
      this.#nextExpiry = -Infinity;
      this.#dropExpired();
      this.#scheduleExpiry();
    });
  }

  #canJoin(feed: Feed): boolean {
    const hasFailed = feed.end !== undefined && "error" in feed.end;
    return !hasFailed && feed.dropped === 0 && this.remainingTtl(feed.startedAt) > 0;
  }
}

/** Creates no array: many runs look for room at once. */
function findFirst<T>(items: Iterable<T>, matches: (item: T) => boolean): T | undefined {
  for (const item of items) if (matches(item)) return item;
  return undefined;
}

function dataChanged(): HttpProblem {
  const problem = new HttpProblem({
    status: 503,
    title: "Data changed",
    detail: "A dataset was published again during the download",
    hint: "repeat the download",
  }, { "retry-after": "1" });
  return withCause(problem, "changed");
}

function noMemory(): LimitReached {
  return new LimitReached({
    status: 503,
    cause: "memory",
    title: "Not enough memory",
    detail: "Other downloads use all the memory that this server has for downloads",
  });
}
