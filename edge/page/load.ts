// Requests the data of the page: at most three requests for a screen with up to 10,000 locations.
import { parse } from "@std/csv/parse";
import type { DataStream } from "../../src/client/datastream.ts";
import { explainNoRows, type NoRowsReason } from "../../src/client/no_rows.ts";
import type { SummaryRow } from "../../src/client/summary.ts";
import { MAX_SUGGESTIONS } from "../../src/validation.ts";
import { shorten } from "../http/parameters.ts";
import {
  type Citation,
  CITED_FIELDS,
  type DatasetVersion,
  toCitation,
  versionsOf,
} from "../../src/formats/citations.ts";
import type { BoundingBox } from "../../src/odata/bounding_box.ts";
import { mapPositionOf, POSITION_FIELDS } from "../../src/odata/map_position.ts";
import {
  fold,
  REGION_NAMES,
  searchValues,
  valuesMeant,
  valuesWith,
} from "../../src/odata/value_hints.ts";
import { fieldNames, MAXIMUM_TOP, type Row } from "../../src/odata/resources.ts";
import type { YearResults } from "./bars.ts";
import { groupBy, type Measurement } from "./series.ts";
import {
  type Form,
  FormError,
  type FoundForm,
  isFiltered,
  NO_SIDES,
  type RowSelection,
  toSelection,
} from "./form.ts";
import { boundsOfView, CLOSE_WIDTH, MAP_SIZES, viewOfMap } from "./map_view.ts";
import { CANADA_WIDTH, type Coordinates } from "./projection.ts";
import { TABLE_FIELDS } from "./fields.ts";
import type { TtlCache } from "./ttl_cache.ts";

export interface DatasetInfo extends Citation {
  abstract: string;
  /** `ProgressCode`. */
  progress: string;
  /** First and last year; empty if unknown. */
  years: readonly string[];
}

export interface LocationInfo {
  id: string;
  doi: string;
  name: string;
  /** `undefined` if it is not on a map. */
  position: Coordinates | undefined;
  type: string;
}

export interface Locations {
  list: readonly LocationInfo[];
  /** Number of locations that were not loaded. */
  missing: number;
}

/** Where the results are. */
export interface Place {
  selection: RowSelection;
  /** Name of the region, dataset or location; empty for all of Canada. */
  placeName: string;
  /** Number of locations whose names were not searched. */
  unsearched: number;
}

export interface Results extends Place {
  count: number;
  /** All rows, or the first `MAXIMUM_TOP`. Empty on the first screen. */
  rows: readonly Measurement[];
  isComplete: boolean;
  locations: Locations;
  /** Locations of the map's view that do not match; `undefined` if not wanted, or if they would need another request. */
  others: readonly LocationInfo[] | undefined;
  /** `undefined` if they would need another request. */
  datasets: readonly DatasetInfo[] | undefined;
  /** DOIs of the datasets with results, with their number if it is known. */
  cited: readonly { doi: string; results?: number }[];
  years: readonly YearResults[] | undefined;
  /** Results of each location; `undefined` if they were not counted. */
  located: readonly LocatedResults[] | undefined;
  /** Empty if there are results. */
  reasons: readonly NoRowsReason[];
}

export interface Source {
  dataStream: DataStream;
  signal: AbortSignal;
  cache: TtlCache;
  /** Part of cache keys: results that were requested with one user's key are not shown to others. */
  owner: string;
  /** Runs a task that sends requests. */
  run: <T>(task: () => Promise<T>) => Promise<T>;
  /** Number of tasks that ran. */
  tasks: number;
  recordVersions: (versions: readonly DatasetVersion[]) => void;
}

const MAX_LOCATIONS = 2 * MAXIMUM_TOP;
/** Maximum number of locations in a filter: their Ids must fit into a URL. */
const MAX_NAMED_LOCATIONS = 500;
/** Maximum number of results to read for their years or characteristics: ten requests. */
export const MAX_COUNTED = 100_000;

export type CountedResults = Pick<SummaryRow, "results" | "first_year" | "last_year">;

/** Results of a characteristic. */
export type MeasuredResults = CountedResults & Pick<SummaryRow, "characteristic">;

/** Results of a location. */
export type LocatedResults = CountedResults & Pick<SummaryRow, "location_id" | "location_name">;

