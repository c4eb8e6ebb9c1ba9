import { stringify } from "@std/csv/stringify";
import {
  type ByteBuffer,
  type Bytes,
  concatBytes,
  copyWords,
  utf8Decoder,
  utf8Encoder,
} from "../bytes.ts";
import { ValidationError } from "../errors.ts";
import { columnNames, type ResourceName } from "../odata/resources.ts";
import {
  firstRepeated,
  invalidOption,
  invalidValue,
  isListOfStrings,
  type OptionRule,
  readOptions,
  type WithDefaults,
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
import { type PageTranscoder, PageWriter, writePage, type WriterState } from "./page_writer.ts";
import {
  type Cells,
  EMPTY,
  ESCAPED_STRING,
  NEEDS_QUOTES,
  NESTED,
  quoteLength,
  SCALAR,
} from "./row_reader.ts";
import { type RowRules, TIDY_COLUMNS } from "./tidy.ts";

/**
 * A column: a field, or a field and its name in the header row. The default name is that of the field, except that `ID` of
 * Locations is `MonitoringLocationID`, as in Records: in SQL, `ID` and `Id` are one name.
 */
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
 * assertEquals(new TextDecoder().decode(csvFromPage(page, options)), '"Id";"value"\r\n1;7.10\r\n');
 * ```
 */
export interface CsvOptions {
  /**
   * Columns in order, each with an optional name for the header row, such as `["ID", "ID"]`. Default: the selected fields;
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

export type CheckedCsvOptions = Omit<WithDefaults<CsvOptions, typeof CSV_OPTIONS>, "columns"> & {
  columns: readonly (readonly [field: string, header?: string])[] | undefined;
};

export function checkCsvOptions(given: CsvOptions = {}, option = "csv"): CheckedCsvOptions {
  const { columns, ...others } = readOptions("CSV", given, CSV_OPTIONS, "", option);
  return { ...others, columns: columns === undefined ? columns : checkColumns(columns) };
}

/** What a data package says about CSV: `missingValues` of Table Schema, and members of CSV Dialect. */
interface CsvDescription extends CsvDialect {
  missingValues: readonly string[];
}

export interface CsvDialect {
  delimiter: string;
  lineTerminator: string;
  quoteChar: '"';
  doubleQuote: true;
  skipInitialSpace: false;
  header: boolean;
}

/** `describe` returns what a reader must know of a value; `undefined` if it needs nothing. */
interface CsvRule extends OptionRule {
  // deno-lint-ignore no-explicit-any -- the type of the option
  describe: ((value: any) => Partial<CsvDescription>) | undefined;
}

const CSV_OPTIONS = {
  columns: { default: undefined, describe: undefined },
  separator: {
    default: ",",
    describe: (delimiter) => ({ delimiter }),
    check(option, value) {
      if (typeof value === "string" && SEPARATOR_PATTERN.test(value)) return;
      throw invalidValue(option, 'one punctuation mark such as "," or ";", or a tab', value);
    },
  },
  eol: { default: "\r\n", values: ["\r\n", "\n"], describe: (eol) => ({ lineTerminator: eol }) },
  header: { default: true, type: "boolean", describe: (header) => ({ header }) },
  bom: { default: false, type: "boolean", describe: undefined },
  escapeFormulas: { default: false, type: "boolean", describe: undefined },
} as const satisfies Record<keyof CsvOptions, CsvRule>;

export function describeCsv(
  options: CheckedCsvOptions,
): { dialect: CsvDialect; missingValues: readonly string[] } {
  const checked: Record<string, unknown> = options;
  const fixed = { quoteChar: '"', doubleQuote: true, skipInitialSpace: false, missingValues: [""] };
  const described = Object.entries(CSV_OPTIONS)
    .map(([option, { describe }]) => describe?.(checked[option]));
  const { missingValues, ...dialect }: CsvDescription = Object.assign(fixed, ...described);
  return { dialect, missingValues };
}

/** One ASCII punctuation mark that does not occur in numbers and is not a quote. */
const SEPARATOR_PATTERN = /^[\t!#$%&()*,/:;<=>?@[\]^_`{|}~]$/;

