// The fields of each resource, in the order of DataStream Public API, "Endpoints".

/** Type of a field's values; with `?`, they can be null. */
export type FieldType = "integer" | "number" | "number?" | "text" | "text?" | "texts" | "dates?";

/** Fields of `/Metadata`. */
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

/** Fields of `/Locations`. */
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

const laboratoryFields = {
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

/** Observations has the unit of the limit before its measure, Records after it. */
const limitUnit = { ResultDetectionQuantitationLimitUnit: "text?" } as const;
const limitMeasure = { ResultDetectionQuantitationLimitMeasure: "number?" } as const;

const observationKeyFields = { Id: "integer", LocationId: "integer", DOI: "text" } as const;

const recordLocationFields = {
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

/**
 * JSR infers the published types from the text of each file: a variable as a value becomes `any`, and
 * spread fields are omitted. The casts below state the types.
 */
type MeasuredFields =
  & typeof activityFields
  & typeof limitUnit
  & typeof limitMeasure
  & typeof laboratoryFields;

/** Fields of `/Observations`. */
export const OBSERVATION_FIELDS = {
  ...observationKeyFields,
  ...activityFields,
  ...limitUnit,
  ...limitMeasure,
  ...laboratoryFields,
} as typeof observationKeyFields & MeasuredFields;

/** Fields of `/Records`. */
export const RECORD_FIELDS = {
  ...recordLocationFields,
  ...activityFields,
  ...limitMeasure,
  ...limitUnit,
  ...laboratoryFields,
} as typeof recordLocationFields & MeasuredFields;
