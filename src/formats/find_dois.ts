import { BACKSLASH, QUOTE, skipColon, skipString, startsWith } from "./json_scanner.ts";
import type { WrittenPage } from "./page_writer.ts";

/**
 * Finds the DOIs of the rows of a page, each once, in order of appearance.
 *
 * Repeated DOIs are found by their hash and compared as bytes, so that most rows create no string.
 *
 * @param page Bytes of a page that was written, and is therefore well-formed
 * @param written The result of writing it
 */
export function findDois(
  page: Uint8Array,
  { rows, offsets }: Pick<WrittenPage, "rows" | "offsets">,
): string[] {
  const decoder = new TextDecoder();
  const dois = new Set<string>();
  /** The last DOI of each hash, as JSON in bytes. */
  const known = new Map<number, Uint8Array>();
  let at = 0;
  for (let row = 0; row < rows; row++) {
    // Without offsets, the next DOI of the page is that of the next row which has one.
    at = findDoi(page, offsets?.[row] ?? at, offsets?.[row + 1]);
    if (at < 0 && offsets === undefined) break;
    if (page[at] !== QUOTE) continue; // null, or no DOI
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
    dois.add(JSON.parse(decoder.decode(json)));
  }
  return [...dois];
}

const D = 0x44;
const O = 0x4f;
const I = 0x49;

/**
 * Returns the offset of the next value of a member `"DOI"`, or -1. Inside a string of well-formed JSON,
 * the quotes around such a name would be escaped.
 */
function findDoi(page: Uint8Array, start: number, end = page.length): number {
  for (let at = start; at < end; at++) {
    // The letter first, because quotes are frequent.
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