function checkColumns(columns: readonly CsvColumn[]): NonNullable<CheckedCsvOptions["columns"]> {
  if (!Array.isArray(columns)) throw invalidValue("columns", "an array", columns);
  if (columns.length === 0) {
    throw invalidOption("columns", "must not be empty", columns, "omit it to write all columns");
  }
  const pairs = columns.map((column): readonly [string, string?] => {
    if (typeof column === "string") return [column];
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
 * Lines end in CRLF. The names in the header are quoted; another cell is quoted if it contains the separator, a quote, a
 * line feed or a carriage return. Numbers keep the digits that the service sent; null becomes an empty cell; an array of strings
 * is joined with `; `; other arrays and objects become JSON. The character NUL is left out.
 * Source: RFC 4180.
 *
 * @param page Bytes of a page: a JSON object with its rows under `value`
 * @param options Columns, separator, header, byte order mark, formulas. Default columns: the fields
 *   of the rows, in order of appearance
 * @returns The CSV in UTF-8
 * @throws {SyntaxError} If the bytes are not a page
 * @throws {ValidationError} If the page is not a `Uint8Array`, or an option is invalid
 *
 * @example
 * ```ts
 * import { csvFromPage } from "@weir/datastream";
 * import { assertEquals } from "@std/assert";
 *
 * const page = new TextEncoder().encode('{"value":[{"Id":7,"ResultValue":0.10,"ResultUnit":null}]}');
 * const csv = csvFromPage(page, { columns: ["Id", ["ResultValue", "value"], "ResultUnit"] });
 * assertEquals(new TextDecoder().decode(csv), '"Id","value","ResultUnit"\r\n7,0.10,\r\n');
 * ```
 */
export function csvFromPage(page: Uint8Array, options: CsvOptions = {}): Uint8Array<ArrayBuffer> {
  const writer = new CsvWriter(checkCsvOptions(options, "options"), [], { addsNewFields: true });
  const bytes = writePage(writer, page);
  // For a page without rows, `write` returns no bytes, and `end` returns the header.
  return bytes.length > 0 ? bytes : writer.end();
}

const BYTE_ORDER_MARK = "\ufeff";

/** Records in succession that have the same number of cells. */
interface EqualRecords {
  readonly cells: number;
  /** Offset after the last record. */
  end: number;
}

export class CsvWriter extends PageWriter {
  state: WriterState & { fields: readonly string[] };
  /** Whether fields of the rows that are not in `fields` become columns until rows are taken. */
  override readonly addsColumns: boolean;
  override readonly special: string;
  readonly #csv: CheckedCsvOptions;
  readonly #resource: ResourceName;
  /** All records of the output in order, while columns may be added. */
  #records: EqualRecords[] = [];

  constructor(
    csv: CheckedCsvOptions,
    fields: readonly string[],
    { addsNewFields = false, state, resource = "Locations", rules }: {
      addsNewFields?: boolean;
      state?: WriterState | undefined;
      /** Resource that gives the columns their names. Default: Locations, the only one whose names differ from the fields. */
      resource?: ResourceName;
      rules?: RowRules | undefined;
    } = {},
  ) {
    super();
    this.rules = rules;
    this.#csv = csv;
    this.#resource = resource;
    this.special = csv.separator;
    this.addsColumns = addsNewFields && csv.columns === undefined;
    this.state = {
      ...state,
      isBegun: state?.isBegun ?? false,
      fields: state?.fields ?? csv.columns?.map(([field]) => field) ?? fields,
    };
    if (csv.columns !== undefined) this.#requireDistinctNames();
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
        { hint: "the result is incomplete; select the fields you need" },
      );
    }
    if (output.length === 0) this.#records = [];
    const width = areFixed ? fields.length : columns.length;
    writeRecord(source, width, end - at, this.#csv);
    if (areFixed) return;
    const last = this.#records.at(-1);
    if (last?.cells === width) last.end = output.length;
    else this.#records.push({ cells: width, end: output.length });
  }

  override beforeTake(output: ByteBuffer, columns: readonly string[]): number | undefined {
    if (!this.addsColumns || this.state.isBegun) return undefined;
    this.state = { ...this.state, fields: columns.slice() };
    // Columns are only added, so the first records have the fewest cells.
    const isComplete = output.length === 0 || this.#records[0]!.cells === columns.length;
    return isComplete ? undefined : padRecords(output, this.#records, columns.length, this.#csv);
  }

  /** The header fixes the columns. Without rows or columns, returns no bytes. */
  append(records: Bytes, count: number): Bytes {
    if (count === 0 || this.fields.length === 0) return new Uint8Array();
    return concatBytes([this.#takeHeader(), records]);
  }

  end(): Uint8Array<ArrayBuffer> {
    return this.#takeHeader();
  }

  /** Returns no bytes after the first call. */
  #takeHeader(): Uint8Array<ArrayBuffer> {
    if (this.state.isBegun) return new Uint8Array();
    this.state = { ...this.state, isBegun: true };
    const { bom, header, escapeFormulas } = this.#csv;
    const names = this.#columnNames();
    const cells = escapeFormulas ? names.map(escapeFormula) : names;
    const line = header && cells.length > 0 ? formatHeader(cells, this.#csv) : "";
    return utf8Encoder.encode(`${bom ? BYTE_ORDER_MARK : ""}${line}`);
  }

  #columnNames(): readonly string[] {
    const given = this.#csv.columns;
    const names = columnNames(this.#resource, this.fields);
    return [
      ...names.map((name, index) => given?.[index]?.[1] ?? name),
      ...this.rules?.tidy ? TIDY_COLUMNS : [],
    ];
  }

  #requireDistinctNames(): void {
    const repeated = firstRepeated(this.#columnNames());
    if (repeated === undefined) return;
    throw new ValidationError("columns", `must have different names, got "${repeated}" twice`, {
      received: this.#csv.columns,
      hint: "give one of them another name, with a pair such as [field, name]",
    });
  }
}

function writeRecord(
  page: PageTranscoder,
  columns: number,
  rowLength: number,
  csv: CheckedCsvOptions,
): void {
  const { reader, rules, output } = page;
  const start = output.length;
  writeCells(reader, columns, rowLength, page, csv);
  if (rules?.isTidy) {
    output.reserve(1)[output.length++] = csv.separator.charCodeAt(0);
    writeCells(rules, TIDY_COLUMNS.length, rules.length, page, csv);
  }
  endRecord(output, columns === 1 && output.length === start, csv.eol);
}

function writeCells(
  { bytes: page, view: pageView, starts, ends, kinds }: Cells,
  columns: number,
  length: number,
  transcoder: PageTranscoder,
  csv: CheckedCsvOptions,
): void {
  const { output } = transcoder;
  const separator = csv.separator.charCodeAt(0);
  const { escapeFormulas } = csv;
  const maxLength = length + 2 * columns;
  let out = output.reserve(maxLength);
  let outView = output.view;
  let outOffset = output.length;
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
      const quote = quoteLength(kind);
      output.append(toCell(page.subarray(pageOffset - quote, end + quote), transcoder, csv));
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
}

/** Adds empty cells to the records with fewer columns. Returns the offset of the last record. */
function padRecords(
  output: ByteBuffer,
  records: readonly EqualRecords[],
  columns: number,
  { separator, eol }: CheckedCsvOptions,
): number {
  const written = output.bytes.slice(0, output.length);
  const separatorByte = separator.charCodeAt(0);
  output.length = 0;
  let at = 0;
  let last = 0;
  for (const group of records) {
    // A row without fields is a record with one cell.
    const cells = group.cells || 1;
    const padding = new Uint8Array(columns - cells).fill(separatorByte);
    while (at < group.end) {
      last = output.length;
      const cellsEnd = skipCells(written, at, cells, separatorByte);
      // Two quotes are a record that was blank before.
      const wasBlank = cellsEnd === at + 2 && written[at] === QUOTE;
      if (!wasBlank) output.append(written.subarray(at, cellsEnd));
      output.append(padding);
      // The columns of `tidy` follow.
      const end = skipCells(written, cellsEnd, Infinity, separatorByte);
      output.append(written.subarray(cellsEnd, end));
      endRecord(output, output.length === last, eol);
      at = end + eol.length;
    }
  }
  return last;
}

/** Skips a number of cells of a record. Returns the offset of the separator or line end after them. */
function skipCells(bytes: Bytes, at: number, count: number, separator: number): number {
  for (let isQuoted = false;; at++) {
    const byte = bytes[at];
    if (byte === QUOTE) isQuoted = !isQuoted;
    if (isQuoted) continue;
    const isCellEnd = byte === separator && --count === 0;
    if (isCellEnd || byte === LINE_FEED || byte === CARRIAGE_RETURN) return at;
  }
}

/** A blank line is quoted, because many CSV readers skip it. */
function endRecord(output: ByteBuffer, isBlank: boolean, eol: string): void {
  const out = output.reserve(4);
  if (isBlank) {
    out[output.length++] = QUOTE;
    out[output.length++] = QUOTE;
  }
  if (eol !== "\n") out[output.length++] = CARRIAGE_RETURN;
  out[output.length++] = LINE_FEED;
}

function startsFormula(code: number): boolean {
  return code === 0x3d || code === 0x2b || code === 0x2d || code === 0x40 || code === TAB ||
    code === CARRIAGE_RETURN;
}

const APOSTROPHE = 0x27;

const UNWRITTEN = -1;

/** Using `toCell()` for strings with line breaks would double the time of long texts. */
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

function toCell(
  json: Uint8Array,
  transcoder: PageTranscoder,
  { escapeFormulas, separator }: CheckedCsvOptions,
): Bytes {
  const value: unknown = JSON.parse(utf8Decoder.decode(json));
  const text = isListOfStrings(value) ? value.join("; ") : value;
  if (typeof text !== "string") return utf8Encoder.encode(quoteCell(minify(json), separator));
  const written = withoutNul(text);
  if (written !== text) transcoder.note("nulCells");
  const cell = escapeFormulas ? escapeFormula(written) : written;
  return utf8Encoder.encode(quoteCell(cell, separator));
}

/** pandas cuts a text at NUL, and psql and Python's csv refuse it. JSON has it only as an escape. */
export function withoutNul(text: string): string {
  return text.replaceAll("\0", "");
}

function escapeFormula(text: string): string {
  return text !== "" && startsFormula(text.charCodeAt(0)) ? `'${text}` : text;
}

/**
 * Formats the header. Each cell has quotes: DuckDB detects them in the first 20,480 rows only, and Excel takes a file that
 * begins with `ID` for SYLK.
 */
export function formatHeader(
  names: readonly string[],
  { separator, eol }: Pick<CheckedCsvOptions, "separator" | "eol">,
): string {
  const cells = names.map((name) => `"${withoutNul(name).replaceAll('"', '""')}"`);
  return `${cells.join(separator)}${eol}`;
}

/** `@std/csv` does not quote a carriage return. */
function quoteCell(cell: string, separator: string): string {
  const quoted = stringify([[cell]], { separator }).slice(0, -"\r\n".length);
  return quoted === cell && cell.includes("\r") ? `"${cell}"` : quoted;
}