/** Requests by the kind of data. {@linkcode load} caches what they return. */
const REQUESTS = {
  async datasets(
    { dataStream, signal, recordVersions }: Source,
  ): Promise<readonly DatasetInfo[]> {
    const select = [...CITED_FIELDS, "Abstract", "ProgressCode", "TemporalExtent"] as const;
    const rows = await dataStream.metadata({ select, top: MAXIMUM_TOP, signal }).toArray();
    const datasets = rows.map((row) => ({
      ...toCitation(row as Row<"Metadata">),
      abstract: row.Abstract ?? "",
      progress: row.ProgressCode ?? "",
      years: row.TemporalExtent?.map((date) => date.slice(0, 4)) ?? [],
    }));
    recordVersions(versionsOf(datasets));
    return datasets.sort((a, b) => a.name.localeCompare(b.name, "en"));
  },

  async locations({ dataStream, signal }: Source, selection: RowSelection): Promise<Locations> {
    const options = { ...selection, signal };
    const select = ["Id", "DOI", "Name", "MonitoringLocationType", ...POSITION_FIELDS] as const;
    const query = { ...options, select, limit: MAX_LOCATIONS };
    const rows = await dataStream.locations(query).toArray();
    const total = rows.length < MAX_LOCATIONS
      ? rows.length
      : await dataStream.locations(options).count();
    const list = rows.map((row) => ({
      id: String(row.Id),
      doi: row.DOI,
      name: row.Name,
      position: mapPositionOf(
        row.Longitude,
        row.Latitude,
        row.HorizontalCoordinateReferenceSystem,
      ),
      type: row.MonitoringLocationType,
    }));
    return { list, missing: Math.max(0, total - rows.length) };
  },

  rows: (source: Source, selection: RowSelection) =>
    requestRows(source, selection, ["DOI", ...TABLE_FIELDS]),

  rowsWithAllFields: (source: Source, selection: RowSelection) =>
    requestRows(source, selection, fieldNames("Observations")),

  count: ({ dataStream, signal }: Source, selection: RowSelection): Promise<number> =>
    dataStream.query("Observations", { ...selection, signal }).count(),

  async years(source: Source, selection: RowSelection): Promise<readonly YearResults[]> {
    const rows = await requestSummary(source, selection, "year");
    return rows.flatMap(({ year, results }) => year ? [{ year: Number(year), results }] : []);
  },

  /** The most frequent characteristic comes first. */
  async measured(source: Source, selection: RowSelection): Promise<readonly MeasuredResults[]> {
    const rows = await requestSummary(source, selection, "characteristic");
    return rows.sort((a, b) => b.results - a.results);
  },

  located: (source: Source, selection: RowSelection): Promise<readonly LocatedResults[]> =>
    requestSummary(source, selection, "location"),

  reasons: ({ dataStream, signal }: Source, selection: RowSelection): Promise<NoRowsReason[]> =>
    explainNoRows(dataStream, "Observations", { ...selection, signal }),
};

async function requestRows(
  { dataStream, signal }: Source,
  selection: RowSelection,
  select: readonly string[],
): Promise<readonly Measurement[]> {
  const query = { ...selection, select, limit: MAXIMUM_TOP, tidy: true, signal };
  const csv = await new Response(dataStream.query("Observations", query).csv()).text();
  const [fields = [], ...rows] = parse(csv);
  return rows.map((cells) => Object.fromEntries(fields.map((field, i) => [field, cells[i]!])));
}

function requestSummary(
  { dataStream, signal }: Source,
  selection: RowSelection,
  by: "year" | "characteristic" | "location",
): Promise<SummaryRow[]> {
  return dataStream.summary({ ...selection, by, maxRows: MAX_COUNTED, signal });
}

type Data = { [K in keyof typeof REQUESTS]: Awaited<ReturnType<typeof REQUESTS[K]>> };
type Cached = Pick<Source, "cache" | "owner">;
const ALL: RowSelection = { filter: undefined, within: undefined };

const keyOf = ({ owner }: Cached, kind: keyof Data, selection: RowSelection) =>
  JSON.stringify([owner, kind, selection]);

/** Returns data from the cache, or requests them. */
export async function load<K extends keyof Data>(
  source: Source,
  kind: K,
  selection: RowSelection = ALL,
): Promise<Data[K]> {
  const key = keyOf(source, kind, selection);
  const cached = source.cache.get(key);
  if (cached !== undefined) return cached as Data[K];
  source.tasks++;
  const request = REQUESTS[kind] as (source: Source, selection: RowSelection) => Promise<Data[K]>;
  const value = await source.run(() => request(source, selection));
  source.cache.set(key, value, estimateBytes(value));
  return value;
}

/** Average of the page's rows, of which many fields are short or empty. */
const BYTES_PER_FIELD = 40;

