import type { RouteVariables } from "./route_variable_types.ts";

/** Header fields by name, in any case; `undefined` removes a default. */
export type HeaderFields = Record<string, string | number | undefined>;

/**
 * Header fields as pairs of name and value: a `Headers` object, a `Map` or an array of pairs. The
 * values of a name that occurs more than once are joined with a comma; `undefined` removes a default.
 */
export type HeaderPairs =
  | Headers
  | Iterable<readonly [name: string, value: string | number | undefined]>;

/**
 * Options of `endpoint`, `endpoint.merge` and `endpoint.defaults`. An option that is undefined keeps
 * its default.
 *
 * Any other key is a request parameter. It fills its placeholder in the url; without a placeholder,
 * it goes to the query (GET, HEAD) or to the JSON body (other methods).
 * Source: RFC 6570 (URI templates); RFC 9110, sections 5 (header fields) and 9 (methods).
 *
 * @example A header, a placeholder and a query parameter
 * ```ts
 * import { endpoint, type EndpointOptions } from "@weir/datastream/endpoint";
 * import { assertEquals } from "@std/assert";
 *
 * const options: EndpointOptions = {
 *   baseUrl: "https://example.org",
 *   url: "/stations/{id}",
 *   headers: { "x-api-key": "YOUR-KEY" },
 *   id: "a b",
 *   $top: 5,
 * };
 * assertEquals(endpoint(options).url, "https://example.org/stations/a%20b?%24top=5");
 * ```
 */
export interface EndpointOptions {
  /** HTTP method, in any case. Default `GET`. */
  method?: string;
  /** Path or full URL, as an RFC 6570 template. `/:name` is the same as `/{name}`. */
  url?: string;
  /** Prefix of a path. Default: the production URL of the service. */
  baseUrl?: string;
  /** Header fields, merged with the defaults by their lower-cased names. */
  headers?: HeaderFields | HeaderPairs;
  /** Format for the `accept` header. */
  mediaType?: MediaType;
  /**
   * Body, passed on unchanged. The other parameters are then not sent in the body. `null` is sent as
   * the JSON text `null`. GET and HEAD have no body.
   */
  data?: unknown;
  /** Information for the caller, returned as the same object. */
  request?: object;
  /** Request parameter. */
  [parameter: string]: unknown;
}

/**
 * Format for the `accept` header.
 *
 * @example `endpoint("GET /Metadata", { mediaType: { format: "raw" } })`
 */
export interface MediaType {
  /**
   * Format of the vendor types in the `accept` header, such as `raw` or `text+json`. It replaces a
   * format and `+json`, and keeps the name and the version of the type: `raw` turns
   * `application/vnd.acme.v3.diff+json` into `application/vnd.acme.v3.raw`. Other media types are not
   * changed: those with another suffix, such as `+xml`, with a name of several parts, such as
   * `vnd.acme.notes.v3.diff`, or with a hyphen in the name.
   */
  format?: string;
}

/** Result of `endpoint.merge`: defaults and options in one object, with the url not yet expanded. */
export interface MergedOptions extends EndpointOptions {
  /** HTTP method, in upper case. */
  method: string;
  /** Prefix of a path. */
  baseUrl: string;
  /** Header fields, names in lower case. */
  headers: Record<string, string>;
  /** Format for the `accept` header. */
  mediaType: MediaType;
}

/**
 * Result of `endpoint`: options for any HTTP client.
 *
 * @example `const { method, url, headers } = endpoint("GET /Metadata")`
 */
export interface RequestOptions {
  /** HTTP method, in lower case. */
  method: string;
  /** Full URL with encoded parameters. */
  url: string;
  /** Header fields, names in lower case. */
  headers: Record<string, string>;
  /** Body. A request without a body does not have this key. */
  body?: unknown;
  /** Information for the caller, the same object as in the options. */
  request?: object;
}

/**
 * Type of `endpoint`: a function, the two steps that it consists of, and its defaults.
 *
 * @typeParam Required Options that a call without a route must have: `url`, unless a default may
 *   supply it
 */
export interface Endpoint<Required = { url: string }> {
  /**
   * Turns a route and parameters into request options.
   *
   * @typeParam Route The route. The compiler knows the placeholders of a string literal
   * @param route `<METHOD> <url-or-path>`, or a URL alone for GET
   * @param options Parameters and the options of {@linkcode EndpointOptions}. They take precedence
   *   over the route
   * @throws {ValidationError} If an option has another type, the url is missing or a malformed template,
   *   the method is not an HTTP token, or a parameter cannot be written in a URL or refers to itself
   */
  <Route extends string>(
    route: Route,
    options?: EndpointOptions & RouteVariables<Route>,
  ): RequestOptions;
  /**
   * Turns options into request options.
   *
   * @typeParam Options The options. They must have a `url`, unless a default has one, or their type
   *   has an index signature
   * @param options Parameters and the options of {@linkcode EndpointOptions}
   * @throws {ValidationError} If an option has another type, the url is missing or a malformed template,
   *   the method is not an HTTP token, or a parameter cannot be written in a URL or refers to itself
   */
  <Options extends EndpointOptions>(
    options: Options & (string extends keyof Options ? unknown : Required),
  ): RequestOptions;
  /** Current defaults. Each read returns a copy. */
  readonly DEFAULTS: MergedOptions;
  /**
   * Creates a function like this one, with the given options merged into its defaults.
   *
   * @typeParam Options The options. If they have a `url`, calls of the new function need none
   */
  defaults<Options extends EndpointOptions>(
    options: Options,
  ): Endpoint<
    Options extends { url: string } ? unknown : string extends keyof Options ? unknown : Required
  >;
  /** First step: merges a route and options into the defaults. Does not need a url. */
  merge<Route extends string>(
    route: Route,
    options?: EndpointOptions & RouteVariables<Route>,
  ): MergedOptions;
  /** First step: merges options into the defaults. */
  merge(options: EndpointOptions): MergedOptions;
  /** Second step: turns merged options into request options. Throws the same errors as the function. */
  parse(options: MergedOptions): RequestOptions;
}
