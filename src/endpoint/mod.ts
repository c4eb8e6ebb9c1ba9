/**
 * The request builder of Weir, without the client. It turns a route and parameters of
 * [DataStream](https://datastream.org), or of any other HTTP API, into options for `fetch` or another
 * HTTP client. It sends no request.
 *
 * ## Start
 *
 * ```ts
 * import { endpoint, toRequest } from "@weir/datastream/endpoint";
 *
 * const options = endpoint("GET /{resource}", {
 *   resource: "Records",
 *   $filter: "CharacteristicName eq 'pH'",
 *   $top: 5,
 *   headers: { "x-api-key": "YOUR-KEY" },
 * });
 * console.log(options.url); // the encoded URL
 *
 * const request = toRequest(options);
 * console.log(request.method); // GET
 * // To send it: const response = await fetch(request);
 * ```
 *
 * The entry `@weir/datastream` exports the same functions and the client, which adds paging, retries and the
 * rate limit. The types of the builder are exported here only.
 *
 * ## Runtimes
 *
 * Deno, Node, Bun, browsers and edge runtimes. The module needs no permission, and imports one package
 * (`url-template`, RFC 6570).
 *
 * @module
 */
export { ValidationError } from "../errors.ts";
export { endpoint } from "./endpoint.ts";
export type { PlaceholderName, RouteVariables, UrlVariable } from "./route_variable_types.ts";
export { toRequest } from "./to_request.ts";
export type {
  Endpoint,
  EndpointOptions,
  HeaderFields,
  HeaderPairs,
  MediaType,
  MergedOptions,
  RequestOptions,
} from "./types.ts";
