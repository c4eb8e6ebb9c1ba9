import { amendError, DataStreamError } from "../errors.ts";
import { type CheckedQuery, narrow } from "../odata/query_options.ts";
import type { Run } from "./fetch_page.ts";
import { numberOf } from "./next_link.ts";
import { countRows, follow, type PageQuery } from "./paginate.ts";
import type { Page, PageReader } from "./read_page.ts";
import {
  countAll,
  countLeg,
  datasetsOf,
  isRefusal,
  joinNext,
  type Leg,
  legsOf,
  locationsOf,
  MOST_ROWS,
  ownUrl,
  splitByCount,
  splitByLocation,
} from "./shards.ts";

/** How far a query has come: what is left of it, and how many of its rows were passed on. */
export interface Place {
  rest: readonly Leg[];
  rows: number;
}

/**
 * The pages of a query up to its limit, each told of before it is passed on.
 *
 * @param read Reads each page
 * @param from Where to go on; undefined is the start
 */
export async function* readPages<T>(
  run: Run,
  query: CheckedQuery,
  read: PageReader<T>,
  from?: Place,
): AsyncGenerator<PlacedPage<T>, void, void> {
  run.signal.throwIfAborted();
  let delivered = from?.rows ?? 0;
  let rest = from?.rest;
  if (delivered >= query.limit) return;
  const left = () => query.limit - delivered;
  try {
    for await (const page of allPages(run, query, read, left, from?.rest)) {
      delivered += page.rows;
      run.passOn(page.rows);
      rest = page.rest;
      yield page;
      // Aborted after the last page, it is not whole to whoever aborted it.
      run.signal.throwIfAborted();
      if (left() === 0) return;
    }
  } catch (error) {
    throw error instanceof DataStreamError ? withPosition(error, delivered, rest) : error;
  }
}

/** Adds to an error how many rows were delivered, and where a query that is one sequence of pages can go on. */
function withPosition(
  error: DataStreamError,
  rows: number,
  rest: readonly Leg[] = [],
): DataStreamError {
  if (rows === 0) return error;
  const [next, ...others] = rest;
  const skipToken = others.length === 0 && next?.clauses.length === 0 ? next.skipToken : undefined;
  const position = skipToken === undefined ? "" : `, up to the position ${skipToken}`;
  const hint = `${error.hint}; ${rows} rows were delivered before${position}`;
  return amendError(error, { hint, rows, skipToken });
}

/** A page of a query, and what is to be asked after it. */
interface PlacedPage<T> extends Page<T> {
  rest: readonly Leg[];
  /** Whether the service announced more rows, by a link or in other parts of the query. */
  hasMore: boolean;
}

