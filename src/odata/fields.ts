// The fields of each resource, in the order of the service's documentation.

/** What a field holds: `?` says that it may be null. */
export type FieldType = "integer" | "number" | "number?" | "text" | "text?" | "texts" | "dates?";

/** Of `/Metadata`. */
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

/** Of `/Locations`. */
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

/** The limit's unit stands before its measure in Observations, after it in Records. */
const limitUnit = { ResultDetectionQuantitationLimitUnit: "text?" } as const;
const limitMeasure = { ResultDetectionQuantitationLimitMeasure: "number?" } as const;

const observationPlaceFields = { Id: "integer", LocationId: "integer", DOI: "text" } as const;

const recordPlaceFields = {
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
 * The published types are made of each file's text alone: there a name as a value is `any`, and
 * what is spread is left out, unless a cast says what it is.
 */
type MeasuredFields =
  & typeof activityFields
  & typeof limitUnit
  & typeof limitMeasure
  & typeof laboratoryFields;

/** Of `/Observations`. */
export const OBSERVATION_FIELDS = {
  ...observationPlaceFields,
  ...activityFields,
  ...limitUnit,
  ...limitMeasure,
  ...laboratoryFields,
} as typeof observationPlaceFields & MeasuredFields;

/** Of `/Records`. */
export const RECORD_FIELDS = {
  ...recordPlaceFields,
  ...activityFields,
  ...limitMeasure,
  ...limitUnit,
  ...laboratoryFields,
} as typeof recordPlaceFields & MeasuredFields;
