import type { CsvOptions } from "../formats/csv.ts";
import type { FormatName, LoadedFormat } from "../formats/formats.ts";
import type { RowNotes, TidyRow } from "../formats/tidy.ts";
import type { Filter } from "../odata/filter.ts";
import type { MeasuredOption, QueryOptions } from "../odata/query_options.ts";
import type { Field, FilterFieldOf, ResourceName, Row } from "../odata/resources.ts";
import type { DataStreamError } from "../errors.ts";
import type { IterableStream } from "./iterable_stream.ts";

/**
 * A query of the service. It sends nothing until its rows are read, and runs again each time they are
 * read; rows are not cached.
 *
 * Every row that DataStream returns arrives once, or you get an error. A result is compared with DataStream's
 * count, unless it is one page that is not full, its own `limit` ends it, it begins at a `skipToken`, or
 * DataStream refuses to count. Pages can have rows of different versions of a dataset, unless the option
 * `sameVersion` is set. Pages are requested one at a time, and a page that fails is requested again.
 * Formats such as CSV deliver rows while their page arrives, if their Ids are ascending integers, and continue
 * a failed page after the last delivered row. They request the next page when the first chunk of a complete
 * page was taken; with a `limit`, when the page was taken and the stream is read again.
 *
 * @typeParam R Type of a row
 *
 * @example Leaving a loop early requests no more pages
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
  /**
   * URL of the first request, percent-encoded as it is sent; `batches()` always selects `Id`. It does not contain the API key.
   */
  readonly url: string;
  /**
   * Requests the number of rows that match the filter and the bounding box. `limit` and `skipToken` are
   * ignored. Takes one request, or several for Observations or Records in a bounding box. The service
   * estimates large counts.
   *
   * @throws {DataStreamError} If a request fails
   */
  count(): Promise<number>;
  /**
   * Returns the rows page by page. Each page is requested when it is pulled, and delivered when it is complete.
   * Cancelling the stream stops the request in flight.
   *
   * @returns A stream of arrays of rows; it errors with a `DataStreamError` if a request fails
   */
  pages(): IterableStream<R[]>;
  /**
   * Returns the rows as a stream, one row per chunk, for piping. A `for await` loop over the query itself
   * is faster.
   *
   * @returns A stream of rows; it errors with a `DataStreamError` if a request fails
   */
  rows(): IterableStream<R>;
  /**
   * Returns the rows as CSV, in chunks of complete rows. A result without rows is only the header row.
   *
   * Default columns: {@linkcode CsvOptions.columns}. A number keeps the digits that the service sent, `null`
   * is an empty cell, and an array of strings is joined with `; `. The character NUL is left out, and
   * `notes.nulCells` of `onProgress` counts the cells.
   * Source: RFC 4180.
   *
   * @param options Columns, separator, header, byte order mark, escaping of formulas
   * @returns A stream of UTF-8 bytes; it errors with a `DataStreamError` if a request fails
   * @throws {ValidationError} If an option is invalid, or a column is not selected
   */
  csv(options?: CsvOptions): IterableStream<Uint8Array<ArrayBuffer>>;
  /**
   * Returns the rows as newline-delimited JSON, in chunks of complete rows. Each line has the bytes that the
   * service sent, without white space between tokens, so 7.10 stays 7.10.
   *
   * @returns A stream of UTF-8 bytes; it errors with a `DataStreamError` if a request fails
   */
  ndjson(): IterableStream<Uint8Array<ArrayBuffer>>;
  /**
   * Returns the rows of all pages as one JSON document, `{"value":[…]}`, in chunks.
   *
   * @returns A stream of UTF-8 bytes; it errors with a `DataStreamError` if a request fails
   */
  json(): IterableStream<Uint8Array<ArrayBuffer>>;
  /**
   * Returns the rows in a format that is known only at run time, such as the extension of a file.
   * `csv()`, `ndjson()` and `json()` are this method with a fixed format. `csv.gz` is CSV in one gzip member; it
   * needs `node:zlib`, which Node, Deno, Bun and, with `nodejs_compat`, Workers have.
   *
   * @param format Name of the format. GeoJSON is available for Locations only. For Parquet, call `toParquet()` of
   *   the entry point `@weir/datastream/parquet`
   * @param options Options of CSV; the other formats reject them
   * @returns A stream of UTF-8 bytes; it errors with a `DataStreamError` if a request fails
   * @throws {ValidationError} If the resource is not available in the format, the selection does not
   *   contain a field that the format requires, or an option is invalid
   *
   * @example A format that the user chooses
   * ```ts
   * import { DataStream } from "@weir/datastream";
   * import { createSandbox } from "@weir/datastream/sandbox";
   * import { assertEquals } from "@std/assert";
   *
   * const { apiKey, url, fetch } = createSandbox();
   * const client = new DataStream({ apiKey, baseUrl: url, fetch });
   * const format = "geojson"; // from a file name or a command line
   * const bytes = client.locations({ limit: 1 }).bytes(format);
   * const text = await new Response(bytes).text();
   * assertEquals(JSON.parse(text).type, "FeatureCollection");
   * ```
   */
  bytes(
    format: FormatName | LoadedFormat,
    options?: { csv?: CsvOptions | undefined },
  ): IterableStream<Uint8Array<ArrayBuffer>>;
  /**
   * Returns the result in batches, one per page, each with a cursor. A query with the same options and
   * this cursor continues after the batch, also in another process. Delivered pages are not requested
   * again.
   *
   * @param options Format, and the cursor to continue after
   * @returns Batches of rows or, with a format, of bytes. Each loop over them runs the query again, and
   *   throws a `DataStreamError` if a request fails. Leaving the loop stops the request in flight
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
  batches(
    options: BatchOptions & { format: FormatName | LoadedFormat },
  ): Batches<Uint8Array<ArrayBuffer>>;
  /** Returns the rows in batches, one per page, each with a cursor. */
  batches(options?: BatchOptions & { format?: undefined }): Batches<R[]>;
  /**
   * Requests all rows and returns them in one array.
   *
   * @returns The rows in the order of the service; shard by shard if the query is split
   * @throws {DataStreamError} If a request fails
   */
  toArray(): Promise<R[]>;
  /**
   * Iterates over the rows. Leaving the loop early stops the request in flight.
   *
   * @throws {DataStreamError} If a request fails
   */
  [Symbol.asyncIterator](): AsyncIterableIterator<R, void, void>;
}

