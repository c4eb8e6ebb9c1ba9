// Splits a query into units (groups of values of long lists), and a large unit into shards (ranges of locations or years).
import { type Clause, formatClauses, matchesNothing, numberClause } from "../odata/clause.ts";
import { splitLongLists } from "../odata/long_lists.ts";
import type { CheckedQuery } from "../odata/query_options.ts";
import { MAXIMUM_TOP, RESOURCES } from "../odata/resources.ts";
import type { ClientSettings } from "./options.ts";
import {
  filterOf,
  MAX_TARGET_LENGTH,
  requireShortTarget,
  type Shard,
  targetLength,
  toPageRequest,
  toRequestOptions,
} from "./page_request.ts";
import { reportProgress, type Run, tryCount } from "./run.ts";

/** Number of rows above which a shard is split, if it can be. Source: `docs/client.md`, "Large queries". */
export const MAX_SHARD_ROWS = 1_000_000;

/**
 * Returns the clauses that distinguish the unit of a shard from other units: the lists of values. Ranges divide a unit.
 */
export function unitOf({ clauses }: Shard): Clause[] {
  return clauses.filter(({ operator }) => operator === "in");
}

/** Whether two shards are in one unit: their rows are compared with one count. */
export function isSameUnit(a: Shard, b: Shard): boolean {
  return JSON.stringify(unitOf(a)) === JSON.stringify(unitOf(b));
}

/** Whether a shard has only a part of the rows of its unit. */
export function isSplit(shard: Shard): boolean {
  return unitOf(shard).length < shard.clauses.length;
}

/**
 * Number of bytes of a request target that stay free: for the name of the filter, a skip token, and ranges of locations
 * and years.
 */
const RESERVED_LENGTH = 300;

/**
 * Returns the clauses of the units of a query. Lists that are too long for one request are split into groups.
 *
 * @param ids Ids of the locations in its bounding box; `undefined` without a box
 * @throws {ValidationError} If the filter is too long and cannot be split
 */
export function unitsOf(
  query: CheckedQuery,
  ids: readonly number[] | undefined,
  settings: ClientSettings,
): readonly (readonly Clause[])[] {
  const box = ids && numberClause("LocationId", "in", ...ids);
  const clauses = intersectLists([...query.clauses ?? [], ...(box ? [box] : [])]);
  if (query.matchesNothing || matchesNothing(clauses)) return [];
  if (box === undefined && targetLength(urlOf(query, settings)) <= MAX_TARGET_LENGTH) return [[]];
  // A filter that cannot be parsed is a part of each request.
  const filter = query.clauses === undefined ? query.filter : undefined;
  const used = targetLength(urlOf({ ...query, filter, clauses: undefined }, settings));
  const room = MAX_TARGET_LENGTH - RESERVED_LENGTH - used;
  const { shared, units } = splitLongLists(query.resource, clauses, room);
  const list = box &&
    shared.find(({ field, operator }) => field === "LocationId" && operator === "in");
  return list === undefined ? units : units.map((unit) => [...unit, list]);
}

/** Replaces the lists of each field by one list of their common values. */
function intersectLists(clauses: readonly Clause[]): Clause[] {
  const lists = new Map<string, Clause>();
  for (const clause of clauses.filter(({ operator }) => operator === "in")) {
    const texts = new Set(clause.values.map(({ text }) => text));
    const { values } = lists.get(clause.field) ?? clause;
    lists.set(clause.field, { ...clause, values: values.filter(({ text }) => texts.has(text)) });
  }
  return [...clauses.filter(({ operator }) => operator !== "in"), ...lists.values()];
}

/**
 * Splits a shard with more than `MAX_SHARD_ROWS` rows into ranges of locations with at most that many. One location
 * with more rows is split into ranges of years, if each of its rows has a year.
 *
 * The new shards keep the skip token of the shard, so they omit the rows that were already received. A skip
 * token is the Id after which a page begins, whatever the filter (DataStream Public API, "URL Parameters",
 * `$skiptoken`).
 *
 * @param locations Ids of the locations that rows of the query can have, ascending
 * @param rows Number of rows of the shard, counted by the service
 */
