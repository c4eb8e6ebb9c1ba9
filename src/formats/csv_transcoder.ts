import type { CheckedCsvOptions } from "./csv_options.ts";
import {
  BACKSLASH,
  CARRIAGE_RETURN,
  findRows,
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
  ESCAPED_TEXT,
  LITERAL,
  NESTED,
  QUOTED_TEXT,
  readRowId,
  RowReader,
  type RowValues,
} from "./row_reader.ts";

/** How to transcode a page. */
export interface TranscodeOptions {
  /** Fields of the columns, in order. */
  fields: readonly string[];
  /** Whether to report fields of the rows that are not columns. */
  collectsNewFields: boolean;
  /** Bytes before the first line. */
  head: Uint8Array;
  csv: CheckedCsvOptions;
  /** Returns the cell of a list or an object, quoted if necessary. */
  toNestedCell: (json: Uint8Array) => Uint8Array;
}

/** A page as lines of CSV. */
export interface CsvPage extends WrittenPage {
  /**
   * Fields of the rows that are not columns, in order of appearance. If there are any, the lines are
   * incomplete: transcode the page again with more columns.
   */
  newFields: readonly string[];
}

/**
 * Maximum number of columns. A page of n columns and n empty rows has lines of n² bytes, which a
 * truncated page must not cost before it is rejected. A wider page is therefore parsed first.
 */
const MAX_COLUMNS = 1_000;

/**
 * Transcodes a page of JSON to lines of CSV, from bytes to bytes, without creating rows or strings.
 *
 * @returns The lines; `undefined` if the page has to be parsed instead, because it is malformed, or
 *   has more than `MAX_COLUMNS` columns, a second list of rows or a deeply nested value
 */
