import { type CsvOptions, toCsvFormat } from "./csv_options.ts";
import { CsvWriter } from "./csv_writer.ts";

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
