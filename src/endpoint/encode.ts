import { utf8Decoder, utf8Encoder } from "../bytes.ts";
import type { ValidationError } from "../errors.ts";
import { invalidValue } from "../validation.ts";

/** For each byte: the characters that encode it (little endian) and, in the highest byte, their number. */
const ENCODED = Int32Array.from({ length: 256 }, (_, byte) => {
  if (/[\w.~-]/.test(String.fromCharCode(byte))) return 1 << 24 | byte;
  const digit = (index: number) => "0123456789ABCDEF".charCodeAt(index);
  return 3 << 24 | digit(byte & 15) << 16 | digit(byte >> 4) << 8 | 37; // 37: "%"
});
const inputBuffer = new Uint8Array(8_192);
/** A byte is encoded by at most three characters, and a write takes four bytes. */
const outputBuffer = new Uint8Array(3 * inputBuffer.length + 1);

/**
 * Encodes the first bytes of `inputBuffer`. Returns the number of characters in `outputBuffer`.
 *
 * Writes four bytes each time, because a branch for each byte takes longer: `encode` takes 3.0 instead
 * of 4.1 µs for a filter of 4,000 characters. The buffers are parameters of a function, because
 * bundlers turn constants of a module into variables: with those, the loop takes 2.4 times as long in
 * Node 20.
 */
const encodeBytes = ((table, input, output) => (count: number): number => {
  let length = 0;
  for (let index = 0; index < count; index++) {
    const characters = table[input[index]!]!;
    output.setInt32(length, characters, true);
    length += characters >> 24;
  }
  return length;
})(ENCODED, inputBuffer, new DataView(outputBuffer.buffer));

/** Length of text from which `encodeURIComponent` takes longer than `encodeBytes`. */
const MIN_BUFFERED = 100;

/**
 * Percent-encodes everything except the unreserved characters (RFC 3986, section 2.3). A lone
 * surrogate is encoded as U+FFFD.
 *
 * `encodeURIComponent` leaves quotes and parentheses unencoded. An OData filter has many of them:
 * replacing them afterwards takes three times as long as encoding each byte.
 */
export function encode(text: string): string {
  if (!/[^\w.~-]/.test(text)) return text;
  if (text.length < MIN_BUFFERED && !/[!'()*]/.test(text)) {
    return encodeURIComponent(text.toWellFormed());
  }
  let encoded = "";
  for (let start = 0; start < text.length;) {
    // A surrogate pair cut by `slice` is read with the next piece: its half does not fit the buffer.
    const piece = text.slice(start, start + inputBuffer.length);
    const { read, written } = utf8Encoder.encodeInto(piece, inputBuffer);
    encoded += utf8Decoder.decode(outputBuffer.subarray(0, encodeBytes(written)));
    start += read;
  }
  return encoded;
}

/** A parameter as text for a URL: one text, a list of texts, or texts by name. */
export type UrlValue = string | string[] | Record<string, string>;

/**
 * Converts a parameter to text for a URL: numbers, bigints and booleans as JavaScript prints them,
 * dates as ISO 8601. The text is well-formed and not yet encoded.
 *
 * @param name Name of the parameter, used in the error message
 * @param value The parameter
 * @returns The text; `undefined` for null, and for a list or an object without any value
 * @throws {ValidationError} If the value, or an item of it, cannot be written as text
 */
export function toUrlValue(name: string, value: unknown): UrlValue | undefined {
  if (Array.isArray(value)) {
    const items = value.filter(isDefined).map((item) => toText(name, item));
    return items.length ? items : undefined;
  }
  if (isPlainObject(value)) {
    const pairs = Object.entries(value)
      .filter(([, item]) => isDefined(item))
      .map(([key, item]) => [key.toWellFormed(), toText(name, item)]);
    return pairs.length ? Object.fromEntries(pairs) : undefined;
  }
  return isDefined(value) ? toText(name, value) : undefined;
}

/** Whether a value is an object made by a literal or `JSON.parse`, not an instance of a class. */
export function isPlainObject(value: unknown): value is Record<string, unknown> {
  if (typeof value !== "object" || value === null) return false;
  const prototype = Object.getPrototypeOf(value);
  return prototype === Object.prototype || prototype === null;
}

/** Whether a value is neither undefined nor null. */
export function isDefined<T>(value: T): value is NonNullable<T> {
  return value !== undefined && value !== null;
}

function toText(name: string, value: unknown): string {
  switch (typeof value) {
    case "string":
      return value.toWellFormed();
    case "number":
    case "bigint":
    case "boolean":
      return String(value);
  }
  if (value instanceof Date && Number.isFinite(value.getTime())) return value.toISOString();
  throw urlValueError(name, value);
}

/** Creates the error for a parameter that a URL cannot hold at its place. */
export function urlValueError(name: string, value: unknown): ValidationError {
  return invalidValue(name, "text, a number, a valid date or a flat list of these", value);
}
