// A document that several clients read: its parts in memory, its position, what is known about its datasets, and its readers.
import { type Bytes, createSha256, releaseBuffer } from "../../src/bytes.ts";
import type { Clock } from "../../src/clock.ts";
import type { Cursor } from "../../src/client/query.ts";
import type { ServiceState } from "../../src/client/rate_limiter.ts";
import { type CompressorStates, releaseState } from "../../src/formats/deflate_blocks.ts";
import type { RowNotes } from "../../src/formats/tidy.ts";
import { startHeartbeat } from "../http/queue.ts";

/** A part of a document: rows that have arrived, or its end. */
export interface FeedPart {
  /** The feed frees its memory when all clients have read it. */
  readonly data: Bytes;
  readonly rows: number;
  readonly isPageEnd: boolean;
  /** Whether the service announced more rows. */
  readonly hasMore: boolean;
  /** Whether it is the end of the document. */
  readonly isLast: boolean;
  /** Position after the part. Absent if the document has only one part. */
  readonly cursor?: Cursor;
  /**
   * Number of bytes in memory of rows that have arrived, and are in a later part. The position has them if it is after rows of
   * this part. Default 0.
   */
  readonly heldBytes?: number | undefined;
  /** Whether all rows so far came in one response. Default true. */
  readonly isOneResponse?: boolean;
  /** Number of rows of the document that the service counted; `undefined` if it was not counted so far. */
  readonly expectedRows?: number | undefined;
  /** Facts about the rows so far, for the log and the data package. Absent if there are none. */
  readonly notes?: RowNotes;
  /** Number of counted rows that were not received, and of received rows that were not counted. */
  readonly missingRows?: number;
  readonly surplusRows?: number;
}

/** State of all datasets that can contain rows of a document. */
export interface DatasetState {
  /** Hash of their DOIs, versions and publication times. */
  readonly digest: string;
  /** Latest publication time (ms since 1970); `undefined` if there is none. */
  readonly publishedAt: number | undefined;
  /** Time of the clock at which the server last saw that one of them had changed; `undefined` if it never did. */
  readonly changedAt?: number | undefined;
}

/**
 * What the server has seen, the latest last: versions by DOI, and digests of all datasets of a query by its hash. The
 * newest value of a key is the first one, with the time of the clock at which it was first seen. Requests share it.
 */
export type Seen = Map<string, readonly { readonly value: string; readonly since: number }[]>;

/** A document of which all parts are in memory. */
export interface CompleteDocument {
  readonly parts: readonly FeedPart[];
  readonly bytes: number;
  readonly rows: number;
  /** SHA-256 in hexadecimal. `undefined` without `node:crypto`: Web Crypto needs a copy of all bytes. */
  readonly hash: string | undefined;
  /** State of its datasets, if it is known. */
  readonly state: DatasetState | undefined;
  /** Time from which its rows are. */
  readonly startedAt: number | undefined;
  /** Time at which it was complete. */
  readonly at: number;
}

export interface KnownState {
  state: DatasetState;
  /** Time of the response, or later. */
  at: number;
}

/** The requests of one client. Each reader brings its own. */
export interface FeedSource {
  /** Requests the document after a position, by default from its first row. */
  start(from: Cursor | undefined, signal: AbortSignal): AsyncIterator<FeedPart>;
  /** Requests the state of the datasets. Absent if the document is always one part. */
  requestState?(signal: AbortSignal, isFirst?: true): Promise<DatasetState>;
  /** Whether to request the state before the first page instead of after it. */
  readonly isStateFirst?: boolean | undefined;
  /** Returns the time (ms since 1970) at which the service sent its last response. */
  responseDate?(): number;
  /** Called after each page. */
  onPageEnd?(): void;
  /** What is known about the service for the client. */
  service?(): ServiceState;
  /** Format of the rows, for the metrics. Default `other`. */
  readonly format?: string;
  /** Expected length (bytes) of the document, if it is short. */
  readonly expectedLength?: number | undefined;
  /** Whether to request a page before a client has read the page before it completely. */
  readonly readsAhead?: boolean;
  /** Keeps the request of a Worker alive while a promise is pending. */
  waitUntil?(promise: Promise<unknown>): void;
}