/** The items of a list have the same fields. */
function estimateBytes(data: Data[keyof Data]): number {
  const items = typeof data === "object" && "list" in data ? data.list : data;
  if (typeof items === "number") return 0;
  return items.length * Object.keys(items[0] ?? {}).length * BYTES_PER_FIELD;
}

/** Returns the datasets in the cache, also expired ones; `undefined` if there are none. */
export function knownDatasets(source: Cached): Data["datasets"] | undefined {
  return source.cache.getStale(keyOf(source, "datasets", ALL)) as Data["datasets"] | undefined;
}

interface FoundPlace extends Place {
  found: FoundForm;
  /** Locations of the results, if the search for the place loaded them. */
  locations?: Locations | undefined;
}

/** Ids of regions, also of those that are not in the list. */
const REGION_ID = /^(?:admin|hub|watershed)(?:\.[\w-]+)+$/i;

/**
 * Resolves `where` to a region, the locations with it in their names, or else datasets: those of the other filters, or
 * else any. The result does not depend on what is in the cache, so that a download has the rows of the page.
 */
export async function findPlace(source: Source, form: Form): Promise<FoundPlace> {
  const { where, locale: { regionName } } = form;
  const toPlace = (found: FoundForm, placeName: string, locations?: Locations, unsearched = 0) => {
    const selection = toSelection(found);
    return { found, selection, placeName, locations, unsearched };
  };
  if (where === "") return toPlace(form, "");
  const region = valuesMeant("RegionId", where)[0] ?? (REGION_ID.test(where) ? where : undefined);
  if (region !== undefined) return toPlace({ ...form, region }, regionName(region));
  const ofFilter = await load(source, "locations", toSelection(form));
  const list = locationsNamed(where, ofFilter.list);
  if (list.length > 0) {
    return toPlace(withLocations(form, list), where, { list, missing: 0 }, ofFilter.missing);
  }
  const datasets = (await load(source, "datasets")).filter(({ doi }) =>
    form.datasets.length === 0 || form.datasets.includes(doi)
  );
  const exact = datasets.filter(({ name, doi }) => fold(name) === fold(where) || doi === where);
  const names = valuesWith("DatasetName", where, datasets.map(({ name }) => name));
  const matching = exact.length > 0 ? exact : datasets.filter(({ name }) => names.includes(name));
  if (matching.length > 0) {
    const dois = matching.map(({ doi }) => doi);
    const ofDatasets = ofFilter.list.filter(({ doi }) => dois.includes(doi));
    return toPlace(
      { ...form, datasets: dois },
      matching.length === 1 ? matching[0]!.name : where,
      ofFilter.missing === 0 ? { list: ofDatasets, missing: 0 } : undefined,
    );
  }
  // A place without results of the filter is a place, too.
  const all = await load(source, "locations");
  const others = all === ofFilter ? [] : locationsNamed(where, all.list);
  if (others.length > 0) {
    return toPlace(withLocations(form, others), where, { list: [], missing: 0 }, all.missing);
  }
  const [n, total] = [all.list.length, all.list.length + all.missing];
  const text = all.missing > 0 ? "noLocationAmong" : "noLocation";
  const near = searchValues("Name", where, [
    ...new Set([
      ...[...REGION_NAMES.keys()].map(regionName),
      ...[...datasets, ...all.list].map(({ name }) => name),
    ]),
  ]);
  throw new FormError(
    text,
    { name: shorten(where), n, total },
    400,
    near.slice(0, MAX_SUGGESTIONS),
  );
}

function locationsNamed(where: string, all: readonly LocationInfo[]): readonly LocationInfo[] {
  const names = valuesWith("Name", where, [...new Set(all.map(({ name }) => name))]);
  const found = new Set(names);
  const list = all.filter(({ name }) => found.has(name));
  if (list.length <= MAX_NAMED_LOCATIONS) return list;
  const values = { n: list.length, name: shorten(where) };
  throw new FormError("tooManyLocations", values, 400, names.slice(0, MAX_SUGGESTIONS));
}

function withLocations(form: FoundForm, list: readonly LocationInfo[]): FoundForm {
  return { ...form, locations: list.map(({ id }) => Number(id)) };
}

/** Maximum number of tasks with requests for a screen. */
const MAX_TASKS = 3;