export function transcodeCsv(
  page: Uint8Array,
  { fields, collectsNewFields, head, csv, toNestedCell }: TranscodeOptions,
): CsvPage | undefined {
  const start = fields.length > MAX_COLUMNS ? -1 : findRows(page);
  if (start < 0) return undefined;
  const separator = csv.separator.charCodeAt(0);
  // The checks of a page need the Ids also if Id is not a column. As an additional column it would
  // not be a new field, so it is not added where those are collected.
  const readsId = collectsNewFields || fields.includes(ID_FIELD);
  const columns = readsId ? fields : [...fields, ID_FIELD];
  const idColumn = columns.indexOf(ID_FIELD);
  const reader = new RowReader(page, separator, columns, collectsNewFields);
  const writer = new LineWriter(page, head, {
    separator,
    escapesFormulas: csv.escapeFormulas,
    columns: fields.length,
    toNestedCell,
  });
  const ids: (RowId | undefined)[] = [];
  const offsets: number[] = [];
  const close = skipRows(page, start, (at) => {
    const end = reader.read(at);
    if (end < 0) return end;
    ids.push(idColumn < 0 ? undefined : readRowId(page, reader.values, idColumn));
    offsets.push(at);
    if (reader.newFields.size === 0) writer.write(reader.values, end - at);
    return end;
  });
  const envelope = close < 0 ? undefined : readEnvelope(page, start, close);
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
 * Length (bytes) from which text is copied by `TypedArray.set`. It is 1.2 to 1.5 times as fast as a
 * loop for text of 60 to 2,000 bytes; for all text, pages of records would take 1.4 times as long.
 */
const MIN_SET_LENGTH = 48;

interface LineOptions {
  /** Byte between two cells. */
  separator: number;
  escapesFormulas: boolean;
  /** Number of cells per line. */
  columns: number;
  toNestedCell: (json: Uint8Array) => Uint8Array;
}

/** Writes the values of rows as lines of CSV. */
class LineWriter {
  readonly #page: Uint8Array;
  readonly #options: LineOptions;
  #out: Uint8Array<ArrayBuffer>;
  #length: number;

  /** @param head Bytes before the first line */
  constructor(page: Uint8Array, head: Uint8Array, options: LineOptions) {
    this.#page = page;
    this.#options = options;
    // Almost always enough, because JSON repeats the names of the fields. The system only commits
    // the memory that is written to.
    this.#out = new Uint8Array(page.length + head.length);
    this.#out.set(head);
    this.#length = head.length;
  }

  /**
   * Writes a line.
   *
   * @param rowLength Length of the row in JSON, in bytes
   */
  write({ starts, ends, kinds }: RowValues, rowLength: number): void {
    const page = this.#page;
    const { separator, escapesFormulas, columns, toNestedCell } = this.#options;
    // A cell is at most as long as its JSON, plus an apostrophe and a separator; then the line end.
    const maxLength = rowLength + 2 * columns + 4;
    let out = this.#withCapacity(maxLength);
    const start = this.#length;
    let to = start;
    for (let column = 0; column < columns; column++) {
      if (column > 0) out[to++] = separator;
      const kind = kinds[column]!;
      if (kind === EMPTY) continue;
      let from = starts[column]!;
      const end = ends[column]!;
      if (kind === NESTED) {
        const cell = toNestedCell(page.subarray(from, end));
        this.#length = to;
        out = this.#withCapacity(cell.length + maxLength);
        out.set(cell, to);
        to += cell.length;
        continue;
      }
      if (kind === ESCAPED_TEXT) {
        to = writeEscapedText(page, from, end, out, to, separator, escapesFormulas);
        continue;
      }
      if (kind === QUOTED_TEXT) out[to++] = QUOTE;
      if (escapesFormulas && kind !== LITERAL && startsFormula(page[from]!)) {
        out[to++] = APOSTROPHE;
      }
      if (end - from > MIN_SET_LENGTH) {
        out.set(page.subarray(from, end), to);
        to += end - from;
      } else {
        while (from < end) out[to++] = page[from++]!;
      }
      if (kind === QUOTED_TEXT) out[to++] = QUOTE;
    }
    if (columns === 1 && to === start) {
      // Many readers skip blank lines, and would lose the row.
      out[to++] = QUOTE;
      out[to++] = QUOTE;
    }
    out[to++] = CARRIAGE_RETURN;
    out[to++] = LINE_FEED;
    this.#length = to;
  }

  /** Returns all bytes and releases the buffer. */
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

/** Bytes with which a spreadsheet recognises a formula: `=`, `+`, `-`, `@`, tab, carriage return. */
export function startsFormula(byte: number): boolean {
  return byte === 0x3d || byte === 0x2b || byte === 0x2d || byte === 0x40 || byte === TAB ||
    byte === CARRIAGE_RETURN;
}

const APOSTROPHE = 0x27;
/** The letter of `\uXXXX`. */
const UNICODE_ESCAPE = 0x75;

/** Characters of the other escape sequences, by the byte after the backslash (RFC 8259, section 7). */
const ESCAPED = Uint8Array.from({ length: 256 }, (_, byte) => byte);
ESCAPED[0x62] = 0x08; // b
ESCAPED[0x66] = 0x0c; // f
ESCAPED[0x6e] = LINE_FEED; // n
ESCAPED[0x72] = CARRIAGE_RETURN; // r
ESCAPED[0x74] = TAB; // t

/**
 * Writes text with escape sequences as a cell, quoted if necessary.
 *
 * @param page Well-formed JSON
 * @param from Offset of the first byte of the text
 * @param end Offset after its last byte
 * @param out Has capacity for the JSON of the text with its quotes, and one byte more
 * @param to Offset in `out` at which to write
 * @returns The offset after the cell
 */
function writeEscapedText(
  page: Uint8Array,
  from: number,
  end: number,
  out: Uint8Array,
  to: number,
  separator: number,
  escapesFormulas: boolean,
): number {
  const start = to;
  let needsQuotes = false;
  // Only the end of the text shows whether it needs quotes: the first is written, and removed if not.
  out[to++] = QUOTE;
  if (escapesFormulas && startsFormula(firstCharacter(page, from))) out[to++] = APOSTROPHE;
  while (from < end) {
    const byte = page[from]!;
    if (byte !== BACKSLASH) {
      if (byte === separator) needsQuotes = true;
      out[to++] = byte;
      from++;
      continue;
    }
    const letter = page[from + 1]!;
    const isUnicode = letter === UNICODE_ESCAPE;
    const character = isUnicode ? readUnicodeEscape(page, from, end) : ESCAPED[letter]!;
    from += !isUnicode ? 2 : character > 0xffff ? 12 : 6;
    if (character === QUOTE) out[to++] = QUOTE;
    if (needsQuotesFor(character, separator)) needsQuotes = true;
    if (character < 0x80) out[to++] = character;
    else to = writeUtf8(character, out, to);
  }
  if (needsQuotes) {
    out[to++] = QUOTE;
    return to;
  }
  out.copyWithin(start, start + 1, to);
  return to - 1;
}

/** First character of text that is not empty; only its first byte if it is not escaped. */
function firstCharacter(page: Uint8Array, at: number): number {
  if (page[at] !== BACKSLASH) return page[at]!;
  const letter = page[at + 1]!;
  return letter === UNICODE_ESCAPE ? readCodeUnit(page, at) : ESCAPED[letter]!;
}

function needsQuotesFor(character: number, separator: number): boolean {
  return character === separator || character === QUOTE || character === LINE_FEED ||
    character === CARRIAGE_RETURN;
}

/** Reads the character of `\uXXXX`, or of two such escapes that are a surrogate pair. */
function readUnicodeEscape(page: Uint8Array, at: number, end: number): number {
  const high = readCodeUnit(page, at);
  const isHigh = high >= 0xd800 && high < 0xdc00;
  const low = isHigh && at + 12 <= end ? readCodeUnit(page, at + 6) : -1;
  return low >= 0xdc00 && low < 0xe000 ? 0x10000 + ((high - 0xd800) << 10) + low - 0xdc00 : high;
}

/** Reads the UTF-16 code unit of `\uXXXX`; -1 if the bytes are not such an escape. */
function readCodeUnit(page: Uint8Array, at: number): number {
  if (page[at] !== BACKSLASH || page[at + 1] !== UNICODE_ESCAPE) return -1;
  return hexValue(page[at + 2]!) << 12 | hexValue(page[at + 3]!) << 8 |
    hexValue(page[at + 4]!) << 4 | hexValue(page[at + 5]!);
}

function hexValue(digit: number): number {
  return digit < 0x3a ? digit - 0x30 : (digit | 0x20) - 0x57;
}

/** Writes a character as UTF-8. A lone surrogate becomes U+FFFD, as `TextEncoder` encodes it. */
function writeUtf8(character: number, out: Uint8Array, to: number): number {
  const isSurrogate = character >= 0xd800 && character < 0xe000;
  const code = isSurrogate ? 0xfffd : character;
  if (code < 0x800) out[to++] = 0xc0 | code >> 6;
  else if (code < 0x10000) {
    out[to++] = 0xe0 | code >> 12;
    out[to++] = 0x80 | code >> 6 & 0x3f;
  } else {
    out[to++] = 0xf0 | code >> 18;
    out[to++] = 0x80 | code >> 12 & 0x3f;
    out[to++] = 0x80 | code >> 6 & 0x3f;
  }
  out[to++] = 0x80 | code & 0x3f;
  return to;
}
