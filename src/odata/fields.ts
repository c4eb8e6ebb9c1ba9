// In the order of DataStream Public API, "Endpoints".

/** `texts` is an array of strings; `?` means that the value can be null. */
export type FieldType = "integer" | "number" | "number?" | "text" | "text?" | "texts" | "dates?";

export const METADATA_FIELDS = {
  Id: "text",
  DOI: "text",
  Version: "text",
  DatasetName: "text",
  DataStewardEmail: "text",
  DataCollectionOrganization: "text",
  DataUploadOrganization: "text",
  ProgressCode: "text",
  MaintenanceFrequencyCode: "text",
  Abstract: "text",
  DataCollectionInformation: "text",
  DataProcessing: "text?",
  FundingSources: "text",
  DataSourceURL: "text?",
  OtherDataSources: "text",
  Citation: "text",
  Licence: "text",
  Disclaimer: "text",
  TopicCategoryCode: "texts",
  Keywords: "texts",
  CreateTimestamp: "text",
  PublishedTimestamp: "text",
  TemporalExtent: "dates?",
} as const satisfies Record<string, FieldType>;

export const LOCATION_FIELDS = {
  Id: "integer",
  DOI: "text",
  ID: "text",
  Name: "text",
  Latitude: "number",
  Longitude: "number",
  HorizontalCoordinateReferenceSystem: "text",
  HorizontalAccuracyMeasure: "number?",
  HorizontalAccuracyUnit: "text?",
  VerticalMeasure: "number?",
  VerticalUnit: "text?",
  MonitoringLocationType: "text",
} as const satisfies Record<string, FieldType>;

const activityFields = {
  ActivityType: "text",
  ActivityMediaName: "text",
  ActivityStartDate: "text?",
  ActivityStartTime: "text?",
  ActivityStartTimeZone: "text?",
  ActivityEndDate: "text?",
  ActivityEndTime: "text?",
  ActivityEndTimeZone: "text?",
  ActivityDepthHeightMeasure: "number?",
  ActivityDepthHeightUnit: "text?",
  SampleCollectionEquipmentName: "text?",
  CharacteristicName: "text",
  MethodSpeciation: "text?",
  ResultSampleFraction: "text?",
  ResultValue: "number?",
  ResultUnit: "text?",
  ResultValueType: "text?",
  ResultDetectionCondition: "text?",
} as const satisfies Record<string, FieldType>;

const resultDetailFields = {
  ResultDetectionQuantitationLimitType: "text?",
  ResultStatusID: "text?",
  ResultComment: "text?",
  ResultAnalyticalMethodID: "text?",
  ResultAnalyticalMethodContext: "text?",
  ResultAnalyticalMethodName: "text?",
  AnalysisStartDate: "text?",
  AnalysisStartTime: "text?",
  AnalysisStartTimeZone: "text?",
  LaboratoryName: "text?",
  LaboratorySampleID: "text?",
} as const satisfies Record<string, FieldType>;

// Order of the two detection-limit columns: unit, measure in Observations; measure, unit in Records.
const limitUnit = { ResultDetectionQuantitationLimitUnit: "text?" } as const;
const limitMeasure = { ResultDetectionQuantitationLimitMeasure: "number?" } as const;

const observationKeyFields = { Id: "integer", LocationId: "integer", DOI: "text" } as const;

const recordKeyAndLocationFields = {
  Id: "integer",
  DOI: "text",
  DatasetName: "text",
  MonitoringLocationID: "text",
  MonitoringLocationName: "text",
  MonitoringLocationLatitude: "number",
  MonitoringLocationLongitude: "number",
  MonitoringLocationHorizontalCoordinateReferenceSystem: "text",
  MonitoringLocationHorizontalAccuracyMeasure: "number?",
  MonitoringLocationHorizontalAccuracyUnit: "text?",
  MonitoringLocationVerticalMeasure: "number?",
  MonitoringLocationVerticalUnit: "text?",
  MonitoringLocationType: "text",
} as const satisfies Record<string, FieldType>;

// JSR reads types from source text and loses spread fields, so the casts below state them.
type MeasuredFields =
  & typeof activityFields
  & typeof limitUnit
  & typeof limitMeasure
  & typeof resultDetailFields;

export const OBSERVATION_FIELDS = {
  ...observationKeyFields,
  ...activityFields,
  ...limitUnit,
  ...limitMeasure,
  ...resultDetailFields,
} as typeof observationKeyFields & MeasuredFields;

export const RECORD_FIELDS = {
  ...recordKeyAndLocationFields,
  ...activityFields,
  ...limitMeasure,
  ...limitUnit,
  ...resultDetailFields,
} as typeof recordKeyAndLocationFields & MeasuredFields;
