import { copy } from "./copy.ts";
import { expand } from "./expand.ts";
import { mergeHeaders } from "./headers.ts";
import { withFormat } from "./media_type.ts";
import { appendQuery } from "./query.ts";
import { parseTemplate, type Template } from "./template.ts";
import type { MergedOptions, RequestOptions } from "./types.ts";

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