/**
 * A query of Locations, whose rows have positions.
 *
 * @typeParam R Type of a row
 *
 * @example A map
 * ```ts
 * import { DataStream } from "@weir/datastream";
 * import { createSandbox } from "@weir/datastream/sandbox";
 * import { assertEquals } from "@std/assert";
 *
 * const { apiKey, url, fetch } = createSandbox();
 * const client = new DataStream({ apiKey, baseUrl: url, fetch });
 * const text = await new Response(client.locations({ limit: 2 }).geojson()).text();
 * assertEquals(JSON.parse(text).features[0].geometry.type, "Point");
 * ```
 */
export interface LocationsQuery<R> extends Query<R> {
  /**
   * Returns the locations as one GeoJSON FeatureCollection of points. The geometry of a location without
   * a position is `null`.
   * Source: RFC 7946.
   *
   * @returns A stream of UTF-8 bytes; it errors with a `DataStreamError` if a request fails
   * @throws {ValidationError} If `Longitude` or `Latitude` is not selected
   */
  geojson(): IterableStream<Uint8Array<ArrayBuffer>>;
}

/**
 * Options for {@linkcode Query.batches}.
 *
 * @example
 * ```ts
 * import type { BatchOptions } from "@weir/datastream";
 *
 * const options: BatchOptions = { format: "csv", csv: { separator: ";" }, distinct: ["DOI"] };
 * ```
 */
export interface BatchOptions {
  /** Format of the data. Default: rows. */
  format?: FormatName | LoadedFormat | undefined;
  /** Options of CSV; the other formats reject them. */
  csv?: CsvOptions | undefined;
  /** Cursor of the batch to continue after. Default: none, to begin with the first row. */
  after?: Cursor | undefined;
  /**
   * Fields whose distinct values are collected in {@linkcode Batch.distinct}, such as `["DOI"]`. A field that is not
   * selected is requested, and left out of the data. Default: none.
   */
  distinct?: readonly string[] | undefined;
  /**
   * Whether to return rows before their page is complete, if their Ids are ascending integers. A batch is then a
   * part of a page: at least 256 kB, or the rows that arrive in 100 ms. Default false: a batch is a page.
   */
  parts?: boolean | undefined;
}

