import { amendError, DataStreamError } from "../errors.ts";
import { type Clause, formatClauses } from "../odata/clause.ts";
import { type CheckedQuery, isMeasured, narrow } from "../odata/query_options.ts";
import { MAXIMUM_TOP, type ResourceName, RESOURCES } from "../odata/resources.ts";
import {
  LONGEST_TARGET,
  requireShortTarget,
  type Run,
  type Service,
  targetLength,
  toRequestOptions,
} from "./fetch_page.ts";
import { countRows, follow, type PageQuery, toWireSelect } from "./paginate.ts";
import { readRows } from "./read_page.ts";

/**
 * Some of a query's rows, from a place on, still to be asked for. The legs of a query have no row in
 * common, and are together the query; what is left of them is JSON, to go on from at another time.
 */
export interface Leg {
  /** What its rows meet beside the query's filter. */
  clauses: readonly Clause[];
  /** Where it begins; undefined is the start. */
  skipToken?: string | undefined;
  /** Their locations, where they are known. */
  locations?: readonly number[] | undefined;
  /** Whether it may have too many rows, and is to be counted past its first page. */
  isUncounted?: boolean | undefined;
  /** Number of rows that the service counted, for this leg and the legs joined to it. */
  count?: number | undefined;
  /** Number of rows received so far, of this leg and the legs before it that it is joined to. */
  rows?: number | undefined;
  /** Whether `count` and `rows` of the leg before it include this one. */
  isJoined?: boolean | undefined;
}

/** The legs of a query as its partition has them, before any is counted. */
export async function legsOf(run: Run, query: CheckedQuery): Promise<Leg[]> {
  const { skipToken, partition, limit } = query;
  const parts = await partsOf(run, query);
  switch (partition) {
    case "auto":
      return parts.map((part) => ({
        ...part,
        skipToken,
        isUncounted: limit > MOST_ROWS,
      }));
    case "never":
      return parts.map((part) => ({ ...part, skipToken }));
    case "location": {
      const all = query.box === undefined ? await locationIds(run, query) : [];
      return parts.flatMap((part) => byLocations({ ...part, skipToken }, part.locations ?? all, 1));
    }
    case "year": {
      const ranges = rangeOfEach(await years(run, query));
      const toClauses = (range: Range) => toRangeClauses("ActivityStartYear", range);
      return parts
        .flatMap(({ clauses }) => ranges.map((range) => [...clauses, ...toClauses(range)]))
        // Joined, because all together are held against the count of the query.
        .map((clauses, index) => ({
          clauses,
          skipToken,
          ...(index > 0 && { isJoined: true }),
        }));
    }
  }
}

/** The query as a whole; where it has a box, as lists of locations. */
async function partsOf(run: Run, query: CheckedQuery): Promise<Leg[]> {
  if (query.box === undefined) return [{ clauses: [] }];
  const ids = await locationIds(run, query);
  return groupsOf(ids, query, run.service)
    .map((locations) => ({ clauses: [inLocations(locations)], locations }));
}

/** How many rows a query has, whatever its limit and the place where it begins. */
export async function countAll(run: Run, query: CheckedQuery): Promise<number> {
  let rows = 0;
  for (const { clauses } of await partsOf(run, query)) {
    rows += await countRows(run, query.resource, narrow(query, clauses));
  }
  return rows;
}

/** How many rows a leg has, wherever it begins; undefined if the service cannot tell. */
export function countLeg(
  run: Run,
  query: CheckedQuery,
  { clauses }: Pick<Leg, "clauses">,
): Promise<number | undefined> {
  return countRows(run, query.resource, narrow(query, clauses)).catch(
    (error) => {
      // What cannot be counted can be paged: a count serves the service, and the rows the caller.
      if (!isRefusal(error)) throw error;
      return undefined;
    },
  );
}

