// The records of CSV (RFC 4180): a row, a header, and their cells.
import { stringify } from "@std/csv/stringify";
import { utf8Decoder, utf8Encoder } from "../bytes.ts";
import { isListOfStrings } from "../validation.ts";
import { type ByteBuffer, copyWords } from "./buffers.ts";
import { minify } from "./json.ts";
import {
  BACKSLASH,
  CARRIAGE_RETURN,
  ESCAPED,
  LINE_FEED,
  QUOTE,
  TAB,
  UNICODE_ESCAPE,
} from "./json_scanner.ts";
import type { RowSource } from "./page_transcoder.ts";
import { EMPTY, ESCAPED_STRING, NEEDS_QUOTES, NESTED, SCALAR } from "./row_reader.ts";

/** How cells are written. */
interface CellOptions {
  separator: string;
  /** End of a line. */
  eol: "\r\n" | "\n";
  /** Whether to write a `'` before a string that a spreadsheet would run as a formula. */
  escapeFormulas: boolean;
}

/**
 * Writes the row that the reader has read as a record.
 *
 * @param columns Number of columns
 * @param rowLength Length (bytes) of the row in JSON
 */
export function writeRecord(
  { window: { bytes: page, view: pageView }, reader: { starts, ends, kinds }, output }: RowSource,
  columns: number,
  rowLength: number,
  options: CellOptions,
): void {
  const separator = options.separator.charCodeAt(0);
  const escapesFormulas = options.escapeFormulas;
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
      output.length = outOffset;
      output.append(toNestedCell(page.subarray(pageOffset, end), options));
      outOffset = output.length;
      out = output.reserve(maxLength);
      outView = output.view;
    } else if (kind === ESCAPED_STRING) {
      outOffset = writeEscaped(page, pageOffset, end, out, outOffset, separator, escapesFormulas);
    } else {
      if (kind === NEEDS_QUOTES) out[outOffset++] = QUOTE;
      if (escapesFormulas && kind !== SCALAR && startsFormula(page[pageOffset]!)) {
        out[outOffset++] = APOSTROPHE;
      }
      outOffset = copyWords(pageView, pageOffset, end, outView, outOffset);
      if (kind === NEEDS_QUOTES) out[outOffset++] = QUOTE;
    }
  }
  output.length = outOffset;
  endRecord(output, columns === 1 && outOffset === start, options.eol);
}

/**
 * Adds empty cells to records that were written before the last column was added.
 *
 * @param records The end of each record in the output, and the number of its columns
 * @returns The offset of the last record in the output
 */
export function padRecords(
  output: ByteBuffer,
  records: readonly (readonly [end: number, columns: number])[],
  columns: number,
  { separator, eol }: CellOptions,
): number {
  const written = output.from(0).slice();
  output.length = 0;
  let start = 0;
  let last = 0;
  for (const [end, width] of records) {
    last = output.length;
    const cells = columns - Math.max(1, width);
    // A record with one empty cell has quotes, which a record of several cells does not need.
    const isEmpty = cells > 0 && width === 1 && end - start === `""${eol}`.length &&
      written[start] === QUOTE;
    output.append(written.subarray(start, isEmpty ? start : end - eol.length));
    output.reserve(cells).fill(separator.charCodeAt(0), output.length, output.length + cells);
    output.length += cells;
    endRecord(output, output.length === last, eol);
    start = end;
  }
  return last;
}

/** @param isBlank Whether the record would be a blank line, which many CSV readers skip */
function endRecord(output: ByteBuffer, isBlank: boolean, eol: string): void {
  const out = output.reserve(4);
  if (isBlank) {
    out[output.length++] = QUOTE;
    out[output.length++] = QUOTE;
  }
  if (eol !== "\n") out[output.length++] = CARRIAGE_RETURN;
  out[output.length++] = LINE_FEED;
}

/**
 * Whether a spreadsheet recognises a cell as a formula by its first character: `=`, `+`, `-`, `@`, tab or
 * carriage return.
 *
 * @param code First byte, UTF-16 code unit or code point of the cell
 */
function startsFormula(code: number): boolean {
  return code === 0x3d || code === 0x2b || code === 0x2d || code === 0x40 || code === TAB ||
    code === CARRIAGE_RETURN;
}

const APOSTROPHE = 0x27;
/**
 * Writes a string with escape sequences as a cell, quoted if necessary.
 *
 * @param page Well-formed JSON
 * @param at Offset after the opening quote of the string
 * @param end Offset of its closing quote
 * @param out Buffer with capacity for the JSON of the string, with its quotes, and one more byte
 * @param outOffset Offset in `out` at which to write
 * @returns The offset in `out` after the cell
 */
function writeEscaped(
  page: Uint8Array,
  at: number,
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
  while (at < end) {
    const byte = page[at]!;
    if (byte !== BACKSLASH) {
      if (byte === separator) needsQuotes = true;
      out[outOffset++] = byte;
      at++;
      continue;
    }
    const letter = page[at + 1]!;
    const isUnicode = letter === UNICODE_ESCAPE;
    const code = isUnicode ? readUnicodeEscape(page, at, end) : ESCAPED[letter]!;
    at += !isUnicode ? 2 : code > 0xffff ? 12 : 6;
    if (code === QUOTE) out[outOffset++] = QUOTE;
    if (code === separator || code === QUOTE || code === LINE_FEED || code === CARRIAGE_RETURN) {
      needsQuotes = true;
    }
    if (code < 0x80) out[outOffset++] = code;
    else {
      const rest = out.subarray(outOffset);
      outOffset += utf8Encoder.encodeInto(String.fromCodePoint(code), rest).written;
    }
  }
  if (escapesFormulas && startsFormula(out[start + 1]!)) {
    out.copyWithin(start + 2, start + 1, outOffset++);
    out[start + 1] = APOSTROPHE;
  }
  if (needsQuotes) {
    out[outOffset++] = QUOTE;
    return outOffset;
  }
  out.copyWithin(start, start + 1, outOffset);
  return outOffset - 1;
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
 * Converts the JSON of an array or object to a cell, quoted if necessary: an array of strings is joined, other values
 * remain JSON, without white space.
 */
function toNestedCell(json: Uint8Array, csv: CellOptions): Uint8Array<ArrayBuffer> {
  const value: unknown = JSON.parse(utf8Decoder.decode(json));
  if (!isListOfStrings(value)) return utf8Encoder.encode(quoteCell(minify(json), csv.separator));
  const text = value.join("; ");
  return utf8Encoder.encode(
    quoteCell(csv.escapeFormulas ? escapeFormula(text) : text, csv.separator),
  );
}

/** Prefixes an apostrophe to a cell that a spreadsheet would run as a formula. */
export function escapeFormula(text: string): string {
  return text !== "" && startsFormula(text.charCodeAt(0)) ? `'${text}` : text;
}

/**
 * Formats cells as a record of CSV (RFC 4180), with its line break. A single empty cell has quotes, because many CSV
 * readers skip a blank line.
 */
export function formatRecord(
  cells: readonly string[],
  { separator, eol }: Pick<CellOptions, "separator" | "eol">,
): string {
  if (cells.length === 1 && cells[0] === "") return `""${eol}`;
  return `${cells.map((cell) => quoteCell(cell, separator)).join(separator)}${eol}`;
}

/** Quotes a cell if necessary. Uses `@std/csv`, which does not quote a carriage return. */
function quoteCell(cell: string, separator: string): string {
  const quoted = stringify([[cell]], { separator }).slice(0, -"\r\n".length);
  return quoted === cell && cell.includes("\r") ? `"${cell}"` : quoted;
}
