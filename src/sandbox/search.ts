import type { Clause } from "../odata/clause.ts";
import { ValidationError } from "../errors.ts";
import { parseFilter } from "../odata/parse_filter.ts";
import {
  fieldNames,
  FILTER_FIELDS,
  type FilterField,
  MAXIMUM_TOP,
  type ResourceName,
  RESOURCES,
  type Row,
} from "../odata/resources.ts";
import { parseSelect } from "../odata/selection.ts";
import { type Dataset, DATASETS } from "./datasets.ts";
import { type Location, locationAt } from "./locations.ts";
import {
  type Phase,
  PHASE_TABLE,
  phaseOf,
  PHASES,
  recordAfter,
  type RecordRow,
  recordRow,
} from "./records.ts";
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
interface Search {
  datasets(): Row<"Metadata">[];
  locations(): Row<"Locations">[];
  countRecords(): number;
  /** The records from an index on, in the order of their ids. */
  records(from: number): Generator<RecordRow>;
}

/** A search over a world; nothing is computed before it is asked for. */
function search(world: World, conditions: readonly Condition[]): Search {
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

/** What a row holds under a name; a list where any of its items may match. */
type Held = string | number | null | readonly string[];

/** One clause of a filter, ready to be held against rows. */
interface Condition {
  field: FilterField;
  holds(value: Held): boolean;
}

type Comparable = string | number;

const COMPARE: Record<string, (a: Comparable, b: Comparable) => boolean> = {
  eq: (a, b) => a === b,
  lt: (a, b) => a < b,
  lte: (a, b) => a <= b,
  gt: (a, b) => a > b,
  gte: (a, b) => a >= b,
  endswith: (a, b) => String(a).endsWith(String(b)),
};

/**
 * Turns clauses into conditions, as strict as the service about names and literals.
 *
 * @throws {BadRequest} If the resource cannot be filtered by a name, or a literal does not fit it
 */
function toConditions(resource: ResourceName, clauses: readonly Clause[]): Condition[] {
  return clauses.map((clause) => {
    const { field, operator } = clause;
    if (!isFilterOf(resource, field)) {
      throw new BadRequest(`${resource} cannot be filtered by '${field}'`);
    }
    if (operator === "endswith" && FILTER_FIELDS[field] !== "text") {
      throw new BadRequest(`endswith takes a text field, got '${field}'`);
    }
    const wanted = clause.values.map((literal) => toComparable(field, literal));
    return { field, holds: toTest(operator, wanted) };
  });
}

/** A null equals nothing and differs from everything (OData 4.01, Protocol, 11.2.6.1.1). */
function toTest(operator: Clause["operator"], wanted: Comparable[]): Condition["holds"] {
  if (operator === "ne") {
    const equals = toTest("eq", wanted);
    return (held) => !equals(held);
  }
  const compare = COMPARE[operator === "in" ? "eq" : operator]!;
  const one = (held: Comparable) => wanted.some((value) => compare(held, value));
  return (held) => {
    if (held === null) return false;
    return typeof held === "object" ? held.some(one) : one(held);
  };
}

function isFilterOf(resource: ResourceName, field: string): field is FilterField {
  return (RESOURCES[resource].filters as readonly string[]).includes(field);
}

function toComparable(field: FilterField, { text, quoted }: Clause["values"][number]): Comparable {
  const kind = FILTER_FIELDS[field];
  if (kind === "number" || kind === "degrees") {
    if (!/^-?\d+(\.\d+)?([eE][+-]?\d+)?$/.test(text)) {
      throw new BadRequest(`${field} is compared with a number, got '${text}'`);
    }
    return Number(text);
  }
  if (!quoted) throw new BadRequest(`${field} is compared with a quoted text, got ${text}`);
  if (kind === "text") return text;
  const instant =
    /^\d{4}-\d{2}-\d{2}(T\d{2}:\d{2}(:\d{2}(\.\d+)?)?(Z|[+-]\d{2}:\d{2}))?$/.test(text)
      ? Date.parse(text)
      : NaN;
  if (Number.isNaN(instant)) {
    throw new BadRequest(`${field} is compared with a date 'YYYY-MM-DD', got '${text}'`);
  }
  return instant;
}

/** The rows on a page where a request does not say. */
const DEFAULT_TOP = 10;

/** What a request asks for, read from its query string and checked. */
interface SandboxQuery {
  select: string[];
  conditions: Condition[];
  top: number;
  /** The id after which the page begins; null is the start. */
  after: string | null;
  count: boolean;
  /** `$select` and `$filter` as they came, for the next link. */
  carried: [name: string, value: string][];
}

/**
 * Reads the system query options of a request, as strict as the service.
 *
 * @param resource The resource that is asked
 * @param query The query string, without its question mark
 * @throws {BadRequest} If an option, a field or an expression is none of the service's
 * @throws {URIError} If a percent sign is not followed by two hexadecimal digits
 */
export function readQuery(resource: ResourceName, query: string): SandboxQuery {
  const options = new Map<string, string>();
  for (const pair of query.split("&").filter((pair) => pair !== "")) {
    const equals = pair.indexOf("=");
    const name = decodeURIComponent(equals < 0 ? pair : pair.slice(0, equals));
    if (!["$select", "$filter", "$top", "$skiptoken", "$count"].includes(name)) {
      throw new BadRequest(`Unknown query option '${name}'`);
    }
    if (options.has(name)) throw new BadRequest(`Query option '${name}' is given twice`);
    options.set(name, equals < 0 ? "" : decodeURIComponent(pair.slice(equals + 1)));
  }
  return {
    select: readSelect(resource, options.get("$select")),
    conditions: readFilter(resource, options.get("$filter")),
    top: readTop(options.get("$top")),
    after: readSkipToken(resource, options.get("$skiptoken")),
    count: readCount(options.get("$count")),
    carried: [...options].filter(([name]) => name === "$select" || name === "$filter"),
  };
}

function readSelect(resource: ResourceName, text?: string): string[] {
  const known: string[] = fieldNames(resource);
  if (text === undefined) return known;
  const names = [...new Set(parseSelect(text))];
  const unknown = names.find((name) => !known.includes(name));
  if (unknown !== undefined) throw new BadRequest(`${resource} has no field '${unknown}'`);
  return names;
}

function readFilter(resource: ResourceName, text?: string): Condition[] {
  if (text === undefined) return [];
  try {
    return toConditions(resource, parseFilter(text));
  } catch (error) {
    if (error instanceof ValidationError) {
      throw new BadRequest(error.messageFor({ filter: "$filter" }));
    }
    throw error;
  }
}

function readTop(text = String(DEFAULT_TOP)): number {
  const top = /^\d+$/.test(text) ? Number(text) : NaN;
  if (!(top >= 1 && top <= MAXIMUM_TOP)) {
    throw new BadRequest(`$top is a whole number from 1 to ${MAXIMUM_TOP}, got '${text}'`);
  }
  return top;
}

function readSkipToken(resource: ResourceName, text?: string): string | null {
  if (text === undefined) return null;
  const id = resource === "Metadata"
    ? /^Id:([\da-f]{8}(?:-[\da-f]{4}){3}-[\da-f]{12})$/
    : /^Id:(\d+)$/;
  const match = id.exec(text);
  if (!match) throw new BadRequest(`$skiptoken is 'Id:' and the last id, got '${text}'`);
  return match[1]!;
}

function readCount(text = "false"): boolean {
  if (text !== "true" && text !== "false") {
    throw new BadRequest(`$count is true or false, got '${text}'`);
  }
  return text === "true";
}

/** A page of rows. */
interface SandboxPage {
  /** Each row as JSON, its fields in the order of the selection. */
  rows: string[];
  /** Where the next page is; undefined on the last one. */
  nextLink: string | undefined;
}

interface Numbered {
  Id: string | number;
}

/** The page that a request asks for: its rows with the fields selected, and the link to go on. */
export function readPage(
  world: World,
  resource: ResourceName,
  query: SandboxQuery,
  url: URL,
): SandboxPage {
  const rows: string[] = [];
  let last: Numbered["Id"] | undefined;
  for (const row of rowsAfter(world, resource, query)) {
    if (rows.length === query.top) return { rows, nextLink: toNextLink(url, query, last!) };
    rows.push(JSON.stringify(row, query.select));
    last = row.Id;
  }
  return { rows, nextLink: undefined };
}

/** So many rows go out at once: a page is a stream of chunks, as from a server. */
const CHUNK_ROWS = 500;

/** The body of a page, piece by piece. */
export function* pageBody(resource: ResourceName, page: SandboxPage): Generator<string> {
  yield `{"@data.context":"odata/v4/${resource}/$links/Metadata(Id=@DatasetId)","value":[`;
  for (let start = 0; start < page.rows.length; start += CHUNK_ROWS) {
    yield (start > 0 ? "," : "") + page.rows.slice(start, start + CHUNK_ROWS).join();
  }
  yield page.nextLink ? `],"@odata.nextLink":${JSON.stringify(page.nextLink)}}` : "]}";
}

/** How many rows meet the filter, on whatever page. */
export function countRows(
  world: World,
  resource: ResourceName,
  { conditions }: SandboxQuery,
): number {
  const found = search(world, conditions);
  if (resource === "Metadata") return found.datasets().length;
  if (resource === "Locations") return found.locations().length;
  return found.countRecords();
}

/** The rows past the skip token, in the order of their ids: numbers, or UUIDs as text. */
function rowsAfter(
  world: World,
  resource: ResourceName,
  { conditions, after }: SandboxQuery,
): Iterable<Numbered> {
  const found = search(world, conditions);
  const isAfter = ({ Id }: Numbered) =>
    after === null || (typeof Id === "string" ? Id > after : Id > Number(after));
  if (resource === "Metadata") return found.datasets().filter(isAfter);
  if (resource === "Locations") return found.locations().filter(isAfter);
  return found.records(after === null ? 0 : recordAfter(Number(after)));
}

/** An absolute URL of the same endpoint, its `$` not encoded, as the service writes it. */
function toNextLink(url: URL, { carried, top }: SandboxQuery, last: Numbered["Id"]): string {
  const kept = carried.map(([name, value]) => `${name}=${encodeURIComponent(value)}&`).join("");
  return `${url.origin}${url.pathname}?${kept}$skiptoken=Id:${last}&$top=${top}`;
}

/** A request that the service answers with 400. */
export class BadRequest extends Error {
  override readonly name = "BadRequest";
}
