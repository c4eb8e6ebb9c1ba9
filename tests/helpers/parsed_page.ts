import {
  type CompleteIds,
  completeIds,
  ID_FIELD,
  NO_ROW_LIST,
  PageFault,
  RowIdList,
} from "../../src/formats/page_writer.ts";
import {
  membersOf,
  parseRawJson,
  type RawJson,
  type RawRow,
  rowIdOf,
  stringifyRaw,
  tooLarge,
} from "../../src/formats/raw_json.ts";

/** A page as parsed rows. */
export interface ParsedPage {
  rows: RawRow[];
  /** Ids of the rows; `undefined` if a row has no Id. */
  ids: CompleteIds | undefined;
  /** Members of the page other than its rows. */
  envelope: Record<string, unknown>;
}

/**
 * Parses a whole page with `JSON.parse()`: the reference for the transcoders, which scan its bytes.
 *
 * @throws {PageFault} If the bytes are not a page
 */
export function parsePage(page: Uint8Array): ParsedPage {
  let json: RawJson;
  try {
    json = parseRawJson(new TextDecoder("utf-8", { fatal: true }).decode(page));
  } catch (error) {
    if (error instanceof RangeError) throw tooLarge();
    throw new PageFault("broken JSON");
  }
  const members = membersOf(json);
  const value = members.get("value");
  const isRow = (item: RawJson) =>
    typeof item === "object" && item !== null && !Array.isArray(item) && !("n" in item);
  if (!Array.isArray(value) || !value.every(isRow)) throw new PageFault(NO_ROW_LIST);
  members.delete("value");
  const rows = value.map(membersOf);
  const envelope = [...members].map(([name, member]) => [name, JSON.parse(stringifyRaw(member))]);
  const list = new RowIdList();
  for (const row of rows) list.push(rowIdOf(row.get(ID_FIELD)));
  return { rows, ids: completeIds(list.ids), envelope: Object.fromEntries(envelope) };
}
