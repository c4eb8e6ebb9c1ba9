import type { Bytes } from "../bytes.ts";
import { ValidationError } from "../errors.ts";
import { parseWholeNumber } from "../validation.ts";

/**
 * Writes the JSON pages of the service as one document of another format.
 *
 * The state changes only when rows are taken. A page that is rejected before that can be written again.
 */
export interface PageWriter {
  /** Progress of the document. */
  readonly state: WriterState;
  /** Starts a page that arrives in chunks. Only one page is open at a time. */
  openPage(options?: PageOptions): ArrivingPage;
  /**
   * Writes a whole page.
   *
   * @param page Bytes of a page, as the service sent them
   * @param dropsId Whether to leave out `Id` (see {@linkcode PageOptions})
   * @throws {PageFault} If the bytes are not a page, or a row cannot be added to the document
   */
  write(page: Uint8Array, dropsId?: boolean): WrittenPage;
  /** Returns the bytes after the last page. */
  end(): Bytes;
}

/** How to write a page. */
export interface PageOptions {
  /**
   * Whether to leave out `Id`, because it was requested only to check the pages. The CSV writer ignores
   * this: it writes only its columns.
   */
  dropsId?: boolean;
  /** Whether to collect the DOIs of the rows. */
  collectsDois?: boolean;
  /** Ids of rows to leave out. Default: none. */
  omittedIds?: ReadonlySet<RowId>;
  /** Length (bytes) of the page, if it is known. */
  length?: number;
}

/** Receives bytes that arrive in chunks of any sizes. */
export interface ByteTarget {
  /** Returns memory to fill with the next bytes. It is invalid after the next call. */
  space(): Bytes;
  /**
   * Adds bytes that were read into the memory of `space()`.
   *
   * @param filled The start of the last `space()`; a stream may have moved it to another buffer
   */
  add(filled: Bytes): void;
  /** Adds bytes that are in other memory. */
  append(chunk: Uint8Array): void;
}

/**
 * A page that is written while it arrives. `add()` scans the bytes; `append()` may keep them until the next `scan()`.
 * Scanning throws a `PageFault` if the page is malformed, possibly after further bytes.
 */
export interface ArrivingPage extends ByteTarget {
  /** Number of bytes that are not yet scanned. */
  readonly unscanned: number;
  /** Writes the rows that have arrived completely. */
  scan(): void;
  /** Number of lists of rows that have begun. Each replaces the earlier ones. */
  readonly lists: number;
  /** Ids of the rows that were scanned; `undefined` for a row without one. */
  readonly ids: RowIds;
  /** Number of bytes that `takeRows()` would return; 0 if it must not be called. */
  readonly takeableLength: number;
  /**
   * Returns the rows that were scanned since the last call, except the last one, as the next bytes of the
   * document. The last row is kept back until the page is complete, because it may be damaged. Such a row can
   * end too early, and the bytes after it are malformed.
   */
  takeRows(): TakenRows;
  /**
   * Ends the page.
   *
   * @throws {PageFault} If the page is malformed or incomplete
   */
  end(): CompletePage;
}

/** Rows of a page, as the next bytes of the document. */
export interface TakenRows {
  bytes: Bytes;
  rows: number;
  /** Distinct DOIs of the rows, except those of rows that were taken before; empty if not collected. */
  dois: string[];
}

/** A page whose JSON is complete and well-formed. */
export interface CompletePage {
  /** Members of the page other than its rows. */
  envelope: Record<string, unknown>;
  /** Why the page cannot be written; `undefined` if it can. */
  fault: PageFault | undefined;
  /** Number of rows that are not yet taken. */
  rows: number;
  /** Ids of all rows of the page; `undefined` if a row has no Id. */
  ids: CompleteIds | undefined;
  /** Returns the rows that are not yet taken, as the next bytes of the document. Call it at most once. */
  takeRows(): TakenRows;
}

/** Writes a page that has arrived completely. */
export function writeWholePage(
  writer: Pick<PageWriter, "openPage">,
  page: Uint8Array,
  options: PageOptions,
): WrittenPage {
  const arriving = writer.openPage({ ...options, length: page.length });
  arriving.append(page);
  const { envelope, fault, rows, ids, takeRows } = arriving.end();
  if (fault !== undefined) throw fault;
  return { bytes: takeRows().bytes, rows, ids, envelope };
}

/**
 * Checks that a page is bytes.
 *
 * @throws {ValidationError} If it is not a `Uint8Array`; one of another realm is accepted
 */
export function requirePage(page: Uint8Array | null | undefined): void {
  if (page?.[Symbol.toStringTag] === "Uint8Array") return;
  // The value is not shown: it may be the text of a whole page.
  throw new ValidationError("page", `must be a Uint8Array, got ${typeof page}`);
}

