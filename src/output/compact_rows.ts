import { findRows } from "./envelope.ts";
import {
  BACKSLASH,
  CLOSE_LIST,
  CLOSE_OBJECT,
  OPEN_LIST,
  OPEN_OBJECT,
  passSpace,
  QUOTE,
} from "./json_bytes.ts";
import { PageFault, type WrittenPage } from "./page_writer.ts";

/**
 * The rows of a page one after the other, each as its bytes came but for the white space between
 * its tokens.
 *
 * @param most The most rows to take
 * @param between The byte after each row
 * @throws {PageFault} If the bytes are no page
 */
export function compactRows(page: Uint8Array, most: number, between: number): WrittenPage {
  const { value, ...envelope } = parsePage(page);
  const out = new Uint8Array(page.length + 1);
  let rows = 0;
  let to = 0;
  let depth = 0;
  let found = 0;
  const start = findRows(page);
  for (let at = passSpace(page, start); !(depth === 0 && page[at] === CLOSE_LIST);) {
    const byte = page[at]!;
    const end = byte === QUOTE ? closingQuote(page, at) + 1 : at + 1;
    if (byte === OPEN_OBJECT || byte === OPEN_LIST) depth++;
    if (byte === CLOSE_OBJECT || byte === CLOSE_LIST) depth--;
    const isRow = depth > 0 || byte === CLOSE_OBJECT;
    if (isRow && rows < most) {
      while (at < end) out[to++] = page[at++]!;
    }
    if (isRow && depth === 0) {
      found++;
      if (rows < most) {
        out[to++] = between;
        rows++;
      }
    }
    at = passSpace(page, end);
  }
  if (found !== value.length) throw new PageFault('two members named "value"');
  return { bytes: out.slice(0, to), rows, envelope };
}

/** The page as JSON that holds a list of rows. */
function parsePage(page: Uint8Array): { value: unknown[] } & Record<string, unknown> {
  let body: unknown;
  try {
    body = JSON.parse(new TextDecoder("utf-8", { fatal: true }).decode(page));
  } catch {
    throw new PageFault("broken JSON");
  }
  const isObject = (item: unknown): item is Record<string, unknown> =>
    typeof item === "object" && item !== null && !Array.isArray(item);
  if (!isObject(body) || !Array.isArray(body.value) || !body.value.every(isObject)) {
    throw new PageFault('no list of rows under "value"');
  }
  return body as { value: unknown[] };
}

function closingQuote(page: Uint8Array, at: number): number {
  for (at++; page[at] !== QUOTE; at++) if (page[at] === BACKSLASH) at++;
  return at;
}
