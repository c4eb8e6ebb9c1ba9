// Writers of pages: the interface that the client uses, and the conversion from JSON to the bytes of a format.
import type { Bytes } from "../bytes.ts";
import { ValidationError } from "../errors.ts";
import { DistinctValues, type FoundValue } from "./distinct_values.ts";
import {
  CLOSE_ARRAY,
  CLOSE_OBJECT,
  COMMA,
  OPEN_ARRAY,
  OPEN_OBJECT,
  PageFault,
  parseBytes,
  skipColon,
  skipString,
  skipValue,
  skipWhiteSpace,
} from "./json_scanner.ts";
import { ID_FIELD, type RowId, RowReader } from "./row_reader.ts";

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

/** Writes pages as one document of a format. */
export abstract class DocumentWriter implements PageWriter {
  abstract state: WriterState;
  /** Fields of the first columns of the row reader, in order. */
  abstract readonly fields: readonly string[];
  /** Whether each other field of a row becomes a column. Otherwise, only `Id` and the fields whose values are collected do. */
  readonly addsColumns: boolean = false;
  /** Byte that a cell cannot contain without quotes; 0 if there are no cells. */
  readonly separator: number = 0;

  openPage(options?: PageOptions): PageConversion<PageData<Bytes>> {
    return new PageTranscoder(this, options);
  }

  /**
   * Writes the row that the reader has read.
   *
   * @param at Offset of the row in the window
   * @param end Offset after the row
   * @returns The fault if it cannot be added to the document; it is then not written
   */
  abstract writeRow(page: PageTranscoder, at: number, end: number): PageFault | undefined;

  /**
   * Called before rows are taken. It can rewrite the rows of the page, for example to add columns.
   *
   * @param _output The written rows
   * @param _columns Columns of the reader
   * @returns The offset of the last row in the output; `undefined` if nothing has changed
   */
  seal(_output: ByteBuffer, _columns: readonly string[]): number | undefined {
    return undefined;
  }

  /**
   * Returns rows as the next bytes of the document, and advances the state of the document.
   *
   * @param rows The written rows, in a buffer that is reused: copy them
   * @param count Number of rows
   */
  abstract append(rows: Bytes, count: number): Bytes;

  abstract end(): Bytes;
}

/** Maximum number of bytes that are copied to the window before they are scanned, so that they stay in the CPU's cache. */
const PIECE_LENGTH = 1 << 17;

/** UTF-8 byte order mark. */
const BOM_BYTES = [0xef, 0xbb, 0xbf];

/** Token that the transcoder expects next, in the page or in its list of rows. */
type Expected = "page" | "item or end" | "item" | "comma or end" | "nothing";

/**
 * Transcodes a page from JSON to another format while it arrives, from bytes to bytes.
 *
 * A page is an object. The items of its member `value` are the rows; its other members are the envelope.
 * A member or a row that has arrived incompletely is tried again when its bytes have doubled, so that every byte is
 * read a constant number of times, whatever the sizes of the chunks.
 */
export class PageTranscoder implements PageConversion<PageData<Bytes>> {
  readonly window = new PageWindow();
  readonly output: ByteBuffer;
  /** Reader of the rows; it has read the row to write. */
  readonly reader: RowReader;
  /** Fields to leave out. */
  readonly drops: readonly string[];
  readonly #format: DocumentWriter;
  readonly #ids = new RowIdList();
  readonly #distinct: DistinctValues | undefined;
  readonly #envelope = new Map<string, unknown>();
  #expected: Expected = "page";
  #isInRows = false;
  /** What the member `value` of the page is; `undefined` if it has not arrived. */
  #value: "rows" | "other" | undefined;
  /** Number of unread bytes at which an incomplete row or member is tried again. */
  #minLength = 0;
  /** Offset of the last closing brace in the window: a row after it is incomplete, and need not be read. */
  #lastBrace = -1;
  /** Number of rows that were written. */
  #written = 0;
  /** Number of written rows that were taken. */
  #taken = 0;
  /** Offset of the last row in the output. */
  #lastRow = 0;
  /** Fault of the first row that cannot be added to the document. No later row is written. */
  #fault: PageFault | undefined;

  constructor(
    format: DocumentWriter,
    { drops = [], distinct = [], length }: PageOptions = {},
  ) {
    this.#format = format;
    this.drops = drops;
    this.output = new ByteBuffer(length);
    this.#distinct = distinct.length > 0 ? new DistinctValues(distinct) : undefined;
    const { fields, addsColumns, separator } = format;
    // The page checks need Ids, which are not written. They are no columns while other fields become columns.
    const columns = addsColumns ? fields : [...new Set([...fields, ID_FIELD, ...distinct])];
    this.reader = new RowReader(this.window, separator, columns, addsColumns);
  }

