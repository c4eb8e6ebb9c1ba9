import { findRows, passRows, readEnvelope } from "./envelope.ts";
import { OPEN_OBJECT, passSpace, passString, passValue, QUOTE } from "./json_bytes.ts";
import { readSourcePage, rowToJson } from "./json_source.ts";
import { cutOff } from "./let_go.ts";
import type { WrittenPage } from "./page_writer.ts";

/**
 * The rows of a page one after the other, each as its bytes came but for the white space between
 * its tokens.
 *
 * @param most The most rows to take
 * @param between The byte after each row
 * @throws {PageFault} If the bytes are no page
 */
export function compactRows(page: Uint8Array, most: number, between: number): WrittenPage {
  return compactBytes(page, most, between) ?? compactAny(page, most, between);
}

/** The way from bytes to bytes; undefined where only the general way can tell. */
function compactBytes(page: Uint8Array, most: number, between: number): WrittenPage | undefined {
  const start = findRows(page);
  if (start < 0) return undefined;
  const out = new Uint8Array(page.length + 1);
  const offsets: number[] = [];
  let to = 0;
  const close = passRows(page, start, (at) => {
    const end = page[at] === OPEN_OBJECT ? passValue(page, at) : -1;
    if (end >= 0 && offsets.length < most) {
      to = copyTokens(page, at, end, out, to);
      out[to++] = between;
      offsets.push(at);
    }
    return end;
  });
  const envelope = close < 0 ? undefined : readEnvelope(page, start, close);
  return envelope && { bytes: cutOff(out, to), rows: offsets.length, offsets, envelope };
}

/** Copies well-formed JSON without the white space between its tokens. */
function copyTokens(
  page: Uint8Array,
  at: number,
  end: number,
  out: Uint8Array,
  to: number,
): number {
  for (at = passSpace(page, at); at < end; at = passSpace(page, at)) {
    const next = page[at] === QUOTE ? passString(page, at) : at + 1;
    while (at < next) out[to++] = page[at++]!;
  }
  return to;
}

/** The general way, for any page. */
function compactAny(page: Uint8Array, most: number, between: number): WrittenPage {
  const { rows, envelope } = readSourcePage(page);
  const taken = rows.slice(0, most);
  const mark = String.fromCharCode(between);
  const bytes = new TextEncoder().encode(taken.map((row) => rowToJson(row) + mark).join(""));
  return { bytes, rows: taken.length, envelope };
}
