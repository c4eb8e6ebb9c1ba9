import type { Clock } from "../src/clock.ts";
import type { PageBuffer } from "../src/client/read_ahead.ts";
import { type ClientReader, SlowReaders } from "./client_reader.ts";
import { ExpiringSet } from "./lease.ts";
import { HttpProblem } from "./problem.ts";

/** Interval (ms) at which the first download that waits checks whether there is room. */
const ROOM_POLL_INTERVAL = 20;
/** Interval (ms) at which the other downloads check whether they are the first one. */
const TURN_POLL_INTERVAL = 100;
/** Time (ms) without a poll after which a download that waits is treated as abandoned. */
const ABANDONED_AFTER = 5_000;
/**
 * Time (ms) without a poll after which an abandoned download is removed from the queue. It is longer than most
 * suspensions of a process.
 */
const FORGOTTEN_AFTER = 60_000;
/** Length (bytes) that is reserved for the first page of a download; 10,000 records take about 3 MB as CSV. */
const FIRST_PAGE_LENGTH = 4_000_000;

/**
 * Limits the output that all open downloads buffer for their clients.
 *
 * A download reserves room for a page before it requests the page, in the order of arrival. Slow readers come
 * last, and are disconnected if there is no room for another download. The server reads a page without waiting
 * for the client, because a page that is being received blocks the other requests to the service. A page can be
 * longer than expected. Pages arrive one after another, so the limit is exceeded at most by the difference.
 *
 * A waiter polls, because workerd ends a request that awaits a promise of another request.
 */
export class OutputBudget {
  readonly #max: number;
  readonly #clock: Clock;
  readonly #slowReaders: SlowReaders;
  readonly #buffers: ExpiringSet<OutputBuffer>;
  /** Downloads that wait for room, in the order of arrival. */
  #waiters: { buffer: OutputBuffer; polledAt: number }[] = [];

  /**
   * @param max Maximum number of bytes
   * @param slowReaders Disconnects a slow reader if there is no room. Default: none is slow
   */
  constructor(max: number, clock: Clock, slowReaders: SlowReaders = new SlowReaders(0)) {
    this.#max = max;
    this.#slowReaders = slowReaders;
    this.#clock = clock;
    this.#buffers = new ExpiringSet(clock);
  }

  /** Number of bytes that are buffered or reserved. A page that several downloads share counts once. */
  get used(): number {
    const shared = lengthOfPages(this.sharedPages);
    return shared + this.#openBuffers().reduce((sum, { length }) => sum + length, 0);
  }

  /** Number of downloads that wait for room, or were dropped while they waited. */
  get waiting(): number {
    return this.#waiters.length;
  }

