// Compares delivered rows with the rows that the sandbox has.
import type { RowEncoder } from "./encode_row.ts";
import type { FaultyService } from "./faulty_service.ts";
import { partsOf, toleranceOf } from "./justified.ts";
import type { Plan } from "./plan.ts";

/** Whether the result may come part by part: by location, by year, or split on the way. */
export function isSplit(plan: Plan, { exchanges }: FaultyService): boolean {
  const { partition, within } = plan;
  return partition === "location" || partition === "year" || within !== undefined ||
    partsOf(plan, exchanges).length > 1;
}

/** Whether rows of a page came in another order, by a fault. */
function isShuffled({ faults }: FaultyService): boolean {
  return faults.some(({ kind, applied }) => kind.name === "rows in another order" && applied > 0);
}

/** Whether delivered rows are the whole result: all rows, or as many as the limit. */
export function isWhole(
  plan: Plan,
  service: FaultyService,
  { sent }: RowEncoder,
  delivered: readonly string[],
): boolean {
  const { matching, dated, partition, skipToken, limit = Infinity } = plan;
  const rows = partition === "year" ? dated : matching;
  if (delivered.length !== Math.min(limit, rows.length)) return false;
  // Counts disregard positions: after one, rows without a date are not noticed.
  if (partition === "year" && limit > dated.length && skipToken === undefined) {
    const short = Math.min(limit, matching.length) - dated.length;
    if (short > toleranceOf(matching.length)) return false;
  }
  const all = rows.map(sent);
  return isSplit(plan, service) && limit < rows.length
    ? isSubset(delivered, all)
    : isSame(plan, service, delivered, all.slice(0, delivered.length));
}

/** Whether delivered rows are the first ones of the result; of a split result, any of it. */
export function isFirstRows(
  plan: Plan,
  service: FaultyService,
  { sent }: RowEncoder,
  delivered: readonly string[],
): boolean {
  const all = plan.matching.map(sent);
  return isSplit(plan, service)
    ? isSubset(delivered, all)
    : isSame(plan, service, delivered, all.slice(0, delivered.length));
}

/** Whether two lists hold the same rows, in the same order where an order is known. */
function isSame(
  plan: Plan,
  service: FaultyService,
  delivered: readonly string[],
  wanted: readonly string[],
): boolean {
  return isSplit(plan, service) || isShuffled(service)
    ? areEqual(delivered.toSorted(), wanted.toSorted())
    : areEqual(delivered, wanted);
}

/** Whether each text of the first list is in the second one, as often at least. */
function isSubset(some: readonly string[], all: readonly string[]): boolean {
  const left = new Map<string, number>();
  for (const text of all) left.set(text, (left.get(text) ?? 0) + 1);
  return some.every((text) => {
    const number = left.get(text) ?? 0;
    left.set(text, number - 1);
    return number > 0;
  });
}

/** Whether two lists hold the same texts in the same order. */
export function areEqual(some: readonly string[], others: readonly string[]): boolean {
  return some.length === others.length && some.every((text, index) => text === others[index]);
}
