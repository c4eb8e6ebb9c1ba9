import { BoundedCache } from "./uri_template.ts";

/**
 * Percent-encodes everything but the unreserved characters (RFC 3986, section 2.3).
 *
 * A filter is full of quotes, which `encodeURIComponent` leaves; to put each right afterwards takes
 * twice as long as `escape` takes for the whole, where the text is one that it gets right.
 *
 * @param text Well-formed text
 */
export function encode(text: string): string {
  if (/^[\w.~-]*$/.test(text)) return text;
  if (isEscapable(text)) return escape(text).replaceAll("/", "%2F");
  // What `encodeURIComponent` leaves, and RFC 3986 does not count as unreserved.
  return encodeURIComponent(text).replace(/[!'()]/g, escape).replaceAll("*", "%2A");
}

const names = new BoundedCache((name: string) => encode(name.toWellFormed()));

/** The same for a parameter's name, of which there are few. */
export function encodeName(name: string): string {
  return names.get(name);
}

const encoder = new TextEncoder();
/** Written to, never read: what counts is how many bytes it takes. */
const scratch = new Uint8Array(4_096);

/** ASCII, without what `escape` has its own view of; the slash alone is put right after it. */
function isEscapable(text: string): boolean {
  if (text.length > scratch.length) return false;
  if (text.includes("@") || text.includes("*")) return false;
  if (text.includes("+") || text.includes("~")) return false;
  const { read, written } = encoder.encodeInto(text, scratch);
  return read === text.length && written === text.length;
}

/** What a URL can hold: a text, a list of texts, or texts by name. */
export type UrlValue = string | string[] | Record<string, string>;

/**
 * Converts a parameter to text for a URL: numbers, bigints and booleans as they print, dates as ISO
 * 8601.
 *
 * @param name The parameter, named in the error message
 * @param map Changes each text, but no key of an object
 * @returns The value; undefined for null, and for a list or an object without any value
 * @throws {TypeError} If it is, or holds, something that has no text
 */
export function toUrlValue(
  name: string,
  value: unknown,
  map?: (text: string) => string,
): UrlValue | undefined {
  if (typeof value === "string" && !map) return value.toWellFormed();
  if (Array.isArray(value)) {
    const items = value.filter(isDefined).map((item) => toText(name, item, map));
    return items.length > 0 ? items : undefined;
  }
  if (isPlainObject(value)) {
    const pairs = Object.entries(value).filter(([, item]) => isDefined(item));
    return pairs.length > 0
      ? Object.fromEntries(
        pairs.map(([key, item]) => [key.toWellFormed(), toText(name, item, map)]),
      )
      : undefined;
  }
  return isDefined(value) ? toText(name, value, map) : undefined;
}

/** Whether a value is an object that a literal or `JSON.parse` makes. */
export function isPlainObject(value: unknown): value is Record<string, unknown> {
  if (typeof value !== "object" || value === null) return false;
  const prototype = Object.getPrototypeOf(value);
  return prototype === Object.prototype || prototype === null;
}

function isDefined(value: unknown): boolean {
  return value !== undefined && value !== null;
}

function toText(name: string, value: unknown, map?: (text: string) => string): string {
  if (["string", "number", "bigint", "boolean"].includes(typeof value)) {
    const text = String(value).toWellFormed();
    return map ? map(text) : text;
  }
  if (value instanceof Date && !Number.isNaN(value.getTime())) return value.toISOString();
  throw withoutText(name, value);
}

/** The error of a value that has no text where it should stand. */
export function withoutText(name: string, value: unknown): TypeError {
  const came = value instanceof Date
    ? "an invalid date"
    : Array.isArray(value)
    ? "a list in a list"
    : `a value of type ${typeof value}`;
  return new TypeError(
    `Cannot put parameter "${name}" in the URL: wanted text, numbers, dates or a list of them, got ${came}`,
  );
}
