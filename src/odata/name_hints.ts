import { didYouMean } from "../validation.ts";
import { fieldNames, FILTER_FIELDS, type ResourceName, RESOURCES } from "./resources.ts";

/**
 * Ends a hint where the option `unchecked` could help. The command line and the edge function
 * replace this text, because they have no option of that name.
 */
export const UNCHECKED_HINT = " (or pass unchecked: true, if the service has added it)";

/**
 * Prefixes that a name has in one resource and lacks in another: `Name` of Locations is
 * `MonitoringLocationName` in Records.
 */
const PREFIXES: Record<ResourceName, readonly string[]> = {
  Metadata: ["Dataset", "Data"],
  Locations: ["MonitoringLocation"],
  Observations: ["Result", "Activity"],
  Records: ["MonitoringLocation", "Result", "Activity"],
};

/** Returns what to do about a field that a resource does not have. */
export function fieldHint(resource: ResourceName, name: string): string {
  const own = fieldNames(resource);
  const orList = `use one of RESOURCES.${resource}.fields`;
  const isLocationId = isSame(name, "LocationId");
  if (!own.some((field) => isSame(name, field))) {
    const twin = findTwin(resource, name, own);
    if (twin !== undefined) return `did you mean "${twin}"?`;
    if (isLocationId && resource === "Locations") return "use Id, which is the same number";
    const others = RESOURCE_NAMES.filter((other) => hasField(other, name));
    if (others.length > 0) {
      return `use ${others.join(" or ")}, where it is a field` +
        (isLocationId ? " (MonitoringLocationID is another identifier)" : "");
    }
    if (Object.keys(FILTER_FIELDS).some((field) => isSame(name, field))) {
      return "use it in the filter only, it is not a field";
    }
  }
  return didYouMean(name, own, orList) + UNCHECKED_HINT;
}

/**
 * Returns what to do about a name that a resource cannot be filtered by.
 *
 * @param canSkipCheck Whether there is an option `unchecked` beside the filter
 */
export function filterHint(resource: ResourceName, name: string, canSkipCheck: boolean): string {
  const names: readonly string[] = RESOURCES[resource].filters;
  const bare = name.replace(/^MonitoringLocation/i, "");
  const twin = findTwin(resource, name, names) ?? names.find((other) => isSame(bare, other));
  if (twin !== undefined) return `did you mean "${twin}"?`;
  if (/^L(at|ong)itude$/i.test(bare)) return "give the query within: { west, south, east, north }";
  if (/^(A\w+)?(Start|End)?(Date|Year)$/i.test(name)) {
    return "filter by ActivityStartYear, and then the rows that come";
  }
  if (!isSame(name, "Id")) {
    if (resource !== "Locations" && hasField("Locations", bare)) {
      return "find it in Locations and filter by LocationId, its Id there";
    }
    if (resource !== "Metadata" && hasField("Metadata", name)) {
      return "find it in Metadata and filter by DOI";
    }
  } else if (resource === "Locations") return "filter by LocationId, which is the Id";
  if (hasField(resource, bare)) return "filter the rows that come, the service cannot do it";
  return didYouMean(name, names) + (canSkipCheck ? UNCHECKED_HINT : "");
}

const RESOURCE_NAMES = Object.keys(RESOURCES) as ResourceName[];

function hasField(resource: ResourceName, name: string): boolean {
  return fieldNames(resource).some((field) => isSame(name, field));
}

/** Finds the name that differs by a prefix alone, but not `Id` for the id of something else. */
function findTwin(
  resource: ResourceName,
  name: string,
  names: readonly string[],
): string | undefined {
  for (const prefix of PREFIXES[resource]) {
    const twin = names.find((other) =>
      isSame(prefix + name, other) ||
      isSame(name, prefix + other) && (other !== "Id" || resource === "Metadata")
    );
    if (twin !== undefined) return twin;
  }
}

/** Whether two names differ in case at most. "ID" is itself only: Locations has an "Id", too. */
function isSame(name: string, known: string): boolean {
  return name === known || name !== "ID" && name.toLowerCase() === known.toLowerCase();
}
