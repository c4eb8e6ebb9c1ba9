import type { Row } from "../odata/resources.ts";
import { DATASETS } from "./datasets.ts";
import type { Location } from "./locations.ts";
import { noise, pick } from "./noise.ts";
import type { Phase } from "./phases.ts";

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
  const { characteristic, startDate, media, activityType } = phase;
  const { middle, spread, decimals, unit, field } = characteristic;
  const round = (value: number, places: number) => Number(value.toFixed(places));
  const value = middle + (noise(index, 1) - 0.5) * spread;
  const hidden = !field && noise(index, 2) < 0.06;
  const hour = 6 + Math.floor(noise(index, 3) * 12);
  const minute = Math.floor(noise(index, 4) * 60);
  const time = `${String(hour).padStart(2, "0")}:${String(minute).padStart(2, "0")}:00`;
  const zone = pick(TIME_ZONES, location.Id, 6);
  const timed = startDate !== null && noise(index, 5) < 0.9;
  const deep = noise(index, 6) < 0.7;
  const composite = timed && noise(index, 7) < 0.05;
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
    ActivityType: activityType,
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
    ResultValue: hidden ? null : round(value, decimals),
    ResultUnit: hidden ? null : unit,
    ResultValueType: hidden ? null : "Actual",
    ResultDetectionCondition: hidden ? "Not Detected" : null,
    ResultDetectionQuantitationLimitMeasure: hidden ? round(middle / 100, 6) : null,
    ResultDetectionQuantitationLimitUnit: hidden ? unit : null,
    ResultDetectionQuantitationLimitType: hidden ? "Method Detection Level" : null,
    ResultStatusID: noise(index, 11) < 0.8 ? "Accepted" : "Preliminary",
    ResultComment: noise(index, 12) < 0.15 ? pick(COMMENTS, index, 13) : null,
    ResultAnalyticalMethodID: field ? null : "WEIR-0",
    ResultAnalyticalMethodContext: field ? null : "WEIR",
    ResultAnalyticalMethodName: field ? null : "Synthetic method, of no laboratory",
    AnalysisStartDate: field ? null : startDate,
    AnalysisStartTime: null,
    AnalysisStartTimeZone: null,
    LaboratoryName: field ? null : "Weir Sandbox Laboratory",
    LaboratorySampleID: field ? null : `S-${index + 1}`,
  };
}
