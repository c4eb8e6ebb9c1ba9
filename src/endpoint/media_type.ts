/** A versioned vendor type of JSON, a member of a list by itself. */
const VENDOR_TYPE = /((?:^|,)\s*application\/vnd\.[\w.-]+\.v\d+)\+json(?=\s*(?:[;,]|$))/gi;

/**
 * Amends an `accept` header by a format: `application/vnd.datastream.v3+json` with `raw` becomes
 * `application/vnd.datastream.v3.raw`. Each member of the list by itself; other types stay.
 *
 * @throws {TypeError} If the format could not stand in a media type
 */
export function withFormat(accept: string, format: string): string {
  if (!/^[\w.+-]+$/.test(format)) {
    throw new TypeError(
      `Cannot amend accept: wanted a mediaType.format such as "raw" or "text+json", got "${format}"`,
    );
  }
  return accept.replace(VENDOR_TYPE, `$1.${format}`);
}
