/**
 * Excel workbooks (`.xlsx`). A separate entry point keeps it out of bundles that write no
 * workbook.
 *
 * ## Use
 *
 * Identifiers stay text, numbers keep their decimals, dates are dates, and no text is a formula:
 *
 * ```ts
 * import { DataStream, eq } from "@weir/datastream";
 * import { toXlsx } from "@weir/datastream/xlsx";
 * import { createSandbox } from "@weir/datastream/sandbox";
 * import { assertEquals } from "@std/assert";
 *
 * const { apiKey, url, fetch } = createSandbox();
 * const client = new DataStream({ apiKey, baseUrl: url, fetch });
 * const filter = eq("CharacteristicName", "pH");
 * const query = client.records({ filter, limit: 100 });
 * const workbook = toXlsx(query, { citations: () => client.citations(filter) });
 * const file = await new Response(workbook).bytes(); // or write the stream to a file
 * assertEquals(new TextDecoder().decode(file.subarray(0, 2)), "PK");
 * ```
 *
 * ## Runtimes
 *
 * Deno, Node and Bun, and Cloudflare Workers with `nodejs_compat`: the runtime needs `node:zlib`.
 *
 * The page `docs/data.md` in the repository describes the sheets and the types of the cells.
 *
 * @module
 */
import type { FileQuery, LoadedFormat } from "./formats.ts";
import { createXlsxFormat, type XlsxOptions } from "./xlsx_writer.ts";

export type { FileQuery, XlsxOptions };

/**
 * Returns the rows of a query as an Excel workbook.
 *
 * The sheet Data has the columns of CSV, with a frozen header and a filter. Fields that are numbers are numbers with the
 * decimals that the service sent; dates are dates; all others are texts, and no text is a formula. A value that a cell
 * cannot hold is text: more than 15 significant digits that would change, a number outside of Excel's range, a date before
 * 1900-03-01. The sheet Citations has what to cite, the query and its time; the sheet Columns has the meanings and units.
 * The document property `datapackage` describes the file for programs.
 * Source: ECMA-376, Office Open XML.
 *
 * @typeParam S Type of the stream, as `query.bytes()` returns
 * @param query Query whose rows to write; a workbook has at most 1,048,575
 * @param options Citations, long texts, language
 * @returns A stream of the bytes of the file; it errors with a `DataStreamError` if a request fails, a text is too long for a
 *   cell, or there are too many rows
 * @throws {ValidationError} If an option is invalid, or the runtime has no `node:zlib`
 *
 * @example Write a file in Deno
 * ```ts
 * import { DataStream } from "@weir/datastream";
 * import { toXlsx } from "@weir/datastream/xlsx";
 * import { createSandbox } from "@weir/datastream/sandbox";
 * import { assertEquals } from "@std/assert";
 *
 * const { apiKey, url, fetch } = createSandbox();
 * const client = new DataStream({ apiKey, baseUrl: url, fetch });
 * const bytes = toXlsx(client.records({ limit: 10, tidy: true }));
 * let length = 0;
 * for await (const chunk of bytes) length += chunk.length; // await Deno.writeFile("records.xlsx", bytes)
 * assertEquals(length > 10_000, true);
 * ```
 */
export function toXlsx<S extends ReadableStream<Uint8Array>>(
  query: FileQuery<S>,
  options: XlsxOptions = {},
): S {
  return query.bytes(xlsxFormat({ ...options, url: query.url }));
}

/**
 * Creates the format for methods of a query that take one, such as `batches({ format: xlsxFormat() })`.
 *
 * @param options Citations, long texts, language; `url` is the URL of the query, for the sheet Citations
 * @returns The format
 * @throws {ValidationError} If an option is invalid
 *
 * @example Write a file of the rows of a query
 * ```ts
 * import { DataStream } from "@weir/datastream";
 * import { xlsxFormat } from "@weir/datastream/xlsx";
 * import { createSandbox } from "@weir/datastream/sandbox";
 * import { assertEquals } from "@std/assert";
 *
 * const { apiKey, url, fetch } = createSandbox();
 * const client = new DataStream({ apiKey, baseUrl: url, fetch });
 * const format = xlsxFormat({ invalidValues: "cut" });
 * const file = await new Response(client.metadata().bytes(format)).bytes();
 * assertEquals(new TextDecoder().decode(file.subarray(0, 2)), "PK");
 * ```
 */
export function xlsxFormat(options: XlsxOptions & { url?: string } = {}): LoadedFormat {
  return createXlsxFormat(options);
}
