import { amendError, DataStreamError } from "../errors.ts";
import type { Clause } from "../odata/clause.ts";
import { isMeasured, narrow, type QueryOptions } from "../odata/query_options.ts";
import { countRows } from "./follow.ts";
import { MOST_ROWS, type Range, rangeOfEach, rangesOfAtMost, toRangeClauses } from "./partition.ts";
import { groupsOf, inLocations, locationIds, years } from "./related.ts";
import type { Run } from "./run.ts";

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
export async function legsOf(run: Run, query: QueryOptions): Promise<Leg[]> {
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
export async function partsOf(run: Run, query: QueryOptions): Promise<Leg[]> {
  if (query.box === undefined) return [{ clauses: [] }];
  const ids = await locationIds(run, query);
  return groupsOf(ids, query, run.service)
    .map((locations) => ({ clauses: [inLocations(locations)], locations }));
}

/** How many rows a query has, whatever its limit and the place where it begins. */
export async function countAll(run: Run, query: QueryOptions): Promise<number> {
  let rows = 0;
  for (const { clauses } of await partsOf(run, query)) {
    rows += await countRows(run, query.resource, narrow(query, clauses));
  }
  return rows;
}

/** How many rows a leg has, wherever it begins; undefined if the service cannot tell. */
export function countLeg(
  run: Run,
  query: QueryOptions,
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
  query: QueryOptions,
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
  query: QueryOptions,
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
