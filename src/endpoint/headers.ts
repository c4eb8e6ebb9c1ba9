import { setOwn } from "./copy.ts";
import type { HeaderFields, HeaderPairs } from "./types.ts";

/**
 * Merges header fields into defaults. Names are lower-cased first, so that `Accept` replaces
 * `accept`; a field that is undefined removes the default.
 *
 * @param defaults The fields to start from, names in lower case
 * @param given Fields by name, or pairs of name and value, as a `Headers` object yields them; the
 *   values of a repeated pair are joined with a comma (RFC 9110, section 5.2)
 * @throws {TypeError} If the fields are iterable but not pairs; the message shows no value, because
 *   it may be a key
 */
export function mergeHeaders(
  defaults: Record<string, string>,
  given: HeaderFields | HeaderPairs | undefined,
): Record<string, string> {
  const headers = { ...defaults };
  if (!given) return headers;
  const fields = isIterable(given) ? joinPairs(given) : given;
  for (const name of Object.keys(fields)) {
    const value = fields[name];
    if (value === undefined || value === null) delete headers[name.toLowerCase()];
    else setOwn(headers, name.toLowerCase(), String(value));
  }
  return headers;
}

function isIterable(fields: HeaderFields | HeaderPairs): fields is HeaderPairs {
  return Symbol.iterator in Object(fields);
}

/** Joins the values of each name with a comma (RFC 9110, section 5.2). */
function joinPairs(pairs: HeaderPairs): HeaderFields {
  const fields = new Map<string, string | number | undefined>();
  for (const pair of pairs) {
    if (!Array.isArray(pair) || pair.length !== 2) {
      throw new TypeError(
        "Cannot read the headers: wanted an object, Headers or pairs of name and value",
      );
    }
    const name = String(pair[0]).toLowerCase();
    const value = pair[1] ?? undefined;
    const before = fields.get(name);
    const isFirst = before === undefined || value === undefined;
    fields.set(name, isFirst ? value : `${before}, ${value}`);
  }
  return Object.fromEntries(fields);
}
