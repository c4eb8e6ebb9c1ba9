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
 * A part of the rows of a query. No row is in two shards. Only a split by year omits rows: those without
 * a start date. JSON-serialisable, because cursors contain shards.
 */
export interface Shard {
  /** Clauses that the rows match, in addition to the query's filter. */
  clauses: readonly Clause[];
  /** Skip token of the next page. Before the first page, the skip token of the query or `undefined`. */
  skipToken?: string | undefined;
  /** Ids of the locations that its rows can have; `undefined` if they are not known. */
  locations?: readonly number[] | undefined;
  /**
   * Whether to count the rows after the first page, because there may be too many. If it is false and there is no
   * `count`, the rows cannot be counted: the service has refused to, or they are those of a group of locations.
   */
  isUncounted?: boolean | undefined;
  /** Number of rows that the service counted for this shard, or for the whole group of joined shards. */
  count?: number | undefined;
  /** Number of rows received so far for this shard, or for the group of joined shards. */
  rows?: number | undefined;
  /**
   * Whether a page of this shard or group broke and was continued after its delivered rows. The rows are then compared
   * with a count, because the service may have sent the page in another order.
   */
  isContinued?: boolean | undefined;
  /**
   * Whether this shard is joined to the one before it. Joined shards form a group: `count`, `rows` and `isContinued`
   * are those of the group, and `endShard()` passes them on to the next shard.
   */
  isJoined?: boolean | undefined;
}

/** Maximum number of rows per shard. Source: `docs/client.md`, "Large queries". */
export const MAX_SHARD_ROWS = 1_000_000;

/** Splits a query before its first page, by its bounding box and its option `partition`. */
export async function splitQuery(execution: Execution, query: CheckedQuery): Promise<Shard[]> {
  const { skipToken, partition, limit } = query;
  const shards = await splitByBox(execution, query);
  switch (partition) {
    case "auto":
      return shards.map((shard) => ({
        ...shard,
        skipToken,
        isUncounted: limit > MAX_SHARD_ROWS || undefined,
      }));
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

/** Splits shards by year. The result is one joined group, because the whole query is counted. */
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
 * Splits a shard with more than `MAX_SHARD_ROWS` rows into ranges of locations with at most that many, or
 * with one location.
 *
 * The new shards keep the skip token of the shard, so they omit the rows that were already received. A skip
 * token is the Id after which a page begins, whatever the filter (DataStream Public API, "URL Parameters",
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
    // Without a count, the range is not split now. If the service refuses its pages, it is split then.
    return await countShard(execution, query, { clauses }) ?? 0;
  });
  return joinShards(shard, ranges.map((range) => ({ clauses: locationClauses(range) })));
}

/**
 * Maximum number of shards that replace a refused shard. It is low, because the cause may have been an
 * outage. The new shards can be split again, down to a single location.
 */
const MAX_SPLIT = 16;

/**
 * Splits a shard by location, because the service refused even small pages of it.
 *
 * @param refusal Error of the last request
 * @param rowsWanted Number of rows until the limit of the query
 * @throws {DataStreamError} The refusal, if the refused page was not small, or the query must not be
 *   split, or cannot be split further
 */
export async function splitByLocation(
  execution: Execution,
  query: CheckedQuery,
  shard: Shard,
  refusal: DataStreamError,
  rowsWanted: number,
): Promise<Shard[]> {
  const { resource, partition, top, skipToken } = query;
  // A page is small if it has one row, or if a retry has requested fewer rows than `top`.
  const isSmall = Math.min(top, rowsWanted) === 1 || execution.limitTop(resource, top) < top;
  if (!isMeasured(resource) || !isSmall) throw refusal;
  const ids = partition === "auto"
    ? matchingLocations(shard, shard.locations ?? await locationIds(execution, query))
    : [];
  if (ids.length > 1) {
    // The new shards are a group, which cannot be counted later.
    const needsCount = shard.isUncounted || shard.isContinued;
    const count = shard.count ??
      (needsCount ? await countShard(execution, query, shard) : undefined);
    // Counts ignore skip tokens, so a count does not apply to a query that begins at one.
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

/**
 * Returns the shards that remain after a finished shard.
 *
 * If the next shard is joined to the finished one, it continues the group: it gets the `count`, `rows` and
 * `isContinued` of the finished shard.
 */
export function endShard(
  { count, rows, isContinued }: Shard,
  [next, ...others]: readonly Shard[],
): Shard[] {
  if (next === undefined) return [];
  return [next.isJoined ? { ...next, count, rows, isContinued } : next, ...others];
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
 * @throws {DataStreamError} The refusal, if the rows must be compared with a count
 */
export async function countShard(
  execution: Execution,
  query: CheckedQuery,
  shard: Pick<Shard, "clauses" | "isContinued">,
): Promise<number | undefined> {
  try {
    return await requestCount(execution, query, shard);
  } catch (error) {
    // Rows that cannot be counted can still be requested.
    if (!isRefusal(error) || shard.isContinued) throw error;
    return undefined;
  }
}

/**
 * Requests the number of rows of a shard; large counts are estimates.
 *
 * Source: DataStream Public API, "URL Parameters", `$count`.
 */
export async function requestCount(
  execution: Execution,
  query: CheckedQuery,
  { clauses }: Pick<Shard, "clauses">,
): Promise<number> {
  const request = { resource: query.resource, filter: narrow(query, clauses) };
  const { value } = await execution.request(() => request, () => readCount).next();
  return value;
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
 * Checks that the URL of a query with a bounding box has room for at least fifty locations. With fewer
 * locations per request, the query would take too many requests.
 *
 * @throws {ValidationError} If the URL would be too long
 */
export function requireRoomForLocations(query: CheckedQuery, settings: ClientSettings): void {
  requireShortTarget(urlWithLocations(SHORTEST_LIST, query, settings));
}

/**
 * Splits a query by its bounding box: each shard has some of the locations in the box. Without a box,
 * returns one shard.
 */
async function splitByBox(execution: Execution, query: CheckedQuery): Promise<Shard[]> {
  if (query.box === undefined) return [{ clauses: [] }];
  const ids = await locationIds(execution, query);
  return groupsThatFit(ids, query, execution.settings)
    .map((locations) => ({ clauses: [inLocations(locations)], locations }));
}

/**
 * Splits a shard into groups of locations. The new shards omit the rows that were already received.
 *
 * @param size Number of locations per new shard; the last one can have fewer
 */
function splitIntoGroups(shard: Shard, ids: readonly number[], size: number): Shard[] {
  const ranges = rangeOfEach(ids.filter((_, index) => index % size === 0));
  const groups = ranges.map((range, index) => ({
    clauses: locationClauses(range),
    locations: ids.slice(index * size, (index + 1) * size),
  }));
  return joinShards(shard, groups);
}

/** Creates the shards that replace a shard. They form a joined group, which keeps the `count` and `rows`. */
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

/** Returns the locations that match the clauses of a shard on `LocationId`. */
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

/** Maximum length (bytes) of a list of locations: half of the maximum for a request target. */
const MAX_LIST_LENGTH = MAX_TARGET_LENGTH / 2;

/** Shortest useful list of locations: fifty Ids of seven digits, about 500 bytes. */
const SHORTEST_LIST = new Array(50).fill(9_999_999);

/** Splits locations into lists, each short enough for the URL of a request. */
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

/** Returns a clause that matches the rows of some locations. */
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
