// Hints for names that a resource does not have.
import "../../helpers/no_permission.ts";
import { assertEquals, assertThrows } from "@std/assert";
import { DataStream, type ResourceName, RESOURCES } from "../../../mod.ts";

const client = new DataStream();
// As from plain JavaScript, without the compiler's checks.
const queries: Record<ResourceName, (query: object) => unknown> = {
  Metadata: (query) => client.metadata(query),
  Locations: (query) => client.locations(query),
  Observations: (query) => client.observations(query),
  Records: (query) => client.records(query),
};
const every = Object.keys(RESOURCES) as ResourceName[];

function selectMessage(resource: ResourceName, field: string): string {
  return assertThrows(() => queries[resource]({ select: [field] }), TypeError)
    .message;
}

function filterMessage(resource: ResourceName, name: string): string {
  return assertThrows(
    () => queries[resource]({ filter: `${name} eq 'x'` }),
    TypeError,
  ).message;
}

const UNCHECKED = " (or pass unchecked: true, if the service has added it)";

const fields: [resource: ResourceName, field: string, hint: string][] = [
  // A near name.
  ["Records", "ResultVal", `did you mean "ResultValue"?${UNCHECKED}`],
  [
    "Records",
    "CharacteristcName",
    `did you mean "CharacteristicName"?${UNCHECKED}`,
  ],
  ["Records", "DIO", `did you mean "DOI"?${UNCHECKED}`],
  [
    "Records",
    "Characteristic",
    `did you mean "CharacteristicName"?${UNCHECKED}`,
  ],
  [
    "Observations",
    "Laboratory",
    `did you mean "LaboratoryName" or "LaboratorySampleID"?${UNCHECKED}`,
  ],
  ["Metadata", "License", `did you mean "Licence"?${UNCHECKED}`],
  // No near name.
  ["Records", "banana", `use one of RESOURCES.Records.fields${UNCHECKED}`],
  ["Records", "WellID", `use one of RESOURCES.Records.fields${UNCHECKED}`],
  ["Records", "Result", `use one of RESOURCES.Records.fields${UNCHECKED}`],
  [
    "Locations",
    "WellDepthUnit",
    `use one of RESOURCES.Locations.fields${UNCHECKED}`,
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
  // A field of another resource.
  ["Locations", "LocationId", "use Id, which is the same number"],
  [
    "Records",
    "LocationId",
    "use Observations, where it is a field (MonitoringLocationID is another identifier)",
  ],
  ["Observations", "Latitude", "use Locations, where it is a field"],
  ["Observations", "ID", "use Locations, where it is a field"],
  ["Observations", "MonitoringLocationID", "use Records, where it is a field"],
  [
    "Observations",
    "DatasetName",
    "use Metadata or Records, where it is a field",
  ],
  ["Records", "Citation", "use Metadata, where it is a field"],
  // A name to filter by.
  ...every.map((resource) =>
    [
      resource,
      "RegionId",
      "use it in the filter only, it is not a field",
    ] as const
  ).map((row) => [...row] as [ResourceName, string, string]),
];
for (const [resource, field, hint] of fields) {
  Deno.test(`${resource.toLowerCase()}() hints "${hint}" when "${field}" is selected`, () => {
    assertEquals(
      selectMessage(resource, field),
      `Cannot select "${field}" from ${resource}: ${hint}`,
    );
  });
}

const filters: [resource: ResourceName, name: string, hint: string][] = [
  [
    "Records",
    "charactristicName",
    `did you mean "CharacteristicName"?${UNCHECKED}`,
  ],
  ["Records", "Region", `did you mean "RegionId"?${UNCHECKED}`],
  [
    "Records",
    "banana",
    `use one of ${RESOURCES.Records.filters.join(", ")}${UNCHECKED}`,
  ],
  ["Locations", "MonitoringLocationName", 'did you mean "Name"?'],
  ["Metadata", "MonitoringLocationLatitude", 'did you mean "Latitude"?'],
  ["Metadata", "Name", 'did you mean "DatasetName"?'],
  ["Records", "Type", 'did you mean "MonitoringLocationType"?'],
  [
    "Records",
    "MonitoringLocationLongitude",
    "give the query within: { west, south, east, north }",
  ],
  [
    "Observations",
    "Latitude",
    "give the query within: { west, south, east, north }",
  ],
  [
    "Observations",
    "ActivityStartDate",
    "filter by ActivityStartYear, and then the rows that come",
  ],
  [
    "Metadata",
    "Year",
    "filter by ActivityStartYear, and then the rows that come",
  ],
  ["Locations", "Id", "filter by LocationId, which is the Id"],
  ["Locations", "ID", "filter the rows that come, the service cannot do it"],
  [
    "Locations",
    "MonitoringLocationID",
    "filter the rows that come, the service cannot do it",
  ],
  ["Records", "Id", "filter the rows that come, the service cannot do it"],
  [
    "Records",
    "ResultValue",
    "filter the rows that come, the service cannot do it",
  ],
  [
    "Records",
    "Name",
    "find it in Locations and filter by LocationId, its Id there",
  ],
  [
    "Records",
    "MonitoringLocationID",
    "find it in Locations and filter by LocationId, its Id there",
  ],
  ["Observations", "DatasetName", "find it in Metadata and filter by DOI"],
  ["Locations", "CreateTimestamp", "find it in Metadata and filter by DOI"],
];
for (const [resource, name, hint] of filters) {
  Deno.test(`${resource.toLowerCase()}() hints "${hint.slice(0, 60)}" when "${name}" is filtered by`, () => {
    assertEquals(
      filterMessage(resource, name),
      `Cannot filter ${resource} by "${name}" at character 1 of the filter: ${hint}`,
    );
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
      const hint = `use one of RESOURCES.${resource}.fields${UNCHECKED}`;
      assertEquals(
        selectMessage(resource, field),
        `Cannot select "${field}" from ${resource}: ${hint}`,
      );
      queries[resource]({ select: [field], unchecked: true });
    }
  }
});

Deno.test("citations() does not mention unchecked when a name is unknown, because it has no such option", async () => {
  const message = await client.citations("Regionn eq 'x'").catch((error) => error.message);
  assertEquals(message.includes("unchecked"), false);
  assertEquals(message.endsWith('did you mean "RegionId"?'), true);
});
