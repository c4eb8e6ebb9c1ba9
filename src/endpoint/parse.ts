import { encode, encodeName, toUrlValue, withoutText } from "./encode.ts";
import { expand } from "./expand.ts";
import { copy, mergeHeaders } from "./merge.ts";
import type { MergedOptions, RequestOptions } from "./types.ts";
import { parseTemplate, type Template } from "./uri_template.ts";

/** What is no parameter (request-options-builder, Endpoints, rule 4). */
const RESERVED = new Set([
  "method",
  "url",
  "baseUrl",
  "headers",
  "mediaType",
  "data",
  "request",
]);
/** RFC 9110, section 9.1: a method is a token. */
const TOKEN = /^[\w!#$%&'*+.^`|~-]+$/;

/**
 * Turns merged options into request options: no state, no network; the options are not changed.
 *
 * @param options Merged options
 * @param own Whether the options are nobody else's, so that nothing of them needs to be copied
 * @throws {TypeError} If the url is missing, the method is not a token, or a parameter has no text
 * @throws {SyntaxError} If the url is a malformed template
 */
export function parse(
  options: MergedOptions,
  own = false,
): RequestOptions {
  const { method, url, baseUrl, headers, mediaType, data, request } = options;
  if (typeof url !== "string" || url === "") {
    throw new TypeError(
      'Cannot build a request: wanted a url, got none; pass "GET /path" or { url }',
    );
  }
  if (typeof method !== "string" || !TOKEN.test(method)) {
    throw new TypeError(`Cannot build a request: wanted an HTTP method, got "${method}"`);
  }
  const template = parseTemplate(url);
  const rest: [string, unknown][] = [];
  for (const name of Object.keys(options)) {
    if (!RESERVED.has(name) && !template.names.has(name)) rest.push([name, options[name]]);
  }
  const expanded = expand(
    template,
    (name) => !RESERVED.has(name) && Object.hasOwn(options, name) ? options[name] : undefined,
  );
  // Decided on the template's own text: no value can choose another host.
  const address = template.full ? keepHost(template, expanded) : join(baseUrl, expanded);
  const result: RequestOptions = {
    method: method.toLowerCase(),
    url: address,
    headers: own ? headers : mergeHeaders({}, headers),
  };
  if (mediaType?.format && result.headers.accept !== undefined) {
    result.headers.accept = withFormat(result.headers.accept, mediaType.format);
  }
  if (result.method === "get" || result.method === "head") {
    result.url = appendQuery(result.url, rest);
  } else if (data !== undefined) {
    result.body = data;
  } else {
    // A null stays, as JSON has it; undefined is left out, as JSON has none.
    const given = rest.filter(([, value]) => value !== undefined);
    if (given.length > 0) {
      result.body = Object.fromEntries(
        given.map(([name, value]) => [name, own ? value : copy(value, name)]),
      );
      result.headers["content-type"] ??= "application/json; charset=utf-8";
    }
  }
  if (request !== undefined) result.request = request;
  return result;
}

/** What follows a host that the template spells out ends it. */
function keepHost({ hostEnd }: Template, url: string): string {
  if (hostEnd === undefined || url.length === hostEnd || /[/?#]/.test(url[hostEnd]!)) return url;
  throw new TypeError(
    `Cannot build a request: wanted a path after the host, got "${url.slice(0, hostEnd + 40)}"`,
  );
}

/** A path follows its base after exactly one slash. */
function join(baseUrl: string, path: string): string {
  if (typeof baseUrl !== "string") {
    throw new TypeError("Cannot build a request: wanted a baseUrl before a path, got none");
  }
  let end = baseUrl.length;
  while (end > 0 && baseUrl[end - 1] === "/") end--;
  let start = 0;
  while (path[start] === "/") start++;
  return `${baseUrl.slice(0, end)}/${path.slice(start)}`;
}

/**
 * A vendor type of JSON with two or more segments, as a member of a list. A type of one segment,
 * such as `application/vnd.geo+json`, has no formats.
 */
const VENDOR_TYPE = /((?:^|,)\s*application\/vnd(?:\.[\w-]+){2,})\+json(?=\s*(?:[;,]|$))/gi;

/**
 * Replaces the `+json` of vendor types in an `accept` header by a format:
 * `application/vnd.datastream.v3+json` with `raw` becomes `application/vnd.datastream.v3.raw`.
 * Other members of the list are returned unchanged.
 *
 * @throws {TypeError} If the format could not stand in a media type
 */
function withFormat(accept: string, format: string): string {
  if (!/^[\w.+-]+$/.test(format)) {
    throw new TypeError(
      `Cannot amend accept: wanted a mediaType.format such as "raw" or "text+json", got "${format}"`,
    );
  }
  return accept.replace(VENDOR_TYPE, `$1.${format}`);
}

/**
 * Appends parameters to a URL as its query: after one that is there, before a fragment.
 *
 * Names and values are encoded, as the service refuses a raw `$`; a list is joined with commas
 * (RFC 6570, form style); null, undefined and an empty list are left out.
 *
 * @param url An expanded URL
 * @param parameters Pairs of name and value
 * @throws {TypeError} If a value is an object or has no text
 */
function appendQuery(url: string, parameters: readonly [string, unknown][]): string {
  let query = "";
  for (const [name, value] of parameters) {
    const pair = toPair(name, value);
    if (pair !== undefined) query += query === "" ? pair : `&${pair}`;
  }
  if (query === "") return url;
  const hash = url.indexOf("#");
  const address = hash < 0 ? url : url.slice(0, hash);
  const joint = !address.includes("?") ? "?" : /[?&]$/.test(address) ? "" : "&";
  return address + joint + query + (hash < 0 ? "" : url.slice(hash));
}

function toPair(name: string, value: unknown): string | undefined {
  const texts = toUrlValue(name, value);
  if (texts === undefined) return undefined;
  if (typeof texts === "object" && !Array.isArray(texts)) {
    throw withoutText(name, texts);
  }
  const text = typeof texts === "string" ? encode(texts) : texts.map(encode).join(",");
  return `${encodeName(name)}=${text}`;
}
