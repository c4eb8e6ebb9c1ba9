// The filter of Metadata for the datasets that have a row which matches a query.
import { toBoxClauses } from "./bounding_box.ts";
import { type Clause, formatClauses } from "./clause.ts";
import { checkQuery, clausesOf, type QueryOptions } from "./query_options.ts";
import { RESOURCES } from "./resources.ts";

/** The options of a query on which its datasets depend. */
type RowFilter = Pick<QueryOptions, "filter" | "within">;

/**
 * Converts the filter and the bounding box of a query to the clauses of Metadata for the datasets that have
 * a matching row.
 *
 * Clauses with `ne` on a property of rows are left out, so that no dataset is missing.
 *
 * @throws {ValidationError} If the box is invalid, or Metadata does not accept the filter
 */
export function datasetClauses({ filter, within }: RowFilter): Clause[] {
  const options = { canBeUnchecked: false };
  return omitRowExclusions(checkQuery("Metadata", { filter, within }, options).clauses!);
}

/**
 * Returns the clauses of {@linkcode datasetClauses} as a filter; `undefined` for all datasets.
 *
 * @throws {ValidationError} If the box is invalid, or Metadata does not accept the filter
 */
export function toMetadataFilter(query: RowFilter): string | undefined {
  return formatClauses(datasetClauses(query)) || undefined;
}

/**
 * Does the same as {@linkcode toMetadataFilter}, but leaves out the clauses that Metadata cannot be
 * filtered by. The result can match more datasets than the query, never fewer.
 *
 * @throws {ValidationError} If the box is invalid
 */
export function toWiderMetadataFilter({ filter, within }: RowFilter): string | undefined {
  const names: readonly string[] = RESOURCES.Metadata.filters;
  const clauses = [...clausesOf(filter), ...(within ? toBoxClauses(within, "within") : [])];
  const supported = clauses.filter(({ field }) => names.includes(field));
  return formatClauses(omitRowExclusions(supported)) || undefined;
}

/**
 * Names in filters that are properties of a dataset. For all other names, `ne` of Metadata may mean "has
 * no such row" instead of "has a row that differs".
 */
const DATASET_NAMES = ["DOI", "DatasetName", "CreateTimestamp"];

function omitRowExclusions(clauses: readonly Clause[]): Clause[] {
  return clauses.filter(({ field, operator }) =>
    operator !== "ne" || DATASET_NAMES.includes(field)
  );
}
