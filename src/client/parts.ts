import { DataStreamError } from "../errors.ts";
import type { Clause } from "../odata/clause.ts";
import { narrow, type QueryOptions } from "../odata/query_options.ts";
import { ALL, countRows, follow, type PageQuery } from "./follow.ts";
import { numberOf } from "./next_link.ts";
import type { Page, PageReader } from "./page.ts";
import { MOST_ROWS, type Range, rangeOfEach, rangesOfAtMost, toRangeClauses } from "./partition.ts";
import { datasetsOf, groupsOf, inLocations, locationIds, locationsOf, years } from "./related.ts";
import type { Run } from "./run.ts";

/** Some of a query's rows: those that meet more clauses. */
interface Part {
  clauses: readonly Clause[];
  /** Their locations, where they are known. */
  locations: readonly number[] | undefined;
  /** Whether they are all rows of the query. */
  isAll: boolean;
}

/** The pages of the rows that meet more clauses, from a place on. */
type PagesOf<T> = (
  clauses: readonly Clause[],
  skipToken: string | undefined,
) => AsyncGenerator<Page<T>, void, void>;

/** What a query asks for first. */
export function firstPages(query: QueryOptions): PageQuery {
  if (query.box !== undefined || query.partition === "location") return locationsOf(query);
  if (query.partition === "year") return datasetsOf(query);
  return pagesOf(query, []);
}

/**
 * All pages of a query, none of its rows lost or doubled: the parts have no row in common, and are
 * together the query.
 *
 * @param read Reads each page
 * @param left How many rows are wanted still
 */
export async function* allPages<T>(
  run: Run,
  query: QueryOptions,
  read: PageReader<T>,
  left: () => number,
): AsyncGenerator<Page<T>, void, void> {
  const { skipToken, partition } = query;
  const pages: PagesOf<T> = (clauses, skipToken) =>
    follow(run, { ...pagesOf(query, clauses), left }, read, skipToken);
  const parts = await partsOf(run, query);
  const inYears = partition === "year" ? rangeOfEach(await years(run, query)) : [];
  for (const part of parts) {
    switch (partition) {
      case "location": {
        const ids = part.locations ?? await locationIds(run, query);
        for (const range of rangeOfEach(ids)) {
          yield* pages([...part.clauses, ...byLocation(range)], skipToken);
        }
        break;
      }
      case "year":
        for (const range of inYears) {
          const inYear = toRangeClauses("ActivityStartYear", range);
          yield* pages([...part.clauses, ...inYear], skipToken);
        }
        break;
      case "never":
        yield* pages(part.clauses, skipToken);
        break;
      case "auto":
        yield* unlessTooMany(run, query, part, pages);
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

/** The query as a whole; where it has a box, as lists of locations. */
async function partsOf(run: Run, query: QueryOptions): Promise<Part[]> {
  if (query.box === undefined) return [{ clauses: [], locations: undefined, isAll: true }];
  const ids = await locationIds(run, query);
  const groups = groupsOf(ids, query, run.service);
  return groups.map((locations) => ({
    clauses: [inLocations(locations)],
    locations,
    isAll: groups.length === 1,
  }));
}

/**
 * The pages of a part; past a million expected rows, from the second page on, by ranges of locations.
 * The count is asked when that page is pulled, so that who wants one page alone pays for no more.
 *
 * A skip token says after which Id a page begins, whatever the filter (water-quality-api, Query
 * options): the ranges go on where the first page ended. One of another form is only ever followed.
 */
async function* unlessTooMany<T>(
  run: Run,
  query: QueryOptions,
  part: Part,
  pages: PagesOf<T>,
): AsyncGenerator<Page<T>, void, void> {
  const count = (clauses: readonly Clause[]) =>
    countRows(run, query.resource, narrow(query, [...part.clauses, ...clauses]));
  const whole = pages(part.clauses, query.skipToken);
  for await (const page of whole) {
    yield page;
    if (query.limit <= MOST_ROWS || numberOf(page.skipToken) === undefined) continue;
    const rows = await count([]).catch(unlessTooSlow);
    // What cannot be counted can be paged: a count serves the service, and the rows the caller.
    if (rows === undefined) return yield* whole;
    if (part.isAll) run.expect(rows);
    if (rows <= MOST_ROWS) return yield* whole;
    const ids = part.locations ?? await locationIds(run, query);
    const ranges = await rangesOfAtMost(MOST_ROWS, ids, rows, (range) => count(byLocation(range)));
    for (const range of ranges) {
      yield* pages([...part.clauses, ...byLocation(range)], page.skipToken);
    }
    return;
  }
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
