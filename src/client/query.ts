import type { CsvOptions } from "../output/csv_options.ts";

/**
 * A question to the service, not yet asked: nothing is sent until it is consumed, and each
 * consumption asks anew.
 *
 * Every way to consume it gives all rows or fails: pages are fetched one at a time, when they are
 * asked for, and each is read whole before any of its rows is passed on, so that a fault can be met
 * by asking again. Made by the methods of `DataStream`.
 *
 * @typeParam R The type of a row
 *
 * @example Leave a loop early, and nothing more is asked
 * ```ts
 * import { DataStream } from "@weir/datastream";
 * import { createSandbox } from "@weir/datastream/sandbox";
 * import { assertEquals } from "@std/assert";
 *
 * const sandbox = createSandbox();
 * const { apiKey, url, fetch } = sandbox;
 * const client = new DataStream({ apiKey, baseUrl: url, fetch });
 * for await (const row of client.locations({ select: ["Id"], top: 10 })) {
 *   assertEquals(row.Id, 1001);
 *   break;
 * }
 * assertEquals(sandbox.stats.requests, 1);
 * ```
 */
export interface Query<R> extends AsyncIterable<R> {
  /** The URL of the first request, encoded, as it is sent: to log, or to paste elsewhere. */
  readonly url: string;
  /**
   * How many rows meet the filter, and lie in the box; `limit` and `skipToken` do not count. One
   * request, with a box a few more. Large counts are the service's estimates.
   *
   * @returns The number of rows
   * @throws {DataStreamError} On any fault
   */
  count(): Promise<number>;
  /**
   * The rows, page by page: the unit of work. A page is fetched when it is pulled, none ahead;
   * cancelling stops the request in flight.
   *
   * @returns A stream of lists of rows; it errors with a `DataStreamError` on any fault
   */
  pages(): ReadableStream<R[]>;
  /**
   * The rows one by one, as a stream: for pipes; a loop is faster over the query itself.
   *
   * @returns A stream of rows; it errors with a `DataStreamError` on any fault
   */
  rows(): ReadableStream<R>;
  /**
   * The rows as CSV: one chunk a page, the header in the first, also where there are no rows.
   *
   * Columns stand in the order of `select`, else in the documented order, with new fields of the
   * first page after them; a field that comes later still is an error that names it. A number keeps
   * the digits that the service sent; null is an empty cell; a list of texts is joined with `; `.
   *
   * Source: RFC 4180.
   *
   * @param options Columns, separator, header, byte order mark, formulas
   * @returns A stream of UTF-8 bytes; it errors with a `DataStreamError` on any fault
   * @throws {TypeError} If an option is wrong, or a column is not selected
   */
  csv(options?: CsvOptions): ReadableStream<Uint8Array<ArrayBuffer>>;
  /**
   * The rows as lines of JSON, one a row, as the service sent them but for white space between
   * tokens; one chunk a page.
   *
   * @returns A stream of UTF-8 bytes; it errors with a `DataStreamError` on any fault
   */
  ndjson(): ReadableStream<Uint8Array<ArrayBuffer>>;
  /**
   * The rows as one document of JSON, `{"value":[…]}` over all pages; one chunk a page.
   *
   * @returns A stream of UTF-8 bytes; it errors with a `DataStreamError` on any fault
   */
  json(): ReadableStream<Uint8Array<ArrayBuffer>>;
  /**
   * All rows at once.
   *
   * @returns The rows, in the service's order, which is part by part where the query is split
   * @throws {DataStreamError} On any fault
   */
  toArray(): Promise<R[]>;
  /**
   * The rows one by one; leaving the loop early stops the request in flight.
   *
   * @throws {DataStreamError} On any fault
   */
  [Symbol.asyncIterator](): AsyncIterableIterator<R, void, void>;
}

/**
 * A query of Locations, which can be drawn on a map.
 *
 * @typeParam R The type of a row
 */
export interface LocationsQuery<R> extends Query<R> {
  /**
   * The locations as one FeatureCollection of points; one without a position has a geometry of null.
   *
   * Source: RFC 7946.
   *
   * @returns A stream of UTF-8 bytes; it errors with a `DataStreamError` on any fault
   * @throws {TypeError} If `Longitude` or `Latitude` is not selected
   */
  geojson(): ReadableStream<Uint8Array<ArrayBuffer>>;
}
