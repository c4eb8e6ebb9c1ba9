import {
  type FieldType,
  LOCATION_FIELDS,
  METADATA_FIELDS,
  OBSERVATION_FIELDS,
  RECORD_FIELDS,
} from "./fields.ts";

/**
 * Every name that a filter can use, and what it is compared as; degrees are numbers that stand in
 * quotes. Which of them a resource takes is in `RESOURCES`.
 *
 * @example How a name is compared
 * ```ts
 * import { FILTER_FIELDS } from "@weir/datastream";
 * import { assertEquals } from "@std/assert";
 *
 * assertEquals(FILTER_FIELDS.ActivityStartYear, "number");
 * ```
 */
export const FILTER_FIELDS = {
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

/** A name that a filter can use. */
export type FilterField = keyof typeof FILTER_FIELDS;

const everyFilter = [
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

/** Highest `$top`: the maximum number of rows on a page (DataStream Public API, "URL Parameters"). */
export const MAXIMUM_TOP = 10_000;

/**
 * The four resources: their path, the page size that Weir asks for, the fields to select in the
 * order of the service's documentation, and the names to filter by.
 *
 * Source: water-quality-api, Endpoints; Metadata's `Id` and `TemporalExtent`, `ActivityStartDateYear`
 * and the bounding box from the service's OpenAPI file.
 *
 * @example The columns of a resource
 * ```ts
 * import { RESOURCES } from "@weir/datastream";
 * import { assertEquals } from "@std/assert";
 *
 * assertEquals(Object.keys(RESOURCES.Records.fields).length, 44);
 * assertEquals(RESOURCES.Records.fields.ResultValue, "number?"); // null where nothing was found
 * ```
 */
// Each cast says what publishing cannot infer: its types are made of this file's text alone.
export const RESOURCES = {
  Metadata: {
    path: "/Metadata",
    pageSize: 100,
    fields: METADATA_FIELDS as typeof METADATA_FIELDS,
    filters: [...everyFilter, "Latitude", "Longitude", "DatasetName", "CreateTimestamp"],
  },
  Locations: {
    path: "/Locations",
    pageSize: MAXIMUM_TOP as typeof MAXIMUM_TOP,
    fields: LOCATION_FIELDS as typeof LOCATION_FIELDS,
    filters: [...everyFilter, "Latitude", "Longitude", "Name"],
  },
  Observations: {
    path: "/Observations",
    pageSize: MAXIMUM_TOP as typeof MAXIMUM_TOP,
    fields: OBSERVATION_FIELDS as typeof OBSERVATION_FIELDS,
    filters: everyFilter as typeof everyFilter,
  },
  Records: {
    path: "/Records",
    pageSize: MAXIMUM_TOP as typeof MAXIMUM_TOP,
    fields: RECORD_FIELDS as typeof RECORD_FIELDS,
    filters: everyFilter as typeof everyFilter,
  },
} as const satisfies Record<string, {
  path: string;
  pageSize: number;
  fields: Record<string, FieldType>;
  filters: readonly FilterField[];
}>;

/** The name of a resource of the service. */
export type ResourceName = keyof typeof RESOURCES;

/** The resources whose rows are measured at a location: the large ones. */
export type MeasuredResource = "Observations" | "Records";

/** A field that a resource can select. */
export type Field<R extends ResourceName> = keyof typeof RESOURCES[R]["fields"] & string;

/** A name that a resource can be filtered by. */
export type FilterFieldOf<R extends ResourceName> = typeof RESOURCES[R]["filters"][number];

/** What a field of that type holds in a row. */
export type FieldValue<T> = T extends "integer" | "number" ? number
  : T extends "number?" ? number | null
  : T extends "text" ? string
  : T extends "text?" ? string | null
  : T extends "texts" ? string[] | string
  : T extends "dates?" ? [string, string] | null
  : never;

/**
 * A row of a resource, with all its fields.
 *
 * @example A function of rows
 * ```ts
 * import type { Row } from "@weir/datastream";
 * import { assertEquals } from "@std/assert";
 *
 * const place = ({ Name, Latitude, Longitude }: Row<"Locations">) =>
 *   `${Name}: ${Latitude}, ${Longitude}`;
 * assertEquals(place.length, 1);
 * ```
 */
export type Row<R extends ResourceName> = {
  [F in Field<R>]: FieldValue<typeof RESOURCES[R]["fields"][F]>;
};

/** The fields of a resource in documented order. */
export function fieldNames<R extends ResourceName>(resource: R): Field<R>[] {
  return Object.keys(RESOURCES[resource].fields) as Field<R>[];
}
