import { amendError, DataStreamError } from "../errors.ts";
import { type Clause, formatClauses, numberClause } from "../odata/clause.ts";
import { type CheckedQuery, narrow } from "../odata/query_options.ts";
import { isMeasured, MAXIMUM_TOP, type ResourceName, RESOURCES } from "../odata/resources.ts";
import {
  type Execution,
  MAX_TARGET_LENGTH,
  type PageRequest,
  requireShortTarget,
  targetLength,
  toRequestOptions,
} from "./fetch_page.ts";
import type { ClientSettings } from "./options.ts";
import { paginate } from "./paginate.ts";
import { readCount, readRows } from "./read_page.ts";

/**
 * A disjoint part of the rows of a query. All shards together have all rows of the query.
 * JSON-serialisable, because cursors contain shards.
 */
export interface Shard {
  /** Clauses that its rows match, in addition to the query's filter. */
  clauses: readonly Clause[];
  /** Skip token of its next page; `undefined` before its first page, unless the query has one. */
  skipToken?: string | undefined;
  /** Ids of its locations, if they were requested. */
  locations?: readonly number[] | undefined;
  /** Whether to count it after its first page, because it may have too many rows. */
  isUncounted?: boolean | undefined;
  /** Number of rows that the service counted for this shard and the shards joined to it. */
  count?: number | undefined;
  /** Number of rows received so far for this shard and the earlier shards that it is joined to. */
  rows?: number | undefined;
  /** Whether this shard is joined to the one before it: they have one `count` and one `rows`. */
  isJoined?: boolean | undefined;
}

/** Fields that hold the year in which an activity started. */
export const YEAR_FIELD = /^ActivityStart(?:Date)?Year$/;
/** Maximum number of rows per shard (DataStream Public API, on large requests). */
export const MAX_SHARD_ROWS = 1_000_000;

/** Splits a query by its option `partition`, before its first page. */
export async function splitQuery(execution: Execution, query: CheckedQuery): Promise<Shard[]> {
  const { skipToken, partition, limit } = query;
  const shards = await splitByBox(execution, query);
  switch (partition) {
    case "auto":
      return shards.map((shard) => ({ ...shard, skipToken, isUncounted: limit > MAX_SHARD_ROWS }));
    case "never":
      return shards.map((shard) => ({ ...shard, skipToken }));
    case "location": {
      const all = query.box === undefined ? await locationIds(execution, query) : [];
      return shards.flatMap((shard) =>
        splitIntoGroups({ ...shard, skipToken }, shard.locations ?? all, 1)
      );
    }
    case "year": {
      const ranges = rangeOfEach(await years(execution, query));
      const toClauses = (range: Range) => rangeClauses("ActivityStartYear", range);
      return shards
        .flatMap(({ clauses }) => ranges.map((range) => [...clauses, ...toClauses(range)]))
        // Joined, because the count of the query is compared with the rows of all years together.
        .map((clauses, index) => ({ clauses, skipToken, ...(index > 0 && { isJoined: true }) }));
    }
  }
}

/**
 * Splits a shard of more than a million rows into ranges of locations, each with at most a million rows.
 *
 * The new shards keep the skip token of the shard, so that they continue after its last page: a skip token
 * is the Id after which a page begins, with any filter (DataStream Public API, "URL Parameters",
 * `$skiptoken`).
 *
 * @param rows Number of rows of the shard, counted by the service
 */
export async function splitByCount(
  execution: Execution,
  query: CheckedQuery,
  shard: Shard,
  rows: number,
): Promise<Shard[]> {
  const ids = shard.locations ?? await locationIds(execution, query);
  const ranges = await rangesOfAtMost(MAX_SHARD_ROWS, ids, rows, async (range) => {
    const clauses = [...shard.clauses, ...locationClauses(range)];
    // A range that cannot be counted is not split. If the service refuses its pages, it is split later.
    return await countShard(execution, query, { clauses }) ?? 0;
  });
  return joinShards(shard, ranges.map((range) => ({ clauses: locationClauses(range) })));
}

/**
 * Maximum number of shards that a refused shard is split into. It is low because the refusal may have been
 * an outage. Each new shard can be split again, down to a single location.
 */
const MAX_SPLIT = 16;

/**
 * Splits a shard by location, because the service refused even small pages of it.
 *
 * @param refusal Error of the last page
 * @param rowsWanted Maximum number of rows that are still wanted
 * @throws {DataStreamError} The refusal, if the query must not be split, or cannot be split further
 */