/** What a query asks for first. */
export function firstPages(query: CheckedQuery): PageQuery {
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
async function* allPages<T>(
  run: Run,
  query: CheckedQuery,
  read: PageReader<T>,
  left: () => number,
  from?: readonly Leg[],
): AsyncGenerator<PlacedPage<T>, void, void> {
  const legs = [...from ?? await legsOf(run, query)];
  let isFirst = from === undefined;
  for (let leg = legs.shift(); leg !== undefined; leg = legs.shift()) {
    let refusal: DataStreamError | undefined;
    let parts: Leg[] | undefined;
    let isCompared = false;
    // An earlier run may have been interrupted between the first page of the leg and its count.
    if (leg.rows && isCountDue(leg)) ({ leg, parts } = await countAndSplit(run, query, leg));
    if (parts !== undefined) {
      legs.unshift(...parts);
      continue;
    }
    const missing = () => legs[0]?.isJoined ? undefined : missingOf(leg!);
    const pages = follow(run, { ...pagesOf(query, leg), left, missing }, read, leg.skipToken);
    for await (const page of untilRefused(pages, (error) => refusal = error)) {
      const { skipToken, hasLink, rows } = page;
      const hasMore = hasLink || legs.length > 0;
      if (isFirst && query.limit > query.maxRows) {
        if (!hasMore) requireFewRows(run, query, rows);
        else {
          const [first, ...others] = await countForMaxRows(run, query, [leg, ...legs]);
          leg = first;
          legs.splice(0, legs.length, ...others);
        }
      }
      isFirst = false;
      leg = { ...leg, skipToken, rows: (leg.rows ?? 0) + rows };
      if (skipToken === undefined && !legs[0]?.isJoined && left() > rows) {
        // Before the last page is delivered: no later run can resume after it without this check.
        await requireComplete(run, query, leg);
        isCompared = true;
      }
      const rest = skipToken === undefined ? joinNext(leg, legs) : [leg, ...legs];
      yield { ...page, rest, hasMore };
      // Counted when the next page is pulled: one page alone costs no count, also if it is full.
      const isAlone = !hasLink && leg.rows === rows;
      if (isAlone || !isCountDue(leg)) continue;
      ({ leg, parts } = await countAndSplit(run, query, leg));
      if (parts !== undefined) break;
    }
    if (refusal !== undefined) parts = await splitByLocation(run, query, leg, refusal, left());
    if (parts !== undefined) legs.unshift(...parts);
    else if (legs[0]?.isJoined) legs.splice(0, legs.length, ...joinNext(leg, legs));
    else if (!isCompared) await requireComplete(run, query, leg);
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

/** Whether a leg is to be counted. A skip token of another form than a number is only ever followed. */
function isCountDue({ isUncounted, skipToken }: Leg): boolean {
  return isUncounted === true && numberOf(skipToken) !== undefined;
}

/** Counts a leg, if the service can, and splits it if it has too many rows. */
async function countAndSplit(
  run: Run,
  query: CheckedQuery,
  leg: Leg,
): Promise<{ leg: Leg; parts: Leg[] | undefined }> {
  const rows = leg.count ?? await countLeg(run, query, leg);
  const counted = withCount(query, { ...leg, isUncounted: false }, rows);
  if (rows === undefined) return { leg: counted, parts: undefined };
  // Without clauses of its own, the leg is the whole query.
  if (leg.clauses.length === 0) run.expect(rows);
  const parts = rows > MOST_ROWS ? await splitByCount(run, query, counted, rows) : undefined;
  return { leg: counted, parts };
}

/** Notes the count of a leg; for a query that begins at a position, a count says nothing about its rows. */
function withCount(query: CheckedQuery, leg: Leg, count: number | undefined): Leg {
  return query.skipToken === undefined ? { ...leg, count } : leg;
}

/**
 * Counts all rows of a query, leg by leg where it has few.
 *
 * @throws {DataStreamError} Of kind `too-many-rows` if there are more than `maxRows`
 */
async function countForMaxRows(
  run: Run,
  query: CheckedQuery,
  legs: readonly Leg[],
): Promise<[Leg, ...Leg[]]> {
  const isByPart = query.partition === "location" || query.partition === "year";
  const counts: number[] = [];
  if (isByPart) counts.push(await countAll(run, query));
  else {
    const { resource } = query;
    for (const leg of legs) counts.push(await countRows(run, resource, narrow(query, leg.clauses)));
  }
  const rows = counts.reduce((sum, count) => sum + count, 0);
  requireFewRows(run, query, rows);
  run.expect(rows);
  const counted = legs.map((leg, index) => isByPart ? leg : withCount(query, leg, counts[index]));
  return counted as [Leg, ...Leg[]];
}

/**
 * Compares the number of rows with `maxRows`.
 *
 * @throws {DataStreamError} Of kind `too-many-rows` if there are more
 */
function requireFewRows(run: Run, query: CheckedQuery, rows: number): void {
  const { resource, maxRows } = query;
  if (rows <= maxRows) return;
  throw new DataStreamError(`${resource} has ${rows} rows for this query, more than ${maxRows}`, {
    kind: "too-many-rows",
    url: ownUrl(query, run.service),
    hint: "narrow the filter, set a limit or raise maxRows",
    expectedRows: rows,
  });
}

function pagesOf(query: CheckedQuery, { clauses }: Pick<Leg, "clauses">): PageQuery {
  const { resource, select, top } = query;
  return { resource, select, hasIds: true, filter: narrow(query, clauses), top };
}

/** Inaccuracy of large counts: 0.0005 % (the service's public documentation, "Query options"). */
const COUNT_INACCURACY = 0.000_005;

/**
 * Compares the rows of a finished leg with the count, where there is one.
 *
 * @throws {DataStreamError} Of kind `incomplete` if rows are missing and the query does not accept that
 */
async function requireComplete(run: Run, query: CheckedQuery, leg: Leg): Promise<void> {
  const { resource, partition, acceptsIncomplete } = query;
  const isByYear = partition === "year" && leg.count === undefined;
  const { rows = 0, skipToken } = leg;
  let count = isByYear ? await countForYears(run, query) : leg.count;
  if (count === undefined || !isShort(rows, count)) return;
  if (!isByYear && query.box === undefined) {
    // The first count may be wrong, or older than an interrupted download.
    count = await countAgain(run, query, count);
    if (!isShort(rows, count)) return;
  }
  if (acceptsIncomplete) return run.acceptMissing(count - rows);
  const none = skipToken === undefined ? "" : `, and none come after the position ${skipToken}`;
  throw new DataStreamError(`Received ${rows} of ${count} counted rows of ${resource}${none}`, {
    kind: "incomplete",
    url: ownUrl(query, run.service),
    hint: isByYear
      ? 'rows without a start date are in no year: use partition: "location" (--partition location)'
      : 'run the query again later; if the count is wrong, accept the rows with incomplete: "warn" (--allow-incomplete)',
    expectedRows: count,
  });
}

/** Whether rows are missing by more than the inaccuracy of the count. */
function isShort(rows: number, count: number): boolean {
  return count - rows > Math.max(1, count * COUNT_INACCURACY);
}

/** Counts the rows of a query again; returns the earlier count if the service cannot. */
async function countAgain(run: Run, query: CheckedQuery, earlier: number): Promise<number> {
  try {
    return await countAll(run, query);
  } catch (error) {
    if (!(error instanceof DataStreamError)) throw error;
    return earlier;
  }
}

/**
 * The count of a query that is split by year, which rows without a start date are no part of.
 *
 * @returns The count; undefined if the filter excludes those rows, or the query begins at a position,
 *   which a count disregards
 */
async function countForYears(run: Run, query: CheckedQuery): Promise<number | undefined> {
  const excludes = query.clauses?.some(({ field, operator }) =>
    /^ActivityStart(?:Date)?Year$/.test(field) && operator !== "ne"
  );
  return excludes || query.skipToken !== undefined ? undefined : await countAll(run, query);
}
