// Meanings of the fields. Data packages and the page of fields read them from this table.
import type { ResourceName } from "./resources.ts";

/** Meaning of a field. */
export interface FieldMeaning {
  /** A phrase, without a capital letter at its start and a full stop at its end. */
  readonly meaning: string;
  /** Unit of all values. */
  readonly unit?: string;
  /** Field that has the unit of the value, which can differ from row to row. */
  readonly unitField?: string;
  /** Whether the text is a date, `YYYY-MM-DD`. */
  readonly isDate?: boolean;
}

/** By field, in the order of `docs/data.md`. `Id` differs between resources. */
const FIELD_MEANINGS: Readonly<Record<string, FieldMeaning>> = {
  "Metadata.Id": { meaning: "identifier of the row" },
  DOI: { meaning: "digital object identifier of the dataset; some begin with 10.81029/" },
  Version: { meaning: "version of the dataset" },
  DatasetName: { meaning: "title of the dataset" },
  DataStewardEmail: { meaning: "public contact for the dataset" },
  DataCollectionOrganization: { meaning: "organization that collected the data" },
  DataUploadOrganization: { meaning: "organization or researcher that uploaded the data" },
  ProgressCode: { meaning: "progress of the dataset" },
  MaintenanceFrequencyCode: { meaning: "how often the dataset is maintained" },
  Abstract: { meaning: "description: purpose and nature of the monitoring" },
  DataCollectionInformation: {
    meaning: "how the data was collected, such as sampling methods and calibration",
  },
  DataProcessing: { meaning: "how the data was cleaned, processed or checked" },
  FundingSources: { meaning: "funders of the monitoring" },
  DataSourceURL: { meaning: "source of the data" },
  OtherDataSources: { meaning: "third-party sources in the dataset; can be empty" },
  Citation: { meaning: "how to cite the dataset, with the DOI link" },
  Licence: { meaning: "licence of the data" },
  Disclaimer: { meaning: "disclaimer that the licence does not contain; can be empty" },
  TopicCategoryCode: { meaning: "topics of the dataset" },
  Keywords: { meaning: "keywords of the dataset" },
  CreateTimestamp: { meaning: "time when the dataset was created" },
  PublishedTimestamp: { meaning: "time when the dataset was published" },
  TemporalExtent: { meaning: "first and last date of the data" },
  "Locations.Id": { meaning: "number of the location in DataStream" },
  LocationId: { meaning: "number of the location in DataStream" },
  ID: { meaning: "identifier that the data collector gave to the location" },
  MonitoringLocationID: { meaning: "identifier that the data collector gave to the location" },
  Name: { meaning: "name of the location" },
  MonitoringLocationName: { meaning: "name of the location" },
  Latitude: { meaning: "latitude, in the reference system of the row", unit: "degrees" },
  MonitoringLocationLatitude: {
    meaning: "latitude, in the reference system of the row",
    unit: "degrees",
  },
  Longitude: { meaning: "longitude, in the reference system of the row", unit: "degrees" },
  MonitoringLocationLongitude: {
    meaning: "longitude, in the reference system of the row",
    unit: "degrees",
  },
  HorizontalCoordinateReferenceSystem: { meaning: "coordinate reference system of the position" },
  MonitoringLocationHorizontalCoordinateReferenceSystem: {
    meaning: "coordinate reference system of the position",
  },
  HorizontalAccuracyMeasure: {
    meaning: "accuracy of the position",
    unitField: "HorizontalAccuracyUnit",
  },
  MonitoringLocationHorizontalAccuracyMeasure: {
    meaning: "accuracy of the position",
    unitField: "MonitoringLocationHorizontalAccuracyUnit",
  },
  HorizontalAccuracyUnit: { meaning: "unit of the accuracy" },
  MonitoringLocationHorizontalAccuracyUnit: { meaning: "unit of the accuracy" },
  VerticalMeasure: {
    meaning: "elevation above or below a reference datum",
    unitField: "VerticalUnit",
  },
  MonitoringLocationVerticalMeasure: {
    meaning: "elevation above or below a reference datum",
    unitField: "MonitoringLocationVerticalUnit",
  },
  VerticalUnit: { meaning: "unit of the elevation" },
  MonitoringLocationVerticalUnit: { meaning: "unit of the elevation" },
  MonitoringLocationType: { meaning: "type of the location, such as a river or a lake" },
  Id: { meaning: "number of the row in DataStream" },
  ActivityType: { meaning: "field measurement, sample for a laboratory, or quality control" },
  ActivityMediaName: { meaning: "medium of the sample or measurement, such as surface water" },
  ActivityStartDate: { meaning: "first date of the sampling or measurement", isDate: true },
  ActivityStartTime: { meaning: "time of the start" },
  ActivityStartTimeZone: { meaning: "time zone of the start" },
  ActivityEndDate: { meaning: "last date of the sampling or measurement", isDate: true },
  ActivityEndTime: { meaning: "time of the end" },
  ActivityEndTimeZone: { meaning: "time zone of the end" },
  ActivityDepthHeightMeasure: {
    meaning: "distance from the surface; negative below it",
    unitField: "ActivityDepthHeightUnit",
  },
  ActivityDepthHeightUnit: { meaning: "unit of the depth or height" },
  SampleCollectionEquipmentName: { meaning: "equipment that collected the sample" },
  CharacteristicName: { meaning: "what was measured, such as pH" },
  MethodSpeciation: { meaning: "chemical form of the result, such as as N" },
  ResultSampleFraction: { meaning: "part of the sample that was analyzed, such as Dissolved" },
  ResultValue: {
    meaning: "measured value; null if there is a detection condition",
    unitField: "ResultUnit",
  },
  ResultUnit: { meaning: "unit of the value" },
  ResultValueType: { meaning: "how the value was determined, such as Actual or Estimated" },
  ResultStatusID: { meaning: "stage of quality control, such as Validated" },
  ResultComment: { meaning: "comment on the result" },
  ResultDetectionCondition: { meaning: "why there is no value" },
  ResultDetectionQuantitationLimitMeasure: {
    meaning: "detection or quantification limit",
    unitField: "ResultDetectionQuantitationLimitUnit",
  },
  ResultDetectionQuantitationLimitUnit: { meaning: "unit of the limit" },
  ResultDetectionQuantitationLimitType: { meaning: "type of the limit" },
  ResultAnalyticalMethodID: { meaning: "identifier of the analytical method" },
  ResultAnalyticalMethodContext: { meaning: "organization or list that the identifier comes from" },
  ResultAnalyticalMethodName: { meaning: "name of the analytical method" },
  AnalysisStartDate: { meaning: "date when the analysis began", isDate: true },
  AnalysisStartTime: { meaning: "time when the analysis began" },
  AnalysisStartTimeZone: { meaning: "time zone of the analysis" },
  LaboratoryName: { meaning: "laboratory that analyzed the sample" },
  LaboratorySampleID: { meaning: "identifier of the sample in the laboratory" },
};

/** Returns the meaning of a field; `undefined` for a field that Weir does not know. */
export function meaningOf(resource: ResourceName, field: string): FieldMeaning | undefined {
  const name = [`${resource}.${field}`, field].find((name) => Object.hasOwn(FIELD_MEANINGS, name));
  return name === undefined ? undefined : FIELD_MEANINGS[name];
}

/** Splits a field name into words: "Result detection condition" for `ResultDetectionCondition`. */
export function labelOf(field: string): string {
  const words = field.replace(/([a-z])(?=[A-Z])/g, "$1 ").split(" ");
  return words.map((word, index) => index > 0 && /[a-z]/.test(word) ? word.toLowerCase() : word)
    .join(" ");
}
