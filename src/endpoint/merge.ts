import { ValidationError } from "../errors.ts";
import { PRODUCTION_URL } from "../service_constants.ts";
import { VERSION } from "../version.ts";
import { isDefined, isPlainObject } from "./encode.ts";
import { memoize } from "./memoize.ts";
import type { EndpointOptions, HeaderFields, HeaderPairs, MergedOptions } from "./types.ts";

/** Defaults of `endpoint`. */
export const DEFAULTS: MergedOptions = {
  method: "GET",
  baseUrl: PRODUCTION_URL,
  headers: {
    accept: "application/vnd.datastream.v3+json",
    "user-agent": `weir-endpoint.js/${VERSION}`,
  },
  mediaType: {},
};

/**
 * Merges options into defaults. Neither is changed, and the result shares no object with them except
 * `request` and `data`. An option that is undefined keeps its default.
 *
 * @param defaults The options to start from
 * @param route `<METHOD> <url-or-path>`, a URL alone, or the options themselves
 * @param options The options that accompany a route; they take precedence over it
 * @throws {ValidationError} If a parameter refers to itself, or the headers cannot be read
 */
export function merge(
  defaults: MergedOptions,
  route: string | EndpointOptions,
  options?: EndpointOptions,
): MergedOptions {
  const isRoute = typeof route === "string";
  const given = (isRoute ? options : route) ?? {};
  const { method, url } = isRoute ? parseRoute(route) : given;
  const merged: MergedOptions = {
    method: isDefined(given.method) ? toUpperCase(given.method) : method ?? defaults.method,
    baseUrl: given.baseUrl ?? defaults.baseUrl,
    headers: mergeHeaders(defaults.headers, given.headers),
    mediaType: copy(
      given.mediaType
        ? { ...defaults.mediaType, ...withoutUndefined(given.mediaType) }
        : defaults.mediaType,
      "mediaType",
    ),
  };
  copyOptions(defaults, merged);
  if (url !== undefined) merged.url = url;
  copyOptions(given, merged);
  return merged;
}

/**
 * A method is an HTTP token (RFC 9110, section 9.1) followed by white space. Repeats the characters of
 * `TOKEN`: building both patterns from one text would make the bundle larger.
 */
const ROUTE = /^([\w!#$%&'*+.^`|~-]+)\s+(\S[^]*)$/;

/** Splits a route into method and URL; the method is undefined if the route is a URL alone. */
const parseRoute = memoize((route): { method: string | undefined; url: string } => {
  const text = route.trim();
  const [, method, url = text] = ROUTE.exec(text) ?? [];
  return { method: method && toUpperCase(method), url };
});

/** Changes ASCII letters only: the upper case of "ſ" is "S", which would become a valid method. */
function toUpperCase(method: string): string {
  return String(method).replace(/[a-z]+/g, (letters) => letters.toUpperCase());
}

function withoutUndefined(options: object): object {
  return Object.fromEntries(Object.entries(options).filter(([, value]) => value !== undefined));
}

/** Copies the options that `merge` has not merged field by field, except undefined ones. */
function copyOptions(from: EndpointOptions, to: MergedOptions): void {
  for (const name of Object.keys(from)) {
    const value = from[name];
    switch (name) {
      case "method":
      case "baseUrl":
      case "headers":
      case "mediaType":
        break;
      case "url":
        if (isDefined(value)) to.url = value as string;
        break;
      case "request":
      case "data":
        if (value !== undefined) to[name] = value as object;
        break;
      default:
        if (value !== undefined) setOwn(to, name, copy(value, name));
    }
  }
}

/**
 * Copies plain objects and arrays deeply. Any other value, such as a date or a stream, is returned
 * unchanged.
 *
 * @param value The value to copy
 * @param name Name of the parameter, used in the error message
 * @throws {ValidationError} If the value refers to itself or is nested too deeply for the engine's
 *   stack
 */
function copy<T>(value: T, name: string): T {
  try {
    return copyDeep(value);
  } catch (cause) {
    // Engines report an exhausted stack by different errors. Tracking the depth is measurably slower.
    throw new ValidationError(name, "refers to itself, is too deep or cannot be read", {
      cause,
    });
  }
}

function copyDeep<T>(value: T): T {
  if (typeof value !== "object") return value;
  if (Array.isArray(value)) return value.map(copyDeep) as T;
  if (!isPlainObject(value)) return value;
  const copied: Record<string, unknown> = {};
  for (const key of Object.keys(value)) setOwn(copied, key, copyDeep(value[key]));
  return copied as T;
}

/** Sets an own property of any name. Assigning to `__proto__` would set the prototype instead. */
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
 * Merges header fields into defaults. Names are converted to lower case first, so that `Accept`
 * replaces `accept`. A field that is undefined removes the default.
 *
 * @param defaults The fields to start from, names in lower case
 * @param given Fields by name, or pairs of name and value, as a `Headers` object yields them; the
 *   values of a repeated name are joined with a comma (RFC 9110, section 5.2)
 * @throws {ValidationError} If the fields are iterable but not pairs. The error contains no value,
 *   because it may be an API key
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
    if (isDefined(value)) setOwn(headers, name.toLowerCase(), String(value));
    else delete headers[name.toLowerCase()];
  }
  return headers;
}

function isIterable(fields: HeaderFields | HeaderPairs): fields is HeaderPairs {
  return Symbol.iterator in Object(fields);
}

function joinPairs(pairs: HeaderPairs): HeaderFields {
  const fields = new Map<string, string | number | undefined>();
  for (const pair of pairs) {
    if (!Array.isArray(pair) || pair.length !== 2) {
      throw new ValidationError(
        "headers",
        "must be an object or pairs of name and value",
      );
    }
    const name = String(pair[0]).toLowerCase();
    const [before, value] = [fields.get(name), pair[1]];
    fields.set(name, isDefined(before) && isDefined(value) ? `${before}, ${value}` : value);
  }
  return Object.fromEntries(fields);
}
