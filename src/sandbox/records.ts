import type { Row } from "../odata/resources.ts";
import data from "./data.json" with { type: "json" };
import type { Location } from "./locations.ts";
import { noise, pick } from "./noise.ts";

// Values of DataStream's schema 3.0.0 (2026-07-14). Their names tell the group of a type.
const { continuous, fieldControl, fieldMeasure, labControl, labSample } = data.activities;

/** Repeated entries are likelier. */
const { low: LOW, high: ABOVE_LIMIT, none: NO_RESULTS } = data.censorings;
const [BELOW_LIMIT] = LOW;

export type RecordRow = Row<"Records"> & Row<"Observations">;

const FIRST_ID = 500_003;
/** Ids have gaps, as in the service. */
const ID_STEP = 3;

/** Index of the first record with an Id greater than `id`. */
export function recordAfter(id: number): number {
  return Math.max(0, Math.floor((id - FIRST_ID) / ID_STEP) + 1);
}

export function recordRow(
  index: number,
  ordinal: number,
  { row: location, columns, zone, depth, level, comments }: Location,
  phase: Phase,
): RecordRow {
  const { characteristic, startDate, analysisDate, activity } = phase;
  const { equipment, method } = characteristic;
  /** Seed of what the records of one visit have in common. */
  const visit = location.Id * 10_007 + Math.floor(ordinal / VISIT_LENGTH);
  const hour = 8 + Math.floor(noise(visit, 3) * 9);
  const minuteText = String(Math.floor(noise(visit, 4) * 60)).padStart(2, "0");
  const hasTime = startDate !== null && (noise(visit, 5) < 0.9 || activity === continuous);
  const startZone = hasTime && noise(visit, 19) >= 0.05 ? zone : null;
  const hasDepth = noise(visit, 6) < 0.7 && characteristic !== SECCHI_DEPTH;
  const isComposite = hasTime && noise(index, 7) < 0.05;
  const hasAnalysisTime = analysisDate !== null && noise(index, 15) < 0.2;
  return {
    Id: FIRST_ID + ID_STEP * index,
    ...columns,
    ActivityType: activity.type,
    ActivityMediaName: characteristic.media,
    ActivityStartDate: startDate,
    ActivityStartTime: hasTime ? timeText(hour, minuteText) : null,
    ActivityStartTimeZone: startZone,
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
    ...resultColumns(index, level, phase),
    ResultStatusID: noise(visit, 11) < 0.8 ? "Accepted" : "Preliminary",
    ResultComment: noise(index, 12) < 0.15 ? pick(comments, index, 13) : null,
    ResultAnalyticalMethodID: method && method.id,
    ResultAnalyticalMethodContext: method && "USEPA",
    ResultAnalyticalMethodName: method && method.name,
    AnalysisStartDate: analysisDate,
    AnalysisStartTime: hasAnalysisTime ? timeText(hour, minuteText) : null,
    AnalysisStartTimeZone: hasAnalysisTime ? zone : null,
    LaboratoryName: method && "Weir Sandbox Laboratory",
    LaboratorySampleID: method && `S-${index + 1}`,
  };
}

/** A value, or the condition and limit of a result without one. */
function resultColumns(index: number, level: number, { characteristic, typical }: Phase) {
  const { pattern, unit, scale, lowest, highest } = characteristic;
  const [first, second] = [noise(index, 1), noise(index, 2)];
  const factor = pattern.spread === null
    ? 0.03 + 3.88 * first * second
    : 1 + pattern.spread * (first + second - 1);
  const value = Math.round(typical * (1 + pattern.range * level) * factor * scale) / scale;
  const low = value <= (lowest ?? -Infinity) ? pick(LOW, index, 14) : null;
  const unlikely = value >= (highest ?? Infinity) ? ABOVE_LIMIT : low;
  const condition = noise(index, 16) < 0.01 ? pick(NO_RESULTS, index, 17) : unlikely;
  // Some laboratories also report their limit beside a value.
  const hasLimit = condition === null && lowest !== null && noise(index, 18) < 0.05;
  // The schema allows a limit only with some conditions.
  const limitType = hasLimit || condition === BELOW_LIMIT
    ? "Method Detection Level"
    : condition === ABOVE_LIMIT
    ? "Reporting Limit"
    : null;
  return {
    ResultValue: condition ? null : value,
    ResultUnit: condition ? null : unit,
    ResultValueType: "Actual",
    ResultDetectionCondition: condition,
    ResultDetectionQuantitationLimitMeasure: limitType &&
      (condition === ABOVE_LIMIT ? highest : lowest),
    ResultDetectionQuantitationLimitUnit: limitType && unit,
    ResultDetectionQuantitationLimitType: limitType,
  };
}

