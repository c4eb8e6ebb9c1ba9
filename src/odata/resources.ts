import {
  type FieldType,
  LOCATION_FIELDS,
  METADATA_FIELDS,
  OBSERVATION_FIELDS,
  RECORD_FIELDS,
} from "./fields.ts";

/**
 * Names that a filter can use, with the type of the values that each is compared with. `degrees` are
 * numbers in single quotes, because the service rejects coordinates without quotes. `RESOURCES` has the
 * names for each resource.
 *
 * @example The type of a filter field
 * ```ts
 * import { FILTER_FIELDS } from "@weir/datastream";
 * import { assertEquals } from "@std/assert";
 *
 * assertEquals(FILTER_FIELDS.ActivityStartYear, "number");
 * ```
 */
export const FILTER_FIELDS = {
  Id: "text",
  DOI: "text",
  LocationId: "number",
  ActivityMediaName: "text",
  ActivityGroupType: "text",
  CharacteristicName: "text",
  MonitoringLocationType: "text",
  ActivityStartYear: "number",
  ActivityStartDateYear: "number",
  RegionId: "text",
  Latitude: "degrees",
  Longitude: "degrees",
  DatasetName: "text",
  CreateTimestamp: "date",
  Name: "text",
} as const satisfies Record<string, "text" | "number" | "degrees" | "date">;

/** Name that a filter can use. */
export type FilterField = keyof typeof FILTER_FIELDS;

const commonFilters = [
  "DOI",
  "LocationId",
  "ActivityMediaName",
  "ActivityGroupType",
  "CharacteristicName",
  "MonitoringLocationType",
  "ActivityStartYear",
  "ActivityStartDateYear",
  "RegionId",
] as const satisfies FilterField[];

/** DataStream Public API, "URL Parameters", `$top`. */
export const MAXIMUM_TOP = 10_000;

/**
 * The four resources of the service: path, default page size, fields in documented order, and names that
 * a filter can use.
 * Source: DataStream Public API, "Endpoints"; its OpenAPI file for `Id` and `TemporalExtent` of
 * Metadata, for `ActivityStartDateYear`, and for the filters by position.
 *
 * @example The fields of a resource
 * ```ts
 * import { RESOURCES } from "@weir/datastream";
 * import { assertEquals } from "@std/assert";
 *
 * assertEquals(Object.keys(RESOURCES.Records.fields).length, 44);
 * assertEquals(RESOURCES.Records.fields.ResultValue, "number?"); // null if nothing was detected
 * ```
 */
// JSR reads types from source text and cannot infer some of these, so the casts state them.
export const RESOURCES = {
  Metadata: {
    path: "/Metadata",
    pageSize: 100,
    fields: METADATA_FIELDS as typeof METADATA_FIELDS,
    filters: ["Id", ...commonFilters, "Latitude", "Longitude", "DatasetName", "CreateTimestamp"],
  },
  Locations: {
    path: "/Locations",
    pageSize: MAXIMUM_TOP as typeof MAXIMUM_TOP,
    fields: LOCATION_FIELDS as typeof LOCATION_FIELDS,
    filters: [...commonFilters, "Latitude", "Longitude", "Name"],
  },
  Observations: {
    path: "/Observations",
    pageSize: MAXIMUM_TOP as typeof MAXIMUM_TOP,
    fields: OBSERVATION_FIELDS as typeof OBSERVATION_FIELDS,
    filters: commonFilters as typeof commonFilters,
  },
  Records: {
    path: "/Records",
    pageSize: MAXIMUM_TOP as typeof MAXIMUM_TOP,
    fields: RECORD_FIELDS as typeof RECORD_FIELDS,
    filters: commonFilters as typeof commonFilters,
  },
} as const satisfies Record<string, {
  path: string;
  pageSize: number;
  fields: Record<string, FieldType>;
  filters: readonly FilterField[];
}>;

/** Name of a resource of the service. */
export type ResourceName = keyof typeof RESOURCES;

export const SUMMARY_KEYS = ["characteristic", "location", "dataset", "year"] as const;

// Without this annotation a bundler cannot tree-shake the call.
export const RESOURCE_NAMES = /* @__PURE__ */ Object.keys(RESOURCES) as readonly ResourceName[];

/** Whether rows are measurements, which have a location but no position. There can be millions. */
export function isMeasured(resource: ResourceName): boolean {
  return resource === "Observations" || resource === "Records";
}

/** Field of a resource. */
export type Field<R extends ResourceName> = keyof typeof RESOURCES[R]["fields"] & string;

/** Name that a resource can be filtered by. */
export type FilterFieldOf<R extends ResourceName> = typeof RESOURCES[R]["filters"][number];

/** @internal TypeScript type of the values of a field type. */
type FieldValue<T> = T extends "integer" | "number" ? number
  : T extends "number?" ? number | null
  : T extends "text" ? string
  : T extends "text?" ? string | null
  : T extends "texts" ? string[] | string
  : T extends "dates?" ? [string, string] | null
  : never;

/**
 * Row of a resource with all fields.
 *
 * @example A function that takes a row
 * ```ts
 * import type { Row } from "@weir/datastream";
 *
 * const describe = ({ Name, Latitude, Longitude }: Row<"Locations">) =>
 *   `${Name}: ${Latitude}, ${Longitude}`;
 * ```
 */
export type Row<R extends ResourceName> = {
  [F in Field<R>]: FieldValue<typeof RESOURCES[R]["fields"][F]>;
};

/** Other names of columns, for fields whose names are one in programs that ignore case. */
const COLUMN_NAMES: Readonly<Partial<Record<ResourceName, Readonly<Record<string, string>>>>> = {
  Locations: { ID: "MonitoringLocationID" }, // as in Records; there is `Id`, too
};

/** Returns the names of columns of fields in a table. A field keeps its name if another one has the new name. */
export function columnNames(resource: ResourceName, fields: readonly string[]): string[] {
  const names = COLUMN_NAMES[resource] ?? {};
  return fields.map((field) => {
    const name = Object.hasOwn(names, field) ? names[field]! : field;
    return name !== field && fields.includes(name) ? field : name;
  });
}

export function fieldNames<R extends ResourceName>(resource: R): Field<R>[] {
  return Object.keys(RESOURCES[resource].fields) as Field<R>[];
}