/**
 * The batches of a query whose options are checked. Each loop runs the query again.
 *
 * @typeParam T Type of the data: a list of rows, or bytes
 *
 * @internal
 */
export interface Batches<T> extends AsyncIterable<Batch<T>> {
  /** Whether a cursor belongs to a query with the same options, so that `after` can have it. */
  accepts(cursor: unknown): cursor is Cursor;
  /**
   * Returns the batches after another cursor, or with another signal. Options that are not given stay the same.
   *
   * @param options Cursor to continue after, and the signal that stops the query
   * @throws {ValidationError} If the cursor belongs to another query
   */
  with(options: {
    after?: Cursor | undefined;
    signal?: AbortSignal | undefined;
  }): Batches<T>;
}

/**
 * One page of a result, or a part of it, and the cursor to continue after it.
 *
 * @typeParam T Type of the data: a list of rows, or bytes
 */
export interface Batch<T> {
  /** Rows or bytes. Concatenated, the data of all batches is the whole result. */
  readonly data: T;
  /** Number of rows in the data of this batch. */
  readonly rows: number;
  /** Number of rows in this and all earlier batches, including those before the option `after`. */
  readonly totalRows: number;
  /** Value of the option `after` to continue after the rows of this and all earlier batches. */
  readonly cursor: Cursor;
  /**
   * Number of bytes in memory of rows that have arrived, and are in the data of a later batch: a row group of Parquet needs
   * several pages, and a block that is compressed 1 MiB. Default 0.
   */
  readonly heldBytes?: number | undefined;
  /**
   * Whether this is the last batch: the result is complete. Its data is the end of the document, such as `]}` in JSON, and
   * rows only if the format held some.
   */
  readonly isLast: boolean;
  /** Whether it ends a page: always, without the option `parts`. */
  readonly isPageEnd: boolean;
  /**
   * Whether the rows of this and all earlier batches came in one response, and so are of one version of each dataset.
   * False if it is not known, after a cursor.
   */
  readonly isOneResponse: boolean;
  /**
   * Whether the service announced more rows, and the limit of the query is not reached. If it is false,
   * one more request may still follow, which checks that no page is missing.
   */
  readonly hasMore: boolean;
  /** Number of rows that the service counted for the query; `undefined` if it was not counted. */
  readonly expectedRows: number | undefined;
  /**
   * Number of counted rows that were not received, accepted because of `incomplete: "warn"`, or because a count above
   * 100,000 is an estimate.
   */
  readonly missingRows: number;
  /** Number of rows that were received and not counted, accepted as `missingRows` are. */
  readonly surplusRows: number;
  /**
   * Distinct values of all rows so far, by field, numbers as text. `undefined` if the option `distinct` is not set,
   * or if the batches before `after` were requested without one of its fields.
   */
  readonly distinct: Readonly<Record<string, readonly string[]>> | undefined;
  /** Notes of all rows so far, as in {@linkcode Progress}. Absent if there are none. */
  readonly notes?: RowNotes;
}

/**
 * A position in the result of a query: a value that survives `JSON.parse(JSON.stringify(cursor))`. It also has members
 * that are not documented.
 *
 * Accept only cursors that your program wrote: a changed clause would be sent to the service. A cursor contains no API
 * key. Its size grows with the number of shards, of which there can be many if the query has a bounding box or a long
 * list. For Metadata, it contains the Ids of all rows before it; with `sameVersion`, the versions of the datasets. From one cursor to the next, only the first shards
 * change, and all others are the same objects.
 */
export interface Cursor {
  /** Version of the format. */
  readonly version: 2;
  /** Digest of the options that determine the result. A cursor is valid only for a query with the same ones. */
  readonly query: string;
  /** Shards of the query that are not yet finished, the current one first. Opaque. */
  readonly shards: readonly unknown[];
  /** Number of rows delivered before this position. */
  readonly rows: number;
  /** Number of rows that the service counted for the query; `undefined` if it was not counted. */
  readonly expectedRows?: number | undefined;
  /** Number of counted rows that were not received and are accepted. Default 0. */
  readonly missingRows?: number | undefined;
  /** Number of received rows that were not counted and are accepted. Default 0. */
  readonly surplusRows?: number | undefined;
  /** Whether the result is complete. */
  readonly isComplete?: boolean | undefined;
  /** State of the writer of the format. Opaque. */
  readonly writer?: unknown;
  /** Distinct values of the rows before this position. */
  readonly distinct?: Readonly<Record<string, readonly string[]>> | undefined;
}

