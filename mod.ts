/**
 * Weir downloads Canada's open water-quality data from [DataStream](https://datastream.org). This module
 * is its client for Deno, Node, Bun, browsers and edge runtimes. It returns rows, CSV, NDJSON, JSON or
 * GeoJSON, and keeps the limits of the service. Every row that DataStream returns arrives once, or you get
 * an error: a result of several pages is compared with DataStream's count, but one page that is not full, a
 * result that its own `limit` ends, one that begins at a `skipToken`, and one that DataStream refuses to
 * count are not.
 *
 * ## First query
 *
 * The sandbox replaces DataStream: it has synthetic data, and needs neither an API key nor a network.
 *
 * ```ts
 * import { DataStream, eq } from "@weir/datastream";
 * import { createSandbox } from "@weir/datastream/sandbox";
 *
 * const { apiKey, url, fetch } = createSandbox();
 * const client = new DataStream({ apiKey, baseUrl: url, fetch });
 * const query = client.locations({
 *   select: ["Id", "Name"],
 *   filter: eq("RegionId", "admin.4.ca.pe"),
 * });
 * for await (const { Id, Name } of query) console.log(Id, Name);
 *
 * // csv() returns a stream of bytes.
 * console.log(await new Response(query.csv()).text());
 * ```
 *
 * ## Real data
 *
 * [Request an API key](https://github.com/datastreamapp/api-docs/blob/main/docs/README.md), store it
 * in an environment variable, and pass it as `apiKey`, without `baseUrl` and `fetch`. Deno needs the
 * permission `--allow-net=api.datastream.org`, and `--allow-env` for the variable.
 *
 * ```ts
 * import { DataStream } from "@weir/datastream";
 *
 * // In Deno: Deno.env.get("DATASTREAM_API_KEY")
 * // In Node: process.env.DATASTREAM_API_KEY
 * const client = new DataStream({ apiKey: "YOUR-KEY" });
 * const query = client.records({
 *   select: ["ActivityStartDate", "ResultValue", "ResultUnit"],
 *   filter: "CharacteristicName eq 'pH' and ActivityStartYear gte 2015",
 *   within: { west: -64.5, south: 45.9, east: -62, north: 47.1 },
 * });
 * console.log(query.url); // nothing was sent yet
 * ```
 *
 * | purpose | code |
 * |---|---|
 * | CSV file in Deno | `await Deno.writeFile("ph.csv", query.csv())` |
 * | CSV file in Node | `await writeFile("ph.csv", query.csv())`, from `node:fs/promises` |
 * | rows | `for await (const row of query)` |
 * | number of rows | `await query.count()` |
 * | citations | `await client.citations(filter)` |
 *
 * `client.records()` has the columns of dataset and location in each row, `client.observations()` only those of
 * the measurement. `client.locations()` and `client.metadata()` return locations and datasets. DataStream
 * requires a citation of each dataset.
 *
 * ## Other interfaces
 *
 * | interface | entry | runtimes |
 * |---|---|---|
 * | command line | `@weir/datastream/cli` | Deno, Node, Bun |
 * | request builder alone, without the client | `@weir/datastream/endpoint` | all |
 * | server of download URLs, with a web page | `@weir/datastream/edge` | all but browsers |
 * | this server for Workers, with one rate limit for all isolates | `@weir/datastream/cloudflare` | Cloudflare Workers |
 * | this server, configured by environment variables | `@weir/datastream/serve` | Deno, Bun, Cloudflare Workers |
 * | an HTTP server for it in Node | `@weir/datastream/node` | Node |
 * | one rate limit for several processes | `@weir/datastream/deno-kv` | Deno |
 * | Parquet files | `@weir/datastream/parquet` | all |
 * | Excel workbooks | `@weir/datastream/xlsx` | all with `node:zlib` |
 * | synthetic data for tests | `@weir/datastream/sandbox` | all |
 *
 * `npx @weir/datastream records --characteristic pH --output ph.csv` saves a CSV file.
 *
 * ## Runtimes
 *
 * Deno, Node, Bun, browsers, Cloudflare Workers and other edge runtimes. This module imports nothing that is
 * specific to one of them.
 *
 * ## Limits
 *
 * - Requests are sent one at a time, at most two per second, for all clients of a process together.
 * - Results of more than 1,000,000 rows are split by location.
 * - Temporary errors are retried: up to six requests per page, with up to 30 seconds of delays.
 * - The API key is sent to the origin of the base URL only. It appears in no URL, message or log.
 * - Browsers need no key if the domain of the page is on DataStream's list.
 *
 * ## Errors
 *
 * A {@linkcode ValidationError} names an invalid option before any request. A {@linkcode DataStreamError}
 * means that DataStream did not deliver the result; its `kind`, `status` and `hint` say why, and what to
 * do.
 *
 * ## Documentation
 *
 * The folder `docs/` of the repository has a page about each topic, and `examples/` has complete programs.
 *
 * @module
 */
export { DataStream } from "./src/client/datastream.ts";
export { endsWith, eq, gt, gte, isIn, lt, lte, ne } from "./src/odata/filter.ts";
export { and, boundingBox } from "./src/odata/filter.ts";
export { endpoint } from "./src/endpoint/endpoint.ts";
export { toRequest } from "./src/endpoint/to_request.ts";
export { DataStreamError, ValidationError } from "./src/errors.ts";
export { csvFromPage } from "./src/formats/csv.ts";
export { geojsonFromPage } from "./src/formats/geojson.ts";
export { ndjsonFromPage } from "./src/formats/json.ts";
export { FILTER_FIELDS, RESOURCES } from "./src/odata/resources.ts";
export { PRODUCTION_URL, QA_URL } from "./src/service_constants.ts";

export type { Clock } from "./src/clock.ts";
export type { DataStreamErrorKind } from "./src/errors.ts";
export type { IterableStream } from "./src/client/iterable_stream.ts";
export type { DataStreamOptions } from "./src/client/options.ts";
export type { AnyResourceQuery, Batch, BatchOptions, Cursor } from "./src/client/query.ts";
export type { LocationsQuery, Progress, Query, ResourceQuery } from "./src/client/query.ts";
export type { SelectedRow } from "./src/client/query.ts";
export type { RateLimiter } from "./src/client/rate_limiter.ts";
export type { Citation, CitationOptions } from "./src/formats/citations.ts";
export type { CsvColumn, CsvOptions } from "./src/formats/csv.ts";
export type { TidyRow } from "./src/formats/tidy.ts";
export type { FormatName } from "./src/formats/formats.ts";
export type { BoundingBox } from "./src/odata/bounding_box.ts";
export type { Filter } from "./src/odata/filter.ts";
export type { QueryOptions } from "./src/odata/query_options.ts";
export type { Field, FilterFieldOf, ResourceName, Row } from "./src/odata/resources.ts";
