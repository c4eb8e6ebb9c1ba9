import type { Row } from "../odata/resources.ts";
import type { Location } from "./locations.ts";
import { noise, pick } from "./noise.ts";

/** How a record reports a result without a value. WQX allows a limit only with some conditions. */
interface Censoring {
  /** `ResultDetectionCondition`. */
  condition: string;
  /** `ResultDetectionQuantitationLimitType`. */
  limitType: string | null;
}

const BELOW_LIMIT: Censoring = {
  condition: "Below Detection/Quantification Limit",
  limitType: "Method Detection Level",
};
const ABOVE_LIMIT: Censoring = {
  condition: "Above Detection/Quantification Limit",
  limitType: "Reporting Limit",
};

/** Censorings of low values. Each entry is equally likely, so repeated ones are likelier. */
const LOW_CENSORINGS: readonly Censoring[] = [
  BELOW_LIMIT,
  BELOW_LIMIT,
  BELOW_LIMIT,
  BELOW_LIMIT,
  { condition: "Not Detected", limitType: null },
  { condition: "Detected Not Quantified", limitType: null },
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

/**
 * Computes the row of a record from its index, its location and its phase.
 *
 * @param ordinal Index of the record among those of the location
 */
export function recordRow(
  index: number,
  ordinal: number,
  { row: location, datasetName, zone, depth, level, comments }: Location,
  phase: Phase,
): RecordRow {
  const { characteristic, startDate, analysisDate, activity } = phase;
  const { pattern, unit, equipment, method, lowest, highest } = characteristic;
  /** Seed of what the records of one visit have in common. */
  const visit = location.Id * 10_007 + Math.floor(ordinal / CHARACTERISTICS.length);
  const [first, second] = [noise(index, 1), noise(index, 2)];
  const factor = pattern.spread === null
    ? 0.03 + 3.88 * first * second
    : 1 + pattern.spread * (first + second - 1);
  const exact = phase.typical * (1 + pattern.range * level) * factor;
  const value = Math.round(exact * characteristic.scale) / characteristic.scale;
  const censoring = value <= lowest
    ? pick(LOW_CENSORINGS, index, 14)
    : value >= highest
    ? ABOVE_LIMIT
    : null;
  const hasLimit = censoring !== null && censoring.limitType !== null;
  const hour = 8 + Math.floor(noise(visit, 3) * 9);
  const minuteText = String(Math.floor(noise(visit, 4) * 60)).padStart(2, "0");
  const hasTime = startDate !== null && (noise(visit, 5) < 0.9 || activity === CONTINUOUS);
  const hasDepth = noise(visit, 6) < 0.7 && !characteristic.isDepth;
  const isComposite = hasTime && noise(index, 7) < 0.05;
  const hasAnalysisTime = analysisDate !== null && noise(index, 15) < 0.2;
  return {
    Id: FIRST_ID + ID_STEP * index,
    LocationId: location.Id,
    DOI: location.DOI,
    DatasetName: datasetName,
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
    ActivityMediaName: characteristic.media,
    ActivityStartDate: startDate,
    ActivityStartTime: hasTime ? timeText(hour, minuteText) : null,
    ActivityStartTimeZone: hasTime ? zone : null,
    ActivityEndDate: isComposite ? startDate : null,
    ActivityEndTime: isComposite ? timeText(hour + 1, minuteText) : null,
    ActivityEndTimeZone: isComposite ? zone : null,
    ActivityDepthHeightMeasure: hasDepth
      ? -Math.round(1 + noise(visit, 8) * depth * 10) / 10
      : null,
    ActivityDepthHeightUnit: hasDepth ? "m" : null,
    SampleCollectionEquipmentName: noise(index, 9) < 0.5 ? equipment : null,
    CharacteristicName: characteristic.name,
    MethodSpeciation: characteristic.speciation,
    ResultSampleFraction: characteristic.fraction,
    ResultValue: censoring === null ? value : null,
    ResultUnit: censoring === null ? unit : null,
    ResultValueType: "Actual",
    ResultDetectionCondition: censoring === null ? null : censoring.condition,
    ResultDetectionQuantitationLimitMeasure: !hasLimit
      ? null
      : censoring === ABOVE_LIMIT
      ? highest
      : lowest,
    ResultDetectionQuantitationLimitUnit: hasLimit ? unit : null,
    ResultDetectionQuantitationLimitType: censoring === null ? null : censoring.limitType,
    ResultStatusID: noise(visit, 11) < 0.8 ? "Accepted" : "Preliminary",
    ResultComment: noise(index, 12) < 0.15 ? pick(comments, index, 13) : null,
    ResultAnalyticalMethodID: method === null ? null : method.id,
    ResultAnalyticalMethodContext: method === null ? null : "USEPA",
    ResultAnalyticalMethodName: method === null ? null : method.name,
    AnalysisStartDate: analysisDate,
    AnalysisStartTime: hasAnalysisTime ? timeText(hour, minuteText) : null,
    AnalysisStartTimeZone: hasAnalysisTime ? zone : null,
    LaboratoryName: method === null ? null : "Weir Sandbox Laboratory",
    LaboratorySampleID: method === null ? null : `S-${index + 1}`,
  };
}

function timeText(hour: number, minute: string): string {
  return `${hour < 10 ? "0" : ""}${hour}:${minute}:00`;
}

/** How the values of a characteristic depend on date and location. All but `typical` and `peak` are relative. */
interface Pattern {
  /** Mean in 2012. */
  typical: number;
  /** Amplitude of the season. */
  season: number;
  /** Day of the year with the highest values. */
  peak: number;
  /** Change in a year. */
  trend: number;
  /** Difference between the highest and the lowest location. */
  range: number;
  /** Half the range at one place and time; `null` for the skewed distribution of concentrations. */
  spread: number | null;
}

/** Characteristic and how it is measured. */
interface Characteristic {
  name: string;
  unit: string;
  pattern: Pattern;
  /** Power of ten to which values are rounded: 100 for two decimal places. */
  scale: number;
  /** Values up to this detection limit are censored. */
  lowest: number;
  /** Values from this limit on are censored. */
  highest: number;
  media: string;
  equipment: string;
  fraction: string | null;
  speciation: string | null;
  /** Method of the laboratory; `null` if it is measured at the site. */
  method: { id: string; name: string } | null;
  /** Whether the result itself is a depth; its records have no activity depth. */
  isDepth: boolean;
}

const inField = {
  lowest: -Infinity,
  highest: Infinity,
  media: "Surface Water",
  equipment: "Probe/Sensor",
  fraction: null,
  speciation: null,
  method: null,
  isDepth: false,
};
const inLaboratory = { ...inField, equipment: "Water Bottle", fraction: "Total", unit: "mg/L" };
const BY_CHROMATOGRAPHY = { id: "300.0", name: "Inorganic Anions by Ion Chromatography" };

const TEMPERATURE: Characteristic = {
  ...inField,
  name: "Temperature, water",
  unit: "deg C",
  pattern: { typical: 9.5, season: 0.95, peak: 208, trend: 0.006, range: 0.25, spread: 0.2 },
  scale: 10,
};
const TURBIDITY: Characteristic = {
  ...inField,
  name: "Turbidity",
  unit: "NTU",
  pattern: { typical: 6, season: 0.6, peak: 130, trend: 0, range: 1.6, spread: null },
  scale: 100,
};
const SECCHI_DEPTH: Characteristic = {
  ...inField,
  name: "Depth, Secchi disk depth",
  unit: "m",
  pattern: { typical: 2.8, season: 0.25, peak: 20, trend: -0.008, range: 1, spread: 0.3 },
  scale: 10,
  equipment: "Secchi Disk",
  isDepth: true,
};
const SUSPENDED_SOLIDS: Characteristic = {
  ...inLaboratory,
  name: "Total suspended solids",
  pattern: { typical: 14, season: 0.6, peak: 130, trend: 0, range: 1.6, spread: null },
  scale: 10,
  lowest: 1,
  fraction: "Non-Filterable (Particle)",
  method: { id: "160.2", name: "Non-Filterable Residue by Gravimetry" },
};
const LEAD_IN_SEDIMENT: Characteristic = {
  ...inLaboratory,
  name: "Lead",
  unit: "mg/kg",
  pattern: { typical: 18, season: 0, peak: 0, trend: -0.02, range: 1.4, spread: 0.4 },
  scale: 10,
  lowest: 0.5,
  media: "Surface Water Sediment",
  equipment: "Ekman Grab",
  method: { id: "6010D", name: "Inductively Coupled Plasma-Optical Emission Spectrometry" },
};

/** The ten characteristics of a visit. On some visits, another one replaces the fifth or the last. */
const CHARACTERISTICS: readonly Characteristic[] = [
  {
    ...inField,
    name: "pH",
    unit: "None",
    pattern: { typical: 7.9, season: 0.03, peak: 200, trend: 0.001, range: 0.16, spread: 0.04 },
    scale: 100,
  },
  TEMPERATURE,
  {
    ...inField,
    name: "Dissolved oxygen (DO)",
    unit: "mg/L",
    pattern: { typical: 10.4, season: 0.24, peak: 25, trend: -0.003, range: 0.1, spread: 0.1 },
    scale: 100,
  },
  {
    ...inField,
    name: "Specific conductance",
    unit: "uS/cm",
    pattern: { typical: 290, season: 0.15, peak: 50, trend: 0.012, range: 1.3, spread: 0.12 },
    scale: 10,
  },
  TURBIDITY,
  {
    ...inLaboratory,
    name: "Total Phosphorus, mixed forms",
    pattern: { typical: 0.028, season: 0.35, peak: 210, trend: -0.02, range: 1.4, spread: null },
    scale: 10_000,
    lowest: 0.002,
    fraction: "Unfiltered",
    speciation: "as P",
    method: { id: "365.1", name: "Phosphorus by Semi-Automated Colorimetry" },
  },
  {
    ...inLaboratory,
    name: "Nitrate",
    pattern: { typical: 0.6, season: 0.5, peak: 60, trend: 0.02, range: 1.5, spread: null },
    scale: 1000,
    lowest: 0.03,
    fraction: "Filtered",
    speciation: "as N",
    method: BY_CHROMATOGRAPHY,
  },
  {
    ...inLaboratory,
    name: "Chloride",
    pattern: { typical: 18, season: 0.3, peak: 70, trend: 0.03, range: 1.6, spread: null },
    scale: 10,
    lowest: 1,
    method: BY_CHROMATOGRAPHY,
  },
  {
    ...inLaboratory,
    name: "Escherichia coli",
    unit: "cfu/100mL",
    pattern: { typical: 180, season: 0.8, peak: 215, trend: 0, range: 1.6, spread: null },
    scale: 1,
    lowest: 5,
    highest: 1200,
    fraction: null,
    method: { id: "1603", name: "Escherichia coli by Membrane Filtration with Modified mTEC Agar" },
  },
  SUSPENDED_SOLIDS,
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
  /** Date on which the laboratory analyses the sample; `null` for a measurement at the site. */
  analysisDate: string | null;
  /** Mean of the values on that date. */
  typical: number;
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
  // A location is visited every 66 days. 3 and 200 have no common factor, so every visit is reached.
  const mixed = (visit * 3 + location * 31) % VISITS;
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
  const { typical, season, peak, trend } = characteristic.pattern;
  const day = 8 + visit * 22;
  const startDate = visit % 100 === 99 ? null : dateText(day);
  return {
    characteristic,
    startDate,
    year: startDate === null ? null : Number(startDate.slice(0, 4)),
    analysisDate: startDate === null || characteristic.method === null ? null : dateText(day + 1),
    typical: typical * (1 + trend * day / 365.25) *
      (1 + season * Math.cos(2 * Math.PI * (day - peak) / 365.25)),
    activity: activityOf(visit, characteristic),
  };
}

/** Returns the date of a day, counted from the start of 2012. */
function dateText(day: number): string {
  return new Date(Date.UTC(2012, 0, 1 + day)).toISOString().slice(0, 10);
}

function characteristicOf(visit: number, index: number): Characteristic {
  const characteristic = CHARACTERISTICS[index]!;
  if (characteristic === TURBIDITY && visit % 20 === 3) return SECCHI_DEPTH;
  if (characteristic === SUSPENDED_SOLIDS && visit % 11 === 5) return LEAD_IN_SEDIMENT;
  return characteristic;
}

function activityOf(visit: number, characteristic: Characteristic): Activity {
  if (visit % 20 === 7) return characteristic.method === null ? FIELD_CONTROL : LAB_CONTROL;
  if (visit % 20 === 13 && characteristic === TEMPERATURE) return CONTINUOUS;
  return characteristic.method === null ? FIELD_MEASURE : LAB_SAMPLE;
}
