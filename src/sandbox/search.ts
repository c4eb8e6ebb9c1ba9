import type { Row } from "../odata/resources.ts";
import type { Condition, Held } from "./condition.ts";
import { type Dataset, DATASETS } from "./datasets.ts";
import { type Location, locationAt } from "./locations.ts";
import { type Phase, PHASE_TABLE, phaseOf, PHASES } from "./phases.ts";
import { type RecordRow, recordRow } from "./records.ts";
import { placeOf, recordsAt, roundLength, slotsOf, type World } from "./world.ts";

const ofDataset: Record<string, (dataset: Dataset) => Held> = {
  DOI: (dataset) => dataset.DOI,
  DatasetName: (dataset) => dataset.DatasetName,
  CreateTimestamp: (dataset) => Date.parse(dataset.CreateTimestamp),
};

const ofLocation: Record<string, (location: Location) => Held> = {
  LocationId: ({ row }) => row.Id,
  Name: ({ row }) => row.Name,
  MonitoringLocationType: ({ row }) => row.MonitoringLocationType,
  Latitude: ({ row }) => row.Latitude,
  Longitude: ({ row }) => row.Longitude,
  RegionId: ({ regions }) => regions,
};

const ofPhase: Record<string, (phase: Phase) => Held> = {
  ActivityMediaName: (phase) => phase.media,
  ActivityGroupType: (phase) => phase.activity.group,
  CharacteristicName: (phase) => phase.characteristic.name,
  ActivityStartYear: (phase) => phase.year,
  ActivityStartDateYear: (phase) => phase.year,
};

/**
 * The rows that meet all conditions, at each of the three levels of the data.
 *
 * A condition on another level reads as "has one": a location meets `CharacteristicName eq 'pH'`
 * where one of its records does, a dataset meets a region where one of its locations does; several
 * conditions are met by the same record.
 */
export interface Search {
  datasets(): Row<"Metadata">[];
  locations(): Row<"Locations">[];
  countRecords(): number;
  /** The records from an index on, in the order of their ids. */
  records(from: number): Generator<RecordRow>;
}

/** A search over a world; nothing is computed before it is asked for. */
export function search(world: World, conditions: readonly Condition[]): Search {
  const datasetMeets = toFilter(ofDataset, conditions);
  const locationMeets = toFilter(ofLocation, conditions);
  const phaseMeets = toFilter(ofPhase, conditions);
  const hasLocationTerms = conditions.some(({ field }) => field in ofLocation);
  const hasRecordTerms = conditions.some(({ field }) => field in ofPhase);
  const phases = Uint8Array.from(PHASE_TABLE, (phase) => phaseMeets(phase) ? 1 : 0);
  const phasesMet = phases.reduce((sum, met) => sum + met, 0);

  /** How many records of a location meet the terms: whole cycles by product, the rest one by one. */
  const countAt = (location: number): number => {
    const total = recordsAt(world, location);
    if (!hasRecordTerms) return total;
    let count = Math.floor(total / PHASES) * phasesMet;
    for (let ordinal = 0; ordinal < total % PHASES; ordinal++) {
      count += phases[phaseOf(location, ordinal)]!;
    }
    return count;
  };
  const locations = (meets = locationMeets): number[] =>
    Array.from({ length: world.locations }, (_, index) => index).filter((index) => {
      const location = locationAt(index);
      return datasetMeets(DATASETS[location.dataset]!) && meets(location);
    });

  return {
    datasets() {
      const needed = hasLocationTerms || hasRecordTerms;
      const found = locations().filter((index) => !hasRecordTerms || countAt(index) > 0);
      const reached = new Set(found.map((index) => locationAt(index).dataset));
      return DATASETS
        .filter((dataset, index) => needed ? reached.has(index) : datasetMeets(dataset))
        .map((dataset) => ({
          ...dataset,
          // A walk over the records, for those that select it.
          get TemporalExtent() {
            return temporalExtent(world, dataset);
          },
        }));
    },
    locations() {
      return locations()
        .filter((index) => !hasRecordTerms || countAt(index) > 0)
        .map((index) => locationAt(index).row);
    },
    countRecords() {
      return locations().reduce((sum, index) => sum + countAt(index), 0);
    },
    *records(from) {
      const found = new Map(locations().map((index) => [index, locationAt(index)]));
      const slots = [...found.keys()]
        .flatMap((index) => {
          const [first, end] = slotsOf(world, index);
          return Array.from({ length: end - first }, (_, offset) => first + offset);
        })
        .sort((a, b) => a - b);
      const length = roundLength(world);
      for (let start = from - from % length; start < world.records; start += length) {
        for (const slot of slots) {
          const index = start + slot;
          if (index < from) continue;
          if (index >= world.records) return;
          const { location, ordinal } = placeOf(world, index);
          const phase = phaseOf(location, ordinal);
          if (phases[phase]) yield recordRow(index, found.get(location)!, PHASE_TABLE[phase]!);
        }
      }
    },
  };
}

/** The conditions on one level, as one test of its things. */
function toFilter<T>(
  level: Record<string, (thing: T) => Held>,
  conditions: readonly Condition[],
): (thing: T) => boolean {
  const own = conditions.filter(({ field }) => field in level);
  return (thing) => own.every(({ field, holds }) => holds(level[field]!(thing)));
}

/** The first and last start date of a dataset's records, or null where there are none. */
function temporalExtent(world: World, dataset: Dataset): [string, string] | null {
  let first: string | undefined;
  let last: string | undefined;
  for (let index = 0; index < world.locations; index++) {
    if (locationAt(index).row.DOI !== dataset.DOI) continue;
    for (let ordinal = 0; ordinal < Math.min(recordsAt(world, index), PHASES); ordinal++) {
      const date = PHASE_TABLE[phaseOf(index, ordinal)]!.startDate;
      if (date === null) continue;
      if (first === undefined || date < first) first = date;
      if (last === undefined || date > last) last = date;
    }
  }
  return first === undefined || last === undefined ? null : [first, last];
}