/**
 * Splits a leg of more than a million rows into ranges of locations, each with fewer.
 *
 * A skip token says after which Id a page begins, whatever the filter (the service's public
 * documentation, "Query options"): the ranges go on where the last page ended.
 *
 * @param rows Number of rows of the leg, by the service's count
 */
export async function splitByCount(
  run: Run,
  query: CheckedQuery,
  leg: Leg,
  rows: number,
): Promise<Leg[]> {
  const ids = leg.locations ?? await locationIds(run, query);
  const ranges = await rangesOfAtMost(MOST_ROWS, ids, rows, async (range) => {
    const clauses = [...leg.clauses, ...byLocation(range)];
    // An unknown count keeps the range whole; should it be refused, it is split by location then.
    return await countLeg(run, query, { clauses }) ?? 0;
  });
  return joined(leg, ranges.map((range) => ({ clauses: byLocation(range) })));
}

/**
 * Maximum number of parts that a refused leg is split into. Few, because the refusal may have been an
 * outage; each part can be split again, down to a single location.
 */
const MOST_PARTS = 16;

/**
 * Splits a leg that the service refused, however small its pages, by location.
 *
 * @param refusal Why the leg ended
 * @param left Maximum number of rows that are still wanted
 * @throws {DataStreamError} The refusal, if the query is not to be split, or cannot be any further
 */
