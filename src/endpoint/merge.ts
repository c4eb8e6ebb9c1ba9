import type { EndpointOptions, HeaderFields, MergedOptions } from "./types.ts";

/**
 * Lays options over defaults; neither is changed, and the result shares no object with them but
 * `request` and `data`, which keep their identity.
 */
export function merge(
  defaults: MergedOptions,
  route: string | EndpointOptions,
  options: EndpointOptions = {},
): MergedOptions {
  const given = typeof route === "string" ? { ...options, ...parseRoute(route) } : route;
  return {
    ...copyOptions(defaults),
    ...copyOptions(given),
    method: (given.method ?? defaults.method).toUpperCase(),
    baseUrl: given.baseUrl ?? defaults.baseUrl,
    headers: mergeHeaders(defaults.headers, given.headers),
    mediaType: { ...defaults.mediaType, ...given.mediaType },
  };
}

/** Copies each option but those that keep their identity. */
function copyOptions(options: EndpointOptions): EndpointOptions {
  const entries = Object.entries(options);
  return Object.fromEntries(
    entries.map(([name, value]) => [name, IDENTICAL.has(name) ? value : copy(value)]),
  );
}

const IDENTICAL = new Set(["request", "data"]);

/** `GET /Records` is a method and a url; a route without a space is a url alone. */
function parseRoute(route: string): EndpointOptions {
  const space = route.indexOf(" ");
  if (space < 0) return { url: route };
  return { method: route.slice(0, space), url: route.slice(space + 1).trim() };
}

/** Names are lower-cased before merging, so that a caller's `Accept` replaces `accept`. */
function mergeHeaders(
  defaults: Record<string, string>,
  given: HeaderFields = {},
): Record<string, string> {
  const headers = new Map(Object.entries(defaults));
  for (const [name, value] of Object.entries(given)) {
    if (value === undefined) headers.delete(name.toLowerCase());
    else headers.set(name.toLowerCase(), String(value));
  }
  return Object.fromEntries(headers);
}

/** Plain objects and arrays deeply; everything else (dates, streams, functions) as it is. */
function copy<T>(value: T): T {
  if (Array.isArray(value)) return value.map(copy) as T;
  if (!isPlainObject(value)) return value;
  return Object.fromEntries(Object.entries(value).map(([key, item]) => [key, copy(item)])) as T;
}

function isPlainObject(value: unknown): value is Record<string, unknown> {
  if (typeof value !== "object" || value === null) return false;
  const prototype = Object.getPrototypeOf(value);
  return prototype === Object.prototype || prototype === null;
}