export async function splitByCount(
  run: Run,
  query: CheckedQuery,
  shard: Shard,
  locations: readonly number[],
  rows: number,
): Promise<Shard[]> {
  const ids = matchingLocations(shard, locations);
  const count = countRange(run, query);
  const groups = await rangesOfAtMost(
    MAX_SHARD_ROWS,
    ids,
    rows,
    (range) => count([...shard.clauses, ...rangeClauses("LocationId", range)]),
  );
  const shards: Shard[] = [];
  for (const { range, rows } of groups) {
    const part = { ...shard, clauses: [...shard.clauses, ...rangeClauses("LocationId", range)] };
    const years = rows > MAX_SHARD_ROWS ? await splitByYear(run, query, part) : undefined;
    shards.push(...years ?? [part]);
  }
  return shards;
}

/** Returns a function that counts rows; they are 0 if the service refuses to. The shard can be split again later. */
function countRange(run: Run, query: CheckedQuery): (clauses: Clause[]) => Promise<number> {
  return async (clauses) => {
    const filter = filterOf(query, clauses);
    return await tryCount(run, { resource: query.resource, filter }) ?? 0;
  };
}

/** Years between which a location is split. The first range has no lower bound, and the last no upper bound. */
const [FIRST_YEAR, LAST_YEAR] = [1900, 2100];

const YEAR_FIELD = "ActivityStartYear";

/**
 * Splits a shard of one location into ranges of years with at most `MAX_SHARD_ROWS` rows.
 *
 * @returns The shards; `undefined` if the service refuses to count, or a row has no year: no range would contain it
 */
async function splitByYear(
  run: Run,
  query: CheckedQuery,
  shard: Shard,
): Promise<Shard[] | undefined> {
  if (shard.clauses.some(({ field }) => field === YEAR_FIELD)) return undefined;
  reportProgress(run, { splitting: "year" });
  const { resource } = query;
  const countOf = (clauses: readonly Clause[]) =>
    tryCount(run, { resource, filter: filterOf(query, [...shard.clauses, ...clauses]) });
  const rows = await countOf([]);
  if (rows === undefined) return undefined;
  if (rows !== await countOf([numberClause(YEAR_FIELD, "gte", 0)])) return undefined;
  const years = Array.from(
    { length: LAST_YEAR - FIRST_YEAR + 1 },
    (_, index) => FIRST_YEAR + index,
  );
  const groups = await rangesOfAtMost(
    MAX_SHARD_ROWS,
    years,
    rows,
    async (range) => await countOf(rangeClauses(YEAR_FIELD, range)) ?? 0,
  );
  return groups.map(({ range }) => ({
    ...shard,
    clauses: [...shard.clauses, ...rangeClauses(YEAR_FIELD, range)],
  }));
}

/** Maximum number of ranges of locations that replace a refused shard. They can be split again. */
const MAX_SPLIT = 16;

/**
 * Splits a shard whose pages the service refuses.
 *
 * @param locations Ids of the locations that rows of the query can have, ascending
 * @returns The shards; `undefined` if it cannot be split
 */
export async function splitRefused(
  run: Run,
  query: CheckedQuery,
  shard: Shard,
  locations: readonly number[],
): Promise<Shard[] | undefined> {
  const ids = matchingLocations(shard, locations);
  if (ids.length < 2) {
    const years = ids.length === 0 ? undefined : await splitByYear(run, query, shard);
    // One shard would be the same request again.
    return years !== undefined && years.length > 1 ? years : undefined;
  }
  const size = Math.ceil(ids.length / MAX_SPLIT);
  const firsts = ids.filter((_, index) => index % size === 0);
  return firsts.map((_, index) => ({
    ...shard,
    clauses: [...shard.clauses, ...rangeClauses("LocationId", rangeOf(firsts, index, index + 1))],
  }));
}

