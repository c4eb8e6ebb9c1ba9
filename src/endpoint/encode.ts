import { BoundedCache } from "./bounded_cache.ts";

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
