import type { CsvOptions } from "../formats/csv_options.ts";
import type { FormatName } from "../formats/formats.ts";
import type { BoundingBox } from "../odata/bounding_box.ts";
import type { Filter } from "../odata/filter.ts";
import type { Partition } from "../odata/query_options.ts";
import type { FilterFieldOf, MeasuredResource, ResourceName } from "../odata/resources.ts";
import type { FittingSelection, SelectedRow, Selection } from "../odata/selection.ts";
import type { Batch, BatchOptions } from "./batches.ts";
import type { Progress } from "./progress.ts";

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
   * Returns the rows in a format that is known only at run time, such as the extension of a file.
   * `csv()`, `ndjson()` and `json()` are this method with a fixed format.
   *
   * @param format Name of the format; the resource must have it
   * @param options Options of CSV, if that is the format
   * @returns A stream of UTF-8 bytes, one chunk per page; it errors with a `DataStreamError` if a
   *   request fails
   * @throws {ValidationError} If the resource does not have the format, the selection leaves out a
   *   field that it needs, or an option is invalid
   *
   * @example
   * ```ts
   * import { DataStream } from "@weir/datastream";
   * import { createSandbox } from "@weir/datastream/sandbox";
   * import { assertEquals } from "@std/assert";
   *
   * const { apiKey, url, fetch } = createSandbox();
   * const client = new DataStream({ apiKey, baseUrl: url, fetch });
   * const format = "geojson"; // from a file name or a command line
   * const bytes = client.locations({ limit: 1 }).bytes(format);
   * assertEquals((await new Response(bytes).json()).type, "FeatureCollection");
   * ```
   */
  bytes(
    format: FormatName,
    options?: { csv?: CsvOptions | undefined },
  ): ReadableStream<Uint8Array<ArrayBuffer>>;
  /**
   * Returns the result in batches, one per page, each with a cursor. A query with the same options
   * continues after any of them, in another process too: after an interruption, no page is requested
   * again.
   *
   * @param options Format, and the cursor to continue after
   * @returns Batches of rows or, with a format, of bytes; each iteration runs the query again.
   *   Iterating throws a `DataStreamError` if a request fails. Leaving the loop stops the request in
   *   flight
   * @throws {ValidationError} If an option is invalid, such as a cursor of another query
   *
   * @example Continue a download where it was interrupted
   * ```ts
   * import { type Cursor, DataStream } from "@weir/datastream";
   * import { createSandbox } from "@weir/datastream/sandbox";
   * import { assertEquals } from "@std/assert";
   *
   * const { apiKey, url, fetch } = createSandbox({ requestsPerSecond: Infinity });
   * const client = new DataStream({ apiKey, baseUrl: url, fetch, requestsPerSecond: Infinity });
   * const query = client.records({ select: ["Id"], limit: 20, top: 10 });
   *
   * let text = "";
   * let saved = "";
   * const decoder = new TextDecoder();
   * for await (const { data, cursor } of query.batches({ format: "csv" })) {
   *   text += decoder.decode(data);
   *   saved = JSON.stringify(cursor); // to be stored after the data
   *   break; // an interruption
   * }
   * const after: Cursor = JSON.parse(saved);
   * for await (const { data } of query.batches({ format: "csv", after })) {
   *   text += decoder.decode(data);
   * }
   * assertEquals(text, await new Response(query.csv()).text());
   * ```
   */
  batches(options: BatchOptions & { format: FormatName }): AsyncIterable<
    Batch<Uint8Array<ArrayBuffer>>
  >;
  /** Returns the rows in batches, one per page, each with a cursor. */
  batches(options?: BatchOptions & { format?: undefined }): AsyncIterable<Batch<R[]>>;
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

/** What every query takes. */
export interface QueryInput {
  /**
   * Bounding box of the locations of the rows; its edges are outside. Metadata and Locations filter by
   * it. Observations and Records have no positions: the locations in the box are requested first, with
   * the clauses of the filter that Locations takes. Default: none.
   */
  within?: BoundingBox | undefined;
  /** The page size, 1 to 10000, not the number of rows. Default 10000, of Metadata 100. */
  top?: number | undefined;
  /** The most rows to give; no page is fetched more than they need. Default: all. */
  limit?: number | undefined;
  /** Where to begin: the `$skiptoken` of a next link, `Id:<last id>`. Default: the start. */
  skipToken?: string | undefined;
  /**
   * What to do if fewer rows arrive than the service counted, by more than the inaccuracy of its
   * counts (the larger of 1 row and 0.0005 %): `error` fails the query with a `DataStreamError` of
   * kind `incomplete`; `warn` accepts the result and reports the number in `missingRows` of
   * `onProgress`. Default `error`.
   */
  incomplete?: "error" | "warn" | undefined;
  /**
   * Maximum number of rows that the service may count for the query. Past it, the query fails with a
   * `DataStreamError` of kind `too-many-rows` before its first row; a result of one page is not
   * counted. A `limit` up to this number needs no count. Default: no maximum.
   */
  maxRows?: number | undefined;
  /** Stops the query, the request in flight and every wait. */
  signal?: AbortSignal | undefined;
  /** Told how far the query has come; what it throws ends the query. */
  onProgress?: ((progress: Progress) => void) | undefined;
}

/** What only the large resources take. */
export interface MeasuredInput {
  /**
   * How a query is split; the rows of one part come after those of another.
   *
   * - `auto` (the default): past a million expected rows, into groups of locations that each stay
   *   under that. No row is lost or doubled.
   * - `never`: not at all, and no count is asked.
   * - `location`: location by location, at least a request for each. No row is lost or doubled.
   * - `year`: year by year of `ActivityStartYear`, at least a request for each. Rows without a start
   *   date are in no year: where the count shows that some are missing, the query fails.
   *
   * `auto` also splits a query by location that the service refuses (408, 413, 504) down to a small page.
   */
  partition?: Partition | undefined;
}

/**
 * What to ask a resource for.
 *
 * @typeParam R The resource
 * @typeParam S The fields to select, which the type of a row follows
 * @typeParam U Whether names and filter go unchecked
 */
export type ResourceQuery<
  R extends ResourceName,
  S extends Selection<R> | undefined = undefined,
  U extends boolean = false,
> =
  & QueryInput
  & {
    /** The fields to select, in order, as a list or with commas between them. Default: all. */
    select?: S & (U extends true ? unknown : FittingSelection<R, S>);
    /** An expression, or an OData filter as the service takes it, not encoded. Default: none. */
    filter?: Filter<U extends true ? string : FilterFieldOf<R>> | string | undefined;
    /**
     * `true` lets names and filters through that Weir does not know, for what the service has added.
     * Default false.
     */
    unchecked?: U | undefined;
  }
  & (R extends MeasuredResource ? MeasuredInput : unknown);

/** Options for a query of a resource that is known only at run time. */
export interface AnyResourceQuery extends QueryInput, MeasuredInput {
  /** Fields to select, in order, as a list or separated by commas. Default: all. */
  select?: readonly string[] | string | undefined;
  /** An expression, or an OData filter as text, not encoded. Default: none. */
  filter?: Filter<string> | string | undefined;
  /** Whether to accept names and filters that Weir does not know. Default false. */
  unchecked?: boolean | undefined;
}

/** A row of a query: its fields where they are checked, else any. */
export type ResourceRow<R extends ResourceName, S, U extends boolean> = U extends true
  ? Record<string, unknown>
  : SelectedRow<R, S>;
