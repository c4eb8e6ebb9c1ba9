import { parseFilter, requireFilterFields } from "./parse_filter.ts";
import { formatClauses } from "./clause.ts";

/**
 * Names in filters that are properties of a dataset. For all other names, `ne` of Metadata may mean "has
 * no such row" instead of "has a row that differs".
 */
const DATASET_NAMES = ["DOI", "DatasetName", "CreateTimestamp"];

/**
 * Converts a filter of rows to the filter of Metadata for the datasets that have a matching row.
 *
 * Clauses with `ne` on a property of rows are left out, so that no dataset is missing.
 *
 * @returns The filter; `undefined` for all datasets
 * @throws {ValidationError} If Metadata does not accept the filter
 */
export function toMetadataFilter(filter: string): string | undefined {
  const parsed = parseFilter(filter);
  requireFilterFields("Metadata", filter, parsed, false);
  const clauses = parsed.filter(({ field, operator }) =>
    operator !== "ne" || DATASET_NAMES.includes(field)
  );
  return clauses.length === 0 ? undefined : formatClauses(clauses);
}
