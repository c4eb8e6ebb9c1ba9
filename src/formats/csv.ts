import { guardFormula, toCell, toLines } from "./csv_cells.ts";
import { type CsvFormat, type CsvOptions, toCsvFormat } from "./csv_options.ts";
import { csvOfBytes, type CsvPage } from "./csv_transcoder.ts";
import { findRows, passSpace } from "./json_scanner.ts";
import { PageFault, type PageWriter, type WriterState, type WrittenPage } from "./page_writer.ts";
import { readSourcePage, type Source } from "./raw_json.ts";
import { learnLayout } from "./row_reader.ts";

/**
 * Makes one page of the service into CSV: for those who have pages already.
 *
 * Line ends are CRLF; a cell is in quotes where it holds the separator, a quote, a line feed or a
 * carriage return. A number keeps the digits that were sent; null is an empty cell; a list of texts is
 * joined with `; `, and any other list or object is JSON.
 *
 * @param page The bytes of a page: an object of JSON with its rows under `value`
 * @param options Columns, separator, header, byte order mark, formulas. Default columns: the fields
 *   of the rows, in the order in which they come
 * @returns The bytes of the CSV, UTF-8
 * @throws {SyntaxError} If the bytes are no page; none of its rows are given then
 * @throws {TypeError} If an option is wrong
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
  const writer = new CsvWriter(toCsvFormat(options), [], true);
  const { bytes } = writer.write(page);
  // Of a page without rows, the header is all there is.
  return bytes.length > 0 ? bytes : writer.end();
}

const BYTE_ORDER_MARK = "\ufeff";

/** Writes pages as one CSV file. */
export class CsvWriter implements PageWriter {
  readonly #format: CsvFormat;
  readonly #encoder = new TextEncoder();
  /** Fields that no column is there for are columns too on the first page, and a fault later. */
  readonly #isOpen: boolean;
  #fields: readonly string[];
  #isBegun = false;

  /**
   * @param format The options; its columns, where there are any, are the only ones
   * @param known The columns otherwise
   * @param isOpen Whether fields beyond the known ones are columns too
   * @param from The state of the writer to go on from
   */
  constructor(
    format: CsvFormat,
    known: readonly string[],
    isOpen: boolean,
    from?: WriterState,
  ) {
    this.#format = format;
    this.#fields = from?.fields ?? format.columns?.map(([field]) => field) ?? known;
    this.#isOpen = isOpen && format.columns === undefined;
    this.#isBegun = from?.isBegun ?? false;
  }

  get state(): WriterState {
    return { isBegun: this.#isBegun, fields: this.#fields };
  }

  set state({ isBegun, fields = this.#fields }: WriterState) {
    this.#isBegun = isBegun;
    this.#fields = fields;
  }

  write(page: Uint8Array): WrittenPage {
    let fields = this.#isBegun || !this.#isOpen ? this.#fields : this.#fieldsWithFirstRow(page);
    let written = this.#writeBytes(page, fields);
    if (written !== undefined && written.newFields.length > 0) {
      fields = this.#withNewFields(fields, written.newFields);
      written = this.#writeBytes(page, fields);
    }
    if (written === undefined) return this.#writeAny(page);
    return this.#finish(written, fields);
  }

  end(): Uint8Array<ArrayBuffer> {
    const before = this.#before(this.#fields);
    this.#begin(this.#fields);
    return before;
  }

  #writeBytes(page: Uint8Array, fields: readonly string[]): CsvPage | undefined {
    const before = this.#before(fields);
    return csvOfBytes(page, { fields, isOpen: this.#isOpen, before, format: this.#format });
  }

  /** The general way, for any page. */
  #writeAny(page: Uint8Array): WrittenPage {
    const { rows, ids, envelope } = readSourcePage(page);
    const late = this.#isOpen ? newFields(rows, this.#fields) : [];
    const fields = this.#withNewFields(this.#fields, late);
    const cells = rows.map((row) => fields.map((field) => toCell(row.get(field), this.#format)));
    const lines = this.#encoder.encode(toLines(cells, this.#format.separator));
    const bytes = concat(this.#before(fields), lines);
    return this.#finish({ bytes, rows: rows.length, ids, envelope }, fields);
  }

  /**
   * Adds columns for new fields.
   *
   * @throws {PageFault} If the header is written
   */
  #withNewFields(fields: readonly string[], added: readonly string[]): readonly string[] {
    if (this.#isBegun && added.length > 0) {
      throw new PageFault(
        `Field "${added[0]}" came after the header was written`,
        "the rows so far are not all; select the fields wanted",
      );
    }
    return [...fields, ...added];
  }

  /** Fixes the columns with the first page that has rows and columns; other pages have no bytes. */
  #finish(page: WrittenPage, fields: readonly string[]): WrittenPage {
    if (page.rows === 0 || fields.length === 0) return { ...page, bytes: new Uint8Array() };
    this.#begin(fields);
    return page;
  }

  /** What stands before the first row: the mark and the header, where they are due. */
  #before(fields: readonly string[]): Uint8Array<ArrayBuffer> {
    if (this.#isBegun) return new Uint8Array();
    const { bom, header, columns, separator, escapeFormulas } = this.#format;
    const given = columns?.map(([, name]) => name) ?? fields;
    const names = escapeFormulas ? given.map(guardFormula) : given;
    const line = header && names.length > 0 ? toLines([names], separator) : "";
    return this.#encoder.encode(`${bom ? BYTE_ORDER_MARK : ""}${line}`);
  }

  #begin(fields: readonly string[]): void {
    this.#fields = fields;
    this.#isBegun = true;
  }

  #fieldsWithFirstRow(page: Uint8Array): readonly string[] {
    const start = findRows(page);
    const names = start < 0 ? [] : learnLayout(page, passSpace(page, start))?.names ?? [];
    return [...this.#fields, ...names.filter((name) => !this.#fields.includes(name))];
  }
}

/** The fields that rows have beyond the known ones, in the order in which they come. */
function newFields(rows: readonly Map<string, Source>[], known: readonly string[]): string[] {
  const fields = new Set(known);
  for (const row of rows) for (const name of row.keys()) fields.add(name);
  return [...fields].slice(known.length);
}

function concat(first: Uint8Array, second: Uint8Array): Uint8Array<ArrayBuffer> {
  const bytes = new Uint8Array(first.length + second.length);
  bytes.set(first);
  bytes.set(second, first.length);
  return bytes;
}
