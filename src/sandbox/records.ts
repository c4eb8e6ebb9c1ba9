import type { Row } from "../odata/resources.ts";
import { DATASETS } from "./datasets.ts";
import type { Location } from "./locations.ts";
import { noise, pick } from "./noise.ts";

/** Comments with characters that CSV, HTML or spreadsheets treat specially. */
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

/** How a record reports a result without a value. WQX allows a limit only with some conditions. */
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

/** Censorings of the sandbox's records. Each entry is equally likely, so repeated ones are likelier. */
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

/** Row with the fields of both Records and Observations. */
export type RecordRow = Row<"Records"> & Row<"Observations">;

const FIRST_ID = 500_003;
/** Difference between two Ids. Ids have gaps, as in the service. */
const ID_STEP = 3;

/** Returns the index of the first record with an Id greater than `id`. */
export function recordAfter(id: number): number {
  return Math.max(0, Math.floor((id - FIRST_ID) / ID_STEP) + 1);
}

/** Computes the row of a record from its index, its location and its phase. */
export function recordRow(
  index: number,
  { row: location, dataset }: Location,
  phase: Phase,
): RecordRow {
  const { characteristic, startDate, media, activity } = phase;
  const { middle, spread, decimals, unit, isMeasuredInField } = characteristic;
  const value = middle + (noise(index, 1) - 0.5) * spread;
  const censoring = !isMeasuredInField && noise(index, 2) < 0.06
    ? pick(CENSORINGS, index, 14)
    : null;
  const limit = censoring?.limit?.(characteristic) ?? null;
  const hour = 6 + Math.floor(noise(index, 3) * 12);
  const minute = Math.floor(noise(index, 4) * 60);
  const minuteText = String(minute).padStart(2, "0");
  const time = `${String(hour).padStart(2, "0")}:${minuteText}:00`;
  const zone = pick(TIME_ZONES, location.Id, 6);
  const hasTime = startDate !== null && (noise(index, 5) < 0.9 || activity === CONTINUOUS);
  const hasDepth = noise(index, 6) < 0.7 && !characteristic.isDepth;
  const isComposite = hasTime && noise(index, 7) < 0.05;
  const hasAnalysisTime = !isMeasuredInField && startDate !== null && noise(index, 15) < 0.2;
  return {
    Id: FIRST_ID + ID_STEP * index,
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
    ActivityStartTime: hasTime ? time : null,
    ActivityStartTimeZone: hasTime ? zone : null,
    ActivityEndDate: isComposite ? startDate : null,
    ActivityEndTime: isComposite ? "23:30:00" : null,
    ActivityEndTimeZone: isComposite ? zone : null,
    ActivityDepthHeightMeasure: hasDepth ? -round(0.1 + noise(index, 8) * 12, 1) : null,
    ActivityDepthHeightUnit: hasDepth ? "m" : null,
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
    ResultAnalyticalMethodID: isMeasuredInField ? null : "WEIR-0",
    ResultAnalyticalMethodContext: isMeasuredInField ? null : "PROPRIETARY",
    ResultAnalyticalMethodName: isMeasuredInField ? null : "Synthetic method, of no laboratory",
    AnalysisStartDate: isMeasuredInField ? null : startDate,
    // Later than every ActivityStartTime.
    AnalysisStartTime: hasAnalysisTime ? `18:${minuteText}:00` : null,
    AnalysisStartTimeZone: hasAnalysisTime ? zone : null,
    LaboratoryName: isMeasuredInField ? null : "Weir Sandbox Laboratory",
    LaboratorySampleID: isMeasuredInField ? null : `S-${index + 1}`,
  };
}

function round(value: number, places: number): number {
  return Number(value.toFixed(places));
}

/** Characteristic and how it is measured. */
interface Characteristic {
  name: string;
  unit: string;
  /** Middle of the range of values. */
  middle: number;
  /** Width of the range of values. */
  spread: number;
  /** Number of decimal places of a value. */
  decimals: number;
  fraction: string | null;
  speciation: string | null;
  /** Whether it is measured at the site, and not in a laboratory. */
  isMeasuredInField: boolean;
  /** Whether the result itself is a depth; its records have no activity depth. */
  isDepth: boolean;
}

const inField = { isMeasuredInField: true, fraction: null, speciation: null, isDepth: false };
const inLaboratory = {
  isMeasuredInField: false,
  fraction: "Total",
  speciation: null,
  isDepth: false,
};

const TEMPERATURE: Characteristic = {
  ...inField,
  name: "Temperature, water",
  unit: "deg C",
  middle: 9,
  spread: 22,
  decimals: 1,
};
const TURBIDITY: Characteristic = {
  ...inField,
  name: "Turbidity",
  unit: "NTU",
  middle: 11,
  spread: 20,
  decimals: 2,
};
const SECCHI_DEPTH: Characteristic = {
  ...inField,
  name: "Depth, Secchi disk depth",
  unit: "m",
  middle: 3,
  spread: 5,
  decimals: 1,
  isDepth: true,
};

