/**
 * Canada's open water-quality data from the DataStream service: a builder of request options and a
 * client on web streams.
 *
 * @example Records as a CSV file
 * ```ts
 * import { DataStream } from "@weir/datastream";
 * import { createSandbox } from "@weir/datastream/sandbox";
 * import { assertEquals } from "@std/assert";
 *
 * const sandbox = createSandbox(); // replaces the service, and has a key of its own
 * const client = new DataStream({
 *   apiKey: sandbox.apiKey,
 *   baseUrl: sandbox.url,
 *   fetch: sandbox.fetch,
 * });
 * const query = client.records({ filter: "LocationId eq 1015", select: ["Id", "ResultValue"] });
 * const csv = await new Response(query.csv()).text();
 * assertEquals(csv.split("\r\n")[0], "Id,ResultValue");
 * ```
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
export type { Citation, CitationOptions } from "./src/client/citations.ts";
export type { IterableStream, StreamDestination } from "./src/client/iterable_stream.ts";
export type { DataStreamOptions } from "./src/client/options.ts";
export type { Progress } from "./src/client/progress.ts";
export type { Batch, BatchOptions, Cursor } from "./src/client/batches.ts";
export type { AnyResourceQuery, LocationsQuery, Query } from "./src/client/query.ts";
export type { QueryInput, ResourceQuery, ResourceRow } from "./src/client/query.ts";
export type { RetryPolicy } from "./src/client/retry.ts";
export type { Timeouts } from "./src/client/timeouts.ts";
export type {
  Endpoint,
  EndpointOptions,
  HeaderFields,
  HeaderPairs,
  MediaType,
  MergedOptions,
  RequestOptions,
} from "./src/endpoint/types.ts";
export type {
  PlaceholderName,
  RouteVariables,
  UrlVariable,
} from "./src/endpoint/route_variable_types.ts";
export type {
  DataStreamErrorFacts,
  DataStreamErrorKind,
  ValidationErrorFacts,
} from "./src/errors.ts";
export type { BoundingBox } from "./src/odata/bounding_box.ts";
export type { Clause, Comparison, Literal } from "./src/odata/clause.ts";
export type { FormatName } from "./src/formats/formats.ts";
export type { CsvColumn, CsvOptions } from "./src/formats/csv_options.ts";
export type { Filter } from "./src/odata/filter.ts";
export type { FilterName, FilterValue } from "./src/odata/clause.ts";
export type {
  FieldOptions,
  MeasuredInput,
  Partition,
  RowOptions,
} from "./src/odata/query_options.ts";
export type {
  Field,
  FieldValue,
  FilterField,
  FilterFieldOf,
  MeasuredResource,
  ResourceName,
  Row,
} from "./src/odata/resources.ts";
export type {
  FittingSelection,
  Names,
  SelectedField,
  SelectedRow,
  Selection,
  Trim,
} from "./src/odata/selection.ts";
