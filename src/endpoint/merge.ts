import { invalidValue } from "../validation.ts";
import { ValidationError } from "../errors.ts";
import { PRODUCTION_URL } from "../service_constants.ts";
import { VERSION } from "../version.ts";
import { isDefined, isPlainObject } from "./encode.ts";
import type {
  EndpointOptions,
  HeaderFields,
  HeaderPairs,
  MediaType,
  MergedOptions,
} from "./types.ts";
import type { Template } from "./uri_template.ts";

export const DEFAULTS: MergedOptions = {
  method: "GET",
  baseUrl: PRODUCTION_URL,
  headers: {
    accept: "application/vnd.datastream.v3+json",
    "user-agent": `weir-endpoint.js/${VERSION}`,
  },
  mediaType: {},
};

/** Copies the values of `defaults`, and those of the parameters only if `copies` is set. */
export function merge(
  defaults: MergedOptions,
  route: string | EndpointOptions,
  options?: EndpointOptions,
  copies = true,
  parsed: ParsedRoute | undefined = readRoute(route),
): MergedOptions {
  const given = (parsed ? options : route as EndpointOptions) ?? {};
  requireTypeIfSet("options", given, "object");
  const textOf = (name: "method" | "url" | "baseUrl") =>
    requireTypeIfSet(name, given[name], "string");
  const mediaType: MediaType & EndpointOptions = {};
  assignOptions(mediaType, defaults.mediaType);
  assignOptions(mediaType, requireTypeIfSet("mediaType", given.mediaType, "object"));
  requireTypeIfSet("mediaType.format", mediaType.format, "string");
  const merged: MergedOptions = {
    method: toUpperCase(textOf("method")) ?? parsed?.method ?? defaults.method,
    baseUrl: textOf("baseUrl") ?? defaults.baseUrl,
    headers: mergeHeaders(defaults.headers, given.headers),
    mediaType,
  };
  if (defaults !== DEFAULTS) assignOptions(merged, defaults);
  const url = textOf("url") ?? parsed?.url ?? defaults.url;
  if (url) merged.url = url;
  assignOptions(merged, given, copies);
  return merged;
}

function assignOptions(
  to: Record<string, unknown>,
  from: object | null | undefined,
  copies = true,
): void {
  let name = "";
  try {
    for (name of Object.keys(from ?? {})) {
      const value = (from as EndpointOptions)[name];
      if (value === undefined || name === "url" || Object.hasOwn(DEFAULTS, name)) continue;
      setOwn(to, name, copies && name !== "data" && name !== "request" ? copyDeep(value) : value);
    }
  } catch (cause) {
    // Engines report an exhausted stack by different errors. Tracking the depth is measurably slower.
    throw new ValidationError(name, "refers to itself or cannot be copied", { cause });
  }
}

/** Assigning to `__proto__` would set the prototype instead. */
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

/** RFC 9110, section 5.6.2. */
export const TOKEN = /^[\w!#$%&'*+.^`|~-]+$/;
/** Repeats the characters of `TOKEN`: building both from one text would enlarge the bundle. */
const ROUTE = /^([\w!#$%&'*+.^`|~-]+)\s+(\S[^]*)$/;

export interface ParsedRoute {
  method: string | undefined;
  url: string;
  /** Template of the url, once it has been parsed. */
  template?: Template;
}

/** Limited, because the texts may come from outside. */
const MAX_ROUTES = 1_000;
const MAX_LENGTH = 500;
const routes = new Map<unknown, ParsedRoute>();
let newRoutes = 0;

/**
 * Without the map, `endpoint()` takes ten times as long. Keeps one of seven new routes: those that recur
 * are soon kept, and keeping paths that never recur would take a third of the time. An odd number, because
 * callers often alternate between two routes. Results are shared: do not change them.
 */
export function readRoute(route: string | EndpointOptions): ParsedRoute | undefined {
  const kept = routes.get(route);
  if (kept || typeof route !== "string") return kept;
  const text = route.trim();
  const [, method, url = text] = ROUTE.exec(text) ?? [];
  const parsed = { method: toUpperCase(method), url };
  if (newRoutes++ % 7 === 0 && route.length <= MAX_LENGTH) routes.set(route, parsed);
  if (routes.size > MAX_ROUTES) routes.clear();
  return parsed;
}

/** ASCII only: the upper case of "ſ" is "S", which would become a valid method. */
function toUpperCase(method: string | null | undefined): string | undefined {
  return method?.replace(/[a-z]+/g, (letters) => letters.toUpperCase());
}

/** Other values than plain objects and arrays, such as dates and streams, are not copied. */
function copyDeep<T>(value: T): T {
  if (Array.isArray(value)) return value.map(copyDeep) as T;
  if (!isPlainObject(value)) return value;
  return Object.fromEntries(
    Object.entries(value).map(([key, nested]) => [key, copyDeep(nested)]),
  ) as T;
}

/** Undefined and null are valid, but an array is not an object. */
export function requireTypeIfSet<T>(option: string, value: T, type: "string" | "object"): T {
  if (isDefined(value) && (typeof value !== type || Array.isArray(value))) {
    throw invalidValue(option, `of type ${type}`, value);
  }
  return value;
}

/** Names become lower case first, so that `Accept` replaces `accept`. */
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
      if (!TOKEN.test(field)) throw field;
      const before = isList && added.has(field) ? `${headers[field]}, ` : "";
      if (isDefined(value)) {
        if (typeof value !== "string" && typeof value !== "number") throw value;
        // The error does not contain the value, which may be an API key.
        if (/[\0\r\n\u0100-\uffff]/.test(value as string)) {
          throw new ValidationError(`headers.${field}`, "must be one line of Latin-1 text");
        }
        setOwn(headers, field, before + value);
        added.add(field);
      } else {
        delete headers[field];
        added.delete(field);
      }
    }
  } catch (cause) {
    if (cause instanceof ValidationError) throw cause;
    throw new ValidationError("headers", "must be an object or pairs of a valid name and text");
  }
  return headers;
}
