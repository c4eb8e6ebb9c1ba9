import {
  BACKSLASH,
  CLOSE_LIST,
  CLOSE_OBJECT,
  COMMA,
  OPEN_LIST,
  OPEN_OBJECT,
  passColon,
  passSpace,
  QUOTE,
} from "./json_bytes.ts";

/**
 * Maximum number of lists and objects beside the rows. More of them may be nested deeper than the
 * general path accepts, so that it has to read the page.
 */
const MAX_NESTED = 1_000;

const VALUE = new TextEncoder().encode('"value"');

/**
 * Where the rows of a page begin: the place after the bracket that opens the list under `value`.
 *
 * @returns The place; -1 where there is no such list in an object
 */
export function findRows(page: Uint8Array): number {
  let depth = 0;
  for (let at = 0; at < page.length; at++) {
    const byte = page[at];
    if (byte === OPEN_OBJECT || byte === OPEN_LIST) depth++;
    else if (byte === CLOSE_OBJECT || byte === CLOSE_LIST) depth--;
    else if (byte === QUOTE) {
      const start = at;
      for (at++; page[at] !== QUOTE && at < page.length; at++) if (page[at] === BACKSLASH) at++;
      if (depth !== 1 || !VALUE.every((wanted, index) => page[start + index] === wanted)) continue;
      const value = passColon(page, at + 1);
      if (value >= 0) return page[value] === OPEN_LIST ? value + 1 : -1;
    }
  }
  return -1;
}

/**
 * Passes over the rows of a page, each by the function given.
 *
 * @param start The place after the bracket that opens their list
 * @param passRow Gives the place after the row that begins there, or -1
 * @returns The place of the bracket that closes it; -1 where a row cannot be passed, or the list is none
 */
export function passRows(
  page: Uint8Array,
  start: number,
  passRow: (at: number) => number,
): number {
  let at = passSpace(page, start);
  if (page[at] === CLOSE_LIST) return at;
  for (;;) {
    const end = passRow(at);
    if (end < 0) return -1;
    at = passSpace(page, end);
    if (page[at] === CLOSE_LIST) return at;
    if (page[at] !== COMMA) return -1;
    at = passSpace(page, at + 1);
  }
}

/**
 * What a page holds beside its rows.
 *
 * @param start The place after the bracket that opens their list
 * @param end The place of the bracket that closes it
 * @returns The members; undefined where they are no JSON, name their rows twice, or hold more than
 *   `MAX_NESTED` lists and objects
 */
export function readEnvelope(
  page: Uint8Array,
  start: number,
  end: number,
): Record<string, unknown> | undefined {
  try {
    const before = new TextDecoder("utf-8", { fatal: true }).decode(page.subarray(0, start - 1));
    // A byte order mark can begin a page, and nothing else.
    const strict = new TextDecoder("utf-8", { fatal: true, ignoreBOM: true });
    const after = strict.decode(page.subarray(end + 1));
    if (`${before}${after}`.split(/[[{]/, MAX_NESTED + 2).length > MAX_NESTED + 1) return undefined;
    // No text in the envelope is as long as the envelope: a `value` that equals this one is the rows.
    const rows = " ".repeat(before.length + after.length);
    const { value, ...rest } = JSON.parse(`${before}${JSON.stringify(rows)}${after}`);
    return value === rows ? rest : undefined;
  } catch {
    return undefined;
  }
}
