import { utf8Encoder } from "../bytes.ts";
import { type ByteBuffer, copyWords, type PageWindow } from "./buffers.ts";
import { BACKSLASH, CARRIAGE_RETURN, LINE_FEED, QUOTE, TAB } from "./json_scanner.ts";
import type { RowSource, RowWriter } from "./page_transcoder.ts";
import { PageFault } from "./page_writer.ts";
import type { RawRow } from "./raw_json.ts";
import {
  EMPTY,
  ESCAPED_STRING,
  NEEDS_QUOTES,
  NESTED,
  type RowReader,
  SCALAR,
} from "./row_reader.ts";

/** Options for a {@linkcode RecordWriter}. */
export interface RecordOptions {
  /** Number of columns; `undefined` if each field of the rows becomes a column until rows are taken. */
  columns: number | undefined;
  /** Whether a field without a column is a fault. */
  rejectsNewFields: boolean;
  csv: {
    separator: string;
    /** Whether to write a `'` before a string that a spreadsheet would run as a formula. */
    escapeFormulas: boolean;
  };
  /** Converts an array or object to a cell of CSV, quoted if necessary. */
  toNestedCell: (json: Uint8Array) => Uint8Array;
  /** Converts a parsed row to a record, with its line break. */
  toRecord: (row: RawRow, fields: readonly string[]) => string;
}

/**
 * Maximum number of columns for which records are written while rows arrive. A page of n columns and n
 * empty rows becomes n² bytes of CSV. A truncated page with more columns must not use that memory, so its
 * rows are kept until it is complete.
 */
const MAX_COLUMNS = 1_000;

/** Writes the rows of a page as records of CSV (RFC 4180). */
export class RecordWriter implements RowWriter {
  readonly #window: PageWindow;
  readonly #reader: RowReader;
  readonly #output: ByteBuffer;
  readonly #options: RecordOptions;
  readonly #separator: number;
  /** Number of columns; `undefined` while more may be added. */
  #columns: number | undefined;
  /** While columns may be added: the end of each record in the output. */
  #recordEnds: number[] = [];
  /** While columns may be added: the number of columns of each record. */
  #recordColumns: number[] = [];
  /** Rows that are kept until the page is complete: the first one with too many columns, and all after it. */
  readonly #wideRows: RawRow[] = [];

  constructor({ window, reader, output }: RowSource, options: RecordOptions) {
    this.#window = window;
    this.#reader = reader;
    this.#output = output;
    this.#options = options;
    this.#separator = options.csv.separator.charCodeAt(0);
    this.#columns = options.columns;
  }

  /** Fields of the columns. */
  get fields(): readonly string[] {
    return this.#reader.columns.slice(0, this.#columns);
  }

  get isHeld(): boolean {
    return this.#wideRows.length > 0 || this.#columns === undefined && this.fields.length === 0;
  }