/** Sends one request at a time, for the most important data first. */
export async function loadResults(source: Source, form: Form): Promise<Results> {
  const place = await findPlace(source, form);
  const { selection } = place;
  const rows = isFiltered(form) ? await loadSelected(source, place) : undefined;
  const isFull = rows?.length === MAXIMUM_TOP;
  const count = rows && !isFull ? rows.length : await load(source, "count", selection);
  const locations = place.locations ??
    (count === 0 ? { list: [], missing: 0 } : await load(source, "locations", selection));
  const others = await loadOthers(source, form, locations, selection.within);
  // After a count or a request for other locations, the datasets would be a fourth request.
  const isLast = isFull || others && form.others !== "";
  const datasets = isLast ? knownDatasets(source) : await load(source, "datasets");
  const isComplete = rows?.length === count;
  const cached = <K extends keyof Data>(kind: K) =>
    source.cache.get(keyOf(source, kind, selection)) as Data[K] | undefined;
  return {
    ...place,
    count,
    rows: rows ?? [],
    isComplete,
    locations,
    others,
    datasets,
    cited: isComplete
      ? countResults(rows, "DOI").map(({ key: doi, results }) => ({ doi, results }))
      : [...new Set(locations.list.map(({ doi }) => doi))].map((doi) => ({ doi })),
    years: isComplete ? yearsOf(rows) : cached("years"),
    located: cached("located"),
    reasons: count === 0 && rows ? await load(source, "reasons", selection) : [],
  };
}

/** Uses what is known for a close view, which nobody asked to be complete. */
async function loadOthers(
  source: Source,
  form: Form,
  { list, missing }: Locations,
  box: BoundingBox | undefined,
): Promise<readonly LocationInfo[] | undefined> {
  const view = viewOfMap(form.view, list, box, MAP_SIZES.rail);
  const isClose = isFiltered(form) && view.width <= CLOSE_WIDTH;
  if (missing > 0 || form.others === "0" || form.others === "" && !isClose) return undefined;
  // Most locations are in Canada, of which a wide view shows all.
  const within = view.width < CANADA_WIDTH ? boundsOfView(view) : undefined;
  const selection = { filter: undefined, within };
  const known = source.cache.getStale(keyOf(source, "locations", ALL)) as Locations | undefined;
  const inView = known?.missing === 0
    ? known.list.filter(({ position }) => within === undefined || isInBox(position, within))
    : form.others !== "" && source.tasks < MAX_TASKS
    ? (await load(source, "locations", selection)).list
    : undefined;
  const matching = new Set(list.map(({ id }) => id));
  return inView?.filter(({ id }) => !matching.has(id));
}

function isInBox(position: Coordinates | undefined, { west, south, east, north }: BoundingBox) {
  return position !== undefined && position.longitude >= west && position.longitude <= east &&
    position.latitude >= south && position.latitude <= north;
}

/** In a box, rows are filtered by the Ids of locations, because the map loads these Ids anyway. */
async function loadSelected(
  source: Source,
  { found, selection, locations }: FoundPlace,
): Promise<readonly Measurement[]> {
  const kind = found.more === "" ? "rows" : "rowsWithAllFields";
  if (selection.within === undefined) return await load(source, kind, selection);
  const { list, missing } = locations ?? await load(source, "locations", selection);
  if (list.length === 0) return [];
  const isLong = missing > 0 || list.length > MAX_NAMED_LOCATIONS;
  const byId = toSelection({ ...withLocations(found, list), ...NO_SIDES });
  return await load(source, kind, isLong ? selection : byId);
}

function yearsOf(rows: readonly Measurement[]): YearResults[] {
  return [...groupBy(rows, ({ ActivityStartDate = "" }) => ActivityStartDate.slice(0, 4))]
    .filter(([year]) => /^\d{4}$/.test(year))
    .map(([year, { length }]) => ({ year: Number(year), results: length }))
    .sort((a, b) => a.year - b.year);
}

/** Rows with the same value of a field. */
interface CountedRows extends CountedResults {
  key: string;
  rows: readonly Measurement[];
}

/** Counts the rows of each value of a field, the most frequent value first. */
export function countResults(rows: readonly Measurement[], field: string): CountedRows[] {
  return [...groupBy(rows, (row) => row[field] ?? "")].map(([key, rows]): CountedRows => {
    const years = yearsOf(rows).map(({ year }) => String(year));
    const [first_year = null, last_year = null] = [years[0], years.at(-1)];
    return { key, rows, results: rows.length, first_year, last_year };
  }).sort((a, b) => b.results - a.results);
}

/** Names locations by their Id. */
export function namesOf(results?: Pick<Results, "locations">): (id: string) => string {
  const names = new Map(results?.locations.list.map(({ id, name }) => [id, name]));
  return (id) => names.get(id) ?? `Id ${id}`;
}
