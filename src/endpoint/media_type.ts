/** A versioned vendor type of JSON, with the parameters after it. */
const VENDOR_TYPE = /^(application\/vnd\.[\w.-]+\.v\d+)\+json(\s*(?:;.*)?)$/i;

/**
 * Amends an `accept` header by a format: `application/vnd.datastream.v3+json` with `raw` becomes
 * `application/vnd.datastream.v3.raw`. Each member of the list by itself; other types stay.
 */
export function withFormat(accept: string, format: string): string {
  return accept
    .split(",")
    .map((member) =>
      member.trim().replace(VENDOR_TYPE, (_, type, rest) => `${type}.${format}${rest}`)
    )
    .join(", ");
}
