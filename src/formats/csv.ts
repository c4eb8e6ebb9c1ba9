// The format CSV (RFC 4180): its options, the writer of pages, and its records.
import { stringify } from "@std/csv/stringify";
import { type Bytes, utf8Decoder, utf8Encoder } from "../bytes.ts";
import { ValidationError } from "../errors.ts";
import {
  emptyOption,
  firstRepeated,
  invalidValue,
  isListOfStrings,
  requireOneOf,
  requireOptions,
  requireType,
} from "../validation.ts";
import { minify } from "./json.ts";
import {
  BACKSLASH,
  CARRIAGE_RETURN,
  ESCAPED,
  LINE_FEED,
  PageFault,
  QUOTE,
  TAB,
  UNICODE_ESCAPE,
} from "./json_scanner.ts";
import {
  type ByteBuffer,
  concatBytes,
  DocumentWriter,
  type PageTranscoder,
  writePage,
  type WriterState,
} from "./page_writer.ts";
import { EMPTY, ESCAPED_STRING, NEEDS_QUOTES, NESTED, SCALAR } from "./row_reader.ts";

/** A column: a field, or a field and its name in the header row. */
export type CsvColumn = string | readonly [field: string, header: string];

/**
 * Options of CSV.
 *
 * @example CSV for a spreadsheet: renamed columns, UTF-8 that Excel detects, escaped formulas
 * ```ts
 * import { csvFromPage, type CsvOptions } from "@weir/datastream";
 * import { assertEquals } from "@std/assert";
 *
 * const options: CsvOptions = {
 *   columns: ["Id", ["ResultValue", "value"]],
 *   separator: ";",
 *   bom: true,
 *   escapeFormulas: true,
 * };
 * const page = new TextEncoder().encode('{"value":[{"Id":1,"ResultValue":7.10}]}');
 * assertEquals(new TextDecoder().decode(csvFromPage(page, options)), "Id;value\r\n1;7.10\r\n");
 * ```
 */
export interface CsvOptions {
  /**
   * Columns in order, each with an optional name for the header row. Default: the selected fields;
   * without a selection, all fields in the documented order, followed by other fields of the rows that are
   * delivered first. A field that first appears in a later row is an error.
   */
  columns?: readonly CsvColumn[] | undefined;
  /** Separator between cells: `,`, `;`, a tab, or another ASCII punctuation mark. Default `,`. */
  separator?: string | undefined;
  /** End of each line: CRLF, as in RFC 4180, or LF. Default `"\r\n"`. */
  eol?: "\r\n" | "\n" | undefined;
  /** Whether the first line contains the column names. Default true. */
  header?: boolean | undefined;
  /** Whether the file begins with a byte order mark, from which Excel detects UTF-8. Default false. */
  bom?: boolean | undefined;
  /**
   * Whether to write a `'` before strings that a spreadsheet would run as a formula: those that begin
   * with `=`, `+`, `-`, `@`, a tab or a carriage return. Numbers are not changed. Default false.
   */
  escapeFormulas?: boolean | undefined;
}

/** Validated options of CSV, with their defaults. */
export interface CheckedCsvOptions {
  columns: readonly (readonly [field: string, header: string])[] | undefined;
  separator: string;
  eol: "\r\n" | "\n";
  header: boolean;
  bom: boolean;
  escapeFormulas: boolean;
}

/**
 * Checks options of CSV and sets the defaults.
 *
 * @param option Option or argument that holds the options
 * @throws {ValidationError} If an option is unknown, the separator is not accepted, or a column is
 *   malformed or repeated
 */
export function checkCsvOptions(given: CsvOptions = {}, option = "csv"): CheckedCsvOptions {
  const options = requireOptions("CSV", given, DEFAULT_CSV, "", option);
  const { separator, eol, columns } = options;
  if (typeof separator !== "string" || !SEPARATOR_PATTERN.test(separator)) {
    throw invalidValue("separator", 'one punctuation mark such as "," or ";", or a tab', separator);
  }
  requireOneOf("eol", eol, ["\r\n", "\n"]);
  for (const name of ["header", "bom", "escapeFormulas"] as const) {
    requireType(name, options[name], "boolean");
  }
  return { ...options, columns: columns === undefined ? columns : checkColumns(columns) };
}

