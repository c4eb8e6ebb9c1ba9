import { invalidValue } from "../validation.ts";
import { ValidationError } from "../errors.ts";
import { PRODUCTION_URL } from "../service_constants.ts";
import { VERSION } from "../version.ts";
import { isDefined, isPlainObject } from "./encode.ts";
import { memoize } from "./memoize.ts";
import type {
  EndpointOptions,
  HeaderFields,
  HeaderPairs,
  MediaType,
  MergedOptions,
} from "./types.ts";

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
 * Merges options into defaults. Neither is changed. An option that is undefined keeps its default.
 *
 * @param defaults The options to start from
 * @param route `<METHOD> <url-or-path>`, a URL alone, or the options themselves
 * @param options The options that accompany a route; they take precedence over it
 * @param copy Copies the value of a parameter: `copyDeep`, or by default a function that returns the
 *   value, so that the result shares it with the options
 * @throws {ValidationError} If an option has the wrong type, a parameter cannot be copied, or the
 *   headers cannot be read
 */
export function merge(
  defaults: MergedOptions,
  route: string | EndpointOptions,
  options?: EndpointOptions,
  copy: <T>(value: T) => T = (value) => value,
): MergedOptions {
  const isRoute = typeof route === "string";
  const given = (isRoute ? options : route) ?? {};
  requireTypeIfSet("options", given, "object");
  const fromRoute = isRoute ? parseRoute(route) : given;
  const mediaType: MediaType & EndpointOptions = {};
  assignOptions(mediaType, defaults.mediaType, copy);
  assignOptions(mediaType, requireTypeIfSet("mediaType", given.mediaType, "object"), copy);
  requireTypeIfSet("mediaType.format", mediaType.format, "string");
  const merged: MergedOptions = {
    method: toUpperCase(requireTypeIfSet("method", given.method, "string")) ?? fromRoute.method ??
      defaults.method,
    baseUrl: requireTypeIfSet("baseUrl", given.baseUrl, "string") ?? defaults.baseUrl,
    headers: mergeHeaders(defaults.headers, given.headers),
    mediaType,
  };
  if (defaults !== DEFAULTS) assignOptions(merged, defaults, copy);
  const url = requireTypeIfSet("url", given.url, "string") ?? fromRoute.url ?? defaults.url;
  if (url) merged.url = url;
  assignOptions(merged, given, copy);
  return merged;
}

/** The options that `merge` merges one by one. */
const MERGED = new Set(["url", ...Object.keys(DEFAULTS)]);

/**
 * Assigns the options that `merge` has not merged one by one, except undefined ones.
 *
 * @param copy Copies the values, except those of `data` and `request`
 * @throws {ValidationError} If a value refers to itself, is nested too deeply for the engine's stack,
 *   or has a getter that throws
 */
function assignOptions(
  to: Record<string, unknown>,
  from: object | null | undefined,
  copy: <T>(value: T) => T,
): void {
  let name = "";
  try {
    for (name of Object.keys(from ?? {})) {
      const value = (from as EndpointOptions)[name];
      if (value === undefined || MERGED.has(name)) continue;
      setOwn(to, name, name === "data" || name === "request" ? value : copy(value));
    }
  } catch (cause) {
    // Engines report an exhausted stack by different errors. Tracking the depth is measurably slower.
    throw new ValidationError(name, "refers to itself or cannot be copied", { cause });
  }
}

/** Sets an own property of any name. Assigning to `__proto__` would set the prototype instead. */
function setOwn<T>(target: Record<string, T>, name: string, value: T): void {
  if (name === "__proto__") {
    Object.defineProperty(target, name, {
      value,
      configurable: true,
      enumerable: true,
      writable: true,
    });
  } else target[name] = value;
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
  return { method: toUpperCase(method), url };
});

/** Changes ASCII letters only: the upper case of "ſ" is "S", which would become a valid method. */
function toUpperCase(method: string | null | undefined): string | undefined {
  return method?.replace(/[a-z]+/g, (letters) => letters.toUpperCase());
}

/** Copies plain objects and arrays deeply. Any other value, such as a date or a stream, is not copied. */
export function copyDeep<T>(value: T): T {
  if (Array.isArray(value)) return value.map(copyDeep) as T;
  if (!isPlainObject(value)) return value;
  return Object.fromEntries(
    Object.entries(value).map(([key, nested]) => [key, copyDeep(nested)]),
  ) as T;
}

/**
 * Checks the type of an option. Undefined and null are valid, but an array is not an object.
 *
 * @returns The value
 */
export function requireTypeIfSet<T>(option: string, value: T, type: "string" | "object"): T {
  if (isDefined(value) && (typeof value !== type || Array.isArray(value))) {
    throw invalidValue(option, `of type ${type}`, value);
  }
  return value;
}

/**
 * Merges header fields into defaults. Names are converted to lower case first, so that `Accept`
 * replaces `accept`. A field that is undefined removes the default.
 *
 * @param defaults The fields to start from, names in lower case
 * @param given Fields by name, or pairs of name and value, as a `Headers` object yields them; the
 *   values of a repeated name are joined with a comma (RFC 9110, section 5.2)
 * @throws {ValidationError} If the fields or a value of them have the wrong type. The error contains
 *   no value, because it may be an API key
 */
export function mergeHeaders(
  defaults: Record<string, string>,
  given: HeaderFields | HeaderPairs | undefined,
): Record<string, string> {
  // Adding many properties to an object made by a spread takes 15 times as long in Node 20.
  const headers: Record<string, string> = Object.assign({}, defaults);
  const added = new Set<string>();
  try {
    const fields = given ?? {};
    if (typeof fields !== "object") throw fields; // caught below
    const isList = Symbol.iterator in fields;
    for (const pair of isList ? fields : Object.entries(fields)) {
      if (!Array.isArray(pair) || pair.length !== 2) throw pair;
      const [name, value] = pair;
      const field = name.toLowerCase();
      const before = isList && added.has(field) ? headers[field] : undefined;
      if (!isDefined(value)) delete headers[field];
      else if (typeof value !== "string" && typeof value !== "number") throw value;
      else setOwn(headers, field, before === undefined ? String(value) : `${before}, ${value}`);
      if (isList) added.add(field);
    }
  } catch {
    throw new ValidationError("headers", "must be an object or pairs of text");
  }
  return headers;
}
