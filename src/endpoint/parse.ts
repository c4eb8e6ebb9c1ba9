import { appendQuery, expandTemplate } from "./template.ts";
import type { MergedOptions, RequestOptions } from "./types.ts";

/** Turns merged options into request options; no state, no network. */
export function parse(options: MergedOptions): RequestOptions {
  const { method, url: template, baseUrl, headers, mediaType, data, request, ...parameters } =
    options;
  if (!template) {
    throw new TypeError(
      'Cannot build a request: wanted a url, got none; pass "GET /path" or { url }',
    );
  }
  const { url: expanded, placed } = expandTemplate(template, parameters);
  // Decided on the template's own text: no value can choose another host.
  const url = FULL_URL.test(template) ? expanded : join(baseUrl, expanded);
  const rest = Object.fromEntries(Object.entries(parameters).filter(([name]) => !placed.has(name)));
  const result: RequestOptions = {
    method: method.toLowerCase(),
    url,
    headers: { ...headers },
  };
  if (mediaType.format && headers.accept) {
    result.headers.accept = withFormat(headers.accept, mediaType.format);
  }
  if (method === "GET" || method === "HEAD") {
    result.url = appendQuery(url, rest);
  } else if (data !== undefined) {
    result.body = data;
  } else if (Object.keys(rest).length > 0) {
    result.body = rest;
    result.headers["content-type"] ??= "application/json; charset=utf-8";
  }
  if (request !== undefined) result.request = request;
  return result;
}

const FULL_URL = /^[a-z][a-z0-9+.-]*:\/\//i;

/** A path follows its base after exactly one slash. */
function join(baseUrl: string, path: string): string {
  return `${baseUrl.replace(/\/+$/, "")}/${path.replace(/^\/+/, "")}`;
}

/** Each `application/vnd.<name>.v3+json` of the list becomes `application/vnd.<name>.v3.<format>`. */
function withFormat(accept: string, format: string): string {
  return accept
    .split(",")
    .map((type) =>
      type.trim().replace(/^(application\/vnd\.[\w-]+\.v\d+)(\+json)?$/, `$1.${format}`)
    )
    .join(", ");
}
