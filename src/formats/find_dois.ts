import { utf8Decoder } from "../bytes.ts";
import { BACKSLASH, QUOTE, skipColon, skipString, startsWith } from "./json_scanner.ts";
import type { WrittenPage } from "./page_writer.ts";

/**
 * Finds the distinct DOIs of the rows of a page, in order of appearance.
 *
 * Repeated DOIs are recognized by their hash and their bytes, so that most rows create no string.
 *
 * @param page Bytes of a page that a `PageWriter` has written, so it is well-formed JSON
 * @param written Result of `PageWriter.write` for the page
 */
export function findDois(
  page: Uint8Array,
  { rows, offsets }: Pick<WrittenPage, "rows" | "offsets">,
): string[] {
  const dois = new Set<string>();
  /** The last DOI with each hash, as JSON bytes with quotes. */
  const known = new Map<number, Uint8Array>();
  let at = 0;
  for (let row = 0; row < rows; row++) {
    // Without offsets, the search continues after the DOI that was found last.
    at = findDoi(page, offsets?.[row] ?? at, offsets?.[row + 1]);
    if (at < 0 && offsets === undefined) break;
    if (page[at] !== QUOTE) continue; // the value is null, or the row has no DOI
    const start = at;
    let hash = 0;
    for (at++; page[at] !== QUOTE && page[at] !== BACKSLASH; at++) {
      hash = Math.imul(hash, 31) + page[at]! | 0;
    }
    const same = known.get(hash);
    if (same !== undefined && startsWith(page, start, same)) continue;
    at = skipString(page, start);
    const json = page.subarray(start, at);
    known.set(hash, json);
    dois.add(JSON.parse(utf8Decoder.decode(json)));
  }
  return [...dois];
}

const D = 0x44;
const O = 0x4f;
const I = 0x49;

/**
 * Returns the offset of the value of the next member `"DOI"`, or -1. A match cannot be part of a longer
 * string, because there the quotes would be escaped.
 */
function findDoi(page: Uint8Array, start: number, end = page.length): number {
  for (let at = start; at < end; at++) {
    // The letter O is compared first, because it is less frequent than quotes.
    if (
      page[at] === O && page[at - 1] === D && page[at + 1] === I && page[at - 2] === QUOTE &&
      page[at + 2] === QUOTE
    ) {
      const value = skipColon(page, at + 3);
      if (value >= 0) return value;
    }
  }
  return -1;
}