  get ids(): RowIds {
    return this.#ids.ids;
  }

  get takeableLength(): number {
    const hasColumns = this.reader.columns.length > 0;
    return hasColumns && this.#fault === undefined ? this.#lastRow : 0;
  }

  feed(bytes: Uint8Array): void {
    for (let start = 0; start < bytes.length; start += PIECE_LENGTH) {
      const isWhole = bytes.length <= PIECE_LENGTH;
      this.window.append(isWhole ? bytes : bytes.subarray(start, start + PIECE_LENGTH));
      if (this.window.length >= this.#minLength) this.#scan();
    }
  }

  take(): TakenRows<PageData<Bytes>> {
    const end = this.#format.seal(this.output, this.reader.columns) ?? this.#lastRow;
    this.#lastRow = 0;
    return this.#take(end, this.#written - 1);
  }

  end(): CompletePage<PageData<Bytes>> {
    this.#scan();
    if (this.#expected !== "nothing") throw brokenJson();
    return {
      envelope: Object.fromEntries(this.#envelope),
      fault: this.#value === "rows" ? this.#fault : new PageFault(NO_ROW_LIST),
      rows: this.#written - this.#taken,
      ids: completeIds(this.ids),
      take: () => {
        this.#format.seal(this.output, this.reader.columns);
        const { content } = this.#take(this.output.length, this.#written);
        // Released here, because a download that waits for its next page still references this one.
        releaseBuffer(this.window.bytes);
        releaseBuffer(this.output.bytes);
        return content;
      },
    };
  }

  /** Reads the bytes of the window, except for a row or member at their end that is incomplete. */
  #scan(): void {
    const window = this.window;
    this.#minLength = 0;
    this.#lastBrace = window.bytes.lastIndexOf(CLOSE_OBJECT, window.length);
    for (;;) {
      if (this.#expected !== "page") {
        window.start = skipWhiteSpace(window.bytes, window.start);
      }
      if (window.start === window.length) return;
      const after = this.#readToken(window.start);
      if (after >= 0) window.start = after;
      else if (~after < window.length) throw brokenJson();
      else {
        this.#minLength = 2 * (window.length - window.start);
        return;
      }
    }
  }

  /** Reads a row, a member or a token between them. Returns the offset after it, as in `json_scanner.ts`. */
  #readToken(at: number): number {
    const { bytes } = this.window;
    const byte = bytes[at];
    const expected = this.#expected;
    if (expected === "page") return this.#readStart(at);
    if (expected === "nothing") return ~at;
    if (expected !== "item" && byte === (this.#isInRows ? CLOSE_ARRAY : CLOSE_OBJECT)) {
      this.#expected = this.#isInRows ? "comma or end" : "nothing";
      this.#isInRows = false;
      return at + 1;
    }
    if (expected === "comma or end") {
      if (byte !== COMMA) return ~at;
      this.#expected = "item";
      return at + 1;
    }
    if (!this.#isInRows) return this.#readMember(at);
    if (byte !== OPEN_OBJECT) throw new PageFault(NO_ROW_LIST);
    if (at > this.#lastBrace) return ~this.window.length;
    const end = this.#readRow(at);
    if (end >= 0) this.#expected = "comma or end";
    return end;
  }

  /** Reads the byte order mark, if there is one, and the opening brace of the page. */
  #readStart(at: number): number {
    const { bytes } = this.window;
    if (bytes[at] === BOM_BYTES[0]) {
      for (const byte of BOM_BYTES) if (bytes[at++] !== byte) return ~(at - 1);
    }
    at = skipWhiteSpace(bytes, at);
    if (bytes[at] === OPEN_ARRAY) throw new PageFault(NO_ROW_LIST);
    if (bytes[at] !== OPEN_OBJECT) return ~at;
    this.#expected = "item or end";
    return at + 1;
  }

  /** Reads a member of the page up to its end, or up to the first row. */
  #readMember(at: number): number {
    const { bytes, length } = this.window;
    const nameEnd = skipString(bytes, at);
    if (nameEnd < 0) return nameEnd;
    const start = skipColon(bytes, nameEnd);
    if (start < 0) return start;
    const name = parseBytes(bytes, at, nameEnd) as string;
    const isValue = name === "value";
    if (isValue && this.#value !== undefined) throw new PageFault('a second member "value"');
    if (isValue && bytes[start] === OPEN_ARRAY) {
      this.#value = "rows";
      this.#isInRows = true;
      this.#expected = "item or end";
      return start + 1;
    }
    const end = skipValue(bytes, start);
    if (end < 0) return end;
    // A number may continue in the next chunk.
    if (end === length) return ~end;
    if (isValue) this.#value = "other";
    else this.#envelope.set(name, parseBytes(bytes, start, end));
    this.#expected = "comma or end";
    return end;
  }

  #readRow(at: number): number {
    const reader = this.reader;
    const end = reader.read(at);
    if (end < 0) return end;
    this.#ids.push(reader.rowId());
    if (this.#fault !== undefined) return end;
    const start = this.output.length;
    this.#fault = this.#format.writeRow(this, at, end);
    if (this.#fault !== undefined) return end;
    this.#distinct?.add(this.window.bytes, reader, this.#written);
    this.#lastRow = start;
    this.#written++;
    return end;
  }

  /**
   * Takes the rows before an offset in the output.
   *
   * @param written Number of rows of the page before this offset, including those taken before
   */
  #take(end: number, written: number): TakenRows<PageData<Bytes>> {
    const rows = written - this.#taken;
    const data = this.#format.append(this.output.bytes.subarray(0, end), rows);
    this.output.dropFirst(end);
    this.#taken = written;
    return { content: { data, values: this.#distinct?.take(written) ?? [] }, rows };
  }
}

/**
 * Initial capacity (bytes). The system commits only what is written, so it is larger than most pages of few fields.
 * From 16 KB, a buffer would be copied five times while such a page is written.
 */
const INITIAL_CAPACITY = 1 << 19;

/** Number of bytes after those that were reserved: `copyWords()` may overwrite eight, and a window ends with zeros. */
const SPARE_LENGTH = 16;

/** Growing buffer to which bytes are appended. */
export class ByteBuffer {
  /** Buffer of the bytes, with room after them. `reserve()` can replace it. */
  bytes: Bytes;
  /** View of the same buffer. */
  view: DataView;
  /** Number of bytes written. */
  length = 0;

  /** @param capacity Number of bytes for which there is room. The system commits only what is written */
  constructor(capacity: number = INITIAL_CAPACITY) {
    this.bytes = new Uint8Array(capacity);
    this.view = new DataView(this.bytes.buffer);
  }

  /** Returns the buffer after making room for `count` more bytes. */
  reserve(count: number): Bytes {
    const needed = this.length + count + SPARE_LENGTH;
    if (needed > this.bytes.length) {
      const larger = new Uint8Array(2 * needed);
      larger.set(this.bytes.subarray(0, this.length));
      releaseBuffer(this.bytes);
      this.bytes = larger;
      this.view = new DataView(larger.buffer);
    }
    return this.bytes;
  }

  /** Appends bytes. */
  append(bytes: Uint8Array): void {
    this.reserve(bytes.length).set(bytes, this.length);
    this.length += bytes.length;
  }

  /** Removes the first `count` bytes. */
  dropFirst(count: number): void {
    if (count > 0) this.bytes.copyWithin(0, count, this.length);
    this.length -= count;
  }
}

/**
 * The part of a page that has arrived and is not yet read.
 *
 * Zeros follow its bytes. JSON has no zero bytes, so a scanner stops there: it reads at most eight bytes past a byte
 * that is not zero. V8 compiles a loop that has read past the end of a typed array to code that is 2 to 3 times slower.
 */
class PageWindow extends ByteBuffer {
  /** Offset of the first unread byte. */
  start = 0;

  constructor() {
    super(0);
  }

  /** Adds bytes. Moves the unread ones to the start of the buffer. */
  override append(bytes: Uint8Array): void {
    this.dropFirst(this.start);
    this.start = 0;
    super.append(bytes);
    this.bytes.fill(0, this.length, this.length + SPARE_LENGTH);
  }
}

/** Ids of rows, in order; `undefined` for a row without one. If all are integers, a typed array. */
export type RowIds = Float64Array<ArrayBuffer> | readonly (RowId | undefined)[];

/** Ids of rows that all have one. */
export type CompleteIds = Float64Array<ArrayBuffer> | readonly RowId[];

/** Returns the Ids if every row has one, otherwise `undefined`. */
export function completeIds(ids: RowIds): CompleteIds | undefined {
  if (ids instanceof Float64Array) return ids;
  return ids.every((id) => id !== undefined) ? ids : undefined;
}

/** Fault of a page whose member `value` is not an array of objects. */
export const NO_ROW_LIST = 'no list of rows under "value"';

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
