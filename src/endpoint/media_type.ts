/**
 * A vendor type of JSON with two or more segments, as a member of a list. A type of one segment,
 * such as `application/vnd.geo+json`, has no formats.
 */
const VENDOR_TYPE = /((?:^|,)\s*application\/vnd(?:\.[\w-]+){2,})\+json(?=\s*(?:[;,]|$))/gi;

/**
 * Replaces the `+json` of vendor types in an `accept` header by a format:
 * `application/vnd.datastream.v3+json` with `raw` becomes `application/vnd.datastream.v3.raw`.
 * Other members of the list are returned unchanged.
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