/** A document in memory, or the part of it that has arrived. */
export class Feed {
  /** Parts that are in memory, and `undefined` for those that were dropped. */
  readonly parts: (FeedPart & { readonly fetchedBy: number } | undefined)[] = [];
  dropped = 0;
  bytes = 0;
  /** Number of bytes of rows that have arrived, and are in a later part. */
  held = 0;
  /** Whether these rows are lost with the run, because the position is before them. */
  isHeldByRun = false;
  /** Expected length of the page that is being fetched, for which memory is reserved. */
  reserved = 0;
  pageLength = 0;
  /** Number of bytes by which the current page has enlarged the feed so far. */
  arrived = 0;
  pages = 0;
  /** Index of the first part of the last page. */
  pageStart = 0;
  #position: Cursor | undefined;
  /** Whether all rows so far came in one response. */
  isOneResponse = true;
  /** State of the datasets before or after the first page; `undefined` until a second response is needed. */
  state: DatasetState | undefined;
  /** Time (ms since 1970) at which the service sent the first page. */
  firstPageDate: number | undefined;
  /** Time at which its first run got a slot. */
  startedAt: number | undefined;
  readonly readers: Set<Reader> = new Set();
  /**
   * Whether a reader was ever treated as gone. It comes back if its process was only suspended, so a complete document is not
   * freed.
   */
  hasLostReaders = false;
  run: FeedRun | undefined;
  /** Set when the document is complete or has failed. */
  end: { readonly at: number; readonly error?: unknown } | undefined;
  #hash: string | undefined;

  readonly expectedLength: number | undefined;
  readonly format: string;

  constructor(readonly key: string, { expectedLength, format = "other" }: FeedSource) {
    this.expectedLength = expectedLength;
    this.format = format;
  }

  /** Returns the state of the datasets of the document. A state that was requested must be older than the rows. */
  stateOf(known: KnownState | undefined): DatasetState | undefined {
    const { startedAt = Infinity } = this;
    const state = this.state ?? (known && known.at <= startedAt ? known.state : undefined);
    // So that all responses with the document have the same validators.
    if (this.end !== undefined) this.state = state;
    return state;
  }

  /** Returns the document if all of it is in memory. Its hash is computed once, when it is needed. */
  toDocument(known?: KnownState): CompleteDocument | undefined {
    const { bytes, startedAt, end, dropped } = this;
    if (end === undefined || "error" in end || dropped > 0) return undefined;
    const parts = this.parts as FeedPart[];
    const getHash = () => this.#hash ??= this.dropped > 0 ? undefined : sha256Of(parts);
    return {
      parts,
      bytes,
      rows: parts.reduce((sum, part) => sum + part.rows, 0),
      get hash() {
        return getHash();
      },
      state: this.stateOf(known),
      startedAt,
      at: end.at,
    };
  }

  /** Frees the memory of the parts before an index: clients are sent copies. */
  dropParts(end: number): void {
    for (; this.dropped < end; this.dropped++) {
      const { data } = this.parts[this.dropped]!;
      this.bytes -= data.length;
      if (data.length > 0) releaseBuffer(data);
      this.parts[this.dropped] = undefined;
    }
  }

  get position(): Cursor | undefined {
    return this.#position;
  }

