import { stringify } from "@std/csv/stringify";
import { checkCsvOptions, type CheckedCsvOptions, type CsvOptions } from "./csv_options.ts";
import { type CsvPage, startsFormula, transcodeCsv } from "./csv_transcoder.ts";
import {
  concatBytes,
  PageFault,
  type PageWriter,
  type WriterState,
  type WrittenPage,
} from "./page_writer.ts";
import { digitsOf, parsePage, parseRawJson, type RawJson, stringifyRaw } from "./raw_json.ts";
import { fieldsOfFirstRow } from "./row_reader.ts";

/**
 * Converts one page of the service to CSV, for callers that request pages themselves.
 *
 * Lines end in CRLF. A cell is quoted if it contains the separator, a quote, a line feed or a carriage
 * return. Numbers keep the digits that the service sent; null becomes an empty cell; a list of texts
 * is joined with `; `; other lists and objects become JSON.
 *
 * @param page Bytes of a page: a JSON object with its rows under `value`
 * @param options Columns, separator, header, byte order mark, formulas. Default columns: the fields
 *   of the rows, in order of appearance
 * @returns The CSV in UTF-8
 * @throws {SyntaxError} If the bytes are not a page
 * @throws {ValidationError} If an option is invalid
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
  const writer = new CsvWriter(checkCsvOptions(options), [], { addsNewFields: true });
  const { bytes } = writer.write(page);
  // A page without rows writes nothing: the document is only the header.
  return bytes.length > 0 ? bytes : writer.end();
}

const BYTE_ORDER_MARK = "\ufeff";

const encoder = new TextEncoder();
const decoder = new TextDecoder();

/** Writes pages as one CSV document. */
export class CsvWriter implements PageWriter {
  readonly #csv: CheckedCsvOptions;
  readonly #addsNewFields: boolean;
  #fields: readonly string[];
  #isBegun: boolean;

  /**
   * @param csv Options; their columns replace `fields`
   * @param fields Fields of the columns, in order
   * @param options `addsNewFields`: whether other fields of the first page become columns too, and
   *   are an error on later pages. Otherwise they are left out. `state`: state to continue from
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
    this.#addsNewFields = addsNewFields && csv.columns === undefined;
    this.#fields = state?.fields ?? csv.columns?.map(([field]) => field) ?? fields;
    this.#isBegun = state?.isBegun ?? false;
  }

  get state(): WriterState {
    return { isBegun: this.#isBegun, fields: this.#fields };
  }

  set state({ isBegun, fields = this.#fields }: WriterState) {
    this.#isBegun = isBegun;
    this.#fields = fields;
  }

  write(page: Uint8Array): WrittenPage {
    let fields = this.#fields;
    if (this.#addsNewFields && !this.#isBegun) {
      // Usually all fields, so that the page is transcoded only once.
      fields = this.#withNewFields(fields, fieldsOfFirstRow(page));
    }
    let written = this.#transcode(page, fields);
    if (written !== undefined && written.newFields.length > 0) {
      fields = this.#withNewFields(fields, written.newFields);
      written = this.#transcode(page, fields);
    }
    return written === undefined ? this.#writeParsed(page) : this.#finishPage(written, fields);
  }

  end(): Uint8Array<ArrayBuffer> {
    const head = this.#head(this.#fields);
    this.#begin(this.#fields);
    return head;
  }

  #transcode(page: Uint8Array, fields: readonly string[]): CsvPage | undefined {
    return transcodeCsv(page, {
      fields,
      collectsNewFields: this.#addsNewFields,
      head: this.#head(fields),
      csv: this.#csv,
      toNestedCell: (json) => toNestedCell(json, this.#csv),
    });
  }

  /** Writes a page that the transcoder does not support, by way of parsed rows. */
  #writeParsed(page: Uint8Array): WrittenPage {
    const { rows, ids, envelope } = parsePage(page);
    const names = this.#addsNewFields ? rows.flatMap((row) => [...row.keys()]) : [];
    const fields = this.#withNewFields(this.#fields, names);
    const lines = rows.map((row) =>
      stringifyCells(fields.map((field) => toCell(row.get(field), this.#csv)), this.#csv.separator)
    );
    const bytes = concatBytes(this.#head(fields), encoder.encode(lines.join("")));
    return this.#finishPage({ bytes, rows: rows.length, ids, envelope }, fields);
  }

  /**
   * Adds the names that are not yet fields.
   *
   * @throws {PageFault} If there are any and the header was written
   */
  #withNewFields(fields: readonly string[], names: readonly string[]): readonly string[] {
    const known = new Set(fields);
    const added = [...new Set(names)].filter((name) => !known.has(name));
    if (this.#isBegun && added.length > 0) {
      throw new PageFault(
        `Field "${added[0]}" came after the header was written`,
        "the result is incomplete; select the fields you need",
      );
    }
    return [...fields, ...added];
  }

  /** The first page with rows and columns fixes the columns. A page without them has no bytes. */
  #finishPage(page: WrittenPage, fields: readonly string[]): WrittenPage {
    if (page.rows === 0 || fields.length === 0) return { ...page, bytes: new Uint8Array() };
    this.#begin(fields);
    return page;
  }

  /** Returns the byte order mark and the header, unless they were written. */
  #head(fields: readonly string[]): Uint8Array<ArrayBuffer> {
    if (this.#isBegun) return new Uint8Array();
    const { bom, header, columns, separator, escapeFormulas } = this.#csv;
    const names = columns?.map(([, name]) => name) ?? fields;
    const cells = escapeFormulas ? names.map(escapeFormula) : names;
    const line = header && cells.length > 0 ? stringifyCells(cells, separator) : "";
    return encoder.encode(`${bom ? BYTE_ORDER_MARK : ""}${line}`);
  }

  #begin(fields: readonly string[]): void {
    this.#fields = fields;
    this.#isBegun = true;
  }
}

