import { parseFilter, type PlacedClause } from "./parse_filter.ts";
import { type ResourceName, RESOURCES } from "./resources.ts";
import { filterHint } from "./unknown_name.ts";

/**
 * Returns the clauses of a filter that a resource can be filtered by.
 *
 * @param filter The filter as the service takes it, not encoded
 * @param canSkipCheck Whether the caller can pass `unchecked`, so that the message says so
 * @throws {FilterSyntaxError} If the filter is not in the service's grammar
 * @throws {TypeError} If the resource cannot be filtered by a name; the message has its position and
 *   what to write instead
 */
export function checkFilter(
  resource: ResourceName,
  filter: string,
  canSkipCheck = false,
): PlacedClause[] {
  const names: readonly string[] = RESOURCES[resource].filters;
  const clauses = parseFilter(filter);
  const wrong = clauses.find(({ field }) => !names.includes(field));
  if (wrong === undefined) return clauses;
  const { field, position } = wrong;
  throw new TypeError(
    `Cannot filter ${resource} by "${field}" at character ${position + 1} of the filter: ${
      filterHint(resource, field, canSkipCheck)
    }`,
  );
}
