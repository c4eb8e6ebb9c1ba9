import {
  BACKSLASH,
  CARRIAGE_RETURN,
  findRowsStart,
  LINE_FEED,
  QUOTE,
  readEnvelope,
  skipRows,
  TAB,
} from "./json_scanner.ts";
import {
  completeIds,
  ID_FIELD,
  releaseBuffer,
  type RowId,
  truncate,
  type WrittenPage,
} from "./page_writer.ts";
import {
  EMPTY,
  ESCAPED_STRING,
  NEEDS_QUOTES,
  NESTED,
  readRowId,
  RowReader,
  type RowValues,
  SCALAR,
} from "./row_reader.ts";

/** Options for {@linkcode transcodeCsv}. */
export interface TranscodeOptions {
  /** Fields of the columns, in order. */
  fields: readonly string[];
  /** Whether to report fields of the rows that are not columns. */
  collectsNewFields: boolean;
  /** Byte order mark and header; empty if they were already written. */
  preamble: Uint8Array;
  csv: {
    separator: string;
    /** Whether to write a `'` before a string that a spreadsheet would run as a formula. */
    escapeFormulas: boolean;
  };
  /** Converts an array or object to a cell of CSV, quoted if necessary. */
  toNestedCell: (json: Uint8Array) => Uint8Array;
}

/** A page as records of CSV (RFC 4180). */
export interface CsvPage extends WrittenPage {
  /**
   * Fields of the rows that are not columns, in order of appearance. If there are any, the bytes are
   * incomplete: transcode the page again with these fields as additional columns.
   */
  newFields: readonly string[];
}

/**
 * Maximum number of columns. A page of n columns and n empty rows becomes n² bytes of CSV. A truncated
 * page with more columns must not use that memory, so it is parsed first, which rejects it.
 */
const MAX_COLUMNS = 1_000;

/**
 * Transcodes a page of JSON to records of CSV, from bytes to bytes, without creating rows or strings.
 *
 * @returns The records; `undefined` if the page has to be parsed instead, because it is malformed, or
 *   has more than `MAX_COLUMNS` columns, a second array of rows or a deeply nested value
 */
export function transcodeCsv(
  page: Uint8Array,
  { fields, collectsNewFields, preamble, csv, toNestedCell }: TranscodeOptions,
): CsvPage | undefined {
  const start = fields.length > MAX_COLUMNS ? -1 : findRowsStart(page);
  if (start < 0) return undefined;
  const separator = csv.separator.charCodeAt(0);
  // The page checks need Ids, so an Id column is read, but not written. It is not added while new fields
  // are collected, because Id would then not be reported as a new field.
  const addsIdColumn = !collectsNewFields && !fields.includes(ID_FIELD);
  const columns = addsIdColumn ? [...fields, ID_FIELD] : fields;
  const idColumn = columns.indexOf(ID_FIELD);
  const reader = new RowReader(page, separator, columns, collectsNewFields);
  const writer = new RecordWriter(page, preamble, {
    separator,
    escapesFormulas: csv.escapeFormulas,
    columns: fields.length,
    toNestedCell,
  });
  const ids: (RowId | undefined)[] = [];
  const offsets: number[] = [];
  const rowsEnd = skipRows(page, start, (at) => {
    const end = reader.read(at);
    if (end < 0) return end;
    ids.push(idColumn < 0 ? undefined : readRowId(page, reader.values, idColumn));
    offsets.push(at);
    if (reader.newFields.size === 0) writer.write(reader.values, end - at);
    return end;
  });
  const envelope = rowsEnd < 0 ? undefined : readEnvelope(page, start, rowsEnd);
  if (envelope === undefined) return undefined;
  return {
    bytes: writer.end(),
    rows: ids.length,
    ids: completeIds(ids),
    offsets,
    envelope,
    newFields: [...reader.newFields],
  };
}

/**
 * Length (bytes) above which `TypedArray.set` copies a value instead of a loop. For 60 to 2,000 bytes,
 * `set` is 1.2 to 1.5 times as fast as the loop. If `set` also copied shorter values, pages of records
 * would take 1.4 times as long.
 */
const MIN_SET_LENGTH = 48;

interface RecordOptions {
  /** Byte between two cells. */
  separator: number;
  escapesFormulas: boolean;
  /** Number of cells per record. */
  columns: number;
  toNestedCell: (json: Uint8Array) => Uint8Array;
}

/** Writes the values of rows as records of CSV. */
class RecordWriter {
  readonly #page: Uint8Array;
  readonly #options: RecordOptions;
  #out: Uint8Array<ArrayBuffer>;
  #length: number;

  /** @param preamble Byte order mark and header; empty if they were already written */
  constructor(page: Uint8Array, preamble: Uint8Array, options: RecordOptions) {
    this.#page = page;
    this.#options = options;
    // This capacity is almost always enough, because JSON repeats the names of the fields in each row.
    // The operating system commits only the memory that is written to.
    this.#out = new Uint8Array(page.length + preamble.length);
    this.#out.set(preamble);
    this.#length = preamble.length;
  }

  /**
   * Writes a record.
   *
   * @param rowLength Length (bytes) of the row in JSON
   */
  write({ starts, ends, kinds }: RowValues, rowLength: number): void {
    const page = this.#page;
    const { separator, escapesFormulas, columns, toNestedCell } = this.#options;
    // Upper bound: the JSON of the row; for each cell, an apostrophe and a separator; CRLF; the two quotes
    // of an empty record.
    const maxLength = rowLength + 2 * columns + 4;
    let out = this.#withCapacity(maxLength);
    const start = this.#length;
    let outOffset = start;
    for (let column = 0; column < columns; column++) {
      if (column > 0) out[outOffset++] = separator;
      const kind = kinds[column]!;
      if (kind === EMPTY) continue;
      let pageOffset = starts[column]!;
      const end = ends[column]!;
      if (kind === NESTED) {
        const cell = toNestedCell(page.subarray(pageOffset, end));
        this.#length = outOffset;
        out = this.#withCapacity(cell.length + maxLength);
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
      if (end - pageOffset > MIN_SET_LENGTH) {
        out.set(page.subarray(pageOffset, end), outOffset);
        outOffset += end - pageOffset;
      } else {
        while (pageOffset < end) out[outOffset++] = page[pageOffset++]!;
      }
      if (kind === NEEDS_QUOTES) out[outOffset++] = QUOTE;
    }
    if (columns === 1 && outOffset === start) {
      // Many CSV readers skip blank lines, and would lose the row.
      out[outOffset++] = QUOTE;
      out[outOffset++] = QUOTE;
    }
    out[outOffset++] = CARRIAGE_RETURN;
    out[outOffset++] = LINE_FEED;
    this.#length = outOffset;
  }

  /** Returns the written bytes and releases the buffer. */
  end(): Uint8Array<ArrayBuffer> {
    return truncate(this.#out, this.#length);
  }

  #withCapacity(bytes: number): Uint8Array<ArrayBuffer> {
    const needed = this.#length + bytes;
    if (needed > this.#out.length) {
      const larger = new Uint8Array(2 * needed);
      larger.set(this.#out.subarray(0, this.#length));
      releaseBuffer(this.#out);
      this.#out = larger;
    }
    return this.#out;
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
