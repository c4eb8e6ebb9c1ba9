import { amendError, DataStreamError } from "../errors.ts";
import type { CheckedQuery } from "../odata/query_options.ts";
import type { Execution } from "./fetch_page.ts";
import { toIdNumber } from "./next_link.ts";
import { YEAR_FIELD } from "./shard_keys.ts";
import { paginate } from "./paginate.ts";
import type { StartConversion } from "./convert_page.ts";
import {
  countQuery,
  countShard,
  endShard,
  isRefusal,
  MAX_SHARD_ROWS,
  requestCount,
  type Shard,
  splitByCount,
  splitByLocation,
  splitQuery,
  toPageRequest,
  urlOf,
} from "./shards.ts";

/** A position in the result of a query. */
export interface QueryPosition {
  /** Shards that are still to be requested, the current one first. */
  remaining: readonly Shard[];
  /** Number of rows before this position. */
  rows: number;
}

/** One page of the result of a query, or a part of it. */
export interface QueryPage<T> {
  content: T;
  /** Number of rows in the content. */
  rows: number;
  /** Shards that are still to be requested after this content, the current one first. */
  remaining: readonly Shard[];
  /** Whether the service announced more rows, by a link or in other shards. */
  hasMore: boolean;
  /** Whether the content is the last part of its page. */
  isPageEnd: boolean;
}

/** Position after the delivered rows. It is updated before each delivery. */
interface CurrentPosition {
  /** Shards that are still to be requested; `undefined` before the first page of the query. */
  remaining: readonly Shard[] | undefined;
  rows: number;
}

/**
 * Requests the pages of a query, shard by shard, up to its limit. Each row is delivered once, or the query
 * fails.
 *
 * @param startConversion Starts the conversion of each page
 * @param options `after`: position to continue after; default: the start. `deliversEarly`: whether to deliver
 *   rows before their page is complete
 * @throws {DataStreamError} Of kind `incomplete` if fewer rows were received than the service counted,
 *   `too-many-rows` if it counted more than `maxRows`, or of another kind if a request fails
 */
export async function* readPages<T>(
  execution: Execution,
  query: CheckedQuery,
  startConversion: StartConversion<T>,
  { after, deliversEarly = false }: {
    after?: QueryPosition | undefined;
    deliversEarly?: boolean | undefined;
  } = {},
): AsyncGenerator<QueryPage<T>, void, void> {
  execution.signal.throwIfAborted();
  const position = { remaining: after?.remaining, rows: after?.rows ?? 0 };
  if (position.rows >= query.limit) return;
  try {
    let shards: readonly Shard[] = position.remaining ?? await splitQuery(execution, query);
    while (shards.length > 0) {
      shards = yield* readFirstShard(
        execution,
        query,
        startConversion,
        shards,
        position,
        deliversEarly,
      );
    }
  } catch (error) {
    throw error instanceof DataStreamError ? withPosition(error, position) : error;
  }
}

/**
 * Requests the pages of the first of the remaining shards, until its end or the limit of the query. Stops
 * early if the shard has to be split.
 *
 * @param position Updated before rows are delivered
 * @returns The shards to request next
 */