/**
 * Options of a query of a resource that is known only at run time.
 *
 * @example Options that come from a file
 * ```ts
 * import { type AnyResourceQuery, DataStream } from "@weir/datastream";
 * import type { ResourceName } from "@weir/datastream";
 * import { assert } from "@std/assert";
 *
 * const text = '["Records", {"select": "Id,ResultValue", "limit": 5}]';
 * const [resource, options]: [ResourceName, AnyResourceQuery] = JSON.parse(text);
 * const query = new DataStream().query(resource, options);
 * assert(query.url.includes("/Records?"));
 * ```
 */
export interface AnyResourceQuery extends QueryOptions {
  /** Signal that stops the query, including its requests and waits. Default: none. */
  signal?: AbortSignal | undefined;
  /**
   * Called after each page and before each retry. If it throws, the query stops with that error.
   * Default: none.
   */
  onProgress?: ((progress: Progress) => void) | undefined;
}

/**
 * Progress of a query, passed to `onProgress` after each page, before each retry, before the query is split, and
 * after a count at its end.
 *
 * @example One line per page
 * ```ts
 * import { DataStream, type Progress } from "@weir/datastream";
 * import { createSandbox } from "@weir/datastream/sandbox";
 * import { assertEquals } from "@std/assert";
 *
 * const { apiKey, url, fetch } = createSandbox({ requestsPerSecond: Infinity });
 * const client = new DataStream({ apiKey, baseUrl: url, fetch, requestsPerSecond: Infinity });
 * const lines: string[] = [];
 * const onProgress = ({ pages, rows }: Progress) => lines.push(`page ${pages}: ${rows} rows`);
 * await client.records({ limit: 200, top: 100, onProgress }).toArray();
 * assertEquals(lines, ["page 1: 100 rows", "page 2: 200 rows"]);
 * ```
 */
export interface Progress {
  /** Number of pages delivered. */
  readonly pages: number;
  /** Number of rows delivered, including those before a cursor with which the query continues. */
  readonly rows: number;
  /** Number of requests sent, including those for counts and locations. */
  readonly requests: number;
  /** Number of these requests that were retries. */
  readonly retries: number;
  /** Time (ms) spent waiting so far: for the rate limiter and before retries. */
  readonly waits: number;
  /**
   * Number of rows that the service counted for the query; `undefined` if it was not counted.
   * Observations and Records are counted after their first page, unless `partition` is `never` or
   * `limit` is at most 1,000,000. Other results of several pages are counted at their end. Large counts are estimates.
   */
  readonly expectedRows: number | undefined;
  /**
   * Number of rows that the service counted and did not deliver, accepted because the query has
   * `incomplete: "warn"`, or because a count above 100,000 is an estimate. Absent if no row is missing.
   */
  readonly missingRows?: number;
  /**
   * Number of rows that the service delivered and did not count, accepted as `missingRows` are. Absent if there is none.
   */
  readonly surplusRows?: number;
  /**
   * Notes of the rows so far, of a query with one of the options `tidy`, `from`, `to` and `excludeQualityControl`, or
   * that writes points, or CSV without a NUL. Absent if there are none.
   */
  readonly notes?: RowNotes | undefined;
  /**
   * Address of a link to a next page that is not the address of the request. Only its skip token is used. Absent if there
   * was no such link.
   */
  readonly otherAddress?: string;
  /**
   * Time (ms since 1970) of the last response, by the clock of the service if it sends it. Absent before the first one.
   */
  readonly responseDate?: number;
  /** By what the query is being split into smaller ones; otherwise `undefined`. */
  readonly splitting?: "location" | "year" | undefined;
  /** The error that is being retried and the delay (ms) before the retry; otherwise `undefined`. */
  readonly retrying: { readonly fault: DataStreamError; readonly wait: number } | undefined;
}