  /** Frees the state of the writer before it, which can refer to a megabyte of rows. */
  set position(position: Cursor | undefined) {
    const [before, after] = [this.#position?.writer, position?.writer] as CompressorStates[];
    releaseState(before, after);
    this.#position = position;
  }

  /** Begins a page for which a number of bytes is reserved. */
  startPage(expected: number): void {
    this.pageStart = this.parts.length;
    this.arrived = 0;
    this.reserved = expected;
  }

  setRun(run: FeedRun | undefined): void {
    this.run = run;
    this.reserved = 0;
    if (this.isHeldByRun || this.end !== undefined) this.held = 0;
    if (this.end !== undefined) this.position = undefined;
    this.isHeldByRun = false;
  }

  /** Whether further rows must wait for the state of the datasets. */
  get isUnchecked(): boolean {
    return this.state === undefined && this.end === undefined;
  }
}

function sha256Of(parts: readonly FeedPart[]): string | undefined {
  const hash = createSha256();
  for (const { data } of parts) hash?.update(data);
  return hash?.digest("hex");
}

/** Fetches the document of a feed, with the requests of one reader. */
export interface FeedRun {
  readonly reader: Reader;
  seenAt: number;
  /** Gives its slot back; `undefined` if it has none. */
  leave: (() => void) | undefined;
  /** Ends the run. Only its own request calls it. */
  readonly stop: AbortController;
  wake(): void;
}

/** What readers need from all feeds. */
interface FeedKeeper {
  readonly limits: { readonly clock: Clock };
  /** Adds a reader, also again if it seemed to be gone. */
  keep(reader: Reader): void;
  /** Returns the time (ms) for which rows of a time can still be cached. Default: of now. */
  remainingTtl(since: number | undefined): number;
  /** Called when a client begins to read a part. */
  onTake(reader: Reader, isHit: boolean): void;
  /** Called when a client has read a part. */
  onRead(reader: Reader): void;
  onClose(reader: Reader): void;
  /** Starts a run that fetches the feed with the requests of a reader, unless the feed has a run. */
  fetch(reader: Reader): void;
}

/** Reads a document at the speed of its client. */
export class Reader {
  /** Number of parts that the client has read completely. */
  next = 0;
  /** Whether the client is reading the part after them. */
  isReading = false;
  /** Error with which another request ends the reader. */
  error: Error | undefined;
  /** Time at which the request of the reader was last known to exist. */
  seenAt = 0;
  /** Time since which the client has always had a part to read; `undefined` if it waits for one. */
  behindSince: number | undefined;
  isClosed = false;
  wake: () => void = () => {};
  onHeartbeat: () => void = () => {};
  readonly #stopHeartbeat: () => void;

  constructor(
    readonly feeds: FeedKeeper,
    readonly feed: Feed,
    readonly source: FeedSource,
    readonly client: string | undefined,
    readonly id: number,
  ) {
    this.#renew();
    this.#stopHeartbeat = startHeartbeat(feeds.limits.clock, () => {
      this.#renew();
      this.wake();
      this.onHeartbeat();
    });
  }

  /** Whether its client has got a part, so that the runtime may have bytes to send. */
  get hasStarted(): boolean {
    return this.next > 0 || this.isReading;
  }

  #renew(): void {
    this.seenAt = this.feeds.limits.clock.now();
    if (this.error === undefined && !this.isClosed) this.feeds.keep(this);
  }

  /** Time (ms) for which the rows can still be cached. */
  get remainingTtl(): number {
    return this.feeds.remainingTtl(this.feed.startedAt);
  }

  /** Continues at a byte of a complete document. Returns its index in the part that is read next. */
  seek(offset: number): number {
    const { parts } = this.feed;
    let index = offset;
    for (this.next = 0; this.next < parts.length - 1; this.next++) {
      const { length } = parts[this.next]!.data;
      if (index < length) break;
      index -= length;
    }
    return index;
  }

  /** Returns the next part, or `undefined` after the last one. Fetches the document if no other reader does. */
  async read(signal?: AbortSignal): Promise<FeedPart | undefined> {
    const wake = () => this.wake();
    signal?.addEventListener("abort", wake);
    this.#renew(); // the timer is late if the process was suspended
    if (this.isReading) {
      this.isReading = false;
      this.next++;
      this.feeds.onRead(this);
    }
    try {
      for (;;) {
        signal?.throwIfAborted();
        this.check();
        this.#renew();
        const part = this.feed.parts[this.next];
        if (part !== undefined) {
          this.isReading = true;
          this.feeds.onTake(this, part.isPageEnd && !part.isLast && part.fetchedBy !== this.id);
          return part;
        }
        this.behindSince = undefined;
        if (this.feed.end !== undefined) {
          if (this.feed.end.error !== undefined) throw this.feed.end.error;
          return undefined;
        }
        this.feeds.fetch(this);
        await new Promise<void>((resolve) => this.wake = resolve);
      }
    } finally {
      signal?.removeEventListener("abort", wake);
    }
  }

  /** Throws if another request has ended the reader, or the part that the client reads is no longer in memory. */
  check(): void {
    if (this.error !== undefined) throw this.error;
    // While the process was suspended, the reader was treated as gone.
    if (this.next < this.feed.dropped) {
      throw new Error("the next rows of this download are no longer in memory: repeat it");
    }
  }

  close(): void {
    if (this.isClosed) return;
    this.isClosed = true;
    this.#stopHeartbeat();
    this.feeds.onClose(this);
  }
}
