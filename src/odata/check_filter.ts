import { didYouMean } from "../did_you_mean.ts";
import { parseFilter, type PlacedClause } from "./parse_filter.ts";
import { type ResourceName, RESOURCES } from "./resources.ts";

/**
 * The clauses of a filter that the resource can be filtered by.
 *
 * @param resource The resource that is asked
 * @param filter The filter as the service takes it, not encoded
 * @throws {FilterSyntaxError} If it is not of the service's grammar
 * @throws {TypeError} If the resource cannot be filtered by a name; the message says where it
 *   stands and what to write instead
 */
export function checkFilter(resource: ResourceName, filter: string): PlacedClause[] {
  const names: readonly string[] = RESOURCES[resource].filters;
  const clauses = parseFilter(filter);
  const wrong = clauses.find(({ field }) => !names.includes(field));
  if (wrong === undefined) return clauses;
  const { field, position } = wrong;
  throw new TypeError(
    `Cannot filter ${resource} by "${field}" at character ${position + 1} of the filter: ${
      remedyFor(resource, field, names)
    } There are ${names.join(", ")}`,
  );
}

/** Some names are right elsewhere: the nearest one would be far from what was meant. */
function remedyFor(resource: ResourceName, field: string, names: readonly string[]): string {
  if (field === "Latitude" || field === "Longitude") {
    return "give the query within: { west, south, east, north }.";
  }
  if (resource === "Locations" && field === "Id") return "filter by LocationId, which is the Id.";
  if (Object.hasOwn(RESOURCES[resource].fields, field)) {
    return "the service has it as a field alone, so filter the rows that come.";
  }
  return didYouMean(field, names);
}