const DEFAULT_CSV = {
  columns: undefined,
  separator: ",",
  eol: "\r\n" as "\r\n" | "\n",
  header: true,
  bom: false,
  escapeFormulas: false,
} satisfies Record<keyof CsvOptions, unknown>;

/** One ASCII punctuation mark that does not occur in numbers and is not a quote. */
const SEPARATOR_PATTERN = /^[\t!#$%&()*,/:;<=>?@[\]^_`{|}~]$/;

function checkColumns(columns: readonly CsvColumn[]): (readonly [field: string, header: string])[] {
  if (!Array.isArray(columns)) throw invalidValue("columns", "an array", columns);
  if (columns.length === 0) throw emptyOption("columns", columns, "omit it to write all columns");
  const pairs = columns.map((column): readonly [string, string] => {
    if (typeof column === "string") return [column, column];
    if (isListOfStrings(column) && column.length === 2) return [column[0]!, column[1]!];
    throw invalidValue("columns", "fields or [field, header] pairs", column);
  });
  const repeated = firstRepeated(pairs.map(([field]) => field));
  if (repeated === undefined) return pairs;
  throw new ValidationError("columns", `must name each field once, got "${repeated}" twice`, {
    received: columns,
  });
}

/**
 * Converts one page of the service to CSV, for callers that request pages themselves.
 *
 * Lines end in CRLF. A cell is quoted if it contains the separator, a quote, a line feed or a carriage
 * return. Numbers keep the digits that the service sent; null becomes an empty cell; an array of strings
 * is joined with `; `; other arrays and objects become JSON.
 *
 * @param page Bytes of a page: a JSON object with its rows under `value`
 * @param options Columns, separator, header, byte order mark, formulas. Default columns: the fields
 *   of the rows, in order of appearance
 * @returns The CSV in UTF-8
 * @throws {SyntaxError} If the bytes are not a page
 * @throws {ValidationError} If the page is not a `Uint8Array`, or an option is invalid
 *
 * Source: RFC 4180.
 *
 * @example
 * ```ts
 * import { csvFromPage } from "@weir/datastream";
 * import { assertEquals } from "@std/assert";
 *
 * const page = new TextEncoder().encode('{"value":[{"Id":7,"ResultValue":0.10,"ResultUnit":null}]}');
 * const csv = csvFromPage(page, { columns: ["Id", ["ResultValue", "value"], "ResultUnit"] });
 * assertEquals(new TextDecoder().decode(csv), "Id,value,ResultUnit\r\n7,0.10,\r\n");
 * ```
 */
export function csvFromPage(page: Uint8Array, options: CsvOptions = {}): Uint8Array<ArrayBuffer> {
  const writer = new CsvWriter(checkCsvOptions(options, "options"), [], { addsNewFields: true });
  const bytes = writePage(writer, page);
  // For a page without rows, `write` returns no bytes, and `end` returns the header.
  return bytes.length > 0 ? bytes : writer.end();
}

const BYTE_ORDER_MARK = "\ufeff";

/** Writes pages as one CSV document. */
export class CsvWriter extends DocumentWriter {
  state: WriterState & { fields: readonly string[] };
  /** Whether fields of the rows that are not in `fields` become columns until rows are taken. */
  override readonly addsColumns: boolean;
  override readonly separator: number;
  readonly #csv: CheckedCsvOptions;
  /** While columns may be added: the end of each record in the output, and the number of its columns. */
  #records: [end: number, columns: number][] = [];

  /**
   * @param csv Options; their columns replace `fields`
   * @param fields Fields of the columns, in order
   * @param options `addsNewFields`: if true, other fields become columns until rows were taken; later
   *   they are a fault of their page. If false, fields not in `fields` are ignored.
   *   `state`: state of an earlier writer, to continue its document
   */
  constructor(
    csv: CheckedCsvOptions,
    fields: readonly string[],
    { addsNewFields = false, state }: {
      addsNewFields?: boolean;
      state?: WriterState | undefined;
    } = {},
  ) {
    super();
    this.#csv = csv;
    this.separator = csv.separator.charCodeAt(0);
    this.addsColumns = addsNewFields && csv.columns === undefined;
    this.state = {
      isBegun: state?.isBegun ?? false,
      fields: state?.fields ?? csv.columns?.map(([field]) => field) ?? fields,
    };
  }

  override get fields(): readonly string[] {
    return this.state.fields;
  }

  writeRow(source: PageTranscoder, at: number, end: number): PageFault | undefined {
    const { reader: { columns }, output } = source;
    const { isBegun, fields } = this.state;
    const areFixed = isBegun || !this.addsColumns;
    if (areFixed && this.addsColumns && columns.length > fields.length) {
      return new PageFault(
        `Field "${columns[fields.length]}" first appears after the header was written`,
        "the result is incomplete; select the fields you need",
      );
    }
    if (output.length === 0) this.#records = [];
    const width = areFixed ? fields.length : columns.length;
    writeRecord(source, width, end - at, this.#csv);
    if (!areFixed) this.#records.push([output.length, width]);
  }

  override seal(output: ByteBuffer, columns: readonly string[]): number | undefined {
    if (!this.addsColumns || this.state.isBegun) return undefined;
    const records = output.length === 0 ? [] : this.#records;
    this.#records = [];
    this.state = { isBegun: false, fields: columns.slice() };
    if (records.every(([, width]) => width === columns.length)) return undefined;
    return padRecords(output, records, columns.length, this.#csv);
  }

  /**
   * Returns records, after the header if they are the first ones. The header fixes the columns. Without rows or
   * columns, it returns no bytes.
   */
  append(records: Bytes, count: number): Bytes {
    if (count === 0 || this.fields.length === 0) return new Uint8Array();
    return concatBytes([this.end(), records]);
  }

  /** Returns the byte order mark and the header, unless they were already written. */
  end(): Uint8Array<ArrayBuffer> {
    const { isBegun, fields } = this.state;
    if (isBegun) return new Uint8Array();
    this.state = { isBegun: true, fields };
    const { bom, header, columns, escapeFormulas } = this.#csv;
    const names = columns?.map(([, name]) => name) ?? fields;
    const cells = escapeFormulas ? names.map(escapeFormula) : names;
    const line = header && cells.length > 0 ? formatRecord(cells, this.#csv) : "";
    return utf8Encoder.encode(`${bom ? BYTE_ORDER_MARK : ""}${line}`);
  }
}

/**
 * Writes the row that the reader has read as a record.
 *
 * @param columns Number of columns
 * @param rowLength Length (bytes) of the row in JSON
 */
function writeRecord(
  { window: { bytes: page, view: pageView }, reader: { starts, ends, kinds }, output }:
    PageTranscoder,
  columns: number,
  rowLength: number,
  csv: CheckedCsvOptions,
): void {
  const separator = csv.separator.charCodeAt(0);
  const { escapeFormulas } = csv;
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
    if (kind === NESTED || kind === ESCAPED_STRING) {
      const after = kind === NESTED
        ? UNWRITTEN
        : writeEscaped(page, pageOffset, end, out, outOffset, separator, escapeFormulas);
      if (after !== UNWRITTEN) {
        outOffset = after;
        continue;
      }
      output.length = outOffset;
      const quote = kind === NESTED ? 0 : 1;
      output.append(toCell(page.subarray(pageOffset - quote, end + quote), csv));
      outOffset = output.length;
      out = output.reserve(maxLength);
      outView = output.view;
    } else {
      if (kind === NEEDS_QUOTES) out[outOffset++] = QUOTE;
      if (escapeFormulas && kind !== SCALAR && startsFormula(page[pageOffset]!)) {
        out[outOffset++] = APOSTROPHE;
      }
      outOffset = copyWords(pageView, pageOffset, end, outView, outOffset);
      if (kind === NEEDS_QUOTES) out[outOffset++] = QUOTE;
    }
  }
  output.length = outOffset;
  endRecord(output, columns === 1 && outOffset === start, csv.eol);
}

/**
 * Adds empty cells to records that were written before the last column was added.
 *
 * @param records The end of each record in the output, and the number of its columns
 * @returns The offset of the last record in the output
 */
function padRecords(
  output: ByteBuffer,
  records: readonly (readonly [end: number, columns: number])[],
  columns: number,
  { separator, eol }: CheckedCsvOptions,
): number {
  const written = output.bytes.slice(0, output.length);
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

/** Result of `writeEscaped()` for a string that it does not write. */
const UNWRITTEN = -1;

/**
 * Writes a string with escape sequences of two bytes as a cell, quoted if necessary. Writing strings with line breaks
 * by `toCell()` would double the time of a page with long texts.
 *
 * @param page Well-formed JSON
 * @param at Offset after the opening quote of the string
 * @param end Offset of its closing quote
 * @param out Buffer with capacity for the JSON of the string, with its quotes, and one more byte
 * @param outOffset Offset in `out` at which to write
 * @returns The offset in `out` after the cell; `UNWRITTEN` if the string contains `\uXXXX`
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
    if (letter === UNICODE_ESCAPE) return UNWRITTEN;
    const code = ESCAPED[letter]!;
    at += 2;
    if (code === QUOTE) out[outOffset++] = QUOTE;
    if (code === separator || code === QUOTE || code === LINE_FEED || code === CARRIAGE_RETURN) {
      needsQuotes = true;
    }
    out[outOffset++] = code;
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

/**
 * Converts the JSON of a string, array or object to a cell, quoted if necessary: an array of strings is joined, other
 * arrays and objects remain JSON, without white space.
 */
function toCell(json: Uint8Array, { escapeFormulas, separator }: CheckedCsvOptions): Bytes {
  const value: unknown = JSON.parse(utf8Decoder.decode(json));
  const text = isListOfStrings(value) ? value.join("; ") : value;
  const isText = typeof text === "string";
  const cell = !isText ? minify(json) : escapeFormulas ? escapeFormula(text) : text;
  return utf8Encoder.encode(quoteCell(cell, separator));
}

/**
 * Copies bytes of a window to a buffer, eight at a time, and up to seven further bytes. A loop of single bytes
 * takes 1.1 to 1.25 times as long for a page of records, and `TypedArray.set` creates an object for each call.
 *
 * Doubles keep all bits except those of a NaN, which valid UTF-8 does not contain: its bytes would end with 0xff, or
 * with 0x7f after a byte from 0xf0 on.
 *
 * @param page View of the window
 * @param start Offset of the first byte
 * @param end Offset after the last byte
 * @param out View of a buffer with enough reserved bytes
 * @param outOffset Offset at which to write
 * @returns The offset after the written bytes
 */
function copyWords(
  page: DataView,
  start: number,
  end: number,
  out: DataView,
  outOffset: number,
): number {
  for (let at = start, outAt = outOffset; at < end; at += 8, outAt += 8) {
    out.setFloat64(outAt, page.getFloat64(at, true), true);
  }
  return outOffset + end - start;
}

/** Prefixes an apostrophe to a cell that a spreadsheet would run as a formula. */
function escapeFormula(text: string): string {
  return text !== "" && startsFormula(text.charCodeAt(0)) ? `'${text}` : text;
}

/**
 * Formats cells as a record of CSV (RFC 4180), with its line break. A single empty cell has quotes, because many CSV
 * readers skip a blank line.
 */
function formatRecord(
  cells: readonly string[],
  { separator, eol }: Pick<CheckedCsvOptions, "separator" | "eol">,
): string {
  if (cells.length === 1 && cells[0] === "") return `""${eol}`;
  return `${cells.map((cell) => quoteCell(cell, separator)).join(separator)}${eol}`;
}

/** Quotes a cell if necessary. Uses `@std/csv`, which does not quote a carriage return. */
function quoteCell(cell: string, separator: string): string {
  const quoted = stringify([[cell]], { separator }).slice(0, -"\r\n".length);
  return quoted === cell && cell.includes("\r") ? `"${cell}"` : quoted;
}