/** Returns the query of the locations that rows of another query can have. */
export function locationsQuery({ clauses, box }: CheckedQuery): CheckedQuery {
  const names: readonly string[] = RESOURCES.Locations.filters;
  const supported = (clauses ?? []).filter(({ field, operator }) =>
    operator !== "ne" && names.includes(field)
  );
  const all = [...supported, ...(box ?? [])];
  return {
    resource: "Locations",
    select: ["Id"],
    filter: formatClauses(all) || undefined,
    clauses: all,
    matchesNothing: false,
    box: undefined,
    top: MAXIMUM_TOP,
    limit: Infinity,
    skipToken: undefined,
    partition: "never",
    acceptsIncomplete: false,
    maxRows: Infinity,
  };
}

/** Some Ids of locations, which a query with a bounding box must have room for: fifty with seven digits. */
const SOME_LOCATIONS: readonly number[] = Array.from(
  { length: 50 },
  (_, index) => 9_999_950 + index,
);

/**
 * Returns the URL of the first request of a query.
 *
 * @throws {ValidationError} If a request of the query would be too long
 */
export function firstUrlOf(query: CheckedQuery, settings: ClientSettings): string {
  requireShortTarget(urlOf({ ...query, filter: undefined, clauses: undefined }, settings));
  // With fewer locations per request, a query with a bounding box would take too many requests.
  unitsOf(query, query.box && SOME_LOCATIONS, settings);
  const first = query.box === undefined ? query : locationsQuery(query);
  const [clauses = []] = unitsOf(first, undefined, settings);
  const top = Math.min(first.top, Math.max(first.limit, 1));
  const request = toPageRequest(first, { clauses, after: first.skipToken }, top, first.limit);
  const { url } = toRequestOptions(settings, request);
  requireShortTarget(url);
  return url;
}

/** Returns the URL of the first page of a query, as if it were not split. */
export function urlOf(query: CheckedQuery, settings: ClientSettings): string {
  return toRequestOptions(settings, toPageRequest(query, { clauses: [] })).url;
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

/**
 * A range of a numeric field, such as the year: `from <= number < below`.
 *
 * Adjacent ranges of a list of numbers cover every row whose field is not null, even if the list is incomplete: the
 * first has no lower bound and the last has no upper bound.
 */
interface Range {
  /** Lowest number; `undefined` for no lower bound. */
  from: number | undefined;
  /** Number above the range; `undefined` for no upper bound. */
  below: number | undefined;
}

/** Returns the clauses that the rows of a range match. */
function rangeClauses(field: string, { from, below }: Range): Clause[] {
  const bound = (operator: "gte" | "lt", number: number | undefined): Clause[] =>
    number === undefined ? [] : [numberClause(field, operator, number)];
  return [...bound("gte", from), ...bound("lt", below)];
}

/** Returns the range of some consecutive numbers of a list: from the index `first` to before the index `end`. */
function rangeOf(numbers: readonly number[], first: number, end: number): Range {
  return {
    from: first === 0 ? undefined : numbers[first],
    below: end === numbers.length ? undefined : numbers[end],
  };
}

/** Consecutive numbers of a list, from the index `first` to before the index `end`, and their row count. */
interface Group {
  first: number;
  end: number;
  rows: number;
}

/**
 * Splits an ascending list of numbers into adjacent ranges that have at most `max` rows or one number.
 *
 * A range with too many rows is halved, and one half is counted. Neighbours that together have at most
 * `max` rows are merged again. The result can have more ranges than necessary: finding the minimum would
 * take more counts.
 *
 * @param max Maximum number of rows of a range with several numbers
 * @param numbers Values of the field, ascending
 * @param rows Number of rows of all ranges together
 * @param count Counts the rows of a range
 */
async function rangesOfAtMost(
  max: number,
  numbers: readonly number[],
  rows: number,
  count: (range: Range) => Promise<number>,
): Promise<{ range: Range; rows: number }[]> {
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
    // Counts are estimates, so this can be negative. They only decide where to split: every range is
    // requested, even if its count is 0.
    const uncounted = Math.max(0, group.rows - counted);
    stack.push({ first: middle, end: group.end, rows: uncounted });
    stack.push({ first: group.first, end: middle, rows: counted });
  }
  return groups.map(({ first, end, rows }) => ({ range: rangeOf(numbers, first, end), rows }));
}
