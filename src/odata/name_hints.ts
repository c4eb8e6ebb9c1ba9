import { nearNames, suggestNames } from "../validation.ts";
import { DAY_HINT, isStartDate } from "./parse_filter.ts";
import {
  fieldNames,
  FILTER_FIELDS,
  isMeasured,
  RESOURCE_NAMES,
  type ResourceName,
  RESOURCES,
} from "./resources.ts";

export function unknownSelectFieldHint(resource: ResourceName, name: string): string | undefined {
  const fields: readonly string[] = fieldNames(resource);
  const isLocationId = isSame(name, "LocationId");
  if (isLocationId && resource === "Locations") return "use Id, which is the same number";
  if (/^(value|unit|censoring|lower|upper|datetime_utc|is_quality_control)$/.test(name)) {
    return "omit it: {tidy} adds it to each row";
  }
  const similar = findSimilarName(resource, name, fields);
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

export function unknownFilterFieldHint(resource: ResourceName, name: string): string | undefined {
  const filterableFields: readonly string[] = RESOURCES[resource].filters;
  const similar = findSimilarName(resource, name, filterableFields);
  if (similar !== undefined) return suggestNames([similar]);
  const property = withoutLocationPrefix(name);
  if (/^L(at|ong)itude$/i.test(property)) return "use {within} to filter by position";
  if (isStartDate(name) && isMeasured(resource)) return DAY_HINT;
  // Date, Year, EndDate, ActivityStartDate, ActivityEndDate, AnalysisStartDate
  if (/^(A\w+)?(Start|End)?(Date|Year)$/i.test(name)) {
    return "filter by ActivityStartYear, then keep the rows you need";
  }
  if (isSame(name, "Id")) {
    if (resource === "Locations") return "filter by LocationId, which is the same number";
  } else if (resource !== "Locations" && hasField("Locations", property)) {
    return "look up the location in Locations, then filter by LocationId, which is its Id there";
  } else if (resource !== "Metadata" && hasField("Metadata", name)) {
    return "look up the dataset in Metadata, then filter by its DOI";
  }
  if (hasField(resource, property)) return "filter the returned rows instead";
  return suggestNames(namesWithWordsOf(name, filterableFields)) ??
    suggestNames(nearNames(name, filterableFields));
}

/** `Name` of Locations is `MonitoringLocationName` in Records. */
const PREFIXES: Record<ResourceName, readonly string[]> = {
  Metadata: ["Dataset", "Data"],
  Locations: ["MonitoringLocation"],
  Observations: ["Result", "Activity"],
  Records: ["MonitoringLocation", "Result", "Activity"],
};

/** Ignores case and prefixes: `Name` for `LocationName`, but `LocationId` is not `Id`. */
function findSimilarName(
  resource: ResourceName,
  name: string,
  names: readonly string[],
): string | undefined {
  const forms: ((known: string) => boolean)[] = [
    (known) => isSame(name, known),
    ...PREFIXES[resource].map((prefix) => (known: string) =>
      isSame(prefix + name, known) ||
      isSame(name, prefix + known) && (known !== "Id" || resource === "Metadata")
    ),
    (known) => known !== "Id" && isSame(withoutLocationPrefix(name), known),
  ];
  for (const isForm of forms) {
    const found = names.find(isForm);
    if (found !== undefined) return found;
  }
}

function withoutLocationPrefix(name: string): string {
  return name.replace(/^(Monitoring)?Location(?=.)/i, "");
}

function otherResourceHint(name: string): string | undefined {
  for (const resource of RESOURCE_NAMES) {
    const [field, ...more] = namesWithWordsOf(name, fieldNames(resource));
    if (field !== undefined && more.length === 0) return `use "${field}" of ${resource}`;
  }
}

/** Finds names with all words in order: `ActivityEndDate` for `ActivityDate`. */
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

/** `Data`, `Source` and `URL` in `DataSourceURL`. */
const CAMEL_CASE_WORD = /[A-Z]+(?![a-z])|[A-Z]?[a-z]+/g;

function hasField(resource: ResourceName, name: string): boolean {
  return fieldNames(resource).some((field) => isSame(name, field));
}

/** Ignores case, but `ID` matches only `ID`: Locations also has `Id`. */
function isSame(name: string, known: string): boolean {
  return name === known || name !== "ID" && name.toLowerCase() === known.toLowerCase();
}
