// The requests of a query. Its rows are in groups, each with one count: the whole query, or one for each part of a long
// list of values. A large group is read in shards: ranges of locations or years.
import { endpoint } from "../endpoint/endpoint.ts";
import type { RequestOptions } from "../endpoint/types.ts";
import { DataStreamError, ValidationError } from "../errors.ts";
import { ID_FIELD } from "../formats/row_reader.ts";
import { fieldsOfRules } from "../formats/tidy.ts";
import { type Clause, formatClauses, matchesNothing, valueClause } from "../odata/clause.ts";
import { intersectLists, splitLongLists, tooLongError } from "../odata/long_lists.ts";
import { type CheckedQuery, checkQuery, type SystemQueryOptions } from "../odata/query_options.ts";
import { RESOURCES } from "../odata/resources.ts";
import type { ClientSettings } from "./options.ts";
import { longOption, SHORT_TARGET } from "./http_error.ts";
import { MAX_TARGET_LENGTH } from "./rate_limiter.ts";
import { type PageRequest, readCount } from "./page_reader.ts";
import {
  decide,
  isRefusal,
  MAX_TIMEOUTS,
  reportProgress,
  type Run,
  startAttempts,
} from "./retry.ts";
import { judge, knownService, send, waitForRetry } from "./send.ts";

/** Part of a query; no row is in two. JSON-serialisable, because cursors contain shards. */
export interface Shard {
  /** Clauses in addition to the query's filter: first those of its group, then ranges. */
  readonly clauses: readonly Clause[];
  /** Skip token after the last delivered row; at the start, that of the query. */
  readonly after?: string | undefined;
  /** Greatest Id before this position, if Ids are integers and the token does not contain it. */
  readonly lastId?: number | undefined;
}

interface PageLimits {
  top?: number;
  /** Maximum number of rows to keep. */
  limit?: number;
  /** Whether a cursor may contain the position after the page. */
  isResumable?: boolean | undefined;
}

export function toPageRequest(
  query: CheckedQuery,
  { clauses, after }: Shard,
  settings: ClientSettings,
  { top = query.top, limit = Infinity, isResumable = false }: PageLimits = {},
): PageRequest {
  const { resource, select, distinct = [], rules, leavesOutRows } = query;
  // Without Ids, a repeated row cannot be distinguished from a new one, and no row after the last one can be
  // requested. A page that is the whole result needs none.
  const isWholeResult = after === undefined && clauses.length === 0 && top >= limit &&
    !leavesOutRows && !isResumable;
  const ids = isWholeResult ? [] : [ID_FIELD];
  const needed = [...ids, ...distinct, ...rules ? fieldsOfRules(rules) : []];
  const fields = select && [...new Set([...select, ...needed])];
  const options = toRequestOptions(query, settings, clauses, {
    $select: fields?.join(","),
    $top: top,
    $skiptoken: after,
  });
  const hasIds = fields?.includes(ID_FIELD) ?? true;
  return {
    resource,
    options,
    top,
    after,
    omitted: fields?.slice(select!.length),
    distinct,
    hasIds,
    limit,
  };
}

/** A list of a shard replaces the earlier ones of its field, of which it is a part. */
function clausesToSend(own: readonly Clause[], clauses: readonly Clause[]): Clause[] {
  const isReplaced = ({ operator, field }: Clause, later: readonly Clause[]) =>
    operator === "in" && later.some((list) => list.operator === "in" && list.field === field);
  return [
    ...own.filter((clause) => !isReplaced(clause, clauses)),
    ...clauses.filter((clause, index) => !isReplaced(clause, clauses.slice(index + 1))),
  ];
}

function toRequestOptions(
  { resource, clauses: own, unparsedFilter }: CheckedQuery,
  { baseUrl, headers }: ClientSettings,
  clauses: readonly Clause[],
  options: SystemQueryOptions,
): RequestOptions {
  const text = formatClauses(clausesToSend(own, clauses));
  const $filter = unparsedFilter === undefined || text === ""
    ? unparsedFilter ?? (text || undefined)
    : `(${unparsedFilter}) and ${text}`; // it may contain `or`, which has lower precedence
  const { path } = RESOURCES[resource];
  return endpoint(`GET ${path}`, { baseUrl, headers, $select: undefined, $filter, ...options });
}