/** Converts a value to the text of its cell, without quotes. */
export function toCell(
  value: RawJson | undefined,
  { escapeFormulas }: Pick<CheckedCsvOptions, "escapeFormulas">,
): string {
  if (value === undefined || value === null) return "";
  if (typeof value === "boolean") return String(value);
  const digits = digitsOf(value);
  if (digits !== undefined) return digits;
  const text = typeof value === "string" ? value.slice(1) : joinTexts(value) ?? stringifyRaw(value);
  return escapeFormulas ? escapeFormula(text) : text;
}

/** Converts a list or an object in bytes to its cell, quoted if necessary. */
export function toNestedCell(json: Uint8Array, csv: CheckedCsvOptions): Uint8Array<ArrayBuffer> {
  const text = toCell(parseRawJson(decoder.decode(json)), csv);
  return encoder.encode(quoteCell(text, csv.separator));
}

/** Joins a list of texts; `undefined` for any other value. */
function joinTexts(value: RawJson): string | undefined {
  if (!Array.isArray(value)) return undefined;
  const isText = (item: RawJson): item is string => typeof item === "string";
  return value.every(isText) ? value.map((item) => item.slice(1)).join("; ") : undefined;
}

/** Prefixes an apostrophe to text that a spreadsheet would run as a formula. */
function escapeFormula(text: string): string {
  return text !== "" && startsFormula(text.charCodeAt(0)) ? `'${text}` : text;
}

/**
 * Formats cells as a line of CSV. `@std/csv` does it, except for two cases in which readers would lose
 * data: a blank line, which many of them skip, and a carriage return that is not quoted.
 */
export function stringifyCells(cells: readonly string[], separator: string): string {
  if (cells.length === 1 && cells[0] === "") return '""\r\n';
  if (!cells.some((cell) => cell.includes("\r"))) return stringify([cells], { separator });
  return `${cells.map((cell) => quoteCell(cell, separator)).join(separator)}\r\n`;
}

/** Quotes a cell if necessary. */
function quoteCell(cell: string, separator: string): string {
  const quoted = stringify([[cell]], { separator }).slice(0, -"\r\n".length);
  return quoted === cell && cell.includes("\r") ? `"${cell}"` : quoted;
}