async function* readFirstShard<T>(
  execution: Execution,
  query: CheckedQuery,
  startConversion: StartConversion<T>,
  [first, ...later]: readonly Shard[],
  position: CurrentPosition,
  deliversEarly: boolean,
): AsyncGenerator<QueryPage<T>, readonly Shard[], void> {
  let shard = first!;
  /** Number of rows of the current page that were delivered before its end. */
  let earlyRows = 0;
  let smallerShards: Shard[] | undefined;
  let isChecked = false;
  // The cursor may be from an execution that ended after the first page of the shard, before its count.
  if (shard.rows && isCountDue(shard)) {
    [shard, smallerShards] = await countAndSplit(execution, query, shard);
    if (smallerShards !== undefined) return [...smallerShards, ...later];
  }
  const rowsWanted = () => query.limit - position.rows;
  const rowsMissing = () => later[0]?.isJoined ? undefined : missingRows(shard);
  // `maxRows` must be checked before the first row is delivered.
  const needsCountFirst = () => position.remaining === undefined && query.limit > query.maxRows;
  const mayDeliverEarly = () => deliversEarly && !needsCountFirst();
  // The shard, or its group, must be counted at its end. Counts ignore skip tokens.
  const mayContinue = () =>
    query.skipToken === undefined && (shard.count !== undefined || shard.isUncounted !== false);
  const request = toPageRequest(query, shard);
  const expectations = { rowsWanted, rowsMissing, mayDeliverEarly, mayContinue };
  const pages = paginate(execution, request, startConversion, expectations);
  for (;;) {
    let next;
    try {
      next = await pages.next();
    } catch (error) {
      // The smaller shards would begin after the last delivered row, as a continued page does.
      const isContinued = earlyRows > 0;
      if (!isRefusal(error) || isContinued && !mayContinue()) throw error;
      if (isContinued) shard = { ...shard, isContinued };
      smallerShards = await splitByLocation(execution, query, shard, error, rowsWanted());
      return [...smallerShards, ...later];
    }
    if (next.done) break;
    const { content, rows, skipToken, hasLink, isPageEnd, isContinued } = next.value;
    const hasMore = hasLink || later.length > 0;
    if (needsCountFirst()) {
      if (!hasMore) requireFewRows(execution, query, rows);
      else [shard, ...later] = await countForMaxRows(execution, query, [shard, ...later]);
    }
    shard = { ...shard, skipToken, rows: (shard.rows ?? 0) + rows };
    const pageRows = earlyRows + rows;
    earlyRows = isPageEnd ? 0 : pageRows;
    if (isContinued) shard = { ...shard, isContinued };
    if (skipToken === undefined && !later[0]?.isJoined && rowsWanted() > rows) {
      // Check before the last page is delivered: a cursor after that page would skip this check.
      await requireComplete(execution, query, shard);
      isChecked = true;
    }
    const remaining = skipToken === undefined ? endShard(shard, later) : [shard, ...later];
    position.remaining = remaining;
    position.rows += rows;
    execution.deliver(rows, isPageEnd);
    yield { content, rows, remaining, hasMore, isPageEnd };
    // A signal that is aborted after the last page also stops the query.
    execution.signal.throwIfAborted();
    if (!isPageEnd) continue;
    if (rowsWanted() === 0) return [];
    // Count only when a second page is pulled: a result of one page needs no count, even if it is full.
    const isOnlyPage = !hasLink && shard.rows === pageRows;
    if (isOnlyPage || !isCountDue(shard)) continue;
    [shard, smallerShards] = await countAndSplit(execution, query, shard);
    if (smallerShards !== undefined) return [...smallerShards, ...later];
  }
  if (!isChecked && !later[0]?.isJoined) await requireComplete(execution, query, shard);
  return endShard(shard, later);
}

/** Adds to an error the number of delivered rows and, unless the query is split, the position after them. */
function withPosition(
  error: DataStreamError,
  { rows, remaining = [] }: CurrentPosition,
): DataStreamError {
  if (rows === 0) return error;
  const [next, ...others] = remaining;
  const skipToken = others.length === 0 && next?.clauses.length === 0 ? next.skipToken : undefined;
  const position = skipToken === undefined ? "" : `, up to the position ${skipToken}`;
  const hint = `${error.hint}; ${rows} rows were delivered before${position}`;
  return amendError(error, { hint, rows, skipToken });
}

/** Returns the number of counted rows of a shard that were not received; `undefined` without a count. */
function missingRows({ count, rows = 0 }: Shard): number | undefined {
  return count === undefined ? undefined : count - rows;
}

/** Whether to count a shard, to find out if it must be split. Without an integer skip token it cannot be. */
function isCountDue({ isUncounted, skipToken }: Shard): boolean {
  return isUncounted === true && toIdNumber(skipToken) !== undefined;
}

/**
 * Counts a shard, unless the service refuses to, and splits it if it has too many rows.
 *
 * @returns The shard with its count and, if it has to be split, the shards that replace it
 */
async function countAndSplit(
  execution: Execution,
  query: CheckedQuery,
  shard: Shard,
): Promise<[counted: Shard, smallerShards?: Shard[]]> {
  const rows = shard.count ?? await countShard(execution, query, shard);
  const counted = withCount(query, { ...shard, isUncounted: false }, rows);
  if (rows === undefined) return [counted];
  // A shard without clauses is the whole query.
  if (shard.clauses.length === 0) execution.expect(rows);
  if (rows <= MAX_SHARD_ROWS) return [counted];
  return [counted, await splitByCount(execution, query, counted, rows)];
}

/** Sets the count of a shard, unless the query begins at a skip token: counts ignore skip tokens. */
function withCount(query: CheckedQuery, shard: Shard, count: number | undefined): Shard {
  return query.skipToken === undefined ? { ...shard, count } : shard;
}

/**
 * Counts all rows of a query. Counts each shard, unless the query was split by location or year before the
 * first page: there can then be many shards.
 *
 * @returns The shards with their counts
 * @throws {DataStreamError} Of kind `too-many-rows` if there are more than `maxRows`
 */
