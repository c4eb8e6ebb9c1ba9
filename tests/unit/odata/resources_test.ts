// The tables of resources and fields are those of the service.
import "../../helpers/no_permission.ts";
import { assertEquals } from "@std/assert";
import { type ResourceName, RESOURCES } from "../../../mod.ts";
import { fieldsOf } from "../../helpers/resources.ts";

// DataStream Public API, "Endpoints": "Select By" and "Filter By" of each resource.
const activity = `ActivityType, ActivityMediaName, ActivityStartDate, ActivityStartTime,
  ActivityStartTimeZone, ActivityEndDate, ActivityEndTime, ActivityEndTimeZone,
  ActivityDepthHeightMeasure, ActivityDepthHeightUnit, SampleCollectionEquipmentName,
  CharacteristicName, MethodSpeciation, ResultSampleFraction, ResultValue, ResultUnit,
  ResultValueType, ResultDetectionCondition`;
const laboratory = `ResultDetectionQuantitationLimitType, ResultStatusID, ResultComment,
  ResultAnalyticalMethodID, ResultAnalyticalMethodContext, ResultAnalyticalMethodName,
  AnalysisStartDate, AnalysisStartTime, AnalysisStartTimeZone, LaboratoryName,
  LaboratorySampleID`;
const filters = `DOI, LocationId, ActivityMediaName, ActivityGroupType, CharacteristicName,
  MonitoringLocationType, ActivityStartYear, RegionId`;
const documented: Record<ResourceName, { select: string; filter: string; size: number }> = {
  Metadata: {
    select: `DOI, Version, DatasetName, DataStewardEmail, DataCollectionOrganization,
      DataUploadOrganization, ProgressCode, MaintenanceFrequencyCode, Abstract,
      DataCollectionInformation, DataProcessing, FundingSources, DataSourceURL, OtherDataSources,
      Citation, Licence, Disclaimer, TopicCategoryCode, Keywords, CreateTimestamp,
      PublishedTimestamp`,
    filter: `${filters}, DatasetName, CreateTimestamp`,
    size: 23, // and Id and TemporalExtent, which the service's OpenAPI file adds
  },
  Locations: {
    select: `Id, DOI, ID, Name, Latitude, Longitude, HorizontalCoordinateReferenceSystem,
      HorizontalAccuracyMeasure, HorizontalAccuracyUnit, VerticalMeasure, VerticalUnit,
      MonitoringLocationType`,
    filter: `${filters}, Name`,
    size: 12,
  },
  Observations: {
    select: `Id, LocationId, DOI, ${activity}, ResultDetectionQuantitationLimitUnit,
      ResultDetectionQuantitationLimitMeasure, ${laboratory}`,
    filter: filters,
    size: 34,
  },
  Records: {
    select: `Id, DOI, DatasetName, MonitoringLocationID, MonitoringLocationName,
      MonitoringLocationLatitude, MonitoringLocationLongitude,
      MonitoringLocationHorizontalCoordinateReferenceSystem,
      MonitoringLocationHorizontalAccuracyMeasure, MonitoringLocationHorizontalAccuracyUnit,
      MonitoringLocationVerticalMeasure, MonitoringLocationVerticalUnit, MonitoringLocationType,
      ${activity}, ResultDetectionQuantitationLimitMeasure, ResultDetectionQuantitationLimitUnit,
      ${laboratory}`,
    filter: filters,
    size: 44,
  },
};
const list = (text: string) => text.split(/,\s*/);

for (const [name, { select, filter, size }] of Object.entries(documented)) {
  const resource = name as ResourceName;
  Deno.test(`RESOURCES has the documented fields and filter fields when the resource is ${name}`, () => {
    const fields: string[] = fieldsOf(resource);
    const printed = list(select);
    assertEquals(fields.filter((field) => printed.includes(field)), printed);
    assertEquals(fields.length, size);
    const isBoxed = resource === "Metadata" || resource === "Locations";
    const added = ["ActivityStartDateYear", ...isBoxed ? ["Latitude", "Longitude"] : []];
    assertEquals([...RESOURCES[resource].filters].sort(), [...list(filter), ...added].sort());
  });
}
