import { invalidValue } from "../validation.ts";
import { encode, isPlainObject, toUrlValue, type UrlValue, urlValueError } from "./encode.ts";
import { DEFAULTS, merge, type ParsedRoute, readRoute, TOKEN } from "./merge.ts";
import { RESERVED_OPTIONS } from "./route_variable_types.ts";
import type { Endpoint, EndpointOptions, MergedOptions, RequestOptions } from "./types.ts";
import { expandTemplate, expandValue, parseTemplate, type Template } from "./uri_template.ts";

/**
 * Turns a route and parameters into options for any HTTP client. Sends no request.
 *
 * Parameters replace the placeholders of the url. All other parameters are added to the query string
 * (GET, HEAD) or to the JSON body (other methods). In a URL, names and values are percent-encoded:
 * `$filter` is sent as `%24filter`.
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
 */
export const endpoint: Endpoint = createEndpoint(DEFAULTS);

function createEndpoint(defaults: MergedOptions): Endpoint {
  const mergeDefaults = (route: string | EndpointOptions, options?: EndpointOptions) =>
    merge(defaults, route, options);
  const build = (route: string | EndpointOptions, options?: EndpointOptions) => {
    const parsed = readRoute(route);
    // Copying the rows of a body would take longer than all the rest.
    return parse(merge(defaults, route, options, false, parsed), parsed);
  };
  // Each read returns a copy, so that a caller cannot change the defaults.
  Object.defineProperty(build, "DEFAULTS", { get: () => mergeDefaults({}), enumerable: true });
  return Object.assign(build, {
    defaults: (options: EndpointOptions) => createEndpoint(mergeDefaults(options)),
    merge: mergeDefaults,
    // Checks the options and creates other headers, because `parse()` changes and returns them.
    parse: (options: MergedOptions) =>
      parse(merge({ headers: {} } as MergedOptions, options, undefined, false)),
  }) as Endpoint;
}

export const JSON_CONTENT_TYPE = "application/json; charset=utf-8";

/** Placeholders must not have the names of options. */
function readUrl(url: string): Template {
  const template = parseTemplate(url);
  const reserved = RESERVED_OPTIONS.find((name) => template.names.has(name));
  if (!reserved) return template;
  throw invalidValue("url", `without a placeholder named ${reserved}`, url);
}

/** Changes and returns the headers of the options. */
function parse(options: MergedOptions, route?: ParsedRoute): RequestOptions {
  const { method, url, baseUrl, headers, mediaType, data, request } = options;
  if (!url) throw invalidValue("url", "a path or a full URL", url);
  if (!TOKEN.test(method ?? "")) {
    throw invalidValue("method", 'a method such as "GET"', method);
  }
  const template = route?.url === url ? route.template ??= readUrl(url) : readUrl(url);
  const variables = new Map<string, UrlValue | undefined>();
  const parameters: [name: string, value: unknown][] = [];
  for (const name of Object.keys(options)) {
    if ((RESERVED_OPTIONS as readonly string[]).includes(name)) continue;
    const value = options[name];
    // Convert the value once, even if the template repeats its name, because it may be a long list.
    if (template.names.has(name)) variables.set(name, toUrlValue(name, value));
    else parameters.push([name, value]);
  }
  const expanded = expandTemplate(template, variables);
  if (variables.size && DOT_SEGMENT.test(expanded)) {
    throw invalidValue("url", 'a URL without the path segments "." and ".."', expanded);
  }
  const result: RequestOptions = {
    method: method.toLowerCase(),
    // The template determines whether the URL is a full one: a value must not select another host.
    url: template.isFullUrl ? requireHost(expanded, url) : join(baseUrl, expanded),
    headers,
  };
  if (mediaType.format && headers.accept) {
    headers.accept = withFormat(headers.accept, mediaType.format);
  }
  if (result.method === "get" || result.method === "head") {
    result.url = appendQuery(result.url, parameters);
  } else if (data !== undefined) {
    result.body = data;
  } else if (parameters.length) {
    result.body = Object.fromEntries(parameters);
    headers["content-type"] ??= JSON_CONTENT_TYPE;
  }
  if (request !== undefined) result.request = request;
  return result;
}

/** URL parsers take the first segment of the path for a missing host. */
function requireHost(url: string, template: string): string {
  if (!/^(?:https?|wss?|ftp):\/\/(?:[^/?#]*@)?(?:[:/?#]|$)/i.test(url)) return url;
  throw invalidValue("url", "a URL with a host", template, "give each placeholder of it a value");
}

/** URL parsers remove a segment "." or "..", and with ".." the segment before it. */
const DOT_SEGMENT = /^(?:[^?#]*\/)?(?:\.|%2e){1,2}(?:[/?#]|$)/i;

function join(baseUrl: string | undefined, path: string): string {
  if (baseUrl === undefined) throw invalidValue("baseUrl", "of type string", baseUrl);
  // The lookbehind keeps the time linear for a base URL of many slashes.
  return `${baseUrl.replace(/(?<!\/)\/+$/, "")}/${path.replace(/^\/+/, "")}`;
}

/** A vendor type whose format can be replaced (see `MediaType.format`), in a list of types. */
const VENDOR_TYPE =
  /((?:^|,)\s*application\/vnd\.\w+(?:\.v\d+)?)(?:\.\w+)?(?:\+json)?(?=\s*(?:[;,]|$))/gi;

/** Vendor types: RFC 6838, section 3.2. Other media types are not changed. */
function withFormat(accept: string, format: string): string {
  if (!/^[\w.+-]+$/.test(format)) {
    throw invalidValue("mediaType.format", 'a format such as "raw"', format);
  }
  return accept.replace(VENDOR_TYPE, `$1.${format}`);
}

/** Names are encoded too, because the service rejects a `$` in a name. */
function appendQuery(url: string, parameters: readonly [string, unknown][]): string {
  const query = parameters.map(toPair).filter(Boolean).join("&");
  if (!query) return url;
  const [start, fragment = ""] = url.split(/(#.*)/s) as [string, string?];
  const separator = !start.includes("?") ? "?" : /[?&]$/.test(start) ? "" : "&";
  return start + separator + query + fragment;
}

function toPair([name, value]: readonly [string, unknown]): string | undefined {
  if (Array.isArray(value) && value.length && value.every(Number.isSafeInteger)) {
    return `${encode(name)}=${value.join(",")}`;
  }
  const converted = toUrlValue(name, value);
  if (converted === undefined) return undefined;
  if (isPlainObject(converted)) throw urlValueError(name, converted);
  return `${encode(name)}=${expandValue(converted, false)}`;
}
