import { setOwn } from "./copy.ts";
import type { HeaderFields } from "./types.ts";

/**
 * Lays header fields over defaults: names are lower-cased before, so that a caller's `Accept`
 * replaces `accept`; undefined removes a field.
 */
export function mergeHeaders(
  defaults: Record<string, string>,
  given: HeaderFields | undefined,
): Record<string, string> {
  const headers = { ...defaults };
  if (!given) return headers;
  for (const name of Object.keys(given)) {
    const value = given[name];
    if (value === undefined || value === null) delete headers[name.toLowerCase()];
    else setOwn(headers, name.toLowerCase(), String(value));
  }
  return headers;
}