export async function splitByLocation(
  execution: Execution,
  query: CheckedQuery,
  shard: Shard,
  refusal: DataStreamError,
  rowsWanted: number,
): Promise<Shard[]> {
  const { resource, partition, top, skipToken } = query;
  const isSmall = Math.min(top, rowsWanted) === 1 || execution.pageSizeOf(resource).isReduced(top);
  if (!isMeasured(resource) || !isSmall) throw refusal;
  const ids = partition === "auto"
    ? matchingLocations(shard, shard.locations ?? await locationIds(execution, query))
    : [];
  if (ids.length > 1) {
    const count = shard.count ??
      (shard.isUncounted ? await countShard(execution, query, shard) : undefined);
    const counted = skipToken === undefined ? { ...shard, count } : shard;
    return splitIntoGroups(counted, ids, Math.ceil(ids.length / MAX_SPLIT));
  }
  const remedy = partition === "auto"
    ? '{partition: "auto"} cannot split the query further'
    : 'or split the query by location: {partition: "auto"}';
  throw amendError(refusal, { hint: `${refusal.hint}; ${remedy}` });
}

/** Whether the service refused a request because it was too slow or too large. */
export function isRefusal(error: unknown): error is DataStreamError {
  return error instanceof DataStreamError &&
    [408, 413, 504].includes(error.status ?? 0);
}

/** Returns the shards after a finished one. If the next one is joined to it, it gets its count and rows. */
export function endShard({ count, rows }: Shard, [next, ...others]: readonly Shard[]): Shard[] {
  if (next === undefined) return [];
  return [next.isJoined ? { ...next, count, rows } : next, ...others];
}

/** Counts the rows of a query; `limit` and `skipToken` are ignored. */
export async function countQuery(execution: Execution, query: CheckedQuery): Promise<number> {
  let rows = 0;
  for (const shard of await splitByBox(execution, query)) {
    rows += await requestCount(execution, query, shard);
  }
  return rows;
}

/**
 * Counts the rows of a shard; its skip token is ignored.
 *
 * @returns The count; `undefined` if the service refuses to count
 */
export async function countShard(
  execution: Execution,
  query: CheckedQuery,
  shard: Pick<Shard, "clauses">,
): Promise<number | undefined> {
  try {
    return await requestCount(execution, query, shard);
  } catch (error) {
    // Rows that cannot be counted can still be requested.
    if (!isRefusal(error)) throw error;
    return undefined;
  }
}

/**
 * Requests the number of rows of a shard; large counts are estimates.
 *
 * Source: DataStream Public API, "URL Parameters", `$count`.
 */
export function requestCount(
  execution: Execution,
  query: CheckedQuery,
  { clauses }: Pick<Shard, "clauses">,
): Promise<number> {
  const filter = narrow(query, clauses);
  return execution.fetchPage({ resource: query.resource, filter }, readCount);
}

/** Returns the first request of a query. */
export function firstRequest(query: CheckedQuery): PageRequest {
  if (query.box !== undefined || query.partition === "location") return locationsRequest(query);
  if (query.partition === "year") return datasetsRequest(query);
  const { limit, top, skipToken } = query;
  const request = toPageRequest(query, { clauses: [], skipToken });
  return { ...request, top: Math.min(top, Math.max(limit, 1)), rowsWanted: limit };
}

/** Returns the next request of a shard. */
export function toPageRequest(query: CheckedQuery, { clauses, skipToken }: Shard): PageRequest {
  const { resource, select, top } = query;
  return {
    resource,
    select,
    checksIds: true,
    filter: narrow(query, clauses),
    top,
    position: skipToken,
    rowsWanted: Infinity,
  };
}

/** Returns the URL of the first page of a query, as if it were not split. */
export function urlOf(query: CheckedQuery, settings: ClientSettings): string {
  return toRequestOptions(settings, toPageRequest(query, { clauses: [] })).url;
}

/**
 * Checks that a request of a query with a bounding box has room for at least fifty locations.
 *
 * @throws {ValidationError} If it has not: the query would take too many requests
 */
export function requireRoomForLocations(query: CheckedQuery, settings: ClientSettings): void {
  requireShortTarget(urlWithLocations(SHORTEST_LIST, query, settings));
}

/** Splits a query with a bounding box into lists of the locations in it. */
async function splitByBox(execution: Execution, query: CheckedQuery): Promise<Shard[]> {
  if (query.box === undefined) return [{ clauses: [] }];
  const ids = await locationIds(execution, query);
  return groupsThatFit(ids, query, execution.settings)
    .map((locations) => ({ clauses: [inLocations(locations)], locations }));
}

/**
 * Splits a shard into shards with `size` locations each, which continue after its last page.
 *
 * @param size Number of locations per new shard
 */
function splitIntoGroups(shard: Shard, ids: readonly number[], size: number): Shard[] {
  const ranges = rangeOfEach(ids.filter((_, index) => index % size === 0));
  const groups = ranges.map((range, index) => ({
    clauses: locationClauses(range),
    locations: ids.slice(index * size, (index + 1) * size),
  }));
  return joinShards(shard, groups);
}

