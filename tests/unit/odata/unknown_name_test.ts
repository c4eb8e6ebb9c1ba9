// Hints for names that a resource does not have.
import "../../helpers/no_permission.ts";
import { assertEquals, assertThrows } from "@std/assert";
import { DataStream, type ResourceName, RESOURCES, ValidationError } from "../../../mod.ts";

const client = new DataStream();
// As from plain JavaScript, without the compiler's checks.
const queries: Record<ResourceName, (query: object) => unknown> = {
  Metadata: (query) => client.metadata(query),
  Locations: (query) => client.locations(query),
  Observations: (query) => client.observations(query),
  Records: (query) => client.records(query),
};
const every = Object.keys(RESOURCES) as ResourceName[];

const fieldsOf = (resource: ResourceName) => Object.keys(RESOURCES[resource].fields).join(", ");

function errorOf(resource: ResourceName, query: object): ValidationError {
  return assertThrows(() => queries[resource](query), ValidationError);
}

const fields: [resource: ResourceName, field: string, hint: string][] = [
  // A near name.
  ["Records", "ResultVal", 'did you mean "ResultValue"?'],
  [
    "Records",
    "CharacteristcName",
    'did you mean "CharacteristicName"?',
  ],
  ["Records", "DIO", 'did you mean "DOI"?'],
  [
    "Records",
    "Characteristic",
    'did you mean "CharacteristicName"?',
  ],
  [
    "Observations",
    "Laboratory",
    'did you mean "LaboratoryName" or "LaboratorySampleID"?',
  ],
  ["Metadata", "License", 'did you mean "Licence"?'],
  // No near name.
  ["Records", "banana", `use one of ${fieldsOf("Records")}`],
  ["Records", "WellID", `use one of ${fieldsOf("Records")}`],
  ["Records", "Result", `use one of ${fieldsOf("Records")}`],
  [
    "Locations",
    "WellDepthUnit",
    `use one of ${fieldsOf("Locations")}`,
  ],
  // The same under another name.
  ["Records", "Latitude", 'did you mean "MonitoringLocationLatitude"?'],
  ["Records", "longitude", 'did you mean "MonitoringLocationLongitude"?'],
  ["Records", "Name", 'did you mean "MonitoringLocationName"?'],
  ["Records", "ID", 'did you mean "MonitoringLocationID"?'],
  ["Records", "Value", 'did you mean "ResultValue"?'],
  ["Observations", "StartDate", 'did you mean "ActivityStartDate"?'],
  ["Locations", "MonitoringLocationName", 'did you mean "Name"?'],
  ["Locations", "MonitoringLocationID", 'did you mean "ID"?'],
  ["Locations", "MonitoringLocationId", 'did you mean "ID"?'],
  ["Metadata", "Name", 'did you mean "DatasetName"?'],
  ["Metadata", "DatasetId", 'did you mean "Id"?'],
  ["Records", "LocationName", 'did you mean "MonitoringLocationName"?'],
  ["Records", "LocationType", 'did you mean "MonitoringLocationType"?'],
  ["Locations", "LocationName", 'did you mean "Name"?'],
  ["Locations", "LocationType", 'did you mean "MonitoringLocationType"?'],
  ["Records", "ActivityDate", 'did you mean "ActivityStartDate" or "ActivityEndDate"?'],
  // A field of another resource.
  ["Observations", "LocationType", 'use "MonitoringLocationType" of Locations'],
  ["Observations", "LocationName", 'use "MonitoringLocationName" of Records'],
  ["Locations", "LocationId", "use Id, which is the same number"],
  [
    "Records",
    "LocationId",
    "use Observations, which has this field (MonitoringLocationID is another identifier)",
  ],
  ["Observations", "Latitude", "use Locations, which has this field"],
  ["Observations", "ID", "use Locations, which has this field"],
  ["Observations", "MonitoringLocationID", "use Records, which has this field"],
  [
    "Observations",
    "DatasetName",
    "use Metadata or Records, which has this field",
  ],
  ["Records", "Citation", "use Metadata, which has this field"],
  // A name to filter by.
  ...every.map((resource) =>
    [
      resource,
      "RegionId",
      "use it in {filter} only, because no resource returns it",
    ] as const
  ).map((row) => [...row] as [ResourceName, string, string]),
];
for (const [resource, field, hint] of fields) {
  Deno.test(`${resource.toLowerCase()}() hints "${hint}" when "${field}" is selected`, () => {
    const error = errorOf(resource, { select: [field] });
    assertEquals([error.hint, error.canBeUnchecked], [hint, hint.startsWith("use one of")]);
  });
}

