import {
  COMMA,
  findRows,
  OPEN_OBJECT,
  passRows,
  passSpace,
  passString,
  QUOTE,
  readEnvelope,
} from "./json_scanner.ts";
import { cutOff, type RowId, type WrittenPage } from "./page_writer.ts";
import { readSourcePage, rowToJson } from "./raw_json.ts";
import {
  allIds,
  AS_IT_IS,
  type Cells,
  EMPTY,
  ID,
  NESTED,
  readRowId,
  RowReader,
  startOfMember,
} from "./row_reader.ts";

/**
 * The rows of a page one after the other, each as its bytes came but for the white space between
 * its tokens.
 *
 * @param between The byte after each row
 * @param hidesId Whether `Id` is left out of each row
 * @throws {PageFault} If the bytes are no page
 */
export function compactRows(
  page: Uint8Array,
  between: number,
  hidesId = false,
): WrittenPage {
  return compactBytes(page, between, hidesId) ?? compactAny(page, between, hidesId);
}

/** The way from bytes to bytes; undefined where only the general way can tell. */
function compactBytes(
  page: Uint8Array,
  between: number,
  hidesId: boolean,
): WrittenPage | undefined {
  const start = findRows(page);
  if (start < 0) return undefined;
  const out = new Uint8Array(page.length + 1);
  const reader = new RowReader(page, COMMA, [ID]);
  const ids: (RowId | undefined)[] = [];
  const offsets: number[] = [];
  let to = 0;
  const close = passRows(page, start, (at) => {
    const end = reader.read(at, false);
    if (end < 0) return end;
    ids.push(readRowId(page, reader.cells, 0));
    offsets.push(at);
    const [from, after] = hidesId ? spanOfId(page, reader.cells) : [end, end];
    if (from < 0) return -1;
    to = copyTokens(page, at, from, out, to);
    to = copyTokens(page, after, end, out, to);
    out[to++] = between;
    return end;
  });
  const envelope = close < 0 ? undefined : readEnvelope(page, start, close);
  if (envelope === undefined) return undefined;
  const bytes = cutOff(out, to);
  return { bytes, rows: ids.length, ids: allIds(ids), offsets, envelope };
}

/** Where the Id of a row and one comma beside it stand; -1 if it is neither a number nor a text. */
function spanOfId(page: Uint8Array, { starts, ends, needs }: Cells): [from: number, to: number] {
  if (needs[0] === EMPTY || needs[0] === NESTED) return [-1, -1];
  const quote = needs[0] === AS_IT_IS ? 0 : 1;
  const name = startOfMember(page, starts[0]! - quote);
  const end = ends[0]! + quote;
  const after = passSpace(page, end);
  if (page[after] === COMMA) return [name, after + 1];
  let before = name - 1;
  while (page[before] !== COMMA && page[before] !== OPEN_OBJECT) before--;
  return [page[before] === COMMA ? before : name, end];
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
function compactAny(
  page: Uint8Array,
  between: number,
  hidesId: boolean,
): WrittenPage {
  const { rows, ids, envelope } = readSourcePage(page);
  if (hidesId) { for (const row of rows) row.delete(ID); }
  const mark = String.fromCharCode(between);
  const bytes = new TextEncoder().encode(rows.map((row) => rowToJson(row) + mark).join(""));
  return { bytes, rows: rows.length, ids, envelope };
}