/** Creates the shards that replace a shard. They are joined: they share its count and its rows. */
function joinShards(
  shard: Shard,
  groups: readonly Pick<Shard, "clauses" | "locations">[],
): Shard[] {
  return groups.map(({ clauses, locations }, index) => ({
    ...(index === 0 ? shard : { skipToken: shard.skipToken, isJoined: true }),
    clauses: [...shard.clauses, ...clauses],
    locations,
    isUncounted: false,
  }));
}

/** Returns the locations that match the clauses of a shard. */
function matchingLocations({ clauses }: Shard, ids: readonly number[]): number[] {
  const bounds = clauses.filter(({ field }) => field === "LocationId");
  return ids.filter((id) =>
    bounds.every(({ operator, values }) => {
      const numbers = values.map(({ text }) => Number(text));
      if (operator === "in") return numbers.includes(id);
      return operator === "gte" ? id >= numbers[0]! : id < numbers[0]!;
    })
  );
}

/**
 * A range of a numeric field, such as the year: `from <= number < below`.
 *
 * Adjacent ranges with open outer ends cover every row whose field is not null, even if the list of numbers
 * from which the ranges were made is incomplete.
 */
export interface Range {
  /** Lowest number; `undefined` for no lower bound. */
  from: number | undefined;
  /** Number above the range; `undefined` for no upper bound. */
  below: number | undefined;
}

/** Returns the clauses that the rows of a range match. */
function rangeClauses<F extends string>(field: F, { from, below }: Range): Clause<F>[] {
  const bound = (operator: "gte" | "lt", number: number | undefined): Clause<F>[] =>
    number === undefined ? [] : [numberClause(field, operator, number)];
  return [...bound("gte", from), ...bound("lt", below)];
}

function locationClauses(range: Range): Clause[] {
  return rangeClauses("LocationId", range);
}

/** Returns a range for each number of an ascending list; the outer ends are open. */
function rangeOfEach(numbers: readonly number[]): Range[] {
  return numbers.length === 0
    ? [{ from: undefined, below: undefined }]
    : numbers.map((_, index) => rangeOf(numbers, index, index + 1));
}

/** Consecutive numbers of a list, from the index `first` to before the index `end`. */
interface Group {
  first: number;
  end: number;
  rows: number;
}

/**
 * Splits an ascending list of numbers into adjacent ranges that have at most `max` rows or one number.
 * The outer ends are open.
 *
 * A range with too many rows is halved, and one half is counted. Neighbours that together have at most
 * `max` rows are merged again. The number of ranges is not the minimum, which would take more counts.
 *
 * @param numbers Values of the field, ascending
 * @param rows Total number of rows
 * @param count Counts the rows of a range
 */
export async function rangesOfAtMost(
  max: number,
  numbers: readonly number[],
  rows: number,
  count: (range: Range) => Promise<number>,
): Promise<Range[]> {
  const groups: Group[] = [];
  const stack: Group[] = [{ first: 0, end: numbers.length, rows }];
  for (let group = stack.pop(); group !== undefined; group = stack.pop()) {
    if (group.rows <= max || group.end - group.first <= 1) {
      const before = groups.at(-1);
      if (before !== undefined && before.rows + group.rows <= max) {
        before.end = group.end;
        before.rows += group.rows;
      } else groups.push(group);
      continue;
    }
    const middle = Math.ceil((group.first + group.end) / 2);
    const counted = await count(rangeOf(numbers, group.first, middle));
    // Counts are estimates. They only decide where to split; every range is requested.
    const others = Math.max(0, group.rows - counted);
    stack.push({ first: middle, end: group.end, rows: others });
    stack.push({ first: group.first, end: middle, rows: counted });
  }
  return groups.map(({ first, end }) => rangeOf(numbers, first, end));
}

function rangeOf(numbers: readonly number[], first: number, end: number): Range {
  return {
    from: first === 0 ? undefined : numbers[first],
    below: end === numbers.length ? undefined : numbers[end],
  };
}

/** Returns the first request for the locations that rows of a query can have. */
function locationsRequest(query: CheckedQuery): PageRequest {
  return requestOfField("Locations", "Id", query);
}

/** Returns the first request for the temporal extents of the datasets that rows of a query can have. */
function datasetsRequest(query: CheckedQuery): PageRequest {
  return requestOfField("Metadata", "TemporalExtent", query);
}

/**
 * Returns a request for a field of another resource, with the clauses of the query that this resource can
 * be filtered by. Clauses with `ne` are left out: in the other resource they may mean "has no such row",
 * while the query means "has a row that differs".
 */