/** Large counts are estimates. Source: DataStream Public API, "URL Parameters", `$count`. */
export async function requestCount(
  run: Run,
  query: CheckedQuery,
  clauses: readonly Clause[],
  maxTimeouts = Infinity,
): Promise<number> {
  const attempts = startAttempts(run.settings.retry);
  let shards = shortenLists(run, query, { clauses });
  let rows = 0;
  for (let [shard, ...later] = shards; shard !== undefined; [shard, ...later] = shards) {
    const options = toRequestOptions(query, run.settings, shard.clauses, { $count: "true" });
    const name = requestName(query, shard.clauses);
    try {
      const response = await send(run, attempts, options);
      rows += await readCount(response);
      run.answered.add(name);
      shards = later;
    } catch (error) {
      const wasAnswered = run.answered.has(name);
      const shorter = wasAnswered ? undefined : shortenRefused(run, query, shard, error);
      if (shorter !== undefined) {
        shards = [...shorter, ...later];
        continue;
      }
      const judged = await judge(run, attempts, error, wasAnswered);
      const decision = decide(run, attempts, judged);
      if (attempts.timeouts === maxTimeouts) throw error;
      await waitForRetry(run, attempts, decision);
    }
  }
  return rows;
}

/** Returns `undefined` if the service refuses to count. Rows that cannot be counted can still be requested. */
export async function tryCount(
  run: Run,
  query: CheckedQuery,
  clauses: readonly Clause[],
): Promise<number | undefined> {
  try {
    return await requestCount(run, query, clauses, MAX_TIMEOUTS);
  } catch (error) {
    if (error instanceof DataStreamError && isRefusal(error)) return undefined;
    throw error;
  }
}

/** Largest count that is exact. Above it, counts are estimates. */
const MAX_EXACT_COUNT = 100_000;
/** Inaccuracy of large counts: 0.0005 % (DataStream Public API, "URL Parameters", `$count`). */
const COUNT_INACCURACY = 0.000_005;

/** Maximum difference between a number of rows and their count that is accepted. */
export function toleranceOf(count: number): number {
  return count > MAX_EXACT_COUNT ? Math.ceil(count * COUNT_INACCURACY) : 0;
}

/** A shard with more rows is split, if it can be. Source: `docs/client.md`, "Large queries". */
export const MAX_SHARD_ROWS = 1_000_000;

/** Lists of values distinguish groups; ranges, and later lists of the same field, divide a group. */
export function groupOf({ clauses }: Shard): Clause[] {
  const lists = clauses.filter(({ operator }) => operator === "in");
  return lists.filter(({ field }, index) =>
    lists.findIndex((list) => list.field === field) === index
  );
}

/** For the requests of one run. No firewall refuses the ranges that divide a group. */
export function requestName({ resource }: CheckedQuery, clauses: readonly Clause[]): string {
  return JSON.stringify([resource, clauses.filter(({ operator }) => operator === "in")]);
}

/** Rows of one group are compared with one count. */
export function isSameGroup(a: Shard, b: Shard): boolean {
  return JSON.stringify(groupOf(a)) === JSON.stringify(groupOf(b));
}

export function isSplit(shard: Shard): boolean {
  return groupOf(shard).length < shard.clauses.length;
}

/** Paths and queries are ASCII: one byte per character. */
function targetLength(url: string): number {
  return url.length - new URL(url).origin.length;
}

/** Bytes for the name of the filter, a skip token, and ranges of locations and years. */
const RESERVED_LENGTH = 300;

/** Throws if the filter is too long and has no list to split. `ids` are the locations in the bounding box. */
export function groupsOf(
  query: CheckedQuery,
  ids: readonly number[] | undefined,
  settings: ClientSettings,
): readonly (readonly Clause[])[] {
  if (ids === undefined && targetLength(urlOf(query, settings)) <= MAX_TARGET_LENGTH) return [[]];
  const box = ids && valueClause("LocationId", "in", ...ids);
  const clauses = intersectLists(query.resource, [...query.clauses, ...(box ? [box] : [])]);
  if (matchesNothing(clauses)) return [];
  const used = targetLength(urlOf({ ...query, clauses: [] }, settings));
  const room = MAX_TARGET_LENGTH - RESERVED_LENGTH - used;
  const split = splitLongLists(query.resource, clauses, room);
  if (split === undefined) throw tooLongError(query.resource, clauses, room);
  const { shared, groups } = split;
  const list = box &&
    shared.find(({ field, operator }) => field === "LocationId" && operator === "in");
  return list === undefined ? groups : groups.map((group) => [...group, list]);
}

/**
 * Returns shards of the same group whose requests are not longer than the service is known to accept. Returns the shard
 * itself if it is short, or has no list to shorten.
 */
