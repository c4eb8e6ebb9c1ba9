/** What `encodeURIComponent` leaves as it is, and RFC 3986 does not count as unreserved. */
const LEFT: [character: string, all: RegExp, encoded: string][] = [
  ["'", /'/g, "%27"],
  ["(", /\(/g, "%28"],
  [")", /\)/g, "%29"],
  ["*", /\*/g, "%2A"],
  ["!", /!/g, "%21"],
];

/** Percent-encodes everything but the unreserved characters (RFC 3986, section 2.3). */
export function encode(text: string): string {
  if (/^[\w.~-]*$/.test(text)) return text;
  let encoded = encodeURIComponent(text);
  for (const [character, all, code] of LEFT) {
    if (encoded.includes(character)) encoded = encoded.replace(all, code);
  }
  return encoded;
}
