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
  openPage(options?: PageOptions): PageConversion<PageData<Bytes>>;
  /** Returns the bytes after the last page. */
  end(): Bytes;
}

/** How to write a page. */
export interface PageOptions {
  /**
   * Fields to leave out: `Id` if it was requested only to check the pages, and those that were requested only for
   * their values. The CSV writer ignores this: it writes only its columns. Default: none.
   */
  drops?: readonly string[];
  /** Fields whose distinct values are collected. Default: none. */
  distinct?: readonly string[];
  /** Length (bytes) of the page, if it is known. */
  length?: number;
}

/** Converts one page while it arrives. */
export interface PageConversion<T> {
  /**
   * Adds the next bytes of the page, and converts the rows that are complete. The bytes are not used after the call.
   *
   * @throws {PageFault} If the page is malformed
   */
  feed(bytes: Uint8Array): void;
  /** Ids of the rows that were converted so far; `undefined` for a row without one. */
  readonly ids: RowIds;
  /** Number of bytes that `take()` would return; 0 if it must not be called. */
  readonly takeableLength: number;
  /**
   * Returns the rows that were converted since the last call, except the last one. The last row is kept back
   * until the page is complete, because it may be damaged: it can end too early, and the bytes after it are malformed.
   */
  take(): TakenRows<T>;
  /**
   * Ends the page.
   *
   * @throws {PageFault} If the page is malformed or incomplete
   */
  end(): CompletePage<T>;
}

/** Converted rows. */
export interface TakenRows<T> {
  content: T;
  /** Number of rows in the content. */
  rows: number;
}

/** A value that a row has in a field. A number is written as text. */
export type FoundValue = readonly [field: string, value: string];

/** Converted rows of a page, and the values that are collected from them. */
export interface PageData<T> {
  data: T;
  /** Distinct values of the rows, except those of rows that were taken before. */
  values: readonly FoundValue[];
}

/** A page whose JSON is complete and well-formed. */
export interface CompletePage<T> {
  /** Members of the page other than its rows. */
  envelope: Record<string, unknown>;
  /** Why the page cannot be written; `undefined` if it can. */
  fault: PageFault | undefined;
  /** Number of rows that are not yet taken. */
  rows: number;
  /** Ids of all rows of the page; `undefined` if a row has no Id. */
  ids: CompleteIds | undefined;
  /** Returns the rows that are not yet taken. Call it at most once. */
  take: () => T;
}

/**
 * Writes a page that has arrived completely.
 *
 * @param page Bytes of a page, as the service sent them
 * @throws {ValidationError} If it is not a `Uint8Array`
 * @throws {PageFault} If the bytes are not a page, or a row cannot be added to the document
 */
export function writePage(writer: PageWriter, page: Uint8Array): Bytes {
  // A `Uint8Array` of another realm is accepted. The value is not shown: it may be the text of a whole page.
  if (page?.[Symbol.toStringTag] !== "Uint8Array") {
    throw new ValidationError("page", `must be a Uint8Array, got ${typeof page}`);
  }
  const arriving = writer.openPage({ length: page.length });
  arriving.feed(page);
  const { fault, take } = arriving.end();
  if (fault !== undefined) throw fault;
  return take().data;
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

/** A page that cannot be converted: it is malformed, or has a field that cannot become a column. */
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

/** Creates the fault of a page that is not JSON. */
export function brokenJson(): PageFault {
  return new PageFault("broken JSON");
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
