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
 * const sandbox = createSandbox(); // in place of the service and a key of one's own
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
export { endpoint } from "./src/endpoint/endpoint.ts";
export { toRequest } from "./src/endpoint/to_request.ts";
export { DataStreamError } from "./src/errors.ts";
export { RESOURCES } from "./src/odata/resources.ts";
export { PRODUCTION_URL, QA_URL } from "./src/service_roots.ts";

export type { Clock } from "./src/client/clock.ts";
export type { DataStreamOptions, RecordsQuery } from "./src/client/datastream.ts";
export type { Query } from "./src/client/query.ts";
export type {
  Endpoint,
  EndpointOptions,
  HeaderFields,
  MediaType,
  MergedOptions,
  RequestOptions,
} from "./src/endpoint/types.ts";
export type {
  PlaceholderName,
  RouteVariables,
  UrlVariable,
} from "./src/endpoint/route_variables.ts";
export type { DataStreamErrorFacts, DataStreamErrorKind } from "./src/errors.ts";
export type { Field, FieldValue, ResourceName, Row } from "./src/odata/resources.ts";
