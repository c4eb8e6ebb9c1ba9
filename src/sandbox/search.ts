import type { ResourceName, Row } from "../odata/resources.ts";
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

/** Row with an `Id`: a UUID in Metadata, a number in the other resources. */
interface IdentifiedRow {
  Id: string | number;
}

/**
 * Returns the rows that pass all tests, in the order of their Ids.
 *
 * @param after Id after which the rows start; `null` for all rows
 */
export function findRows(
  world: World,
  resource: ResourceName,
  tests: readonly FieldTest[],
  after: string | null,
): Iterable<IdentifiedRow> {
  const found = search(world, tests);
  const isAfter = ({ Id }: IdentifiedRow) =>
    after === null || (typeof Id === "string" ? Id > after : Id > Number(after));
  if (resource === "Metadata") return found.datasets().filter(isAfter);
  if (resource === "Locations") return found.locations().filter(isAfter);
  return found.records(after === null ? 0 : recordAfter(Number(after)));
}

/** Counts the rows that pass all tests. */
export function countRows(
  world: World,
  resource: ResourceName,
  tests: readonly FieldTest[],
): number {
  const found = search(world, tests);
  if (resource === "Metadata") return found.datasets().length;
  if (resource === "Locations") return found.locations().length;
  return found.countRecords();
}

/**
 * Rows that pass all tests, in the three tables of the data: datasets, locations and records.
 *
 * If a test is of a field of another table, a row passes it if one of its rows there passes. A location passes
 * `CharacteristicName eq 'pH'` if one of its records does. A dataset passes a test of `RegionId` if one of its
 * locations does. If several tests are of fields of records, one record must pass
 * all of them.
 */
interface Search {
  datasets(): Row<"Metadata">[];
  locations(): Row<"Locations">[];
  countRecords(): number;
  /** Generates the records from an index on, in the order of their Ids. */
  records(from: number): Generator<RecordRow>;
}

/** Prepares a search; rows are computed only when they are requested. */
function search(world: World, tests: readonly FieldTest[]): Search {
  const matchesDataset = combineTests(DATASET_VALUES, tests);
  const matchesLocation = combineTests(LOCATION_VALUES, tests);
  const matchesPhase = combineTests(PHASE_VALUES, tests);
  const testsLocations = tests.some(({ field }) => field in LOCATION_VALUES);
  const testsRecords = tests.some(({ field }) => field in PHASE_VALUES);
  const datasets = datasetsOf(world);
  const table = phaseTable();
  /** 1 for each phase that matches, otherwise 0. */
  const phases = Uint8Array.from(table, (phase) => matchesPhase(phase) ? 1 : 0);
  const matchingPhases = phases.reduce((sum, matches) => sum + matches, 0);

  /** Counts the matching records of a location: whole cycles by multiplication, then the rest. */
  const countAt = (location: number): number => {
    const total = recordsAt(world, location);
    if (!testsRecords) return total;
    let count = Math.floor(total / PHASES) * matchingPhases;
    for (let ordinal = 0; ordinal < total % PHASES; ordinal++) {
      count += phases[phaseOf(location, ordinal)]!;
    }
    return count;
  };
  /** Indexes of the locations that match, whether or not they have a matching record. */
  const findLocations = (): number[] =>
    Array.from({ length: world.locations }, (_, index) => index).filter((index) => {
      const location = locationAt(world, index);
      return matchesDataset(datasets[location.dataset]!) && matchesLocation(location);
    });
  const findLocationsWithRecords = (): number[] =>
    findLocations().filter((index) => !testsRecords || countAt(index) > 0);

  return {
    datasets() {
      const needsLocation = testsLocations || testsRecords;
      const found = new Set(
        findLocationsWithRecords().map((index) => locationAt(world, index).dataset),
      );
      return datasets
        .filter((dataset, index) => needsLocation ? found.has(index) : matchesDataset(dataset))
        .map((dataset) => ({
          ...dataset,
          // A getter, because computing it takes long and few requests select it.
          get TemporalExtent() {
            return temporalExtent(world, dataset);
          },
        }));
    },
    locations() {
      return findLocationsWithRecords().map((index) => locationAt(world, index).row);
    },
    countRecords() {
      return findLocations().reduce((sum, index) => sum + countAt(index), 0);
    },
    *records(from) {
      const found = new Map(findLocations().map((index) => [index, locationAt(world, index)]));
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
          if (phases[phase]) yield recordRow(index, ordinal, found.get(location)!, table[phase]!);
        }
      }
    },
  };
}

const DATASET_VALUES: Record<string, (dataset: Dataset) => TestedValue> = {
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

/** Combines the tests of the fields of one table. Tests of other fields are ignored. */
function combineTests<T>(
  values: Record<string, (item: T) => TestedValue>,
  tests: readonly FieldTest[],
): (item: T) => boolean {
  const testsOfTable = tests.filter(({ field }) => field in values);
  return (item) => testsOfTable.every(({ field, matches }) => matches(values[field]!(item)));
}

/** Returns the first and last start date of a dataset's records, or `null` if none has a date. */
function temporalExtent(world: World, dataset: Dataset): [string, string] | null {
  const table = phaseTable();
  let first: string | undefined;
  let last: string | undefined;
  for (let index = 0; index < world.locations; index++) {
    if (locationAt(world, index).row.DOI !== dataset.DOI) continue;
    for (let ordinal = 0; ordinal < Math.min(recordsAt(world, index), PHASES); ordinal++) {
      const date = table[phaseOf(index, ordinal)]!.startDate;
      if (date === null) continue;
      if (first === undefined || date < first) first = date;
      if (last === undefined || date > last) last = date;
    }
  }
  return first === undefined || last === undefined ? null : [first, last];
}
