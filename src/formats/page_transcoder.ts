import type { Bytes } from "../bytes.ts";
import { ByteBuffer, PageWindow } from "./buffers.ts";
import { DOI_FIELD, DoiCollector } from "./doi_collector.ts";
import { PageScanner, type RowHandler } from "./page_scanner.ts";
import {
  type ArrivingPage,
  completeIds,
  type CompletePage,
  ID_FIELD,
  PageFault,
  type PageOptions,
  type RowId,
  RowIdList,
  type RowIds,
  type TakenRows,
} from "./page_writer.ts";
import { parseRow, type RawRow, rowIdOf, textOf } from "./raw_json.ts";
import { readRowId, RowReader } from "./row_reader.ts";

/** The format-specific part of a document writer. */
export interface RowFormat {
  /** Fields of the columns of the row reader, in order. `Id` and `DOI` are added if they are needed. */
  readonly fields: readonly string[];
  /** Whether each other field of a row becomes a column. */
  readonly addsColumns: boolean;
  /** Byte that a cell cannot contain without quotes; 0 if there are no cells. */
  readonly separator: number;
  /** Reader of the rows of the last page. It is kept, because it has learned their names and shape. */
  reader?: RowReader;
  /** Creates the writer of the rows of a page. */
  createRowWriter(page: RowSource): RowWriter;
  /**
   * Returns rows as the next bytes of the document, and advances the state of the document.
   *
   * @param rows The written rows, in a buffer that is reused: copy them
   * @param count Number of rows
   */
  append(rows: Bytes, count: number): Bytes;
}

/** Input and output of a {@linkcode RowWriter}. */
export interface RowSource {
  readonly window: PageWindow;
  /** Reader that has read the row to write. */
  readonly reader: RowReader;
  readonly output: ByteBuffer;
  /** Column of the Id; -1 if it has none. */
  readonly idColumn: number;
  /** Whether to leave out `Id`. */
  readonly dropsId: boolean;
}

/** Writes the rows of a page in a format. */
export interface RowWriter {
  /**
   * Writes the row that the reader has read.
   *
   * @param at Offset of the row in the window
   * @param end Offset after the row
   * @returns Whether it was written; otherwise it must be parsed
   * @throws {PageFault} If it cannot be added to the document
   */
  write(at: number, end: number): boolean;
  /** Writes a parsed row. */
  writeParsed(row: RawRow): void;
  /** Whether the rows that were written so far cannot be taken yet. Default false. */
  readonly isHeld?: boolean;
  /**
   * Called before rows are taken. It can rewrite the rows in the output, for example to add columns.
   *
   * @returns The offset of the last row in the output; `undefined` if nothing has changed
   */
  seal?(): number | undefined;
  /** Called when the page is complete, before its last rows are taken. */
  complete?(): void;
}

/**
 * Length (bytes) below which chunks are collected in the window before a scan. The last row of a scan is usually
 * incomplete, and is read again by the next one. In Deno, a compressed body arrives in pieces of 4 KB.
 */
const SHORT_LENGTH = 1 << 14;

/** Transcodes a page from JSON to another format while it arrives, from bytes to bytes. */
export class PageTranscoder implements ArrivingPage, RowHandler {
  unscanned = 0;
  lists = 0;
  readonly #format: RowFormat;
  readonly #options: PageOptions;
  readonly #window: PageWindow;
  readonly #scanner: PageScanner;
  #ids = new RowIdList();
  #dois: DoiCollector | undefined;
  readonly #output: ByteBuffer;
  #reader!: RowReader;
  #writer!: RowWriter;
  /** Number of columns of the reader when the columns below were looked up. */
  #columns = -1;
  #idColumn = -1;
  #doiColumn = -1;
  /** Number of rows that were written. */
  #written = 0;
  /** Number of written rows that were taken. */
  #taken = 0;
  /** Offset of the last row in the output. */
  #lastRow = 0;
  /** Memory to read into, if the last chunk was short. */
  #shortSpace: Bytes | undefined;
  /** Fault of the first row that cannot be added to the document. No later row is written. */
  #fault: PageFault | undefined;

  constructor(format: RowFormat, options: PageOptions = {}) {
    this.#format = format;
    this.#options = options;
    this.#window = new PageWindow(options.length);
    this.#output = new ByteBuffer(options.length);
    this.#scanner = new PageScanner(this.#window, this);
    this.#startRows();
  }

  get ids(): RowIds {
    return this.#ids.ids;
  }

  get takeableLength(): number {
    return this.#fault !== undefined || this.#writer.isHeld ? 0 : this.#lastRow;
  }

  space(): Bytes {
    return this.#shortSpace ?? this.#window.space();
  }