export function shortenLists(run: Run, query: CheckedQuery, shard: Shard): readonly Shard[] {
  const { settings, targetLength: ownLimit = Infinity } = run;
  const length = targetLength(toPageRequest(query, shard, settings).options.url);
  if (length <= SHORT_TARGET) return [shard];
  const limit = Math.min(ownLimit, knownService(settings).targetLength);
  if (length <= limit) return [shard];
  const clauses = clausesToSend(query.clauses, shard.clauses);
  const used = targetLength(urlOf({ ...query, clauses: [] }, settings));
  const room = limit - RESERVED_LENGTH - used;
  const { groups } = splitLongLists(query.resource, clauses, room) ?? { groups: [[]] };
  const known = new Set(groupOf(shard).map(({ field }) => field));
  return groups.map((lists) => {
    const whole = lists.filter(({ field }) => !known.has(field)).map(({ field }) =>
      clauses.find((clause) => clause.operator === "in" && clause.field === field)!
    );
    return { ...shard, clauses: [...whole, ...shard.clauses, ...lists] };
  });
}

/** Returns shards with shorter lists if the error may be due to the length; `undefined` if nothing can be shortened. */
export function shortenRefused(
  run: Run,
  query: CheckedQuery,
  shard: Shard,
  error: unknown,
): readonly Shard[] | undefined {
  if (!(error instanceof DataStreamError) || error.rule !== "length") return undefined;
  const shorter = shortenLists({ ...run, targetLength: SHORT_TARGET }, query, shard);
  if (shorter.length < 2) return undefined;
  run.targetLength = SHORT_TARGET;
  return shorter;
}

export function locationsQuery({ clauses, box }: CheckedQuery): CheckedQuery {
  const names: readonly string[] = RESOURCES.Locations.filters;
  const supported = clauses.filter(({ field, operator }) =>
    operator !== "ne" && names.includes(field)
  );
  const added = [...supported, ...box ?? []];
  return checkQuery("Locations", { select: ["Id"] }, added);
}

/** A query with a bounding box must have room for fifty Ids of seven digits. */
const SOME_LOCATIONS: readonly number[] = Array.from(
  { length: 50 },
  (_, index) => 9_999_950 + index,
);

export function firstUrlOf(query: CheckedQuery, settings: ClientSettings): string {
  requireShortTarget(urlOf({ ...query, clauses: [], unparsedFilter: undefined }, settings));
  // With fewer locations per request, a query with a bounding box would take too many requests.
  groupsOf(query, query.box && SOME_LOCATIONS, settings);
  const first = query.box === undefined ? query : locationsQuery(query);
  const [clauses = []] = groupsOf(first, undefined, settings);
  const top = Math.min(first.top, Math.max(first.limit, 1));
  const shard = { clauses, after: first.skipToken };
  const { url } = toPageRequest(first, shard, settings, { top, limit: first.limit }).options;
  requireShortTarget(url);
  return url;
}

/** Leaves room: a skip token and a range of locations may still be added. */
function requireShortTarget(url: string): void {
  const length = targetLength(url);
  if (length <= MAX_TARGET_LENGTH) return;
  const problem = `makes a request of ${length} bytes, more than ${MAX_TARGET_LENGTH}`;
  throw new ValidationError(longOption(url), problem, {
    hint:
      "split a long list of the {filter} over several queries, or reduce the fields of {select}",
  });
}

export function urlOf(query: CheckedQuery, settings: ClientSettings): string {
  return toPageRequest(query, { clauses: [] }, settings).options.url;
}

/**
 * Returns fewer than two shards if the shard cannot be split. The new shards keep its skip token, so that they
 * omit the rows that were already received. The token is the Id after which a page begins, whatever the
 * filter (DataStream Public API, "URL Parameters", `$skiptoken`).
 *
 * @param rows Default: unknown, because the service refuses its pages
 */
export async function splitShard(
  run: Run,
  query: CheckedQuery,
  shard: Shard,
  locations: readonly number[],
  rows?: number,
): Promise<Shard[]> {
  const ids = matchingLocations(shard, locations);
  const ranges = rows === undefined
    ? equalRanges(ids)
    : await splitNumbers(run, query, shard, "LocationId", ids, rows);
  if (rows !== undefined && !await addUp(run, query, shard, ids, ranges, rows)) return [];
  const shards: Shard[] = [];
  for (const range of ranges) {
    const part = narrowShard(shard, "LocationId", ids, range);
    // Of a refused shard, the ranges can be refused and split again, except one location.
    const needsYears = rows === undefined ? ids.length === 1 : range.rows > MAX_SHARD_ROWS;
    shards.push(...needsYears && await splitByYear(run, query, part) || [part]);
  }
  return shards;
}

