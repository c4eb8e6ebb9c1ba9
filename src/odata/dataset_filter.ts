import type { Clause } from "./clause.ts";
import { parseFilter } from "./parse_filter.ts";
import { requireFilterFields } from "./query_options.ts";

/**
 * Names in filters that are properties of a dataset. For all other names, `ne` of Metadata may mean "has
 * no such row" instead of "has a row that differs".
 */
const DATASET_NAMES = ["DOI", "DatasetName", "CreateTimestamp"];

/**
 * Converts a filter of rows to the clauses of Metadata for the datasets that have a matching row.
 *
 * @throws {ValidationError} If Metadata does not accept the filter
 */
export function datasetClauses(filter: string): Clause[] {
  const clauses = parseFilter(filter);
  requireFilterFields("Metadata", filter, clauses, false);
  return omitRowExclusions(clauses);
}

/** Omits the clauses with `ne` on a property of rows, so that no dataset with a matching row is missing. */
export function omitRowExclusions(clauses: readonly Clause[]): Clause[] {
  return clauses.filter(({ field, operator }) =>
    operator !== "ne" || DATASET_NAMES.includes(field)
  );
}
