import type { RowEncoder } from "./encode_row.ts";
import type { Exchange, FaultyService } from "./faulty_service.ts";
import type { Plan } from "./plan.ts";

/** Whether the client may deliver the rows in shards, which changes their order. */
export function isSplit(plan: Plan, { exchanges }: FaultyService): boolean {
  const filters = new Set(pagesOf(plan, exchanges).map(({ request }) => request.filter));
  return plan.within !== undefined || filters.size > 1;
}

/** Returns the exchanges for pages of the query, as opposed to counts and lists of locations. */
export function pagesOf({ resource }: Plan, exchanges: readonly Exchange[]): Exchange[] {
  return exchanges.filter(({ request }) => !request.isCount && request.resource === resource);
}

/** Whether a fault changed the order of rows. */
export function isShuffled({ faults }: FaultyService): boolean {
  return faults.some(({ kind, applied }) => kind.breaksOrder && applied > 0);
}

/** Whether delivered rows are the complete result: all rows, or as many as the limit. */
export function isCompleteResult(
  plan: Plan,
  service: FaultyService,
  encoder: RowEncoder,
  delivered: readonly string[],
): boolean {
  const { matching, limit = Infinity } = plan;
  const isComplete = delivered.length === Math.min(limit, matching.length);
  return isComplete && isFirstRows(plan, service, encoder, delivered);
}

/** Whether delivered rows are the first ones of the result, or any ones of a split result. */
export function isFirstRows(
  plan: Plan,
  service: FaultyService,
  { sent }: RowEncoder,
  delivered: readonly string[],
): boolean {
  const all = plan.matching.map(sent);
  if (isSplit(plan, service)) return isSubset(delivered, all);
  const first = all.slice(0, delivered.length);
  return isShuffled(service) ? isSubset(delivered, first) : areEqual(delivered, first);
}

/** Whether delivered rows are some of the result, each once, and in its order if the order is defined. */
export function areSomeRows(
  plan: Plan,
  service: FaultyService,
  { sent }: RowEncoder,
  delivered: readonly string[],
): boolean {
  const all = plan.matching.map(sent);
  if (isSplit(plan, service) || isShuffled(service)) return isSubset(delivered, all);
  let next = 0;
  return delivered.every((row) => {
    next = all.indexOf(row, next) + 1;
    return next > 0;
  });
}

/** Whether each text occurs in the second list at least as often as in the first one. */
function isSubset(some: readonly string[], all: readonly string[]): boolean {
  const left = new Map<string, number>();
  for (const text of all) left.set(text, (left.get(text) ?? 0) + 1);
  return some.every((text) => {
    const number = left.get(text) ?? 0;
    left.set(text, number - 1);
    return number > 0;
  });
}

/** Whether two lists have the same texts in the same order. */
export function areEqual(some: readonly string[], others: readonly string[]): boolean {
  return some.length === others.length && some.every((text, index) => text === others[index]);
}