  write(at: number, end: number): boolean {
    const columns = this.#countColumns();
    // The caller parses the row, and `writeParsed()` keeps it.
    if (columns > MAX_COLUMNS || this.#wideRows.length > 0) return false;
    this.#writeRecord(columns, end - at);
    if (this.#columns === undefined) this.#addRecord(columns);
    return true;
  }

  writeParsed(row: RawRow): void {
    if (this.#options.columns === undefined || this.#options.rejectsNewFields) {
      this.#reader.addColumns(row.keys());
    }
    const columns = this.#countColumns();
    if (columns > MAX_COLUMNS || this.#wideRows.length > 0) {
      this.#wideRows.push(row);
      return;
    }
    this.#output.append(utf8Encoder.encode(this.#options.toRecord(row, this.fields)));
    if (this.#columns === undefined) this.#addRecord(columns);
  }

  seal(): number | undefined {
    if (this.#columns !== undefined) return undefined;
    const columns = this.#columns = this.#reader.columns.length;
    const [ends, widths] = [this.#recordEnds, this.#recordColumns];
    this.#recordEnds = this.#recordColumns = [];
    if (widths.every((width) => width === columns)) return undefined;
    const output = this.#output;
    const written = output.from(0).slice();
    output.length = 0;
    let start = 0;
    let lastRow = 0;
    for (const [index, end] of ends.entries()) {
      lastRow = output.length;
      this.#pad(written.subarray(start, end), columns - Math.max(1, widths[index]!));
      start = end;
    }
    return lastRow;
  }

  complete(): void {
    if (this.#wideRows.length === 0) return;
    this.seal();
    const { fields } = this;
    for (const row of this.#wideRows) {
      this.#output.append(utf8Encoder.encode(this.#options.toRecord(row, fields)));
    }
  }

  #addRecord(columns: number): void {
    this.#recordEnds.push(this.#output.length);
    this.#recordColumns.push(columns);
  }

  /**
   * Returns the number of columns of the record to write.
   *
   * @throws {PageFault} If the last row has a field without a column
   */
  #countColumns(): number {
    const known = this.#columns;
    const { columns } = this.#reader;
    if (known === undefined) return columns.length;
    if (this.#options.rejectsNewFields && columns.length > known) {
      throw new PageFault(
        `Field "${columns[known]}" first appears after the header was written`,
        "the result is incomplete; select the fields you need",
      );
    }
    return known;
  }

  /**
   * Writes a record, and empty cells at its end.
   *
   * @param cells Number of empty cells to add
   */
  #pad(record: Uint8Array, cells: number): void {
    // A record with one empty cell has quotes, which a record of several cells does not need.
    const isEmptyQuoted = record.length === '""\r\n'.length && record[0] === QUOTE && cells > 0;
    const length = isEmptyQuoted ? 0 : record.length - "\r\n".length;
    this.#output.append(record.subarray(0, length));
    const out = this.#output.reserve(cells + 4);
    const offset = this.#output.length;
    out.fill(this.#separator, offset, offset + cells);
    this.#endRecord(offset + cells, length + cells === 0);
  }

  /**
   * Writes the end of a record, for which there is room in the output.
   *
   * @param offset Offset in the output after the cells
   * @param isBlank Whether the record would be a blank line, which many CSV readers skip
   */
  #endRecord(offset: number, isBlank: boolean): void {
    const out = this.#output.bytes;
    if (isBlank) {
      out[offset++] = QUOTE;
      out[offset++] = QUOTE;
    }
    out[offset++] = CARRIAGE_RETURN;
    out[offset++] = LINE_FEED;
    this.#output.length = offset;
  }

  /**
   * Writes the row that the reader has read.
   *
   * @param rowLength Length (bytes) of the row in JSON
   */
  #writeRecord(columns: number, rowLength: number): void {
    const { bytes: page, view: pageView } = this.#window;
    const { starts, ends, kinds } = this.#reader.values;
    const separator = this.#separator;
    const output = this.#output;
    const { toNestedCell, csv: { escapeFormulas: escapesFormulas } } = this.#options;
    // Upper bound: the JSON of the row; for each cell, an apostrophe and a separator; CRLF; the two quotes
    // of an empty record.
    const maxLength = rowLength + 2 * columns + 4;
    let out = output.reserve(maxLength);
    let outView = output.view;
    const start = output.length;
    let outOffset = start;
    for (let column = 0; column < columns; column++) {
      if (column > 0) out[outOffset++] = separator;
      const kind = kinds[column]!;
      if (kind === EMPTY) continue;
      const pageOffset = starts[column]!;
      const end = ends[column]!;
      if (kind === NESTED) {
        const cell = toNestedCell(page.subarray(pageOffset, end));
        output.length = outOffset;
        out = output.reserve(cell.length + maxLength);
        outView = output.view;
        out.set(cell, outOffset);
        outOffset += cell.length;
        continue;
      }
      if (kind === ESCAPED_STRING) {
        outOffset = writeEscapedString(
          page,
          pageOffset,
          end,
          out,
          outOffset,
          separator,
          escapesFormulas,
        );
        continue;
      }
      if (kind === NEEDS_QUOTES) out[outOffset++] = QUOTE;
      if (escapesFormulas && kind !== SCALAR && startsFormula(page[pageOffset]!)) {
        out[outOffset++] = APOSTROPHE;
      }
      outOffset = copyWords(pageView, pageOffset, end, outView, outOffset);
      if (kind === NEEDS_QUOTES) out[outOffset++] = QUOTE;
    }
    this.#endRecord(outOffset, columns === 1 && outOffset === start);
  }
}

/**
 * Whether a spreadsheet recognises a cell as a formula by its first character: `=`, `+`, `-`, `@`, tab or
 * carriage return.
 *
 * @param code First byte, UTF-16 code unit or code point of the cell
 */
export function startsFormula(code: number): boolean {
  return code === 0x3d || code === 0x2b || code === 0x2d || code === 0x40 || code === TAB ||
    code === CARRIAGE_RETURN;
}

const APOSTROPHE = 0x27;
/** The letter of `\uXXXX`. */
const UNICODE_ESCAPE = 0x75;

/** Characters that two-byte escapes such as `\n` represent, by the second byte (RFC 8259, section 7). */
const ESCAPED = Uint8Array.from({ length: 256 }, (_, byte) => byte);
ESCAPED[0x62] = 0x08; // b
ESCAPED[0x66] = 0x0c; // f
ESCAPED[0x6e] = LINE_FEED; // n
ESCAPED[0x72] = CARRIAGE_RETURN; // r
ESCAPED[0x74] = TAB; // t

/**
 * Writes a string with escape sequences as a cell, quoted if necessary.
 *
 * @param page Well-formed JSON
 * @param pageOffset Offset after the opening quote of the string
 * @param end Offset of its closing quote
 * @param out Buffer with capacity for the JSON of the string, with its quotes, and one more byte
 * @param outOffset Offset in `out` at which to write
 * @returns The offset in `out` after the cell
 */
function writeEscapedString(
  page: Uint8Array,
  pageOffset: number,
  end: number,
  out: Uint8Array,
  outOffset: number,
  separator: number,
  escapesFormulas: boolean,
): number {
  const start = outOffset;
  let needsQuotes = false;
  // Write an opening quote. It is removed below if the cell needs no quotes.
  out[outOffset++] = QUOTE;
  if (escapesFormulas && startsFormula(firstCodeOf(page, pageOffset))) {
    out[outOffset++] = APOSTROPHE;
  }
  while (pageOffset < end) {
    const byte = page[pageOffset]!;
    if (byte !== BACKSLASH) {
      if (byte === separator) needsQuotes = true;
      out[outOffset++] = byte;
      pageOffset++;
      continue;
    }
    const letter = page[pageOffset + 1]!;
    const isUnicode = letter === UNICODE_ESCAPE;
    const codePoint = isUnicode ? readUnicodeEscape(page, pageOffset, end) : ESCAPED[letter]!;
    pageOffset += !isUnicode ? 2 : codePoint > 0xffff ? 12 : 6;
    if (codePoint === QUOTE) out[outOffset++] = QUOTE;
    if (needsQuotesFor(codePoint, separator)) needsQuotes = true;
    if (codePoint < 0x80) out[outOffset++] = codePoint;
    else outOffset = writeUtf8(codePoint, out, outOffset);
  }
  if (needsQuotes) {
    out[outOffset++] = QUOTE;
    return outOffset;
  }
  out.copyWithin(start, start + 1, outOffset);
  return outOffset - 1;
}

/** Returns the first UTF-16 code unit of a string if it is escaped, otherwise its first UTF-8 byte. */
function firstCodeOf(page: Uint8Array, at: number): number {
  if (page[at] !== BACKSLASH) return page[at]!;
  const letter = page[at + 1]!;
  return letter === UNICODE_ESCAPE ? readCodeUnit(page, at) : ESCAPED[letter]!;
}

function needsQuotesFor(codePoint: number, separator: number): boolean {
  return codePoint === separator || codePoint === QUOTE || codePoint === LINE_FEED ||
    codePoint === CARRIAGE_RETURN;
}

/** Reads the code point of `\uXXXX`, or of a surrogate pair `\uXXXX\uXXXX`. */
function readUnicodeEscape(page: Uint8Array, at: number, end: number): number {
  const high = readCodeUnit(page, at);
  const isHigh = high >= 0xd800 && high < 0xdc00;
  const low = isHigh && at + 12 <= end ? readCodeUnit(page, at + 6) : -1;
  return low >= 0xdc00 && low < 0xe000 ? 0x10000 + ((high - 0xd800) << 10) + low - 0xdc00 : high;
}

/** Reads the UTF-16 code unit of `\uXXXX`; returns -1 for other bytes. */
function readCodeUnit(page: Uint8Array, at: number): number {
  if (page[at] !== BACKSLASH || page[at + 1] !== UNICODE_ESCAPE) return -1;
  return hexValue(page[at + 2]!) << 12 | hexValue(page[at + 3]!) << 8 |
    hexValue(page[at + 4]!) << 4 | hexValue(page[at + 5]!);
}

function hexValue(digit: number): number {
  return digit < 0x3a ? digit - 0x30 : (digit | 0x20) - 0x57;
}

/**
 * Writes a code point as UTF-8. A lone surrogate becomes U+FFFD, as in `TextEncoder`.
 *
 * @returns The offset in `out` after it
 */
function writeUtf8(codePoint: number, out: Uint8Array, outOffset: number): number {
  const isSurrogate = codePoint >= 0xd800 && codePoint < 0xe000;
  const code = isSurrogate ? 0xfffd : codePoint;
  if (code < 0x800) out[outOffset++] = 0xc0 | code >> 6;
  else {
    if (code < 0x10000) out[outOffset++] = 0xe0 | code >> 12;
    else {
      out[outOffset++] = 0xf0 | code >> 18;
      out[outOffset++] = 0x80 | code >> 12 & 0x3f;
    }
    out[outOffset++] = 0x80 | code >> 6 & 0x3f;
  }
  out[outOffset++] = 0x80 | code & 0x3f;
  return outOffset;
}
