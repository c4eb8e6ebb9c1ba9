import { amendError, DataStreamError } from "../errors.ts";
import { type Clause, formatClauses, numberClause } from "../odata/clause.ts";
import { type CheckedQuery, isMeasured, narrow } from "../odata/query_options.ts";
import { MAXIMUM_TOP, type ResourceName, RESOURCES } from "../odata/resources.ts";
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
 * Part of the rows of a query, from a position on. The shards of a query have no row in common, and
 * together they are the query. JSON-serialisable, because cursors contain them.
 */
export interface Shard {
  /** Conditions of its rows, in addition to the query's filter. */
  clauses: readonly Clause[];
  /** Position after which its rows begin; `undefined` is the start. */
  skipToken?: string | undefined;
  /** Ids of its locations, if they are known. */
  locations?: readonly number[] | undefined;
  /** Whether it may have too many rows, and is to be counted after its first page. */
  isUncounted?: boolean | undefined;
  /** Number of rows that the service counted, for this shard and the shards joined to it. */
  count?: number | undefined;
  /** Number of rows received so far, of this shard and the earlier shards that it is joined to. */
  rows?: number | undefined;
  /** Whether `count` and `rows` of the shard before it include this one. */
  isJoined?: boolean | undefined;
}

/** Maximum number of rows per split query (DataStream Public API, on large requests). */
export const MAX_SHARD_ROWS = 1_000_000;

/** Splits a query by its option `partition`, before anything is counted. */
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
        // Joined, because all together are compared with the count of the query.
        .map((clauses, index) => ({ clauses, skipToken, ...(index > 0 && { isJoined: true }) }));
    }
  }
}

/**
 * Splits a shard of more than a million rows into ranges of locations, each with fewer.
 *
 * A skip token says after which Id a page begins, whatever the filter (DataStream Public API, "URL
 * Parameters", `$skiptoken`): the ranges continue where the last page ended.
 *
 * @param rows Number of rows of the shard, by the service's count
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
    // A range that cannot be counted stays whole; if it is refused later, it is split by location.
    return await countShard(execution, query, { clauses }) ?? 0;
  });
  return joinShards(shard, ranges.map((range) => ({ clauses: locationClauses(range) })));
}

/**
 * Maximum number of shards that a refused shard is split into. Few, because the refusal may have been an
 * outage; each can be split again, down to a single location.
 */
const MAX_SPLIT = 16;

/**
 * Splits a shard by location that the service refused although its pages were small.
 *
 * @param refusal Why the shard ended
 * @param rowsWanted Maximum number of rows that are still wanted
 * @throws {DataStreamError} The refusal, if the query is not to be split, or cannot be split further
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
    ? 'partition: "auto" has no smaller parts'
    : 'or let the query be split by location: partition: "auto"';
  throw amendError(refusal, { hint: `${refusal.hint}; ${remedy}` });
}

/** Whether the service refused a request as too slow or too large. */
export function isRefusal(error: unknown): error is DataStreamError {
  return error instanceof DataStreamError &&
    [408, 413, 504].includes(error.status ?? 0);
}

/** Returns the shards after one that has ended; a shard that is joined to it gets its count and rows. */
export function endShard({ count, rows }: Shard, [next, ...others]: readonly Shard[]): Shard[] {
  if (next === undefined) return [];
  return [next.isJoined ? { ...next, count, rows } : next, ...others];
}

/** Counts the rows of a query, whatever its limit and the position where it begins. */
export async function countQuery(execution: Execution, query: CheckedQuery): Promise<number> {
  let rows = 0;
  for (const shard of await splitByBox(execution, query)) {
    rows += await requestCount(execution, query, shard);
  }
  return rows;
}

/**
 * Counts the rows of a shard, wherever it begins.
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

/** Returns the first request of a shard. */
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
 * Checks that the requests of a query with a bounding box can have lists of locations of a useful length.
 *
 * @throws {ValidationError} If they cannot: the query would take a large number of requests
 */
export function requireRoomForLocations(query: CheckedQuery, settings: ClientSettings): void {
  requireShortTarget(urlWithLocations(SOME_LOCATIONS, query, settings));
}

/** Splits a query with a bounding box into lists of the locations in it. */
async function splitByBox(execution: Execution, query: CheckedQuery): Promise<Shard[]> {
  if (query.box === undefined) return [{ clauses: [] }];
  const ids = await locationIds(execution, query);
  return groupsThatFit(ids, query, execution.settings)
    .map((locations) => ({ clauses: [inLocations(locations)], locations }));
}

/**
 * Splits a shard into shards of a number of locations each, which continue where the shard is.
 *
 * @param size Number of locations of each
 */
