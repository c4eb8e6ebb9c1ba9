// Hints for fields that a resource does not have, or cannot be filtered by.
import { nearNames, suggestNames } from "../validation.ts";
import {
  fieldNames,
  FILTER_FIELDS,
  RESOURCE_NAMES,
  type ResourceName,
  RESOURCES,
} from "./resources.ts";

/** Returns a hint for a selected field that a resource does not have; `undefined` if no field is similar. */
export function unknownSelectFieldHint(
  resource: ResourceName,
  name: string,
): string | undefined {
  const fields: readonly string[] = fieldNames(resource);
  // The name differs only in case.
  if (fields.some((field) => isSame(name, field))) return suggestNames(nearNames(name, fields));
  const isLocationId = isSame(name, "LocationId");
  if (isLocationId && resource === "Locations") return "use Id, which is the same number";
  const similar = findPrefixedName(resource, name, fields) ??
    (isLocationId ? undefined : findNameWithoutPrefix(name, fields));
  if (similar !== undefined) return suggestNames([similar]);
  const others = RESOURCE_NAMES.filter((other) => hasField(other, name));
  if (others.length > 0) {
    return `use ${others.join(" or ")}, which has this field` +
      (isLocationId ? " (MonitoringLocationID is another identifier)" : "");
  }
  if (Object.keys(FILTER_FIELDS).some((field) => isSame(name, field))) {
    return "use it in {filter} only, because no resource returns it";
  }
  return suggestNames(namesWithWordsOf(name, fields)) ?? otherResourceHint(name) ??
    suggestNames(nearNames(name, fields));
}

/** Returns a hint for a name that a resource cannot be filtered by; `undefined` if no name is similar. */
export function unknownFilterFieldHint(
  resource: ResourceName,
  name: string,
): string | undefined {
  const filterableFields: readonly string[] = RESOURCES[resource].filters;
  const nameWithoutPrefix = withoutLocationPrefix(name);
  const similar = filterableFields.find((field) => isSame(name, field)) ??
    findPrefixedName(resource, name, filterableFields) ??
    findNameWithoutPrefix(name, filterableFields);
  if (similar !== undefined) return suggestNames([similar]);
  if (/^L(at|ong)itude$/i.test(nameWithoutPrefix)) return "use {within} to filter by position";
  // Date, Year, EndDate, ActivityStartDate, ActivityEndDate, AnalysisStartDate
  if (/^(A\w+)?(Start|End)?(Date|Year)$/i.test(name)) {
    return "filter by ActivityStartYear, then keep the rows you need";
  }
  if (isSame(name, "Id")) {
    if (resource === "Locations") return "filter by LocationId, which is the same number";
  } else if (resource !== "Locations" && hasField("Locations", nameWithoutPrefix)) {
    return "look up the location in Locations, then filter by LocationId, which is its Id there";
  } else if (resource !== "Metadata" && hasField("Metadata", name)) {
    return "look up the dataset in Metadata, then filter by its DOI";
  }
  if (hasField(resource, nameWithoutPrefix)) {
    return "filter the returned rows instead";
  }
  return suggestNames(namesWithWordsOf(name, filterableFields)) ??
    suggestNames(nearNames(name, filterableFields));
}

/**
 * Prefixes that one resource uses and another does not: `Name` of Locations is
 * `MonitoringLocationName` in Records.
 */
const PREFIXES: Record<ResourceName, readonly string[]> = {
  Metadata: ["Dataset", "Data"],
  Locations: ["MonitoringLocation"],
  Observations: ["Result", "Activity"],
  Records: ["MonitoringLocation", "Result", "Activity"],
};

/** Finds the same field with or without the resource's prefix. `LocationId` is not `Id`. */
function findPrefixedName(
  resource: ResourceName,
  name: string,
  names: readonly string[],
): string | undefined {
  for (const prefix of PREFIXES[resource]) {
    const found = names.find((known) =>
      isSame(prefix + name, known) ||
      isSame(name, prefix + known) && (known !== "Id" || resource === "Metadata")
    );
    if (found !== undefined) return found;
  }
}

/** Finds `Name` for `LocationName` or `MonitoringLocationName`. */
function findNameWithoutPrefix(name: string, names: readonly string[]): string | undefined {
  const nameWithoutPrefix = withoutLocationPrefix(name);
  if (nameWithoutPrefix === name) return undefined;
  return names.find((known) => isSame(nameWithoutPrefix, known));
}

function withoutLocationPrefix(name: string): string {
  return name.replace(/^(Monitoring)?Location(?=.)/i, "");
}

/** Returns a hint for a name whose words all occur in exactly one field of a resource. */
function otherResourceHint(name: string): string | undefined {
  for (const resource of RESOURCE_NAMES) {
    const [field, ...more] = namesWithWordsOf(name, fieldNames(resource));
    if (field !== undefined && more.length === 0) return `use "${field}" of ${resource}`;
  }
}

/** Finds the names that contain all words of a name, in order: `ActivityEndDate` for `ActivityDate`. */
function namesWithWordsOf(name: string, names: readonly string[]): string[] {
  const words = name.match(CAMEL_CASE_WORD) ?? [];
  return names.filter((known) => {
    const missing = [...words];
    for (const word of known.match(CAMEL_CASE_WORD) ?? []) {
      if (word === missing[0]) missing.shift();
    }
    return words.length > 0 && missing.length === 0;
  });
}

/** A word of a name such as `DataSourceURL`: `Data`, `Source` or `URL`. */
const CAMEL_CASE_WORD = /[A-Z]+(?![a-z])|[A-Z]?[a-z]+/g;

function hasField(resource: ResourceName, name: string): boolean {
  return fieldNames(resource).some((field) => isSame(name, field));
}

/** Whether two names differ at most in case. `ID` matches only `ID`: Locations also has `Id`. */
function isSame(name: string, known: string): boolean {
  return name === known || name !== "ID" && name.toLowerCase() === known.toLowerCase();
}
