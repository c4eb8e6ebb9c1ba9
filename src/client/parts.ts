import { DataStreamError } from "../errors.ts";
import type { Clause } from "../odata/clause.ts";
import { narrow, type QueryOptions } from "../odata/query_options.ts";
import { ALL, countRows, follow, type PageQuery } from "./follow.ts";
import { numberOf } from "./next_link.ts";
import type { Page, PageReader } from "./page.ts";
import { MOST_ROWS, type Range, rangeOfEach, rangesOfAtMost, toRangeClauses } from "./partition.ts";
import { datasetsOf, groupsOf, inLocations, locationIds, locationsOf, years } from "./related.ts";
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
}

/** A page of a query, and what is to be asked after it. */
export interface PlacedPage<T> extends Page<T> {
  rest: readonly Leg[];
}

/** What a query asks for first. */
export function firstPages(query: QueryOptions): PageQuery {
  if (query.box !== undefined || query.partition === "location") return locationsOf(query);
  if (query.partition === "year") return datasetsOf(query);
  return pagesOf(query, []);
}

/**
 * All pages of a query, none of its rows lost or doubled.
 *
 * @param read Reads each page
 * @param left How many rows are wanted still
 * @param from What was left of it, to go on; undefined is all
 */
export async function* allPages<T>(
  run: Run,
  query: QueryOptions,
  read: PageReader<T>,
  left: () => number,
  from?: readonly Leg[],
): AsyncGenerator<PlacedPage<T>, void, void> {
  const legs = [...from ?? await legsOf(run, query)];
  const isAll = from === undefined && legs.length === 1;
  for (let leg = legs.shift(); leg !== undefined; leg = legs.shift()) {
    const pages = follow(run, { ...pagesOf(query, leg.clauses), left }, read, leg.skipToken);
    for await (const page of pages) {
      const { skipToken } = page;
      const next = skipToken === undefined ? [] : [{ ...leg, skipToken }];
      yield { ...page, rest: [...next, ...legs] };
      // The count is asked when the next page is pulled: who wants one alone pays for no more. A skip
      // token of another form than a number is only ever followed.
      if (!leg.isUncounted || numberOf(skipToken) === undefined) continue;
      leg = { ...leg, isUncounted: false };
      const ranges = await rangesIfTooMany(run, query, leg, isAll);
      if (ranges === undefined) continue;
      const { clauses } = leg;
      legs.unshift(
        ...ranges.map((range) => ({ clauses: [...clauses, ...byLocation(range)], skipToken })),
      );
      break;
    }
  }
}

/** How many rows a query has, whatever its limit and the place where it begins. */
export async function countAll(run: Run, query: QueryOptions): Promise<number> {
  let rows = 0;
  for (const { clauses } of await partsOf(run, query)) {
    rows += await countRows(run, query.resource, narrow(query, clauses));
  }
  return rows;
}

/** The legs of a query as its partition has them, before any is counted. */
async function legsOf(run: Run, query: QueryOptions): Promise<Leg[]> {
  const { skipToken, partition, limit } = query;
  const parts = await partsOf(run, query);
  switch (partition) {
    case "auto":
      return parts.map((part) => ({ ...part, skipToken, isUncounted: limit > MOST_ROWS }));
    case "never":
      return parts.map((part) => ({ ...part, skipToken }));
    case "location":
      return await legsBy(
        parts,
        async ({ locations }) =>
          rangeOfEach(locations ?? await locationIds(run, query)).map(byLocation),
      );
    case "year": {
      const ranges = rangeOfEach(await years(run, query));
      return await legsBy(
        parts,
        () => Promise.resolve(ranges.map((range) => toRangeClauses("ActivityStartYear", range))),
      );
    }
  }

  /** Parts that are split further. */
  async function legsBy(
    parts: readonly Leg[],
    split: (part: Leg) => Promise<readonly Clause[][]>,
  ): Promise<Leg[]> {
    const legs: Leg[] = [];
    for (const part of parts) {
      for (const more of await split(part)) {
        legs.push({ clauses: [...part.clauses, ...more], skipToken });
      }
    }
    return legs;
  }
}

/** The query as a whole; where it has a box, as lists of locations. */
async function partsOf(run: Run, query: QueryOptions): Promise<Leg[]> {
  if (query.box === undefined) return [{ clauses: [] }];
  const ids = await locationIds(run, query);
  return groupsOf(ids, query, run.service)
    .map((locations) => ({ clauses: [inLocations(locations)], locations }));
}

/**
 * The ranges of locations that a leg is split into, past a million expected rows.
 *
 * A skip token says after which Id a page begins, whatever the filter (water-quality-api, Query
 * options): the ranges go on where the last page ended.
 *
 * @param isAll Whether the leg is the whole query, so that its count is the query's
 * @returns The ranges; undefined where it can stay as it is
 */
async function rangesIfTooMany(
  run: Run,
  query: QueryOptions,
  { clauses, locations }: Leg,
  isAll: boolean,
): Promise<Range[] | undefined> {
  const count = (more: readonly Clause[]) =>
    countRows(run, query.resource, narrow(query, [...clauses, ...more]));
  const rows = await count([]).catch(unlessTooSlow);
  // What cannot be counted can be paged: a count serves the service, and the rows the caller.
  if (rows === undefined) return undefined;
  if (isAll) run.expect(rows);
  if (rows <= MOST_ROWS) return undefined;
  const ids = locations ?? await locationIds(run, query);
  return await rangesOfAtMost(MOST_ROWS, ids, rows, (range) => count(byLocation(range)));
}

/** Swallows the fault of a count that the service could not finish. */
function unlessTooSlow(error: unknown): undefined {
  const isTooSlow = error instanceof DataStreamError && [408, 413, 504].includes(error.status ?? 0);
  if (!isTooSlow) throw error;
}

function byLocation(range: Range): Clause[] {
  return toRangeClauses("LocationId", range);
}

function pagesOf(
  { resource, select, top, ...query }: QueryOptions,
  more: readonly Clause[],
): PageQuery {
  return { resource, select, filter: narrow(query, more), top, left: ALL };
}