/**
 * Options of a query of one resource.
 *
 * @typeParam R The resource
 * @typeParam S Type of the option `select`. Default: without it
 * @typeParam U Type of the option `unchecked`
 * @typeParam T Type of the option `tidy`, which Observations and Records have
 *
 * @example A filter and a row limit for several queries
 * ```ts
 * import { DataStream, eq, type ResourceQuery } from "@weir/datastream";
 * import { assert } from "@std/assert";
 *
 * const options: ResourceQuery<"Locations"> = { filter: eq("Name", "Captain's Bay"), limit: 10 };
 * assert(new DataStream().locations({ ...options, select: ["Id", "Name"] }).url.includes("Captain"));
 * ```
 */
export type ResourceQuery<
  R extends ResourceName,
  S extends Selection = undefined,
  U extends boolean = false,
  T extends boolean = false,
> = OtherOptions<R, U, T> & {
  /** Fields to select, in order, as an array or separated by commas. Default: all. */
  select?: S | undefined;
};

/**
 * {@linkcode ResourceQuery} whose names are checked. The array of fields is for editors, which propose them, for short
 * errors, and for arrays with a type parameter.
 *
 * @internal
 */
export type OptionsOf<
  R extends ResourceName,
  S extends Selection,
  U extends boolean,
  T extends boolean = false,
> = OtherOptions<R, U, T> & {
  /** Fields to select, in order, as an array or separated by commas. Default: all. */
  select?: readonly Field<R>[] | (S & OtherSelection<R, S, U>) | undefined;
};

/** @internal */
type OtherOptions<R extends ResourceName, U extends boolean, T extends boolean> =
  & Omit<AnyResourceQuery, "select" | "filter" | "unchecked" | MeasuredOption>
  & {
    /** An expression, or an OData filter as text, not encoded. Default: none. */
    filter?: Filter<U extends true ? string : FilterFieldOf<R>> | string | undefined;
    /** Whether to accept names and filters that Weir does not know. Default false. */
    unchecked?: U | undefined;
  }
  & (R extends "Observations" | "Records" ? MeasuredOptions<T> : unknown);

/** @internal */
type MeasuredOptions<T extends boolean> =
  & Pick<AnyResourceQuery, Exclude<MeasuredOption, "tidy">>
  & {
    /** Whether to add the columns of {@linkcode TidyRow} to each row. Default false. */
    tidy?: T | undefined;
  };

/** @internal */
export type Selection = QueryOptions["select"];

/**
 * Row of a query with the selected fields. If the selection is not a literal, each field is optional; if it is an array of
 * `string`, the row can also be indexed by any string, and so it can if the query is unchecked.
 *
 * @typeParam R The resource
 * @typeParam S The selection; `undefined` for all fields
 * @typeParam U Type of the option `unchecked`
 * @typeParam T Type of the option `tidy`. If it is true, the row has the columns of {@linkcode TidyRow} too
 */
export type SelectedRow<
  R extends ResourceName,
  S,
  U extends boolean = false,
  T extends boolean = false,
> =
  & RowOf<R, S>
  & ([U] extends [false] ? unknown : Record<string, unknown>)
  & ([T] extends [false] ? unknown : boolean extends T ? Partial<TidyRow> : TidyRow);

/** @internal */
type RowOf<R extends ResourceName, S> = S extends undefined ? Row<R>
  : string extends SelectedField<S> ? Partial<Row<R>> & Record<string, unknown>
  : S extends readonly unknown[]
    ? number extends S["length"] ? Partial<Pick<Row<R>, SelectedField<S> & Field<R>>>
    : Pick<Row<R>, SelectedField<S> & Field<R>>
  : Pick<Row<R>, SelectedField<S> & Field<R>>;

/**
 * Selections that are not arrays of known fields: names that are not literals, which are checked at run time, and text. The
 * compiler's error names the wrong fields.
 *
 * @internal
 */
type OtherSelection<R extends ResourceName, S, U extends boolean> = U extends true ? unknown
  : string extends SelectedField<S> ? unknown
  : S extends string ? SelectedField<S> extends Field<R> ? unknown
    : { [F in Exclude<Names<S>, Field<R>>]: `is not a field of ${R}` }
  : never;

/** @internal `string` if the fields are not literals. */
type SelectedField<S> = S extends readonly (infer F)[] ? F : S extends string ? Names<S> : never;

/** @internal */
type Names<T extends string> = T extends `${infer First},${infer Rest}` ? Trim<First> | Names<Rest>
  : Trim<T>;

/** @internal */
type Trim<T extends string> = T extends ` ${infer Rest}` | `${infer Rest} ` ? Trim<Rest> : T;