function requestOfField(
  resource: ResourceName,
  field: string,
  { clauses, box }: CheckedQuery,
): PageRequest {
  const names: readonly string[] = RESOURCES[resource].filters;
  const supported = (clauses ?? []).filter(({ field, operator }) =>
    operator !== "ne" && names.includes(field)
  );
  const all = [...supported, ...(box ?? [])];
  return {
    resource,
    select: [field],
    checksIds: false,
    filter: all.length === 0 ? undefined : formatClauses(all),
    top: MAXIMUM_TOP,
    position: undefined,
    rowsWanted: Infinity,
  };
}

/** Locations by execution: its shards and counts share one list, which is requested once. */
const idsOfExecution = new WeakMap<Execution, Promise<number[]>>();

/** Returns the Ids of the locations that rows of a query can have, ascending. */
function locationIds(execution: Execution, query: CheckedQuery): Promise<readonly number[]> {
  const ids = idsOfExecution.get(execution) ?? requestLocationIds(execution, query);
  idsOfExecution.set(execution, ids);
  return ids;
}

async function requestLocationIds(execution: Execution, query: CheckedQuery): Promise<number[]> {
  const ids = new Set<number>();
  const request = locationsRequest(query);
  for await (const { content } of paginate(execution, request, readRows<{ Id?: unknown }>)) {
    for (const { Id } of content) {
      const id = typeof Id === "string" && /^\d+$/.test(Id) ? Number(Id) : Id;
      if (typeof id !== "number" || !Number.isSafeInteger(id)) {
        throw new DataStreamError("Wanted the Id of each location, got another value", {
          kind: "page",
          url: toRequestOptions(execution.settings, request).url.split("?")[0]!,
          hint: "the rows would not be whole; report it to DataStream",
        });
      }
      ids.add(id);
    }
  }
  return [...ids].sort((a, b) => a - b);
}

/** Returns the years that rows of a query can have, by the temporal extents of the datasets, ascending. */
async function years(execution: Execution, query: CheckedQuery): Promise<number[]> {
  const found = new Set<number>();
  const pages = paginate(
    execution,
    datasetsRequest(query),
    readRows<{ TemporalExtent?: unknown }>,
  );
  for await (const { content } of pages) {
    for (const { TemporalExtent: extent } of content) {
      if (!Array.isArray(extent)) continue;
      const [first, last] = extent.map((date) => Number(/^\d{4}/.exec(date)?.[0] ?? NaN));
      for (let year = first!; year <= last!; year++) found.add(year);
    }
  }
  // Years that the filter excludes need no shard.
  const wanted = [...found].filter((year) => query.clauses?.every(mayMatchIn(year)) ?? true);
  return wanted.sort((a, b) => a - b);
}

/** Creates a function that tests whether a row of a year can match a clause. */
function mayMatchIn(year: number): (clause: Clause) => boolean {
  return ({ field, operator, values }) => {
    if (!YEAR_FIELD.test(field)) return true;
    const bounds = values.map(({ text }) => Number(text));
    const [bound = NaN] = bounds;
    const isOutside: Partial<Record<Clause["operator"], boolean>> = {
      eq: year !== bound,
      lt: year >= bound,
      lte: year > bound,
      gt: year <= bound,
      gte: year < bound,
      in: !bounds.includes(year),
    };
    return !isOutside[operator];
  };
}

/** Maximum length (bytes) of a list of locations: half of a request target. */
const MAX_LIST_LENGTH = MAX_TARGET_LENGTH / 2;

/** Shortest useful list of locations: fifty Ids of seven digits, about 500 bytes. */
const SHORTEST_LIST = new Array(50).fill(9_999_999);

/** Splits locations into lists that each fit into the URL of a request. */
function groupsThatFit(
  ids: readonly number[],
  query: CheckedQuery,
  settings: ClientSettings,
): number[][] {
  const groups: number[][] = [];
  let room = 0;
  for (const id of ids) {
    const bytes = String(id).length + "%2C".length;
    if (room < bytes) {
      const length = targetLength(urlWithLocations([], query, settings));
      room = Math.min(MAX_LIST_LENGTH, MAX_TARGET_LENGTH - length);
      groups.push([]);
    }
    groups.at(-1)!.push(id);
    room -= bytes;
  }
  return groups;
}

/** Returns the clause that the rows of a list of locations match. */
function inLocations(ids: readonly number[]): Clause {
  return numberClause("LocationId", "in", ...ids);
}

function urlWithLocations(
  ids: readonly number[],
  query: CheckedQuery,
  settings: ClientSettings,
): string {
  return toRequestOptions(settings, toPageRequest(query, { clauses: [inLocations(ids)] })).url;
}
