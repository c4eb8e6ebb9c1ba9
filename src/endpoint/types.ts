import type { RouteVariables } from "./route_variables.ts";

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
 * What a caller passes to `endpoint`, `endpoint.merge` and `endpoint.defaults`. An option that is
 * undefined counts as absent and keeps the default.
 *
 * Any key beside the ones named here is a request parameter: it fills its placeholder in the url,
 * else it goes to the query (GET, HEAD) or to the JSON body (other methods).
 *
 * Source: request-options-builder, Input options.
 *
 * @example A header, a placeholder and a query parameter
 * ```ts
 * import { endpoint, type EndpointOptions } from "@weir/datastream";
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
  /** The HTTP method, in any case. Default `GET`. */
  method?: string;
  /** A path or a full URL, an RFC 6570 template; `/:name` stands for `/{name}`. */
  url?: string;
  /** The prefix of a path. Default: the production root of the service. */
  baseUrl?: string;
  /** Header fields, merged with the defaults by their lower-cased names. */
  headers?: HeaderFields | HeaderPairs;
  /** How the `accept` header is amended. */
  mediaType?: MediaType;
  /**
   * The body, passed through unchanged; other parameters are then not part of it. `null` is the JSON
   * text `null`; GET and HEAD have no body.
   */
  data?: unknown;
  /** The caller's own notes, handed back as the very same object. */
  request?: object;
  /** A request parameter. */
  [parameter: string]: unknown;
}

/** How the `accept` header is amended. */
export interface MediaType {
  /**
   * Replaces the `+json` of vendor types with two or more segments: `raw` turns
   * `application/vnd.datastream.v3+json` into `application/vnd.datastream.v3.raw`.
   */
  format?: string;
}

/**
 * What `endpoint.merge` returns: all options in one, nothing expanded.
 *
 * Source: request-options-builder, Merged options.
 */
export interface MergedOptions extends EndpointOptions {
  /** The HTTP method, in upper case. */
  method: string;
  /** The prefix of a path. */
  baseUrl: string;
  /** Header fields, names in lower case. */
  headers: Record<string, string>;
  /** How the `accept` header is amended. */
  mediaType: MediaType;
}

/**
 * What `endpoint` returns: options for any HTTP client.
 *
 * Source: request-options-builder, Result object.
 *
 * @example For any client
 * ```ts
 * import { endpoint, type RequestOptions } from "@weir/datastream";
 * import { assertEquals } from "@std/assert";
 *
 * const { method, url, headers }: RequestOptions = endpoint("HEAD https://example.org/{id}", { id: 7 });
 * assertEquals([method, url], ["head", "https://example.org/7"]);
 * assertEquals(headers.accept, "application/vnd.datastream.v3+json");
 * ```
 */
export interface RequestOptions {
  /** The HTTP method, in lower case. */
  method: string;
  /** The full URL, every parameter encoded. */
  url: string;
  /** Header fields, names in lower case. */
  headers: Record<string, string>;
  /** The body; absent where there is none. */
  body?: unknown;
  /** The caller's own notes, the very object that was passed in. */
  request?: object;
}

/**
 * The builder: a function with its halves and its defaults attached.
 *
 * @typeParam Required Options that a call without a route must hold: `url`, unless a default may
 *   supply it
 *
 * Source: request-options-builder, Endpoints.
 */
export interface Endpoint<Required = { url: string }> {
  /**
   * Turns a route and parameters into request options.
   *
   * @typeParam Route The route, where it is a literal: its placeholders are then known
   * @param route `<METHOD> <url-or-path>`, or a URL alone, which is a GET
   * @param options Parameters and the options of {@linkcode EndpointOptions}; they win over the route
   * @returns Request options for any HTTP client
   * @throws {TypeError} If the url is missing, the method is not a token of HTTP, a parameter has no
   *   text for a URL or refers to itself, or the headers cannot be read
   * @throws {SyntaxError} If the url is a malformed template
   */
  <Route extends string>(
    route: Route,
    options?: EndpointOptions & RouteVariables<Route>,
  ): RequestOptions;
  /**
   * Turns options into request options.
   *
   * @typeParam Options The options; they must hold `url` unless a default does, or unless their type
   *   leaves open what they hold
   * @param options Parameters and the options of {@linkcode EndpointOptions}
   * @returns Request options for any HTTP client
   * @throws {TypeError} If the url is missing, the method is not a token of HTTP, a parameter has no
   *   text for a URL or refers to itself, or the headers cannot be read
   * @throws {SyntaxError} If the url is a malformed template
   */
  <Options extends EndpointOptions>(
    options: Options & (string extends keyof Options ? unknown : Required),
  ): RequestOptions;
  /** The default options in force, a copy of them at each reading. */
  readonly DEFAULTS: MergedOptions;
  /**
   * Creates a builder whose defaults are these ones overlaid with the given options, to any depth.
   *
   * @typeParam Options The options; a `url` among them need not be passed to the new builder
   */
  defaults<Options extends EndpointOptions>(
    options: Options,
  ): Endpoint<
    Options extends { url: string } ? unknown : string extends keyof Options ? unknown : Required
  >;
  /** The first half: defaults and options in one, nothing expanded; it needs no url. */
  merge<Route extends string>(
    route: Route,
    options?: EndpointOptions & RouteVariables<Route>,
  ): MergedOptions;
  /** The first half, of options alone. */
  merge(options: EndpointOptions): MergedOptions;
  /** The second half: merged options to request options; it throws as the whole does. */
  parse(options: MergedOptions): RequestOptions;
}