function splitIntoGroups(shard: Shard, ids: readonly number[], size: number): Shard[] {
  const ranges = rangeOfEach(ids.filter((_, index) => index % size === 0));
  const groups = ranges.map((range, index) => ({
    clauses: locationClauses(range),
    locations: ids.slice(index * size, (index + 1) * size),
  }));
  return joinShards(shard, groups);
}

/** Creates the parts of a shard, which share its count and its rows. */
function joinShards(
  shard: Shard,
  parts: readonly Pick<Shard, "clauses" | "locations">[],
): Shard[] {
  return parts.map(({ clauses, locations }, index) => ({
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
 * A range of a number that each row has, such as its year: from one number, below another.
 *
 * Adjacent ranges whose outer ends are open contain every row that has a number, also those with numbers
 * that are not known: a list of numbers need not be complete for that.
 */
export interface Range {
  from: number | undefined;
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

/** Returns a range for each of the numbers, which rise; the outer ends are open. */
function rangeOfEach(numbers: readonly number[]): Range[] {
  return numbers.length === 0
    ? [{ from: undefined, below: undefined }]
    : numbers.map((_, index) => rangeOf(numbers, index, index + 1));
}

/** Consecutive numbers of a list, by their indices, and their number of rows. */
interface Group {
  first: number;
  end: number;
  rows: number;
}

/**
 * Splits numbers into adjacent ranges that each have at most `most` rows, or contain one number. The
 * outer ends are open.
 *
 * A range with too many rows is halved, and one half counted; neighbours that fit together are joined
 * again. The result is not the minimum, which would take more counts.
 *
 * @param numbers Numbers of the rows, rising
 * @param rows Number of rows in all
 * @param count Counts the rows of a range
 */
export async function rangesOfAtMost(
  most: number,
  numbers: readonly number[],
  rows: number,
  count: (range: Range) => Promise<number>,
): Promise<Range[]> {
  const groups: Group[] = [];
  const stack: Group[] = [{ first: 0, end: numbers.length, rows }];
  for (let group = stack.pop(); group !== undefined; group = stack.pop()) {
    if (group.rows <= most || group.end - group.first <= 1) {
      const before = groups.at(-1);
      if (before !== undefined && before.rows + group.rows <= most) {
        before.end = group.end;
        before.rows += group.rows;
      } else groups.push(group);
      continue;
    }
    const middle = Math.ceil((group.first + group.end) / 2);
    const counted = await count(rangeOf(numbers, group.first, middle));
    // Counts are estimates: they decide where to split, never which rows to leave out.
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

/** Returns the first request for the locations that the rows of a query can have. */
function locationsRequest(query: CheckedQuery): PageRequest {
  return requestOfField("Locations", "Id", query);
}

/** Returns the first request for the extents in time of the datasets of the rows of a query. */
function datasetsRequest(query: CheckedQuery): PageRequest {
  return requestOfField("Metadata", "TemporalExtent", query);
}

/**
 * Returns a request for a field of another resource, with the clauses of the query that this resource
 * takes. Clauses with `ne` are left out: there they may mean "has no such row", while the query means
 * "has a row that differs".
 */
function requestOfField(
  resource: ResourceName,
  field: string,
  { clauses, box }: CheckedQuery,
): PageRequest {
  const names: readonly string[] = RESOURCES[resource].filters;
  const taken = (clauses ?? []).filter(({ field, operator }) =>
    operator !== "ne" && names.includes(field)
  );
  const all = [...taken, ...(box ?? [])];
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

/** Locations by execution: its shards and its counts use one list, which is requested once. */
const idsOfExecution = new WeakMap<Execution, Promise<number[]>>();

/** Returns the ids of the locations that the rows of a query can have, rising. */
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
          hint: "the rows would not be whole; report this to the service",
        });
      }
      ids.add(id);
    }
  }
  return [...ids].sort((a, b) => a - b);
}

/** Returns the years in which the rows of a query can begin, as far as the datasets say, rising. */
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
  // A year that the filter excludes needs no shard.
  const wanted = [...found].filter((year) => query.clauses?.every(mayMatchIn(year)) ?? true);
  return wanted.sort((a, b) => a - b);
}

/** Creates a test whether a row of that year can match a clause. */
function mayMatchIn(year: number): (clause: Clause) => boolean {
  return ({ field, operator, values }) => {
    if (!/^ActivityStart(?:Date)?Year$/.test(field)) return true;
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

/** Fifty ids of seven digits, about 500 bytes: a request with a shorter list is not worth its time. */
const SOME_LOCATIONS = new Array(50).fill(9_999_999);

/** Splits locations into lists that each fit into a request of the query. */
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

/** Returns the clause that rows of some locations match. */
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
