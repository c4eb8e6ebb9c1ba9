import type { Row } from "../odata/resources.ts";
import { DATASETS } from "./datasets.ts";
import type { Location } from "./locations.ts";
import { noise, pick } from "./noise.ts";
import { type Characteristic, CONTINUOUS, type Phase } from "./phases.ts";

/** Texts that a CSV writer, a page or a spreadsheet can stumble over. */
const COMMENTS = [
  "Clear sky, light wind",
  'Bottle labelled "B", lid cracked',
  "First line\nSecond line",
  "Returned\rto the start",
  "Carriage return\r\nand line feed",
  "Eau trouble après l’orage, débit élevé",
  "Ducks 🦆 on the far shore",
  "=SUM(A1:A9)",
  "<script>alert('weir')</script>",
  "-2 steps downstream",
  "Owner's gate was shut",
];
const TIME_ZONES = ["-08:00", "-06:00", "-05:00", "-03:30", "Z"];
const EQUIPMENT = ["Water Bottle", "Bucket", "Probe/Sensor"];

/** How a record reports a result without a value. WQX allows a limit with some conditions only. */
interface Censoring {
  /** `ResultDetectionCondition`. */
  condition: string;
  /** `ResultDetectionQuantitationLimitType`. */
  limitType: string | null;
  /** Computes `ResultDetectionQuantitationLimitMeasure`, beyond all values of the characteristic. */
  limit: ((characteristic: Characteristic) => number) | null;
}

const BELOW_DETECTION: Censoring = {
  condition: "Below Detection/Quantification Limit",
  limitType: "Method Detection Level",
  limit: ({ middle }) => round(middle / 100, 6),
};
const ABOVE_DETECTION: Censoring = {
  condition: "Above Detection/Quantification Limit",
  limitType: "Reporting Limit",
  limit: ({ middle, spread, decimals }) => round(middle + spread, decimals),
};
const NOT_DETECTED: Censoring = { condition: "Not Detected", limitType: null, limit: null };
const NOT_QUANTIFIED: Censoring = {
  condition: "Detected Not Quantified",
  limitType: null,
  limit: null,
};

/** Each entry is equally likely. */
const CENSORINGS: readonly Censoring[] = [
  BELOW_DETECTION,
  BELOW_DETECTION,
  BELOW_DETECTION,
  { ...BELOW_DETECTION, limitType: "Reporting Limit" },
  NOT_DETECTED,
  NOT_DETECTED,
  NOT_QUANTIFIED,
  ABOVE_DETECTION,
];

/** All fields that a record has at one of the two resources that give records. */
export type RecordRow = Row<"Records"> & Row<"Observations">;

/** The number of a record's row; ids have gaps, as the service's do. */
export function recordId(index: number): number {
  return 500_003 + 3 * index;
}

/** The index of the first record whose id is above the given one. */
export function recordAfter(id: number): number {
  return Math.max(0, Math.floor((id - 500_003) / 3) + 1);
}

/** The row of the record with that index, computed from it, its location and its phase alone. */
export function recordRow(
  index: number,
  { row: location, dataset }: Location,
  phase: Phase,
): RecordRow {
  const { characteristic, startDate, media, activity } = phase;
  const { middle, spread, decimals, unit, field } = characteristic;
  const value = middle + (noise(index, 1) - 0.5) * spread;
  const censoring = !field && noise(index, 2) < 0.06 ? pick(CENSORINGS, index, 14) : null;
  const limit = censoring?.limit?.(characteristic) ?? null;
  const hour = 6 + Math.floor(noise(index, 3) * 12);
  const minute = Math.floor(noise(index, 4) * 60);
  const minuteText = String(minute).padStart(2, "0");
  const time = `${String(hour).padStart(2, "0")}:${minuteText}:00`;
  const zone = pick(TIME_ZONES, location.Id, 6);
  const timed = startDate !== null && (noise(index, 5) < 0.9 || activity === CONTINUOUS);
  const deep = noise(index, 6) < 0.7 && !characteristic.isDepth;
  const composite = timed && noise(index, 7) < 0.05;
  const analysisTimed = !field && startDate !== null && noise(index, 15) < 0.2;
  return {
    Id: recordId(index),
    LocationId: location.Id,
    DOI: location.DOI,
    DatasetName: DATASETS[dataset]!.DatasetName,
    MonitoringLocationID: location.ID,
    MonitoringLocationName: location.Name,
    MonitoringLocationLatitude: location.Latitude,
    MonitoringLocationLongitude: location.Longitude,
    MonitoringLocationHorizontalCoordinateReferenceSystem:
      location.HorizontalCoordinateReferenceSystem,
    MonitoringLocationHorizontalAccuracyMeasure: location.HorizontalAccuracyMeasure,
    MonitoringLocationHorizontalAccuracyUnit: location.HorizontalAccuracyUnit,
    MonitoringLocationVerticalMeasure: location.VerticalMeasure,
    MonitoringLocationVerticalUnit: location.VerticalUnit,
    MonitoringLocationType: location.MonitoringLocationType,
    ActivityType: activity.type,
    ActivityMediaName: media,
    ActivityStartDate: startDate,
    ActivityStartTime: timed ? time : null,
    ActivityStartTimeZone: timed ? zone : null,
    ActivityEndDate: composite ? startDate : null,
    ActivityEndTime: composite ? "23:30:00" : null,
    ActivityEndTimeZone: composite ? zone : null,
    ActivityDepthHeightMeasure: deep ? -round(0.1 + noise(index, 8) * 12, 1) : null,
    ActivityDepthHeightUnit: deep ? "m" : null,
    SampleCollectionEquipmentName: noise(index, 9) < 0.5 ? pick(EQUIPMENT, index, 10) : null,
    CharacteristicName: characteristic.name,
    MethodSpeciation: characteristic.speciation,
    ResultSampleFraction: characteristic.fraction,
    ResultValue: censoring === null ? round(value, decimals) : null,
    ResultUnit: censoring === null ? unit : null,
    ResultValueType: censoring === null ? "Actual" : null,
    ResultDetectionCondition: censoring === null ? null : censoring.condition,
    ResultDetectionQuantitationLimitMeasure: limit,
    ResultDetectionQuantitationLimitUnit: limit === null ? null : unit,
    ResultDetectionQuantitationLimitType: censoring === null ? null : censoring.limitType,
    ResultStatusID: noise(index, 11) < 0.8 ? "Accepted" : "Preliminary",
    ResultComment: noise(index, 12) < 0.15 ? pick(COMMENTS, index, 13) : null,
    ResultAnalyticalMethodID: field ? null : "WEIR-0",
    ResultAnalyticalMethodContext: field ? null : "PROPRIETARY",
    ResultAnalyticalMethodName: field ? null : "Synthetic method, of no laboratory",
    AnalysisStartDate: field ? null : startDate,
    // Later than every ActivityStartTime.
    AnalysisStartTime: analysisTimed ? `18:${minuteText}:00` : null,
    AnalysisStartTimeZone: analysisTimed ? zone : null,
    LaboratoryName: field ? null : "Weir Sandbox Laboratory",
    LaboratorySampleID: field ? null : `S-${index + 1}`,
  };
}

function round(value: number, places: number): number {
  return Number(value.toFixed(places));
}