  /** Shared pages that clients still read. */
  get sharedPages(): Set<HeldPage> {
    return new Set(this.#openBuffers().flatMap(({ pages }) => [...pages]));
  }

  /**
   * Adds the buffer of a download.
   *
   * @returns A function that removes it
   */
  add(buffer: OutputBuffer): () => void {
    return this.#buffers.add(buffer);
  }

  /**
   * Reserves room for the next page of a download, and waits for it. A page that is longer than the limit
   * waits until no other download buffers anything.
   *
   * @param signal Ends the wait; the promise rejects with its reason
   * @param maxWait Returns the maximum time (ms) to wait; `undefined` for no maximum
   * @throws {HttpProblem} 503 after the maximum time
   */
  async reservePage(
    buffer: OutputBuffer,
    signal: AbortSignal,
    maxWait: () => number | undefined,
  ): Promise<void> {
    const clock = this.#clock;
    const startedAt = clock.now();
    const waiter = { buffer, polledAt: startedAt };
    try {
      for (;;) {
        const now = waiter.polledAt = clock.now();
        if (!this.#waiters.includes(waiter)) this.#waiters.push(waiter);
        const isFirst = this.#firstWaiter(now) === buffer;
        if (isFirst && (this.#hasRoomFor(buffer) || this.#makeRoomFor(buffer))) {
          return buffer.reserve();
        }
        if (now - startedAt >= (maxWait() ?? Infinity)) throw noRoom();
        await clock.sleep(isFirst ? ROOM_POLL_INTERVAL : TURN_POLL_INTERVAL, signal);
      }
    } finally {
      this.#waiters = this.#waiters.filter((other) => other !== waiter);
    }
  }

  /** Whether there is room for a page that the client of a download does not need yet. */
  hasSpareRoomFor({ expectedLength }: OutputBuffer): boolean {
    return this.waiting === 0 && this.used + expectedLength <= this.#max;
  }

  /** Returns the buffers, except those of disconnected readers, whose downloads end soon. */
  #openBuffers(): OutputBuffer[] {
    return this.#buffers.entries().filter(({ reader }) => reader?.disconnectReason === undefined);
  }

  /** Returns the first waiting download whose reader is not slow, or else the first waiting download. */
  #firstWaiter(now: number): OutputBuffer | undefined {
    // A request that the runtime has dropped does not remove itself, and its buffer keeps pages in memory.
    this.#waiters = this.#waiters.filter(({ polledAt }) => now - polledAt <= FORGOTTEN_AFTER);
    const waiting = this.#waiters.filter(({ polledAt }) => now - polledAt <= ABANDONED_AFTER)
      .map(({ buffer }) => buffer);
    return waiting.find(({ reader }) => !this.#slowReaders.isSlow(reader)) ?? waiting[0];
  }

  /**
   * Disconnects slow readers until there is room for the next page of a download, unless its own reader is slow.
   *
   * @returns Whether there is room
   */
  #makeRoomFor(buffer: OutputBuffer): boolean {
    if (this.#slowReaders.isSlow(buffer.reader)) return false;
    const holdsRoom = (other: OutputBuffer) =>
      other !== buffer && (other.length > 0 || other.pages.size > 0);
    const disconnectOne = () =>
      this.#slowReaders.disconnectOne(
        this.#openBuffers().filter(holdsRoom).map(({ reader }) => reader),
        "memory",
      );
    while (!this.#hasRoomFor(buffer)) if (!disconnectOne()) return false;
    return true;
  }

  /** Whether there is room for the next page of a download, or no other download buffers anything. */
  #hasRoomFor({ length, pages, expectedLength }: OutputBuffer): boolean {
    const { used } = this;
    return used === length + lengthOfPages(pages) || used + expectedLength <= this.#max;
  }
}

/** A page in memory that several downloads can share. */
export interface HeldPage {
  /** Number of bytes so far. */
  readonly length: number;
}

function lengthOfPages(pages: ReadonlySet<HeldPage>): number {
  let sum = 0;
  for (const { length } of pages) sum += length;
  return sum;
}

/** Delay (s) after which a client may try again if there was no room. */
const NO_ROOM_DELAY = 30;

function noRoom(): HttpProblem {
  return new HttpProblem({
    status: 503,
    title: "Too many concurrent requests",
    detail: "Other downloads use all the memory that this server has for downloads",
    hint: `try again after ${NO_ROOM_DELAY} s`,
  }, { "retry-after": String(NO_ROOM_DELAY) });
}

/** Counts the output that one download buffers. */
export class OutputBuffer implements PageBuffer {
  /** Shared pages that the client still reads. */
  readonly pages: Set<HeldPage> = new Set();
  readonly #budget: OutputBudget;
  readonly #maxWait: () => number | undefined;
  readonly #closed = new AbortController();
  #remove: (() => void) | undefined;
  /** Number of bytes that have arrived and that the client has not read. */
  #unread = 0;
  /** Length (bytes) of the longest page so far. */
  #longestPage = 0;
  /** Number of bytes of the current page that are expected and have not arrived. */
  #missing = 0;
  /** Number of bytes of the current page that have arrived. */
  #arrived = 0;

  /**
   * @param budget The limit that all downloads share
   * @param maxWait Returns the maximum time (ms) to wait for room for a page. Default: no maximum
   * @param reader Reader of the download. Default: none, so the download is never slow
   */
  constructor(
    budget: OutputBudget,
    maxWait: () => number | undefined = () => undefined,
    readonly reader?: ClientReader,
  ) {
    this.#budget = budget;
    this.#maxWait = maxWait;
  }

  /** Expected length (bytes) of the next page: that of the longest page so far. */
  get expectedLength(): number {
    return this.#longestPage || FIRST_PAGE_LENGTH;
  }

  /** Number of bytes that are buffered or reserved, except those of shared pages. */
  get length(): number {
    return this.#unread + this.#missing;
  }

  /** Reserves room for the next page. */
  reserve(): void {
    this.#missing = this.expectedLength;
    this.#arrived = 0;
  }

  async startPage(): Promise<void> {
    const { signal } = this.#closed;
    signal.throwIfAborted();
    this.#remove ??= this.#budget.add(this);
    await this.#budget.reservePage(this, signal, this.#maxWait);
  }

  hasSpareRoom(): boolean {
    return this.#budget.hasSpareRoomFor(this);
  }

  add(bytes: number): void {
    this.addShared(bytes);
    this.#unread += bytes;
  }

  /** Counts bytes of the page that have arrived and belong to a shared page. */
  addShared(bytes: number): void {
    this.#arrived += bytes;
    this.#missing = Math.max(0, this.#missing - bytes);
  }

  /** Adds a shared page, unless the buffer is closed. */
  hold(page: HeldPage): void {
    if (this.#closed.signal.aborted) return;
    this.#remove ??= this.#budget.add(this);
    this.pages.add(page);
  }

  endPage(): void {
    this.#missing = 0;
    this.#longestPage = Math.max(this.#longestPage, this.#arrived);
  }

  /** Subtracts bytes that the client has read. */
  remove(bytes: number): void {
    this.#unread -= bytes;
  }

  /** Returns the reserved room to the budget, and ends a wait for room. Further calls have no effect. */
  close(): void {
    this.#closed.abort();
    this.pages.clear();
    this.#remove?.();
  }
}
