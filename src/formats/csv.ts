// The format CSV: its options, and the writer of pages.
import { type Bytes, utf8Encoder } from "../bytes.ts";
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
import type { ByteBuffer } from "./buffers.ts";
import { escapeFormula, formatRecord, padRecords, writeRecord } from "./csv_records.ts";
import { DocumentWriter, type RowSource } from "./page_transcoder.ts";
import { concatBytes, PageFault, writePage, type WriterState } from "./page_writer.ts";

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

  writeRow(source: RowSource, at: number, end: number): PageFault | undefined {
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
