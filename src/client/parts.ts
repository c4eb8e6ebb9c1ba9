import { DataStreamError } from "../errors.ts";
import { narrow, type QueryOptions } from "../odata/query_options.ts";
import { requireComplete } from "./completeness.ts";
import { follow, type PageQuery } from "./follow.ts";
import {
  countAll,
  countLeg,
  isRefusal,
  joinNext,
  type Leg,
  legsOf,
  splitByCount,
  splitByLocation,
} from "./legs.ts";
import { numberOf } from "./next_link.ts";
import type { Page, PageReader } from "./page.ts";
import { MOST_ROWS } from "./partition.ts";
import { datasetsOf, locationsOf, ownUrl } from "./related.ts";
import type { Run } from "./run.ts";

/** A page of a query, and what is to be asked after it. */
export interface PlacedPage<T> extends Page<T> {
  rest: readonly Leg[];
}

/** What a query asks for first. */
export function firstPages(query: QueryOptions): PageQuery {
  if (query.box !== undefined || query.partition === "location") return locationsOf(query);
  if (query.partition === "year") return datasetsOf(query);
  return pagesOf(query, { clauses: [] });
}

/**
 * All pages of a query, none of its rows lost or doubled.
 *
 * @param read Reads each page
 * @param left How many rows are wanted still
 * @param from What was left of it, to go on; undefined is all
 * @throws {DataStreamError} Of kind `incomplete` if fewer rows came than the service counted, or
 *   `too-many-rows` if it counted more than `maxRows`
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
  let isFirst = from === undefined;
  for (let leg = legs.shift(); leg !== undefined; leg = legs.shift()) {
    let parts: Leg[] | undefined;
    let refusal: DataStreamError | undefined;
    const missing = () => legs[0]?.isJoined ? undefined : missingOf(leg!);
    const pages = follow(
      run,
      { ...pagesOf(query, leg), left, missing },
      read,
      leg.skipToken,
    );
    for await (const page of untilRefused(pages, (error) => refusal = error)) {
      const { skipToken } = page;
      if (isFirst && query.limit > query.maxRows) {
        const hasMore = skipToken !== undefined || legs.length > 0;
        const count = hasMore ? await countAll(run, query) : page.rows;
        requireFewRows(run, query, count);
        if (hasMore && isAll) leg = withCount(run, query, leg, count);
      }
      isFirst = false;
      leg = { ...leg, skipToken, rows: (leg.rows ?? 0) + page.rows };
      yield {
        ...page,
        rest: skipToken === undefined ? joinNext(leg, legs) : [leg, ...legs],
      };
      // The count is asked when the next page is pulled: who wants one alone pays for no more. A skip
      // token of another form than a number is only ever followed.
      if (!leg.isUncounted || numberOf(skipToken) === undefined) continue;
      const count: number | undefined = leg.count ??
        await countLeg(run, query, leg);
      leg = { ...leg, isUncounted: false };
      if (count === undefined) continue;
      leg = isAll ? withCount(run, query, leg, count) : { ...leg, count };
      if (count <= MOST_ROWS) continue;
      parts = await splitByCount(run, query, leg, count);
      break;
    }
    if (refusal !== undefined) {
      parts = await splitByLocation(run, query, leg, refusal, left());
    }
    if (parts !== undefined) legs.unshift(...parts);
    else if (legs[0]?.isJoined) {
      legs.splice(0, legs.length, ...joinNext(leg, legs));
    } else await requireComplete(run, query, leg);
  }
}

/** Pages until the service refuses one as too slow or too large. */
async function* untilRefused<T>(
  pages: AsyncGenerator<T, void, void>,
  onRefusal: (error: DataStreamError) => void,
): AsyncGenerator<T, void, void> {
  try {
    yield* pages;
  } catch (error) {
    if (!isRefusal(error)) throw error;
    onRefusal(error);
  }
}

/** Number of counted rows of a leg that are still to come. */
function missingOf({ count, rows = 0 }: Leg): number | undefined {
  return count === undefined ? undefined : count - rows;
}

/** Notes the count of the whole query; of one that begins at a position, no rows can be held against it. */
function withCount(
  run: Run,
  { skipToken }: QueryOptions,
  leg: Leg,
  count: number,
): Leg {
  run.expect(count);
  return skipToken === undefined ? { ...leg, count } : leg;
}

/**
 * Compares the number of rows with `maxRows`.
 *
 * @throws {DataStreamError} Of kind `too-many-rows` if there are more
 */
function requireFewRows(run: Run, query: QueryOptions, rows: number): void {
  const { resource, maxRows } = query;
  if (rows <= maxRows) return;
  throw new DataStreamError(
    `${resource} has ${rows} rows for this query, more than ${maxRows}`,
    {
      kind: "too-many-rows",
      url: ownUrl(query, run.service),
      hint: "narrow the filter, set a limit or raise maxRows",
      expectedRows: rows,
    },
  );
}

function pagesOf(
  query: QueryOptions,
  { clauses }: Pick<Leg, "clauses">,
): PageQuery {
  const { resource, select, top } = query;
  return {
    resource,
    select,
    hasIds: true,
    filter: narrow(query, clauses),
    top,
  };
}
