import { amendError, DataStreamError } from "../errors.ts";
import { type Clause, numberClause } from "../odata/clause.ts";
import { type CheckedQuery, narrow } from "../odata/query_options.ts";
import { isMeasured } from "../odata/resources.ts";
import {
  type Execution,
  MAX_TARGET_LENGTH,
  type PageRequest,
  requireShortTarget,
  targetLength,
  toRequestOptions,
} from "./fetch_page.ts";
import type { ClientSettings } from "./options.ts";
import { readCount } from "./read_page.ts";
import { datasetsRequest, locationIds, locationsRequest, requestYears } from "./shard_keys.ts";
import { type Range, rangeClauses, rangeOfEach, rangesOfAtMost } from "./ranges.ts";

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
    case "year":
      return splitByYear(shards, await requestYears(execution, query), skipToken);
  }
}

/** Splits shards by year. They are joined, because their rows together are compared with the count. */
function splitByYear(
  shards: readonly Shard[],
  years: readonly number[],
  skipToken: string | undefined,
): Shard[] {
  const ranges = rangeOfEach(years);
  return shards
    .flatMap(({ clauses }) =>
      ranges.map((range) => [...clauses, ...rangeClauses("ActivityStartYear", range)])
    )
    .map((clauses, index) => ({ clauses, skipToken, ...(index > 0 && { isJoined: true }) }));
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
  const isSmall = Math.min(top, rowsWanted) === 1 || execution.limitTop(resource, top) < top;
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

function locationClauses(range: Range): Clause[] {
  return rangeClauses("LocationId", range);
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