async function countForMaxRows(
  execution: Execution,
  query: CheckedQuery,
  shards: readonly Shard[],
): Promise<[Shard, ...Shard[]]> {
  const isSplitFromStart = query.partition === "location" || query.partition === "year";
  const counts: number[] = [];
  if (isSplitFromStart) counts.push(await countQuery(execution, query));
  else for (const shard of shards) counts.push(await requestCount(execution, query, shard));
  const rows = counts.reduce((sum, count) => sum + count, 0);
  requireFewRows(execution, query, rows);
  execution.expect(rows);
  // Each shard has its own count now, so it no longer shares the count of a group.
  const counted = shards.map((shard, index) =>
    isSplitFromStart ? shard : withCount(query, { ...shard, isJoined: false }, counts[index])
  );
  return counted as [Shard, ...Shard[]];
}

/**
 * Checks that a query has at most `maxRows` rows.
 *
 * @throws {DataStreamError} Of kind `too-many-rows` if it has more
 */
function requireFewRows({ settings }: Execution, query: CheckedQuery, rows: number): void {
  const { resource, maxRows } = query;
  if (rows <= maxRows) return;
  throw new DataStreamError(`${resource} has ${rows} rows for this query, more than ${maxRows}`, {
    kind: "too-many-rows",
    url: urlOf(query, settings),
    hint: "narrow the filter, set a {limit} or raise {maxRows}",
    expectedRows: rows,
  });
}

/** Inaccuracy of large counts: 0.0005 % (DataStream Public API, "URL Parameters", `$count`). */
const COUNT_INACCURACY = 0.000_005;

/**
 * Checks that a finished shard has as many rows as the service counted, if it was counted or has to be.
 *
 * @throws {DataStreamError} Of kind `incomplete` if rows are missing, unless the query accepts that
 */
async function requireComplete(
  execution: Execution,
  query: CheckedQuery,
  shard: Shard,
): Promise<void> {
  const { resource, partition, acceptsIncomplete } = query;
  const isByYear = partition === "year" && shard.count === undefined;
  const { rows = 0, skipToken } = shard;
  let count = shard.count ?? await countAtEnd(execution, query, shard);
  if (count === undefined || !isShort(shard, count)) return;
  if (!isByYear && query.box === undefined) {
    // The first count may be wrong, or outdated because an interrupted download was resumed.
    count = await countAgain(execution, query, count);
    if (!isShort(shard, count)) return;
  }
  if (acceptsIncomplete) return execution.acceptMissing(count - rows);
  const none = skipToken === undefined ? "" : `, and none come after the position ${skipToken}`;
  throw new DataStreamError(`Received ${rows} of ${count} counted rows of ${resource}${none}`, {
    kind: "incomplete",
    url: urlOf(query, execution.settings),
    hint: isByYear
      ? 'rows without a start date are in no year: use {partition: "location"}'
      : 'run the query again later; if the count is wrong, accept the rows with {incomplete: "warn"}',
    expectedRows: count,
  });
}

/**
 * Whether more rows are missing than the inaccuracy of the count explains. One missing row is accepted, unless a page
 * was continued.
 */
function isShort({ rows = 0, isContinued }: Shard, count: number): boolean {
  return count - rows > Math.max(isContinued ? 0 : 1, count * COUNT_INACCURACY);
}

/** Counts the rows of a query again; returns the earlier count if the request fails. */
async function countAgain(
  execution: Execution,
  query: CheckedQuery,
  earlier: number,
): Promise<number> {
  try {
    return await countQuery(execution, query);
  } catch (error) {
    if (!(error instanceof DataStreamError)) throw error;
    return earlier;
  }
}

/**
 * Counts the rows of a finished shard, or of its group, if rows may be missing. A continued page may have lacked rows.
 * Shards of years do not contain rows without a start date.
 *
 * @returns The count; `undefined` if it is not needed, or if the query begins at a skip token: counts ignore
 *   skip tokens
 */
async function countAtEnd(
  execution: Execution,
  query: CheckedQuery,
  shard: Shard,
): Promise<number | undefined> {
  const isByYear = query.partition === "year";
  const hasAllRows = !isByYear ||
    query.clauses?.some(({ field, operator }) => YEAR_FIELD.test(field) && operator !== "ne");
  if (query.skipToken !== undefined || hasAllRows && !shard.isContinued) return undefined;
  // The years of a query are one group.
  return await (isByYear ? countQuery(execution, query) : requestCount(execution, query, shard));
}
