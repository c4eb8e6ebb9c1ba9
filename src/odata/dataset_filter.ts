import { toBoxClauses } from "./bounding_box.ts";
import { type Clause, formatClauses } from "./clause.ts";
import { checkQuery, clausesOf, type QueryOptions } from "./query_options.ts";
import { RESOURCES } from "./resources.ts";

type RowFilter = Pick<QueryOptions, "filter" | "within">;

/** Clauses with `ne` on a property of rows are left out, so that no dataset is missing. */
export function datasetClauses({ filter, within }: RowFilter): Clause[] {
  const options = { canBeUnchecked: false };
  return omitRowExclusions(checkQuery("Metadata", { filter, within }, options).clauses);
}

/** Returns `undefined` for all datasets. */
export function toMetadataFilter(query: RowFilter): string | undefined {
  return formatClauses(datasetClauses(query)) || undefined;
}

/** Leaves out clauses that Metadata does not support: matches more datasets, never fewer. */
export function toWiderMetadataFilter({ filter, within }: RowFilter): string | undefined {
  const names: readonly string[] = RESOURCES.Metadata.filters;
  const clauses = [...clausesOf(filter), ...(within ? toBoxClauses(within, "within") : [])];
  const supported = clauses.filter(({ field }) => names.includes(field));
  return formatClauses(omitRowExclusions(supported)) || undefined;
}

/** For other names, `ne` may mean "has no such row" instead of "has a row that differs". */
const DATASET_NAMES = ["DOI", "DatasetName", "CreateTimestamp"];

function omitRowExclusions(clauses: readonly Clause[]): Clause[] {
  return clauses.filter(({ field, operator }) =>
    operator !== "ne" || DATASET_NAMES.includes(field)
  );
}