/** The ten characteristics of a visit. On some visits Secchi depth replaces turbidity. */
const CHARACTERISTICS: readonly Characteristic[] = [
  { ...inField, name: "pH", unit: "None", middle: 7.4, spread: 2, decimals: 2 },
  TEMPERATURE,
  { ...inField, name: "Dissolved oxygen (DO)", unit: "mg/L", middle: 9, spread: 8, decimals: 2 },
  {
    ...inField,
    name: "Specific conductance",
    unit: "uS/cm",
    middle: 310,
    spread: 500,
    decimals: 1,
  },
  TURBIDITY,
  {
    ...inLaboratory,
    name: "Total Phosphorus, mixed forms",
    unit: "mg/L",
    middle: 0.05,
    spread: 0.09,
    decimals: 4,
    fraction: "Unfiltered",
    speciation: "as P",
  },
  {
    ...inLaboratory,
    name: "Nitrate",
    unit: "mg/L",
    middle: 0.9,
    spread: 1.6,
    decimals: 3,
    fraction: "Filtered",
    speciation: "as N",
  },
  { ...inLaboratory, name: "Chloride", unit: "mg/L", middle: 40, spread: 75, decimals: 1 },
  {
    ...inLaboratory,
    name: "Escherichia coli",
    unit: "cfu/100mL",
    middle: 160,
    spread: 300,
    decimals: 0,
    fraction: null,
  },
  {
    ...inLaboratory,
    name: "Total suspended solids",
    unit: "mg/L",
    middle: 22,
    spread: 40,
    decimals: 1,
    fraction: "Non-Filterable (Particle)",
  },
];

/** Number of visits after which a location's dates repeat. Two of them have no date. */
const VISITS = 200;

/** Number of phases; see {@linkcode Phase}. */
export const PHASES = VISITS * CHARACTERISTICS.length;

/**
 * Visit and characteristic of a record. Together with its location, the phase determines every property of
 * a record that a filter can test. The records of a location go through all phases in turn, repeatedly.
 */
export interface Phase {
  characteristic: Characteristic;
  /** `YYYY-MM-DD`; `null` for a record without a start date. */
  startDate: string | null;
  year: number | null;
  media: string;
  activity: Activity;
}

/** Type of an activity, which is a column of records, and its group, which is a name in filters. */
interface Activity {
  type: string;
  group: string;
}

// Types and groups are values of DataStream's schema 3.0.0 (2026-07-14). Which group a type belongs
// to is inferred from their names.
const FIELD_MEASURE: Activity = { type: "Field Msr/Obs", group: "Field Measure" };
const LAB_SAMPLE: Activity = { type: "Sample-Routine", group: "Lab Sample" };
const FIELD_CONTROL: Activity = {
  type: "Quality Control Field Replicate Msr/Obs",
  group: "Quality Control - Field Measure",
};
const LAB_CONTROL: Activity = {
  type: "Quality Control Sample-Field Replicate",
  group: "Quality Control - Lab Sample",
};
/** The schema requires a start time for this type. */
const CONTINUOUS: Activity = {
  type: "Field Msr/Obs-Continuous Time Series",
  group: "Continuous Data",
};

/**
 * Returns the number of the phase of a record. Each visit measures each characteristic once.
 *
 * @param location Index of the location
 * @param ordinal Index of the record among those of the location
 */
export function phaseOf(location: number, ordinal: number): number {
  const characteristic = ordinal % CHARACTERISTICS.length;
  const visit = Math.floor(ordinal / CHARACTERISTICS.length) % VISITS;
  // 77 and 200 have no common factor, so every visit is reached and the years are mixed.
  const mixed = (visit * 77 + location * 31) % VISITS;
  return mixed * CHARACTERISTICS.length + characteristic;
}

let phases: readonly Phase[] | undefined;

/** Returns all phases, by number. The first call creates them, because it takes several milliseconds. */
export function phaseTable(): readonly Phase[] {
  return phases ??= Array.from({ length: PHASES }, (_, number) => createPhase(number));
}

function createPhase(number: number): Phase {
  const visit = Math.floor(number / CHARACTERISTICS.length);
  const characteristic = characteristicOf(visit, number % CHARACTERISTICS.length);
  const date = new Date(Date.UTC(2012, 0, 9 + visit * 22)).toISOString().slice(0, 10);
  const startDate = visit % 100 === 99 ? null : date;
  return {
    characteristic,
    startDate,
    year: startDate === null ? null : Number(startDate.slice(0, 4)),
    media: visit % 11 === 5 && !characteristic.isMeasuredInField
      ? "Surface Water Sediment"
      : "Surface Water",
    activity: activityOf(visit, characteristic),
  };
}

function characteristicOf(visit: number, index: number): Characteristic {
  const characteristic = CHARACTERISTICS[index]!;
  return characteristic === TURBIDITY && visit % 20 === 3 ? SECCHI_DEPTH : characteristic;
}

function activityOf(visit: number, characteristic: Characteristic): Activity {
  if (visit % 20 === 7) return characteristic.isMeasuredInField ? FIELD_CONTROL : LAB_CONTROL;
  if (visit % 20 === 13 && characteristic === TEMPERATURE) return CONTINUOUS;
  return characteristic.isMeasuredInField ? FIELD_MEASURE : LAB_SAMPLE;
}
