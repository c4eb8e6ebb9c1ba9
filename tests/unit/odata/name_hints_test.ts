// A name that a resource does not have is an error that names the near one, or where to find it.
import "../../helpers/no_permission.ts";
import { assertEquals, assertThrows } from "@std/assert";
import { DataStream, type ResourceName, RESOURCES, ValidationError } from "../../../mod.ts";

const client = new DataStream();
const filtersOf = ({ filters }: typeof RESOURCES[ResourceName]) => filters.join(", ");
const IN_LOCATIONS =
  "look up the location in Locations, then filter by LocationId, which is its Id there";
const IN_METADATA = "look up the dataset in Metadata, then filter by its DOI";
const BY_YEAR = "filter by ActivityStartYear, then keep the rows you need";

/** Hints by resource and selected field. */
const SELECTED: Record<string, string> = {
  // A near name, or none
  "Records.ResultVal": 'did you mean "ResultValue"?',
  "Records.DIO": 'did you mean "DOI"?',
  "Observations.Laboratory": 'did you mean "LaboratoryName" or "LaboratorySampleID"?',
  "Records.Result": `use one of ${Object.keys(RESOURCES.Records.fields).join(", ")}`,
  // The same under another name
  "Records.longitude": 'did you mean "MonitoringLocationLongitude"?',
  "Records.ID": 'did you mean "MonitoringLocationID"?',
  "Locations.MonitoringLocationName": 'did you mean "Name"?',
  "Locations.MonitoringLocationId": 'did you mean "ID"?',
  "Metadata.processing": 'did you mean "DataProcessing"?',
  "Records.ActivityDate": 'did you mean "ActivityStartDate" or "ActivityEndDate"?',
  // A field of another resource
  "Observations.LocationName": 'use "MonitoringLocationName" of Records',
  "Locations.LocationId": "use Id, which is the same number",
  "Records.LocationId":
    "use Observations, which has this field (MonitoringLocationID is another identifier)",
  "Observations.ID": "use Locations, which has this field",
  "Observations.DatasetName": "use Metadata or Records, which has this field",
  "Metadata.RegionId": "use it in {filter} only, because no resource returns it",
};

/** Hints by resource and filter field. */
const FILTERED: Record<string, string> = {
  "Records.charactristicName": 'did you mean "CharacteristicName"?',
  "Records.Region": 'did you mean "RegionId"?',
  "Metadata.MonitoringLocationLatitude": 'did you mean "Latitude"?',
  "Records.banana": `use one of ${filtersOf(RESOURCES.Records)}`,
  "Records.LocationLatitude": "use {within} to filter by position",
  "Records.ActivityDate": "use {from} and {to}, which take days",
  "Records.ActivityEndDate": BY_YEAR,
  "Locations.ActivityStartDate": BY_YEAR,
  "Locations.Id": "filter by LocationId, which is the same number",
  "Locations.MonitoringLocationID": "filter the returned rows instead",
  "Records.ResultValue": "filter the returned rows instead",
  "Records.LocationName": IN_LOCATIONS,
  "Records.MonitoringLocationID": IN_LOCATIONS,
  "Locations.CreateTimestamp": IN_METADATA,
};

for (
  const [option, hints, toValue] of [
    ["select", SELECTED, (name: string) => [name]],
    ["filter", FILTERED, (name: string) => `${name} eq 'x'`],
  ] as const
) {
  for (const [key, hint] of Object.entries(hints)) {
    const [resource, name] = key.split(".") as [ResourceName, string];
    Deno.test(`query() hints "${hint.slice(0, 60)}" when ${option} of ${resource} has ${name}`, () => {
      const run = () => client.query(resource, { [option]: toValue(name) });
      const error = assertThrows(run, ValidationError);
      assertEquals([error.hint, error.canBeUnchecked], [hint, hint.startsWith("use one of")]);
    });
  }
}