/** Whether the counts of ranges of locations add up: rows without a location would be in no range. */
async function addUp(
  run: Run,
  query: CheckedQuery,
  shard: Shard,
  ids: readonly number[],
  ranges: readonly NumberRange[],
  rows: number,
): Promise<boolean> {
  const last = ranges.at(-1);
  if (last === undefined || ranges.length === 1) return true;
  const { clauses } = narrowShard(shard, "LocationId", ids, last);
  const counted = await tryCount(run, query, clauses) ?? NaN; // its rows are what the others leave
  const sum = ranges.slice(0, -1).reduce((sum, { rows }) => sum + rows, counted);
  return Math.abs(sum - rows) <= toleranceOf(rows);
}

const YEARS: readonly number[] = Array.from({ length: 201 }, (_, index) => 1900 + index);

const YEAR_FIELD = "ActivityStartYear";

/** Returns `undefined` if a row has no year: no range would contain it. */
async function splitByYear(
  run: Run,
  query: CheckedQuery,
  shard: Shard,
): Promise<Shard[] | undefined> {
  if (shard.clauses.some(({ field }) => field === YEAR_FIELD)) return undefined;
  reportProgress(run, { splitting: "year" });
  const rows = await tryCount(run, query, shard.clauses);
  if (rows === undefined) return undefined;
  const anyYear = valueClause(YEAR_FIELD, "gte", 0);
  if (rows !== await tryCount(run, query, [...shard.clauses, anyYear])) return undefined;
  const years = likelyYears(run.years);
  const ranges = await splitNumbers(run, query, shard, YEAR_FIELD, years, rows);
  return ranges.map((range) => narrowShard(shard, YEAR_FIELD, years, range));
}

/** Fewer years need fewer counts. Rows of other years are in the outer ranges, which are unbounded. */
function likelyYears(known: readonly number[] = []): readonly number[] {
  const [first, last] = [Math.min(...known), Math.max(...known)];
  const years = YEARS.filter((year) => first <= year && year <= last);
  return years.length > 1 ? years : YEARS;
}

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

interface NumberRange {
  first: number;
  end: number;
  /** Estimated number of rows; 0 if the shard is refused. */
  rows: number;
}

/** The outer ranges are unbounded, so that no row is lost if the list is incomplete. */
function narrowShard(
  shard: Shard,
  field: string,
  numbers: readonly number[],
  { first, end }: Pick<NumberRange, "first" | "end">,
): Shard {
  const clauses = [...shard.clauses];
  if (first > 0) clauses.push(valueClause(field, "gte", numbers[first]!));
  if (end < numbers.length) clauses.push(valueClause(field, "lt", numbers[end]!));
  return { ...shard, clauses };
}

/** Maximum number of ranges that replace a refused shard. */
const MAX_SPLIT = 16;

function equalRanges({ length }: readonly number[]): NumberRange[] {
  const size = Math.ceil(length / MAX_SPLIT);
  return Array.from({ length: Math.ceil(length / size) || 0 }, (_, index) => {
    const first = index * size;
    return { first, end: Math.min(first + size, length), rows: 0 };
  });
}

/**
 * Halves a large range, counts one half, and merges small neighbours. Finding the minimum number of
 * ranges would take more counts.
 */
async function splitNumbers(
  run: Run,
  query: CheckedQuery,
  shard: Shard,
  field: string,
  numbers: readonly number[],
  rows: number,
): Promise<NumberRange[]> {
  const ranges: NumberRange[] = [];
  const stack: NumberRange[] = [{ first: 0, end: numbers.length, rows }];
  for (let range = stack.pop(); range !== undefined; range = stack.pop()) {
    const { first, end, rows } = range;
    if (rows > MAX_SHARD_ROWS && end - first > 1) {
      const middle = Math.ceil((first + end) / 2);
      const { clauses } = narrowShard(shard, field, numbers, { first, end: middle });
      // Counts are estimates, and may be refused. They only decide where to split: every range is requested, even if
      // its count is 0.
      const counted = await tryCount(run, query, clauses) ?? 0;
      stack.push({ first: middle, end, rows: Math.max(0, rows - counted) });
      stack.push({ first, end: middle, rows: counted });
      continue;
    }
    const before = ranges.at(-1);
    if (before !== undefined && before.rows + rows <= MAX_SHARD_ROWS) {
      before.end = end;
      before.rows += rows;
    } else ranges.push(range);
  }
  return ranges;
}