const filters: [resource: ResourceName, name: string, hint: string][] = [
  [
    "Records",
    "charactristicName",
    'did you mean "CharacteristicName"?',
  ],
  ...every.map((resource): [ResourceName, string, string] => [
    resource,
    "LocationType",
    'did you mean "MonitoringLocationType"?',
  ]),
  ["Locations", "LocationName", 'did you mean "Name"?'],
  ["Records", "locationid", 'did you mean "LocationId"?'],
  ["Records", "LocationLatitude", "use {within} to filter by position"],
  [
    "Records",
    "LocationName",
    "look up the location in Locations, then filter by LocationId, which is its Id there",
  ],
  [
    "Records",
    "ActivityDate",
    "filter by ActivityStartYear, then keep the rows you need",
  ],
  ["Records", "Region", 'did you mean "RegionId"?'],
  [
    "Records",
    "banana",
    `use one of ${RESOURCES.Records.filters.join(", ")}`,
  ],
  ["Locations", "MonitoringLocationName", 'did you mean "Name"?'],
  ["Metadata", "MonitoringLocationLatitude", 'did you mean "Latitude"?'],
  ["Metadata", "Name", 'did you mean "DatasetName"?'],
  ["Records", "Type", 'did you mean "MonitoringLocationType"?'],
  [
    "Records",
    "MonitoringLocationLongitude",
    "use {within} to filter by position",
  ],
  [
    "Observations",
    "Latitude",
    "use {within} to filter by position",
  ],
  [
    "Observations",
    "ActivityStartDate",
    "filter by ActivityStartYear, then keep the rows you need",
  ],
  [
    "Metadata",
    "Year",
    "filter by ActivityStartYear, then keep the rows you need",
  ],
  ["Locations", "Id", "filter by LocationId, which is the same number"],
  [
    "Locations",
    "ID",
    "filter the returned rows instead",
  ],
  [
    "Locations",
    "MonitoringLocationID",
    "filter the returned rows instead",
  ],
  [
    "Records",
    "Id",
    "filter the returned rows instead",
  ],
  [
    "Records",
    "ResultValue",
    "filter the returned rows instead",
  ],
  [
    "Records",
    "Name",
    "look up the location in Locations, then filter by LocationId, which is its Id there",
  ],
  [
    "Records",
    "MonitoringLocationID",
    "look up the location in Locations, then filter by LocationId, which is its Id there",
  ],
  ["Observations", "DatasetName", "look up the dataset in Metadata, then filter by its DOI"],
  ["Locations", "CreateTimestamp", "look up the dataset in Metadata, then filter by its DOI"],
];
for (const [resource, name, hint] of filters) {
  Deno.test(`${resource.toLowerCase()}() hints "${hint.slice(0, 60)}" when "${name}" is filtered by`, () => {
    const error = errorOf(resource, { filter: `${name} eq 'x'` });
    assertEquals([error.hint, error.canBeUnchecked], [hint, hint.startsWith("use one of")]);
  });
}

Deno.test("every query points to unchecked when a field of DataStream schema 3.0.0 is selected", () => {
  const added = [
    "EventID",
    "WellID",
    "WellIDContext",
    "WellUseType",
    "AquiferCode",
    "AquiferUnitName",
    "AquiferType",
    "AquiferUnitPorosityType",
    "LithologyType",
    "BoreholeDepthMeasure",
    "BoreholeDepthUnit",
    "WellDepthMeasure",
    "WellDepthUnit",
    "WellOpenIntervalTopMeasure",
    "WellOpenIntervalTopUnit",
    "WellOpenIntervalBottomMeasure",
    "WellOpenIntervalBottomUnit",
    "ActivityDepthAltitudeReferencePoint",
    "ActivityDepthAltitudeReferencePointMeasure",
    "ActivityDepthAltitudeReferencePointUnit",
    "SampleCondition",
    "SampleCollectionMethodID",
    "SampleCollectionMethodContext",
    "SampleCollectionMethodName",
    "MonitoringLocationVerticalAccuracyMeasure",
    "MonitoringLocationVerticalAccuracyUnit",
    "MonitoringLocationVerticalCollectionMethod",
    "MonitoringLocationVerticalCoordinateReferenceSystem",
  ];
  for (const resource of every) {
    for (const field of added) {
      const error = errorOf(resource, { select: [field] });
      assertEquals(error.hint, `use one of ${fieldsOf(resource)}`);
      assertEquals(error.canBeUnchecked, true);
      queries[resource]({ select: [field], unchecked: true });
    }
  }
});

Deno.test("citations() does not suggest unchecked when a name is unknown, because it has no such option", async () => {
  const message = await client.citations("Regionn eq 'x'").catch((error) => error.message);
  assertEquals(message.includes("unchecked"), false);
  assertEquals(message.endsWith('did you mean "RegionId"?'), true);
});