  add(filled: Bytes): void {
    if (this.#shortSpace === undefined) {
      this.#window.add(filled);
      this.unscanned += filled.length;
      if (filled.length < SHORT_LENGTH) this.#shortSpace = new Uint8Array(SHORT_LENGTH);
    } else {
      this.append(filled);
      this.#shortSpace = filled.length < SHORT_LENGTH ? new Uint8Array(filled.buffer) : undefined;
    }
    // Scans now, because the next read detaches the buffer of the window.
    if (this.#shortSpace === undefined) this.scan();
  }

  append(chunk: Uint8Array): void {
    let start = 0;
    for (;;) {
      const count = this.#window.append(chunk, start);
      this.unscanned += count;
      start += count;
      if (start === chunk.length) return;
      this.scan();
    }
  }

  scan(): void {
    if (this.unscanned === 0) return;
    this.unscanned = 0;
    this.#scanner.scan();
  }

  takeRows(): TakenRows {
    const end = this.#writer.seal?.() ?? this.#lastRow;
    this.#lastRow = 0;
    return this.#take(end, this.#written - 1);
  }

  end(): CompletePage {
    this.scan();
    const { envelope, fault = this.#fault } = this.#scanner.end();
    return {
      envelope,
      fault,
      rows: this.#written - this.#taken,
      ids: completeIds(this.ids),
      takeRows: () => {
        this.#writer.complete?.();
        this.#writer.seal?.();
        const rows = this.#take(this.#output.length, this.#written);
        // Released here, because a download that waits for its next page still references this one.
        this.#window.release();
        this.#output.release();
        return rows;
      },
    };
  }

  readRow(at: number): number {
    const reader = this.#reader;
    const end = reader.read(at);
    if (end < 0) return end;
    if (reader.columns.length !== this.#columns) this.#findColumns();
    const { bytes } = this.#window;
    const id = this.#idColumn < 0 ? undefined : readRowId(bytes, reader.values, this.#idColumn);
    if (!this.#addId(id)) return end;
    this.#lastRow = this.#output.length;
    this.#dois?.add(bytes, reader.values, this.#doiColumn, this.#written);
    try {
      if (!this.#writer.write(at, end)) this.#writeParsed(parseRow(bytes.subarray(at, end)));
      this.#written++;
    } catch (error) {
      this.#setFault(error);
    }
    return end;
  }

  parseRow(json: Bytes): void {
    let row: RawRow;
    try {
      row = parseRow(json);
    } catch (error) {
      this.#addId(undefined);
      return this.#setFault(error);
    }
    if (!this.#addId(rowIdOf(row.get(ID_FIELD)))) return;
    this.#lastRow = this.#output.length;
    const doi = row.get(DOI_FIELD);
    if (typeof doi === "string") this.#dois?.addText(textOf(doi), this.#written);
    try {
      this.#writeParsed(row);
      this.#written++;
    } catch (error) {
      this.#setFault(error);
    }
  }

  forgetRows(): void {
    if (this.#taken > 0) throw new PageFault("a second list of rows");
    if (this.ids.length > 0) this.#startRows();
  }

  #startRows(): void {
    this.lists++;
    const { fields, addsColumns } = this.#format;
    const { dropsId = false, collectsDois = false } = this.#options;
    this.#ids = new RowIdList();
    this.#dois = collectsDois ? new DoiCollector() : undefined;
    this.#written = this.#lastRow = this.#output.length = 0;
    this.#fault = undefined;
    // The page checks need Ids, so an Id column is read, but not written. It is not added while other
    // fields become columns, because Id would then be written.
    const needed = addsColumns ? [] : collectsDois ? [ID_FIELD, DOI_FIELD] : [ID_FIELD];
    const columns = [...fields, ...needed.filter((field) => !fields.includes(field))];
    this.#reader = this.#format.reader = this.#openReader(columns);
    this.#findColumns();
    this.#writer = this.#format.createRowWriter({
      window: this.#window,
      reader: this.#reader,
      output: this.#output,
      idColumn: this.#idColumn,
      dropsId,
    });
  }

  #openReader(columns: readonly string[]): RowReader {
    const { separator, addsColumns, reader } = this.#format;
    const isSame = reader?.columns.length === columns.length &&
      columns.every((field, column) => field === reader.columns[column]);
    if (!isSame) return new RowReader(this.#window, separator, columns, addsColumns);
    reader.startPage(this.#window);
    return reader;
  }

  #findColumns(): void {
    const { columns } = this.#reader;
    this.#columns = columns.length;
    this.#idColumn = columns.indexOf(ID_FIELD);
    this.#doiColumn = columns.indexOf(DOI_FIELD);
  }

  /** Adds the Id of a row. Returns whether to write the row. */
  #addId(id: RowId | undefined): boolean {
    this.#ids.push(id);
    if (this.#fault !== undefined) return false;
    return id === undefined || !this.#options.omittedIds?.has(id);
  }

  #writeParsed(row: RawRow): void {
    if (this.#options.dropsId) row.delete(ID_FIELD);
    this.#writer.writeParsed(row);
  }

  /** Stores a fault that a new request would not remove; `end()` returns it. Throws any other error. */
  #setFault(error: unknown): void {
    if (!(error instanceof PageFault) || error.hint === undefined) throw error;
    this.#fault ??= error;
    this.#output.length = this.#lastRow;
  }

  /**
   * Takes the rows before an offset in the output.
   *
   * @param written Number of rows of the page before this offset, including those taken before
   */
  #take(end: number, written: number): TakenRows {
    const rows = written - this.#taken;
    const bytes = this.#format.append(this.#output.from(0, end), rows);
    this.#output.dropFirst(end);
    this.#taken = written;
    return { bytes, rows, dois: this.#dois?.take(written) ?? [] };
  }
}
