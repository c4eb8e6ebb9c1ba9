import { DEFAULTS, merge } from "./merge.ts";
import { parse } from "./parse.ts";
import type { Endpoint, EndpointOptions, MergedOptions } from "./types.ts";

/**
 * Turns a route and parameters into options for any HTTP client. Sends no request.
 *
 * Parameters fill the placeholders of the url. The others go to the query (GET, HEAD) or to the JSON
 * body (other methods). Names and values are encoded: `$filter` is sent as `%24filter`.
 *
 * Source: RFC 6570 (URI templates).
 *
 * @example A GET with an OData option
 * ```ts
 * import { endpoint } from "@weir/datastream";
 * import { assertEquals } from "@std/assert";
 *
 * const { method, url } = endpoint("GET /{resource}", { resource: "Records", $top: 1000 });
 * assertEquals(method, "get");
 * assertEquals(url, "https://api.datastream.org/v1/odata/v4/Records?%24top=1000");
 * ```
 *
 * @example Other defaults
 * ```ts
 * import { endpoint, QA_URL } from "@weir/datastream";
 * import { assertEquals } from "@std/assert";
 *
 * const qa = endpoint.defaults({ baseUrl: QA_URL, headers: { "x-api-key": "YOUR-KEY" } });
 * assertEquals(qa("/Metadata").url, `${QA_URL}/Metadata`);
 * assertEquals(qa.DEFAULTS.baseUrl, QA_URL);
 * ```
 */
export const endpoint: Endpoint = createEndpoint(DEFAULTS);

function createEndpoint(defaults: MergedOptions): Endpoint {
  const mergeWithDefaults = (route: string | EndpointOptions, options?: EndpointOptions) =>
    merge(defaults, route, options);
  const build = (route: string | EndpointOptions, options?: EndpointOptions) =>
    parse(mergeWithDefaults(route, options));
  // Each read returns a copy, so that a caller cannot change the defaults.
  Object.defineProperty(build, "DEFAULTS", { get: () => mergeWithDefaults({}), enumerable: true });
  return Object.assign(build, {
    defaults: (options: EndpointOptions) => createEndpoint(mergeWithDefaults(options)),
    merge: mergeWithDefaults,
    // A copy of the options alone, because the result contains their objects.
    parse: (options: MergedOptions) => parse(merge({} as MergedOptions, options)),
  }) as Endpoint;
}
