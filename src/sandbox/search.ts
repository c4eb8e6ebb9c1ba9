import type { ResourceName } from "../odata/resources.ts";
import { type Dataset, datasetsOf } from "./datasets.ts";
import { type Location, locationAt } from "./locations.ts";
import type { FieldTest, TestedValue } from "./query.ts";
import {
  type Phase,
  phaseOf,
  PHASES,
  phaseTable,
  recordAfter,
  type RecordRow,
  recordRow,
} from "./records.ts";
import { placeOf, recordsAt, roundLength, slotsOf, type World } from "./world.ts";

/** A UUID in Metadata, a number in the other resources. */
interface IdentifiedRow {
  Id: string | number;
}

/** Computed when they are requested. */
export interface Found {
  count(): number;
  /** In the order of Ids; all rows after an empty text. */
  rows(after: string): Iterable<IdentifiedRow>;
}

// A row passes a test of a field of another table if one of its rows there does. Of several fields
// of records, one record must pass all tests.
export function search(
  world: World,
  resource: ResourceName,
  tests: readonly FieldTest[],
): Found {
  const matchesDataset = combineTests(DATASET_VALUES, tests);
  const matchesLocation = combineTests(LOCATION_VALUES, tests);
  const matchesPhase = combineTests(PHASE_VALUES, tests);
  const testsLocations = tests.some(({ field }) => field in LOCATION_VALUES);
  const testsRecords = tests.some(({ field }) => field in PHASE_VALUES);
  const datasets = datasetsOf(world);
  const table = phaseTable();
  /** 1 for each phase that matches. */
  const phases = Uint8Array.from(table, (phase) => matchesPhase(phase) ? 1 : 0);
  const matchingPhases = phases.reduce((sum, matches) => sum + matches, 0);
  const locations = locationsOf(world).filter((location) =>
    matchesDataset(datasets[location.dataset]!) && matchesLocation(location)
  );

  /** Whole cycles by multiplication, then the rest. */
  const countRecords = ({ index }: Location): number => {
    const total = recordsAt(world, index);
    if (!testsRecords) return total;
    let count = Math.floor(total / PHASES) * matchingPhases;
    for (let ordinal = 0; ordinal < total % PHASES; ordinal++) {
      count += phases[phaseOf(index, ordinal)]!;
    }
    return count;
  };

  if (resource !== "Metadata" && resource !== "Locations") {
    return {
      count: () => locations.reduce((sum, location) => sum + countRecords(location), 0),
      rows: (after) =>
        generateRecords(
          world,
          locations,
          (phase) => phases[phase] === 1,
          recordAfter(Number(after)),
        ),
    };
  }
  const found = locations.filter((location) => !testsRecords || countRecords(location) > 0);
  if (resource === "Locations") return foundRows(found.map(({ row }) => row));
  const needsLocation = testsLocations || testsRecords;
  const used = new Set(found.map(({ dataset }) => dataset));
  return foundRows(
    datasets
      .filter((dataset, index) => needsLocation ? used.has(index) : matchesDataset(dataset))
      .map((dataset) => ({
        ...dataset,
        // A getter, because computing it takes long and few requests select it.
        get TemporalExtent() {
          return temporalExtent(world, dataset);
        },
      })),
  );
}

function* generateRecords(
  world: World,
  locations: readonly Location[],
  matches: (phase: number) => boolean,
  from: number,
): Generator<RecordRow> {
  const found = new Map(locations.map((location) => [location.index, location]));
  const slots = locations.flatMap(({ index }) => {
    const [first, end] = slotsOf(world, index);
    return Array.from({ length: end - first }, (_, offset) => first + offset);
  });
  const length = roundLength(world);
  for (let start = from - from % length; start < world.records; start += length) {
    for (const slot of slots) {
      const index = start + slot;
      if (index < from) continue;
      if (index >= world.records) return;
      const { location, ordinal } = placeOf(world, index);
      const phase = phaseOf(location, ordinal);
      if (matches(phase)) {
        yield recordRow(index, ordinal, found.get(location)!, phaseTable()[phase]!);
      }
    }
  }
}

function foundRows(rows: readonly IdentifiedRow[]): Found {
  return {
    count: () => rows.length,
    rows: (after) =>
      rows.filter(({ Id }) => typeof Id === "string" ? Id > after : Id > Number(after)),
  };
}

function locationsOf(world: World): Location[] {
  return Array.from({ length: world.locations }, (_, index) => locationAt(world, index));
}

const DATASET_VALUES: Record<string, (dataset: Dataset) => TestedValue> = {
  Id: (dataset) => dataset.Id,
  DOI: (dataset) => dataset.DOI,
  DatasetName: (dataset) => dataset.DatasetName,
  CreateTimestamp: (dataset) => Date.parse(dataset.CreateTimestamp),
};

const LOCATION_VALUES: Record<string, (location: Location) => TestedValue> = {
  LocationId: ({ row }) => row.Id,
  Name: ({ row }) => row.Name,
  MonitoringLocationType: ({ row }) => row.MonitoringLocationType,
  Latitude: ({ row }) => row.Latitude,
  Longitude: ({ row }) => row.Longitude,
  RegionId: ({ regions }) => regions,
};

const PHASE_VALUES: Record<string, (phase: Phase) => TestedValue> = {
  ActivityMediaName: (phase) => phase.characteristic.media,
  ActivityGroupType: (phase) => phase.activity.group,
  CharacteristicName: (phase) => phase.characteristic.name,
  ActivityStartYear: (phase) => phase.year,
  ActivityStartDateYear: (phase) => phase.year,
};

/** Ignores tests of other fields. */
function combineTests<T>(
  values: Record<string, (item: T) => TestedValue>,
  tests: readonly FieldTest[],
): (item: T) => boolean {
  const testsOfTable = tests.filter(({ field }) => field in values);
  return (item) => testsOfTable.every(({ field, matches }) => matches(values[field]!(item)));
}

/** `null` if no record has a date. */
function temporalExtent(world: World, { DOI }: Dataset): [string, string] | null {
  const table = phaseTable();
  const dates = new Set<string>();
  for (const { index, row } of locationsOf(world)) {
    if (row.DOI !== DOI) continue;
    for (let ordinal = 0; ordinal < Math.min(recordsAt(world, index), PHASES); ordinal++) {
      const { startDate } = table[phaseOf(index, ordinal)]!;
      if (startDate !== null) dates.add(startDate);
    }
  }
  const sorted = [...dates].sort();
  return sorted.length > 0 ? [sorted[0]!, sorted.at(-1)!] : null;
}
