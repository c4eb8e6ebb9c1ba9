import type { RowId } from "../output/page_writer.ts";
import { numberOf } from "./next_link.ts";

/** The rows of a page, as far as the checks of a page need them. */
export interface ReceivedRows {
  /** Number of rows on the page. */
  rows: number;
  /** Their Ids; undefined if a row has none. */
  ids: readonly RowId[] | undefined;
}

/** What a page was requested with. */
export interface PageRequest {
  /** Maximum number of rows. */
  top: number;
  /** Skip token after which the page begins; undefined is the start. */
  position: string | undefined;
  /** Ids of earlier pages, as far as they are not integers. */
  seenIds: ReadonlySet<string>;
}

/**
 * Finds what is wrong with the rows of a page: more rows than were requested, rows at or before the
 * position, or a row twice. The rows of a page may come in any order.
 *
 * @returns What came, for an error message; undefined if nothing is wrong
 */
export function findRowFault(
  { rows, ids }: ReceivedRows,
  { top, position, seenIds }: PageRequest,
): string | undefined {
  if (rows > top) return `${rows} rows instead of at most ${top}`;
  if (ids === undefined) return undefined;
  if (!areIntegers(ids)) {
    const onPage = new Set<string>();
    const repeated = ids.map(String).find((id) =>
      seenIds.has(id) || onPage.size === onPage.add(id).size
    );
    return repeated === undefined ? undefined : `the row with Id ${repeated} again`;
  }
  const after = Number(numberOf(position) ?? -Infinity);
  const early = ids.find((id) => id <= after);
  if (early !== undefined) {
    return `the row with Id ${early} after the position ${position}`;
  }
  const sorted = isRising(ids) ? ids : ids.toSorted((a, b) => a - b);
  const repeated = sorted.find((id, index) => id === sorted[index + 1]);
  return repeated === undefined ? undefined : `the row with Id ${repeated} twice`;
}

/**
 * Returns the position after a page: its greatest Id, or its last one where Ids have no order;
 * undefined where a row has no Id.
 *
 * @param position The position that the page was requested with, which a page without rows keeps
 */
export function positionAfter(
  ids: readonly RowId[] | undefined,
  position: string | undefined,
): string | undefined {
  if (ids === undefined) return undefined;
  if (ids.length === 0) return position;
  const last = areIntegers(ids) ? ids.reduce((a, b) => Math.max(a, b)) : ids.at(-1);
  return `Id:${last}`;
}

/** Whether all Ids are integers, whose order is that of the rows. */
export function areIntegers(ids: readonly RowId[]): ids is readonly number[] {
  return ids.every((id) => typeof id === "number");
}

function isRising(ids: readonly number[]): boolean {
  return ids.every((id, index) => index === 0 || ids[index - 1]! < id);
}