function timeText(hour: number, minute: string): string {
  return `${hour < 10 ? "0" : ""}${hour}:${minute}:00`;
}

/** All but `typical` and `peak` are relative. */
interface Pattern {
  /** Mean in 2012. */
  typical: number;
  season: number;
  /** Day of the year. */
  peak: number;
  /** Per year. */
  trend: number;
  /** Between the highest and the lowest location. */
  range: number;
  /** Half the range; `null` for the skewed distribution of concentrations. */
  spread: number | null;
}

interface Characteristic {
  name: string;
  unit: string;
  pattern: Pattern;
  /** Values are rounded to it: 100 for two decimal places. */
  scale: number;
  /** Values up to this limit are censored. */
  lowest: number | null;
  /** Values from this limit on are censored. */
  highest: number | null;
  media: string;
  equipment: string;
  fraction: string | null;
  speciation: string | null;
  /** `null` if it is measured at the site. */
  method: { id: string; name: string } | null;
}

/** Ten for a visit, then two that replace the fifth or the last on some visits. */
const CHARACTERISTICS = data.characteristics.map((given) => ({
  ...data.inField,
  ...("method" in given ? data.inLaboratory : {}),
  ...given,
})) as readonly Characteristic[];
const VISIT_LENGTH = 10;
const [, TEMPERATURE, , , TURBIDITY, , , , , SUSPENDED_SOLIDS, SECCHI_DEPTH, LEAD_IN_SEDIMENT] =
  CHARACTERISTICS;

/** After these, a location's dates repeat. Two have no date. */
const VISITS = 200;

export const PHASES = VISITS * VISIT_LENGTH;

/** With its location, it determines every property of a record that a filter can test. */
export interface Phase {
  characteristic: Characteristic;
  /** `YYYY-MM-DD`. */
  startDate: string | null;
  year: number | null;
  /** `null` for a measurement at the site. */
  analysisDate: string | null;
  /** Mean of that date. */
  typical: number;
  /** The type is a column of records, the group a name in filters. */
  activity: { type: string; group: string };
}

/** Each visit measures each characteristic once. */
export function phaseOf(location: number, ordinal: number): number {
  const characteristic = ordinal % VISIT_LENGTH;
  const visit = Math.floor(ordinal / VISIT_LENGTH) % VISITS;
  // A location is visited every 66 days. 3 and 200 have no common factor, so every visit is reached.
  const mixed = (visit * 3 + location * 31) % VISITS;
  return mixed * VISIT_LENGTH + characteristic;
}

let phases: readonly Phase[] | undefined;

/** By number. Created on demand, because it takes several milliseconds. */
export function phaseTable(): readonly Phase[] {
  return phases ??= Array.from({ length: PHASES }, (_, number) => createPhase(number));
}

function createPhase(number: number): Phase {
  const visit = Math.floor(number / VISIT_LENGTH);
  const characteristic = characteristicOf(visit, number % VISIT_LENGTH);
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

/** Days count from the start of 2012. */
function dateText(day: number): string {
  return new Date(Date.UTC(2012, 0, 1 + day)).toISOString().slice(0, 10);
}

function characteristicOf(visit: number, index: number): Characteristic {
  const characteristic = CHARACTERISTICS[index]!;
  if (characteristic === TURBIDITY && visit % 20 === 3) return SECCHI_DEPTH;
  if (characteristic === SUSPENDED_SOLIDS && visit % 11 === 5) return LEAD_IN_SEDIMENT;
  return characteristic;
}

function activityOf(visit: number, characteristic: Characteristic): Phase["activity"] {
  const isMeasured = characteristic.method === null;
  if (visit % 20 === 7) return isMeasured ? fieldControl : labControl;
  if (visit % 20 === 13 && characteristic === TEMPERATURE) return continuous;
  return isMeasured ? fieldMeasure : labSample;
}
