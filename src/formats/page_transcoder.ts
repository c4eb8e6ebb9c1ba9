import type { Bytes } from "../bytes.ts";
import { ByteBuffer, PageWindow } from "./buffers.ts";
import { DistinctValues } from "./distinct_values.ts";
import {
  CLOSE_ARRAY,
  CLOSE_OBJECT,
  COMMA,
  OPEN_ARRAY,
  OPEN_OBJECT,
  skipColon,
  skipString,
  skipValue,
  skipWhiteSpace,
} from "./json_scanner.ts";
import {
  brokenJson,
  completeIds,
  type CompletePage,
  ID_FIELD,
  NO_ROW_LIST,
  type PageConversion,
  type PageData,
  PageFault,
  type PageOptions,
  type PageWriter,
  RowIdList,
  type RowIds,
  type TakenRows,
  type WriterState,
} from "./page_writer.ts";
import { parseBytes, RowReader } from "./row_reader.ts";

/** Writes pages as one document of a format. */
export abstract class DocumentWriter implements PageWriter {
  abstract state: WriterState;
  /** Fields of the first columns of the row reader, in order. */
  abstract readonly fields: readonly string[];
  /** Whether each other field of a row becomes a column. Otherwise, only `Id` and the fields whose values are collected do. */
  readonly addsColumns: boolean = false;
  /** Byte that a cell cannot contain without quotes; 0 if there are no cells. */
  readonly separator: number = 0;
  /** Reader of the rows of the last page. It is kept, because it has learned their names and shape. */
  reader?: RowReader;

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
  abstract writeRow(source: RowSource, at: number, end: number): PageFault | undefined;

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

/** A page whose rows are written. */
export interface RowSource {
  readonly window: PageWindow;
  /** Reader that has read the row to write. */
  readonly reader: RowReader;
  readonly output: ByteBuffer;
  /** Fields to leave out. */
  readonly drops: readonly string[];
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
export class PageTranscoder implements PageConversion<PageData<Bytes>>, RowSource {
  readonly window = new PageWindow();
  readonly output: ByteBuffer;
  readonly reader: RowReader;
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
    this.reader = format.reader = openReader(format, distinct);
    this.reader.startPage(this.window);
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
        this.window.release();
        this.output.release();
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
    const data = this.#format.append(this.output.from(0, end), rows);
    this.output.dropFirst(end);
    this.#taken = written;
    return { content: { data, values: this.#distinct?.take(written) ?? [] }, rows };
  }
}

/** Returns the reader of the last page if it has the same columns, otherwise a new one. */
function openReader(
  { fields, addsColumns, separator, reader }: DocumentWriter,
  distinct: readonly string[],
): RowReader {
  // The page checks need Ids, which are not written. They are no columns while other fields become columns.
  const columns = addsColumns ? fields : [...new Set([...fields, ID_FIELD, ...distinct])];
  const isSame = reader?.columns.length === columns.length &&
    columns.every((field, column) => field === reader.columns[column]);
  return isSame ? reader : new RowReader(separator, columns, addsColumns);
}
