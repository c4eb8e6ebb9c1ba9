// Hints for names that a resource does not have.
import { didYouMean, suggest } from "../validation.ts";
import {
  fieldNames,
  FILTER_FIELDS,
  RESOURCE_NAMES,
  type ResourceName,
  RESOURCES,
} from "./resources.ts";

/** Returns what to do about a field that a resource does not have. */
export function fieldHint(resource: ResourceName, name: string): string {
  const own: readonly string[] = fieldNames(resource);
  if (own.some((field) => isSame(name, field))) return didYouMean(name, own);
  const isLocationId = isSame(name, "LocationId");
  if (isLocationId && resource === "Locations") return "use Id, which is the same number";
  const twin = findTwin(resource, name, own) ??
    (isLocationId ? undefined : findWithoutLocation(name, own));
  if (twin !== undefined) return suggest([twin])!;
  const others = RESOURCE_NAMES.filter((other) => hasField(other, name));
  if (others.length > 0) {
    return `use ${others.join(" or ")}, which has this field` +
      (isLocationId ? " (MonitoringLocationID is another identifier)" : "");
  }
  if (Object.keys(FILTER_FIELDS).some((field) => isSame(name, field))) {
    return "use it in {filter} only, because no resource returns it";
  }
  return suggest(namesWithWordsOf(name, own)) ?? elsewhereHint(name) ?? didYouMean(name, own);
}

/** Returns what to do about a name that a resource cannot be filtered by. */
export function filterHint(resource: ResourceName, name: string): string {
  const own: readonly string[] = RESOURCES[resource].filters;
  const bare = withoutLocation(name);
  const twin = own.find((other) => isSame(name, other)) ?? findTwin(resource, name, own) ??
    findWithoutLocation(name, own);
  if (twin !== undefined) return suggest([twin])!;
  if (/^L(at|ong)itude$/i.test(bare)) return "use {within} to filter by position";
  if (/^(A\w+)?(Start|End)?(Date|Year)$/i.test(name)) {
    return "filter by ActivityStartYear, then select the dates from the returned rows";
  }
  if (isSame(name, "Id")) {
    if (resource === "Locations") return "filter by LocationId, which is the same number";
  } else if (resource !== "Locations" && hasField("Locations", bare)) {
    return "look up the location in Locations, then filter by LocationId, which is its Id there";
  } else if (resource !== "Metadata" && hasField("Metadata", name)) {
    return "look up the dataset in Metadata, then filter by its DOI";
  }
  if (hasField(resource, bare)) {
    return "filter the returned rows instead, because the service cannot filter by this field";
  }
  return suggest(namesWithWordsOf(name, own)) ?? didYouMean(name, own);
}

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

/** Finds the name that differs only by a prefix, but not `Id` for the id of another thing. */
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

/** Finds `Name` for `LocationName` or `MonitoringLocationName`. */
function findWithoutLocation(name: string, names: readonly string[]): string | undefined {
  const bare = withoutLocation(name);
  return bare === name ? undefined : names.find((other) => isSame(bare, other));
}

function withoutLocation(name: string): string {
  return name.replace(/^(Monitoring)?Location(?=.)/i, "");
}

/** Returns a hint for a name whose words occur in the fields of one of the resources. */
function elsewhereHint(name: string): string | undefined {
  for (const resource of RESOURCE_NAMES) {
    const [field, ...more] = namesWithWordsOf(name, fieldNames(resource));
    if (field !== undefined && more.length === 0) return `use "${field}" of ${resource}`;
  }
}

/** Finds the names that have all words of a name in their order: `ActivityDate` is in `ActivityEndDate`. */
function namesWithWordsOf(name: string, names: readonly string[]): string[] {
  const words = name.match(WORD) ?? [];
  return names.filter((other) => {
    const left = [...words];
    for (const word of other.match(WORD) ?? []) if (word === left[0]) left.shift();
    return words.length > 0 && left.length === 0;
  });
}

const WORD = /[A-Z]+(?![a-z])|[A-Z]?[a-z]+/g;

function hasField(resource: ResourceName, name: string): boolean {
  return fieldNames(resource).some((field) => isSame(name, field));
}

/** Whether two names are equal apart from case. `ID` is not `Id`, because Locations has both fields. */
function isSame(name: string, known: string): boolean {
  return name === known || name !== "ID" && name.toLowerCase() === known.toLowerCase();
}
