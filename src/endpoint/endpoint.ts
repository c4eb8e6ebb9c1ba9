import { DEFAULTS, merge } from "./merge.ts";
import { parse } from "./parse.ts";
import type { Endpoint, EndpointOptions, MergedOptions } from "./types.ts";

/**
 * Turns a route and parameters into generic HTTP request options; no network.
 *
 * Parameters fill the placeholders of the url; the rest goes to the query (GET, HEAD) or to the
 * JSON body. Names and values are encoded, so that `$filter` travels as `%24filter`.
 *
 * Source: request-options-builder.
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
 * @example Defaults of one's own
 * ```ts
 * import { endpoint, QA_URL } from "@weir/datastream";
 * import { assertEquals } from "@std/assert";
 *
 * const qa = endpoint.defaults({ baseUrl: QA_URL, headers: { "x-api-key": "YOUR-KEY" } });
 * assertEquals(qa("/Metadata").url, `${QA_URL}/Metadata`);
 * assertEquals(qa.DEFAULTS.baseUrl, QA_URL);
 * ```
 */
export const endpoint: Endpoint = withDefaults(DEFAULTS);

function withDefaults(defaults: MergedOptions): Endpoint {
  const mergeOver = (route: string | EndpointOptions, options?: EndpointOptions) =>
    merge(defaults, route, options);
  const build = (route: string | EndpointOptions, options?: EndpointOptions) =>
    parse(mergeOver(route, options), true);
  // A copy at each reading: to change it changes nothing else.
  Object.defineProperty(build, "DEFAULTS", { get: () => mergeOver({}), enumerable: true });
  return Object.assign(build, {
    defaults: (options: EndpointOptions) => withDefaults(mergeOver(options)),
    merge: mergeOver,
    parse: (options: MergedOptions) => parse(options),
  }) as Endpoint;
}