/** A page in the bytes of another format. */
export interface WrittenPage {
  /** Bytes to append to the document. */
  bytes: Bytes;
  /** Number of rows. */
  rows: number;
  /** Ids of the rows; `undefined` if a row has no Id. */
  ids: CompleteIds | undefined;
  /** Members of the page other than its rows, such as the link to the next page. */
  envelope: Record<string, unknown>;
}

/**
 * Progress of a document, JSON-serialisable. Another writer of the same format and options can
 * continue from it. State files of the command line contain it, so its property names must not change.
 */
export interface WriterState {
  /** Whether the head of the document, such as the header of CSV, was written. */
  isBegun: boolean;
  /** Whether a row was written. JSON and GeoJSON only. */
  hasRows?: boolean;
  /** Columns. CSV only. */
  fields?: readonly string[];
}

/** Id of a row: an integer, or a string such as the UUIDs of Metadata. */
export type RowId = number | string;

/** Ids of rows, in order; `undefined` for a row without one. If all are integers, a typed array. */
export type RowIds = Float64Array<ArrayBuffer> | readonly (RowId | undefined)[];

/** Ids of rows that all have one. */
export type CompleteIds = Float64Array<ArrayBuffer> | readonly RowId[];

/** Name of the field that identifies a row. */
export const ID_FIELD = "Id";

/**
 * Converts the value of `Id`. Safe integers, and strings of their digits, become numbers; other
 * strings are kept.
 *
 * @returns The Id; `undefined` for an empty string or any other value
 */
export function toRowId(value: unknown): RowId | undefined {
  if (typeof value === "number") return Number.isSafeInteger(value) ? value : undefined;
  if (typeof value !== "string" || value === "") return undefined;
  return parseWholeNumber(value) ?? value;
}

/** Returns the Ids if every row has one, otherwise `undefined`. */
export function completeIds(ids: RowIds): CompleteIds | undefined {
  if (ids instanceof Float64Array) return ids;
  return ids.every((id) => id !== undefined) ? ids : undefined;
}

/** Fault of a page whose member `value` is not an array of objects. */
export const NO_ROW_LIST = 'no list of rows under "value"';

/** A page that cannot be written: it is malformed, or has a field that cannot become a column. */
export class PageFault extends SyntaxError {
  override readonly name = "PageFault";

  /**
   * @param received What was received or is wrong, for the message
   * @param hint What to do. Set only if requesting the page again would not help
   */
  constructor(readonly received: string, readonly hint?: string) {
    super(hint === undefined ? `Expected a page of JSON, got ${received}` : `${received}: ${hint}`);
  }
}

/**
 * Frees the memory of bytes immediately, if the runtime has `ArrayBuffer.prototype.transfer`.
 * Otherwise garbage collection frees it, often only after the next page has arrived.
 */
export function releaseBuffer({ buffer }: { buffer: ArrayBuffer }): void {
  buffer.transfer?.(0);
}

/** Joins chunks of bytes. */
export function concatBytes(chunks: readonly Uint8Array[]): Bytes {
  const bytes = new Uint8Array(chunks.reduce((length, chunk) => length + chunk.length, 0));
  let offset = 0;
  for (const chunk of chunks) {
    bytes.set(chunk, offset);
    offset += chunk.length;
  }
  return bytes;
}

/** Initial number of Ids for which there is room: as many as a page usually has. */
const PAGE_ROWS = 10_000;

/**
 * Collects the Ids of the rows of a page.
 *
 * Integers are kept outside of the heap of JavaScript. An array of 10,000 Ids survives the collections of young
 * objects while its page arrives. V8 then enlarges its young generation (by 15 MB in a million rows), and marks
 * the heap 1.5 times as often.
 */
export class RowIdList {
  #integers = new Float64Array(PAGE_ROWS);
  #length = 0;
  /** All Ids, if one of them is no integer. */
  #others: (RowId | undefined)[] | undefined;
  #ids = this.#integers.subarray(0, 0);

  /** The Ids so far. Later Ids do not change it, unless it is an ordinary array. */
  get ids(): RowIds {
    if (this.#others !== undefined) return this.#others;
    if (this.#ids.length < this.#length) this.#ids = this.#integers.subarray(0, this.#length);
    return this.#ids;
  }

  /** Adds an Id. */
  push(id: RowId | undefined): void {
    if (typeof id !== "number" || this.#others !== undefined) {
      this.#others ??= [...this.#integers.subarray(0, this.#length)];
      this.#others.push(id);
      return;
    }
    if (this.#length === this.#integers.length) {
      const larger = new Float64Array(2 * this.#length);
      larger.set(this.#integers);
      this.#integers = larger;
    }
    this.#integers[this.#length++] = id;
  }
}
