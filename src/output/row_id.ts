import { QUOTE } from "./json_bytes.ts";
import type { RowId } from "./page_writer.ts";
import { AS_IT_IS, type Cells, EMPTY, NESTED } from "./row_reader.ts";

/** The field that identifies a row, by which its position in a result is known. */
export const ID = "Id";

/** Longest run of digits that is always a safe integer. */
const MOST_DIGITS = 15;

/**
 * Reads the Id of a row: a safe integer as a number, also where it came as a text of digits; any
 * other text as it is.
 *
 * @returns The Id; undefined for any other value
 */
export function toRowId(value: unknown): RowId | undefined {
  if (typeof value === "number") return Number.isSafeInteger(value) ? value : undefined;
  if (typeof value !== "string" || value === "") return undefined;
  return /^\d{1,15}$/.test(value) ? Number(value) : value;
}

/** Returns the Ids of all rows; undefined if one has none. */
export function allIds(ids: readonly (RowId | undefined)[]): readonly RowId[] | undefined {
  return ids.every((id) => id !== undefined) ? ids : undefined;
}

const decoder = new TextDecoder();

/** Reads the Id of a row in bytes, as `toRowId` reads that of an object. */
export function readRowId(
  page: Uint8Array,
  { starts, ends, needs }: Cells,
  column: number,
): RowId | undefined {
  const need = needs[column];
  if (need === EMPTY || need === NESTED) return undefined;
  const start = starts[column]!;
  const end = ends[column]!;
  let id = 0;
  let at = start;
  for (; at < end && at - start < MOST_DIGITS; at++) {
    const digit = page[at]! - 0x30;
    if (digit < 0 || digit > 9) break;
    id = 10 * id + digit;
  }
  if (at === end) return id;
  const json = need === AS_IT_IS ? page.subarray(start, end) : page.subarray(start - 1, end + 1);
  return toRowId(JSON.parse(decoder.decode(json)));
}

/**
 * Returns where the member of a row begins whose value begins at `value`: at its name.
 *
 * @param page Well-formed JSON
 */
export function startOfMember(page: Uint8Array, value: number): number {
  let at = value - 1;
  while (page[at] !== QUOTE) at--;
  do at--; while (page[at] !== QUOTE);
  return at;
}
