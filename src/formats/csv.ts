// The format CSV: its options, and the writer of pages.
import { stringify } from "@std/csv/stringify";
import { type Bytes, utf8Decoder, utf8Encoder } from "../bytes.ts";
import { ValidationError } from "../errors.ts";
import {
  emptyOption,
  firstRepeated,
  invalidValue,
  isListOfStrings,
  requireOptions,
  requireType,
} from "../validation.ts";
import { RecordWriter, startsFormula } from "./csv_transcoder.ts";
import { PageTranscoder, type RowFormat, type RowSource } from "./page_transcoder.ts";
import {
  type ArrivingPage,
  concatBytes,
  type PageOptions,
  type PageWriter,
  requirePage,
  type WriterState,
  writeWholePage,
  type WrittenPage,
} from "./page_writer.ts";
import { digitsOf, parseRawJson, type RawJson, stringifyRaw, textOf } from "./raw_json.ts";

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
  const { separator, columns } = options;
  if (typeof separator !== "string" || !SEPARATOR_PATTERN.test(separator)) {
    throw invalidValue("separator", 'one punctuation mark such as "," or ";", or a tab', separator);
  }
  for (const name of ["header", "bom", "escapeFormulas"] as const) {
    requireType(name, options[name], "boolean");
  }
  return { ...options, columns: columns === undefined ? columns : checkColumns(columns) };
}

const DEFAULT_CSV = {
  columns: undefined,
  separator: ",",
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
    if (isPair(column)) return column;
    throw invalidValue("columns", "fields or [field, header] pairs", column);
  });
  const repeated = firstRepeated(pairs.map(([field]) => field));
  if (repeated === undefined) return pairs;
  throw new ValidationError("columns", `must name each field once, got "${repeated}" twice`, {
    received: columns,
  });
}

function isPair(column: unknown): column is readonly [field: string, header: string] {
  return isListOfStrings(column) && column.length === 2;
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
  requirePage(page);
  const writer = new CsvWriter(checkCsvOptions(options, "options"), [], { addsNewFields: true });
  const { bytes } = writer.write(page);
  // For a page without rows, `write` returns no bytes, and `end` returns the header.
  return bytes.length > 0 ? bytes : writer.end();
}

const BYTE_ORDER_MARK = "\ufeff";

/** Writes pages as one CSV document. */
export class CsvWriter implements PageWriter, RowFormat {
  state: WriterState & { fields: readonly string[] };
  /** Whether fields of the rows that are not in `fields` become columns until rows are taken. */
  readonly addsColumns: boolean;
  readonly #csv: CheckedCsvOptions;
  /** Writer of the open page. */
  #records: RecordWriter | undefined;

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
    this.#csv = csv;
    this.addsColumns = addsNewFields && csv.columns === undefined;
    this.state = {
      isBegun: state?.isBegun ?? false,
      fields: state?.fields ?? csv.columns?.map(([field]) => field) ?? fields,
    };
  }

  get fields(): readonly string[] {
    return this.state.fields;
  }

  get separator(): number {
    return this.#csv.separator.charCodeAt(0);
  }

  openPage(options?: PageOptions): ArrivingPage {
    return new PageTranscoder(this, options);
  }

  write(page: Uint8Array): WrittenPage {
    return writeWholePage(this, page, {});
  }

  createRowWriter(source: RowSource): RecordWriter {
    const csv = this.#csv;
    const { isBegun, fields } = this.state;
    return this.#records = new RecordWriter(source, {
      columns: this.addsColumns && !isBegun ? undefined : fields.length,
      rejectsNewFields: this.addsColumns,
      csv,
      toNestedCell: (json) => toNestedCell(json, csv),
      toRecord: (row, names) =>
        formatRecord(names.map((name) => toCell(row.get(name), csv)), csv.separator),
    });
  }

  /**
   * Returns records, after the header if they are the first ones. The header fixes the columns. Without rows or
   * columns, it returns no bytes.
   */
  append(records: Bytes, count: number): Bytes {
    const { fields } = this.#records!;
    if (count === 0 || fields.length === 0) return new Uint8Array();
    const preamble = this.#preamble(fields);
    this.state = { isBegun: true, fields };
    return concatBytes([preamble, records]);
  }

  end(): Uint8Array<ArrayBuffer> {
    const { fields } = this.state;
    const preamble = this.#preamble(fields);
    this.state = { isBegun: true, fields };
    return preamble;
  }

  /** Returns the byte order mark and the header; nothing if they were already written. */
  #preamble(fields: readonly string[]): Uint8Array<ArrayBuffer> {
    if (this.state.isBegun) return new Uint8Array();
    const { bom, header, columns, separator, escapeFormulas } = this.#csv;
    const names = columns?.map(([, name]) => name) ?? fields;
    const cells = escapeFormulas ? names.map(escapeFormula) : names;
    const line = header && cells.length > 0 ? formatRecord(cells, separator) : "";
    return utf8Encoder.encode(`${bom ? BYTE_ORDER_MARK : ""}${line}`);
  }
}

/** Converts a JSON value to the content of its cell, without quotes. */
export function toCell(
  value: RawJson | undefined,
  { escapeFormulas }: Pick<CheckedCsvOptions, "escapeFormulas">,
): string {
  if (value === undefined || value === null) return "";
  if (typeof value === "boolean") return String(value);
  const digits = digitsOf(value);
  if (digits !== undefined) return digits;
  const text = typeof value === "string"
    ? textOf(value)
    : joinStrings(value) ?? stringifyRaw(value);
  return escapeFormulas ? escapeFormula(text) : text;
}

/** Converts the JSON bytes of an array or object to a cell, quoted if necessary. */
export function toNestedCell(json: Uint8Array, csv: CheckedCsvOptions): Uint8Array<ArrayBuffer> {
  const text = toCell(parseRawJson(utf8Decoder.decode(json)), csv);
  return utf8Encoder.encode(quoteCell(text, csv.separator));
}

/** Joins an array of strings; returns `undefined` for any other value. */
function joinStrings(value: RawJson): string | undefined {
  if (!Array.isArray(value)) return undefined;
  const isString = (item: RawJson): item is string => typeof item === "string";
  return value.every(isString) ? value.map(textOf).join("; ") : undefined;
}

/** Prefixes an apostrophe to a cell that a spreadsheet would run as a formula. */
function escapeFormula(text: string): string {
  return text !== "" && startsFormula(text.charCodeAt(0)) ? `'${text}` : text;
}

/**
 * Formats cells as a record of CSV (RFC 4180), with its line break. Uses `@std/csv`, except in two cases
 * where its output would lose data. It writes a single empty cell as a blank line, which many CSV readers
 * skip. It does not quote a carriage return.
 */
export function formatRecord(cells: readonly string[], separator: string): string {
  if (cells.length === 1 && cells[0] === "") return '""\r\n';
  if (!cells.some((cell) => cell.includes("\r"))) return stringify([cells], { separator });
  return `${cells.map((cell) => quoteCell(cell, separator)).join(separator)}\r\n`;
}

/** Quotes a cell if necessary. */
function quoteCell(cell: string, separator: string): string {
  const quoted = stringify([[cell]], { separator }).slice(0, -"\r\n".length);
  return quoted === cell && cell.includes("\r") ? `"${cell}"` : quoted;
}