export async function splitByLocation(
  run: Run,
  query: CheckedQuery,
  leg: Leg,
  refusal: DataStreamError,
  left: number,
): Promise<Leg[]> {
  const { resource, partition, top, skipToken } = query;
  const isSmall = Math.min(top, left) === 1 || run.pageSizeOf(resource).isReduced(top);
  if (!isMeasured(resource) || !isSmall) throw refusal;
  const ids = partition === "auto"
    ? within(leg, leg.locations ?? await locationIds(run, query))
    : [];
  if (ids.length > 1) {
    const count = leg.count ?? (leg.isUncounted ? await countLeg(run, query, leg) : undefined);
    const counted = skipToken === undefined ? { ...leg, count } : leg;
    return byLocations(counted, ids, Math.ceil(ids.length / MOST_PARTS));
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

/** Passes the count and the rows of a finished leg on to the next one, if that is joined to it. */
export function joinNext(
  { count, rows }: Leg,
  [next, ...others]: readonly Leg[],
): Leg[] {
  if (next === undefined) return [];
  return [next.isJoined ? { ...next, count, rows } : next, ...others];
}

/**
 * Splits a leg into legs of a number of locations each; together they continue where the leg is.
 *
 * @param size Number of locations of each leg
 */
function byLocations(leg: Leg, ids: readonly number[], size: number): Leg[] {
  const ranges = rangeOfEach(ids.filter((_, index) => index % size === 0));
  const parts = ranges.map((range, index) => ({
    clauses: byLocation(range),
    locations: ids.slice(index * size, (index + 1) * size),
  }));
  return joined(leg, parts);
}

/** Parts of a leg, which have its count and its rows together. */
function joined(
  leg: Leg,
  parts: readonly Pick<Leg, "clauses" | "locations">[],
): Leg[] {
  return parts.map(({ clauses, locations }, index) => ({
    ...(index === 0 ? leg : { skipToken: leg.skipToken, isJoined: true }),
    clauses: [...leg.clauses, ...clauses],
    locations,
    isUncounted: false,
  }));
}

/** The locations that the clauses of a leg leave. */
function within({ clauses }: Leg, ids: readonly number[]): number[] {
  const bounds = clauses.filter(({ field }) => field === "LocationId");
  return ids.filter((id) =>
    bounds.every(({ operator, values }) => {
      const numbers = values.map(({ text }) => Number(text));
      if (operator === "in") return numbers.includes(id);
      return operator === "gte" ? id >= numbers[0]! : id < numbers[0]!;
    })
  );
}

function byLocation(range: Range): Clause[] {
  return toRangeClauses("LocationId", range);
}

/** The most rows that one request may be expected to return (water-quality-api, Client guidance). */
export const MOST_ROWS = 1_000_000;

/**
 * A stretch of rows by a number that each has: from one, below another; open where there is none.
 *
 * Ranges that follow one another, open at both ends, hold every row that has a number, whatever
 * the numbers between them: no list of numbers needs to be whole for that.
 */
export interface Range {
  from: number | undefined;
  below: number | undefined;
}

/** The clauses that the rows of a range meet. */
function toRangeClauses<F extends string>(field: F, { from, below }: Range): Clause<F>[] {
  const bound = (operator: "gte" | "lt", number: number | undefined): Clause<F>[] =>
    number === undefined
      ? []
      : [{ field, operator, values: [{ text: String(number), quoted: false }] }];
  return [...bound("gte", from), ...bound("lt", below)];
}

/** A range for each of the numbers, which rise; open at both ends. */
function rangeOfEach(numbers: readonly number[]): Range[] {
  return numbers.length === 0
    ? [{ from: undefined, below: undefined }]
    : numbers.map((_, index) => rangeOf(numbers, index, index + 1));
}

/** Some of the numbers, by their indices, and how many rows they have. */
interface Group {
  first: number;
  end: number;
  rows: number;
}

/**
 * Ranges of the numbers, in order and open at both ends, as few as are worth their counts, each with
 * no more rows than wanted, or of one number alone.
 *
 * A range with too many rows is halved, and one half counted; neighbours that fit together are
 * joined again.
 *
 * @param numbers The numbers that rows have, rising
 * @param rows How many rows there are in all
 * @param count Counts the rows of a range
 */
export async function rangesOfAtMost(
  most: number,
  numbers: readonly number[],
  rows: number,
  count: (range: Range) => Promise<number>,
): Promise<Range[]> {
  const groups: Group[] = [];
  const left: Group[] = [{ first: 0, end: numbers.length, rows }];
  for (let group = left.pop(); group !== undefined; group = left.pop()) {
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
    // Counts are estimates: what they say decides where to split, never what to leave out.
    const rest = Math.max(0, group.rows - counted);
    left.push({ first: middle, end: group.end, rows: rest });
    left.push({ first: group.first, end: middle, rows: counted });
  }
  return groups.map(({ first, end }) => rangeOf(numbers, first, end));
}

function rangeOf(numbers: readonly number[], first: number, end: number): Range {
  return {
    from: first === 0 ? undefined : numbers[first],
    below: end === numbers.length ? undefined : numbers[end],
  };
}

/** A list of locations takes at most so many bytes: half of what a gateway takes in all. */
const LONGEST_LIST = LONGEST_TARGET / 2;

/** Fifty locations, some 500 bytes: a list of fewer is not worth its request. */
const SOME_LOCATIONS = Array.from({ length: 50 }, () => 1_000_000);

/** Asks for the locations that the rows of a query can have. */
export function locationsOf(query: CheckedQuery): PageQuery {
  return related("Locations", "Id", query);
}

/** Asks for the first and last dates of the datasets that the rows of a query can be of. */
export function datasetsOf(query: CheckedQuery): PageQuery {
  return related("Metadata", "TemporalExtent", query);
}

/**
 * What a resource can take of a query's filter without leaving out anything that has a row: `ne`
 * stays behind, for there it may be read as "has none" where the query means "has one that differs".
 */
function related(resource: ResourceName, field: string, { clauses, box }: CheckedQuery): PageQuery {
  const names: readonly string[] = RESOURCES[resource].filters;
  const taken = (clauses ?? []).filter(({ field, operator }) =>
    operator !== "ne" && names.includes(field)
  );
  const all = [...taken, ...(box ?? [])];
  return {
    resource,
    select: [field],
    hasIds: false,
    filter: all.length === 0 ? undefined : formatClauses(all),
    top: MAXIMUM_TOP,
  };
}

/** The locations of each query that runs: its parts and its counts need one list, requested once. */
const idsOfRun = new WeakMap<Run, Promise<number[]>>();

/** The ids of the locations that the rows of a query can have, rising. */
function locationIds(run: Run, query: CheckedQuery): Promise<readonly number[]> {
  const ids = idsOfRun.get(run) ?? requestLocationIds(run, query);
  idsOfRun.set(run, ids);
  return ids;
}

async function requestLocationIds(run: Run, query: CheckedQuery): Promise<number[]> {
  const ids = new Set<number>();
  const pages = follow(run, locationsOf(query), readRows<{ Id?: unknown }>);
  for await (const { content } of pages) {
    for (const { Id } of content) {
      const id = typeof Id === "string" && /^\d+$/.test(Id) ? Number(Id) : Id;
      if (typeof id !== "number" || !Number.isSafeInteger(id)) {
        throw new DataStreamError("Wanted the Id of each location, got another value", {
          kind: "page",
          url: toRequestOptions(run.service, "Locations", {}).url,
          hint: "the rows would not be whole; report this to the service",
        });
      }
      ids.add(id);
    }
  }
  return [...ids].sort((a, b) => a - b);
}

/** The years in which the rows of a query can begin, as far as the datasets say, rising. */
async function years(run: Run, query: CheckedQuery): Promise<number[]> {
  const found = new Set<number>();
  const pages = follow(run, datasetsOf(query), readRows<{ TemporalExtent?: unknown }>);
  for await (const { content } of pages) {
    for (const { TemporalExtent: extent } of content) {
      if (!Array.isArray(extent)) continue;
      const [first, last] = extent.map((date) => Number(/^\d{4}/.exec(date)?.[0] ?? NaN));
      for (let year = first!; year <= last!; year++) found.add(year);
    }
  }
  // What the filter leaves out needs no part of its own.
  const wanted = [...found].filter((year) => query.clauses?.every(mayHoldIn(year)) ?? true);
  return wanted.sort((a, b) => a - b);
}

/** Whether a clause can be met by a row of that year. */
function mayHoldIn(year: number): (clause: Clause) => boolean {
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

/** Lists of locations that each fit into a request of the query. */
function groupsOf(
  ids: readonly number[],
  query: CheckedQuery,
  service: Service,
): number[][] {
  const groups: number[][] = [];
  let left = 0;
  for (const id of ids) {
    const bytes = String(id).length + "%2C".length;
    if (left < bytes) {
      left = Math.min(LONGEST_LIST, LONGEST_TARGET - lengthWith([], query, service));
      groups.push([]);
    }
    groups.at(-1)!.push(id);
    left -= bytes;
  }
  return groups;
}

/** The URL of a page of the query itself, whole. */
export function ownUrl(query: CheckedQuery, service: Service): string {
  return toUrl(query.filter, query, service);
}

/** Refuses a query that has no room left for a list of some locations: it would take very many. */
export function requireRoom(query: CheckedQuery, service: Service): void {
  requireShortTarget(urlWith(SOME_LOCATIONS, query, service));
}

/** The clause that rows of some locations meet. */
function inLocations(ids: readonly number[]): Clause {
  return {
    field: "LocationId",
    operator: "in",
    values: ids.map((id) => ({ text: String(id), quoted: false })),
  };
}

function lengthWith(ids: readonly number[], query: CheckedQuery, service: Service): number {
  return targetLength(urlWith(ids, query, service));
}

function urlWith(ids: readonly number[], query: CheckedQuery, service: Service): string {
  return toUrl(narrow(query, [inLocations(ids)]), query, service);
}

function toUrl(
  filter: string | undefined,
  { resource, select, top }: CheckedQuery,
  service: Service,
): string {
  const fields = toWireSelect({ select, hasIds: true }, false);
  const options = { $select: fields?.join(","), $filter: filter, $top: top };
  return toRequestOptions(service, resource, options).url;
}
