import { PRODUCTION_URL } from "../service_roots.ts";
import { VERSION } from "../version.ts";
import { isPlainObject } from "./encode.ts";
import type { EndpointOptions, HeaderFields, HeaderPairs, MergedOptions } from "./types.ts";
import { BoundedCache } from "./uri_template.ts";

/**
 * Merges options into defaults. Neither is changed, and the result shares no object with them but
 * `request` and `data`, which keep their identity. An undefined option counts as absent.
 *
 * @param defaults The options to start from
 * @param route `<METHOD> <url-or-path>`, a URL alone, or the options themselves
 * @param options The options that accompany a route; they take precedence over it
 * @throws {TypeError} If a parameter refers to itself, or the headers cannot be read
 */
export function merge(
  defaults: MergedOptions,
  route: string | EndpointOptions,
  options?: EndpointOptions,
): MergedOptions {
  const given = (typeof route === "string" ? options : route) ?? {};
  const { method, url } = typeof route === "string" ? parseRoute(route) : given;
  const merged: MergedOptions = {
    method: toUpperCase(given.method ?? method ?? defaults.method),
    baseUrl: given.baseUrl ?? defaults.baseUrl,
    headers: mergeHeaders(defaults.headers, given.headers),
    mediaType: copy(
      given.mediaType
        ? { ...defaults.mediaType, ...withoutUndefined(given.mediaType) }
        : defaults.mediaType,
      "mediaType",
    ),
  };
  assign(merged, defaults);
  if (url !== undefined) merged.url = url;
  assign(merged, given);
  return merged;
}

/** Copies the options that have no merge rule of their own, without those that are undefined. */
function assign(merged: MergedOptions, options: EndpointOptions): void {
  for (const name of Object.keys(options)) {
    switch (name) {
      case "method":
      case "baseUrl":
      case "headers":
      case "mediaType":
        break; // merged already
      case "url":
        if (options.url !== undefined && options.url !== null) merged.url = options.url;
        break;
      case "request":
      case "data":
        if (options[name] !== undefined) setOwn(merged, name, options[name]);
        break;
      default: {
        const value = options[name];
        if (value !== undefined) setOwn(merged, name, copy(value, name));
      }
    }
  }
}

function withoutUndefined(options: object): object {
  return Object.fromEntries(Object.entries(options).filter(([, value]) => value !== undefined));
}

/** Of ASCII alone: "ſ" in upper case is "S", and would make a token of what is none. */
function toUpperCase(method: string): string {
  return /^[A-Z]+$/.test(method)
    ? method
    : String(method).replace(/[a-z]+/g, (letters) => letters.toUpperCase());
}

/** The defaults that every builder starts from (request-options-builder, Default headers). */
export const DEFAULTS: MergedOptions = {
  method: "GET",
  baseUrl: PRODUCTION_URL,
  headers: {
    accept: "application/vnd.datastream.v3+json",
    "user-agent": `weir-endpoint.js/${VERSION}`,
  },
  mediaType: {},
};

/** A route in its two parts. */
interface Route {
  /** Undefined where the route is a URL alone. */
  method: string | undefined;
  url: string;
}

/** A method is a token of HTTP (RFC 9110) with white space after it; all else is a URL. */
const ROUTE = /^([\w!#$%&'*+.^`|~-]+)\s+(\S[^]*)$/;

const routes = new BoundedCache((route: string): Route => {
  const text = route.trim();
  const [, method, url = text] = ROUTE.exec(text) ?? [];
  return { method, url };
});

/** Reads `<METHOD> <url-or-path>`, or a URL alone. */
function parseRoute(route: string): Route {
  return routes.get(route);
}

/**
 * Copies plain objects and arrays deeply; any other value (date, stream, function) is returned
 * unchanged.
 *
 * @param value The value to copy
 * @param name Name of the parameter, used in the error message
 * @throws {TypeError} If the value refers to itself or is nested too deeply for the engine's stack
 */
export function copy<T>(value: T, name: string): T {
  try {
    return copyDeep(value);
  } catch (cause) {
    // Engines report an exhausted stack by different errors. Tracking the depth is measurably slower.
    throw new TypeError(
      `Cannot copy "${name}": it refers to itself, is too deep or cannot be read`,
      { cause },
    );
  }
}

function copyDeep<T>(value: T): T {
  if (typeof value !== "object" || value === null) return value;
  if (Array.isArray(value)) return value.map(copyDeep) as T;
  if (!isPlainObject(value)) return value;
  const copied: Record<string, unknown> = {};
  for (const key of Object.keys(value)) setOwn(copied, key, copyDeep(value[key]));
  return copied as T;
}

/** Sets an own property of any name; assigning to `__proto__` would set the prototype instead. */
function setOwn<T>(target: Record<string, T>, name: string, value: T): void {
  if (name !== "__proto__") {
    target[name] = value;
    return;
  }
  Object.defineProperty(target, name, {
    value,
    configurable: true,
    enumerable: true,
    writable: true,
  });
}

/**
 * Merges header fields into defaults. Names are lower-cased first, so that `Accept` replaces
 * `accept`; a field that is undefined removes the default.
 *
 * @param defaults The fields to start from, names in lower case
 * @param given Fields by name, or pairs of name and value, as a `Headers` object yields them; the
 *   values of a repeated pair are joined with a comma (RFC 9110, section 5.2)
 * @throws {TypeError} If the fields are iterable but not pairs; the message shows no value, because
 *   it may be a key
 */
export function mergeHeaders(
  defaults: Record<string, string>,
  given: HeaderFields | HeaderPairs | undefined,
): Record<string, string> {
  const headers = { ...defaults };
  if (!given) return headers;
  const fields = isIterable(given) ? joinPairs(given) : given;
  for (const name of Object.keys(fields)) {
    const value = fields[name];
    if (value === undefined || value === null) delete headers[name.toLowerCase()];
    else setOwn(headers, name.toLowerCase(), String(value));
  }
  return headers;
}

function isIterable(fields: HeaderFields | HeaderPairs): fields is HeaderPairs {
  return Symbol.iterator in Object(fields);
}

/** Joins the values of each name with a comma (RFC 9110, section 5.2). */
function joinPairs(pairs: HeaderPairs): HeaderFields {
  const fields = new Map<string, string | number | undefined>();
  for (const pair of pairs) {
    if (!Array.isArray(pair) || pair.length !== 2) {
      throw new TypeError(
        "Cannot read the headers: wanted an object, Headers or pairs of name and value",
      );
    }
    const name = String(pair[0]).toLowerCase();
    const value = pair[1] ?? undefined;
    const before = fields.get(name);
    const isFirst = before === undefined || value === undefined;
    fields.set(name, isFirst ? value : `${before}, ${value}`);
  }
  return Object.fromEntries(fields);
}
