import { amendError, DataStreamError } from "../errors.ts";
import { type Clause, matchesNothing } from "../odata/clause.ts";
import type { CheckedQuery } from "../odata/query_options.ts";
import type { TakenRows } from "../formats/page_writer.ts";
import { isMeasured } from "../odata/resources.ts";
import { idOfToken } from "./next_link.ts";
import type { Cursor } from "./query.ts";
import {
  type PageEnd,
  type PageRequest,
  type PageRows,
  readPage,
  type StartConversion,
  startRowConversion,
} from "./page_reader.ts";
import {
  decide,
  grow,
  isRefusal,
  MAX_TIMEOUTS,
  type PageSize,
  reportProgress,
  type Run,
  shrink,
  startAttempts,
  type Writable,
} from "./retry.ts";
import { judge, send, waitForRetry } from "./send.ts";
import {
  groupOf,
  groupsOf,
  isSameGroup,
  isSplit,
  locationsQuery,
  MAX_SHARD_ROWS,
  requestCount,
  requestName,
  type Shard,
  shortenLists,
  shortenRefused,
  splitShard,
  toleranceOf,
  toPageRequest,
  tryCount,
  urlOf,
} from "./split.ts";

/**
 * A position in the result of a query, after its last delivered row: what to request next. A cursor contains it. The loop
 * changes its own position, and delivers copies.
 */
export interface Position
  extends Writable<Pick<Cursor, "rows" | "expectedRows" | "missingRows" | "surplusRows">> {
  shards: readonly Shard[];
  /** Number of rows before this position that `from`, `to` or `excludeQualityControl` left out. Default 0. */
  leftOut?: number | undefined;
  /** Number of rows of the current group before this position, including those left out. */
  groupRows: number;
  /** Number of rows that the service counted for this group; `undefined` if it was not counted. */
  groupCount?: number | undefined;
  /** Whether the decision to split this group or not was made. Default false. */
  isSplitDecided?: boolean | undefined;
  /** Ids before this position that are not integers: no later row may have one of them. Default: none. */
  otherIds?: readonly string[] | undefined;
  /**
   * Form of the skip tokens. `undefined` until a link, or rows without Ids, show it; until then, `Id:` and the last Id is
   * assumed.
   */
  tokens?: "ids" | "other" | undefined;
  /** The page before this position, if no link follows it and the next step is not decided. */
  lastPage?: LastPage | undefined;
  /** `undefined` if the service has refused no page. */
  pageSize?: PageSize | undefined;
}

interface LastPage {
  readonly length: number;
  readonly isFull: boolean;
}

export interface Part<T> extends TakenRows<T> {
  start: Position;
  position: Position;
  isPageEnd: boolean;
  /** Whether more rows may follow: the page has a link, or shards remain. */
  hasMore: boolean;
  /** Number of responses so far, as in {@linkcode startReading}. */
  responses: number;
}

export interface ReadOptions {
  from?: Position | undefined;
  /** Whether rows are delivered before their page is complete. Default false. */
  deliversEarly?: boolean | undefined;
  /** Whether a reader may continue after a position, so that each page must have Ids. Default false. */
  isResumable?: boolean;
  /** Whether the rows are only for internal use: progress and errors do not mention them. Default false. */
  isInternal?: boolean;
}

/**
 * Reads the result of a query in parts. Delivers each row once, or throws. A query that accepts an incomplete result may
 * end without all rows.
 *
 * This is the only loop that requests pages. Each turn requests the rows after the position. So the same request gets
 * the next page, the rest of a page that broke, and again a page that failed. The position is the last delivered Id, and
 * a link only says that there are more rows. If tokens do not have the form `Id:<digits>`, the position is the token of
 * the link.
 *
 * The rows of a group are compared with a count, unless the query is one page that is not full, its `limit` ends it, it
 * has a `skipToken`, or the service refuses to count.
 */
export async function* readParts<T>(
  run: Run,
  query: CheckedQuery,
  startConversion: StartConversion<T>,
  options: ReadOptions = {},
): AsyncGenerator<Part<T>, Position, void> {
  const { signal, settings: { clock } } = run;
  signal.throwIfAborted();
  const reading = startReading(run, query, options.from ?? await startOf(run, query), options);
  const { position } = reading;
  if (!options.isInternal) run.position = position;
  try {
    while (position.shards.length > 0 && position.rows < query.limit) {
      if (position.lastPage !== undefined) {
        await endPage(reading, position.lastPage);
        continue;
      }
      if (reading.responses > 0) await splitIfLarge(reading);
      shortenNext(reading);
      const request = nextRequest(reading);
      const start = { ...position };
      const seen = new Set(position.otherIds);
      const lastId = lastIdOf(position.shards[0]!);
      let end: PageEnd<T>;
      try {
        const response = await send(run, reading.attempts, request.options);
        reading.responses++;
        end = yield* readPage(
          response,
          startConversion(request),
          { request, lastId, seen, clock, deliversEarly: canDeliverEarly(reading) },
          (rows) => {
            onRows(reading);
            advance(reading, rows, `Id:${rows.lastId}`);
            // More rows follow, because the last row of a page is never delivered early.
            reading.isProbe = false;
            return {
              ...rows,
              start,
              position: { ...position },
              isPageEnd: false,
              hasMore: true,
              responses: reading.responses,
            };
          },
        );
        onRows(reading);
      } catch (error) {
        await handleFailure(reading, request, error);
        continue;
      }
      const { nextToken } = end;
      if (needsCountFirst(reading) && (nextToken !== undefined || end.isFull)) {
        await countGroup(reading);
      }
      advanceToPageEnd(reading, request, end);
      const hasMore = nextToken !== undefined || position.shards.length > 1;
      if (end.rows > 0) {
        const rows = end as TakenRows<T>;
        const { responses } = reading;
        yield { ...rows, start, position: { ...position }, isPageEnd: true, hasMore, responses };
      }
      end.data = undefined; // frees its memory while the next page arrives
      signal.throwIfAborted(); // a signal that is aborted after the last page also stops the query
    }
    const { rows, leftOut, expectedRows, missingRows, surplusRows } = position;
    return { shards: [], rows, leftOut, groupRows: 0, expectedRows, missingRows, surplusRows };
  } catch (error) {
    throw error instanceof DataStreamError && !options.isInternal
      ? withPosition(error, position)
      : error;
  }
}

type Reading = ReturnType<typeof startReading>;

/** A response without rows, such as a page of a proxy, does not show that the service accepts the query. */
function onRows({ run, query, position }: Reading): void {
  run.answered.add(requestName(query, position.shards[0]!.clauses));
}

function startReading(run: Run, query: CheckedQuery, from: Position, options: ReadOptions) {
  return {
    run,
    query,
    options,
    position: { ...from },
    /** Attempts since rows were last delivered. */
    attempts: startAttempts(run.settings.retry),
    /** Number of responses with status 200 since the start of the query. After a cursor, 1 and 2 are lower bounds. */
    responses: minResponses(from),
    /** Number of counts that may still be requested; 0 if counts do not apply, or the service has refused one. */
    countsLeft: maxCounts(query, from.groupCount),
    /** Whether the page was requested although neither a link nor rows of a page that broke announced more rows. */
    isProbe: false,
  };
}

/** Returns the minimum number of responses with status 200 before a position: 0, 1 or 2. */
function minResponses({ rows, leftOut = 0, lastPage }: Position): number {
  const received = rows + leftOut;
  if (received === 0) return 0;
  return lastPage !== undefined && received > lastPage.length ? 2 : 1;
}

/** Whether all rows before a position are known to have come in one response. */
export function cameInOneResponse({ rows, leftOut = 0, lastPage }: Position): boolean {
  return rows + leftOut === (lastPage?.length ?? 0);
}

async function startOf(run: Run, query: CheckedQuery): Promise<Position> {
  const groups = query.limit === 0 ? [] : await requestGroups(run, query);
  const { skipToken } = query;
  const shards = groups.map((clauses) => ({ clauses, after: skipToken }));
  let tokens: Position["tokens"];
  if (skipToken !== undefined) tokens = skipToken.startsWith("Id:") ? "ids" : "other";
  return { shards, rows: 0, groupRows: 0, tokens };
}

/**
 * Returns how many more times a group may be counted: a second time if its rows do not match the first count.
 *
 * @param groupCount The first count
 */
function maxCounts({ skipToken }: CheckedQuery, groupCount?: number): number {
  // Counts ignore the skip token.
  if (skipToken !== undefined) return 0;
  return groupCount === undefined ? 2 : 1;
}

/** Returns the greatest Id before the position of a shard; `undefined` at the start, or if Ids are not integers. */
function lastIdOf({ after, lastId }: Shard): number | undefined {
  return idOfToken(after) ?? lastId;
}

/** Whether the query has no other group, so that the group's count is the query's. */
function isOnlyGroup({ shards, rows, leftOut = 0, groupRows }: Position): boolean {
  return rows + leftOut === groupRows && shards.every((shard) => isSameGroup(shard, shards[0]!));
}

/** Whether the query can be split: only Observations and Records have locations, and shards need integer Ids. */
function canSplit({ query, position }: Reading): boolean {
  return isMeasured(query.resource) && query.partition !== "never" && position.tokens !== "other";
}

/** Whether the query has to be counted before its first row is delivered, because of `maxRows`. */
function needsCountFirst({ query, position }: Reading): boolean {
  const { rows, groupCount } = position;
  const isUnknown = rows === 0 && groupCount === undefined && query.limit > query.maxRows;
  return isUnknown && isOnlyGroup(position);
}

function canDeliverEarly(reading: Reading): boolean {
  const { options, query, position } = reading;
  const isAllowed = options.deliversEarly === true && query.skipToken === undefined;
  return isAllowed && position.tokens !== "other" && !needsCountFirst(reading);
}

/** Replaces the current shard if the service is known to refuse query strings of its length. */
function shortenNext({ run, query, position }: Reading): void {
  const [shard, ...later] = position.shards;
  position.shards = [...shortenLists(run, query, shard!), ...later];
}

function nextRequest({ run, query, options, position }: Reading): PageRequest {
  const { isResumable } = options;
  const { shards: [shard], rows, pageSize } = position;
  const rowsWanted = query.limit - rows;
  const maxTop = Math.min(query.top, pageSize?.max ?? Infinity);
  const top = query.leavesOutRows ? maxTop : Math.min(maxTop, rowsWanted);
  return toPageRequest(query, shard!, run.settings, { top, limit: rowsWanted, isResumable });
}

/** Moves the position after rows that are delivered next. */
function advance(
  reading: Reading,
  { rows, kept, lastId }: Pick<PageRows<unknown>, "rows" | "kept" | "lastId">,
  after: string | undefined,
): void {
  const { query, position } = reading;
  const [shard, ...later] = position.shards;
  if (query.limit > query.maxRows) checkMaxRows(reading, rows);
  const isInToken = idOfToken(after) !== undefined;
  const greatestId = isInToken ? undefined : lastId ?? lastIdOf(shard!);
  position.shards = [{ ...shard!, after, lastId: greatestId }, ...later];
  position.rows += kept;
  position.groupRows += rows;
  if (rows > kept) position.leftOut = (position.leftOut ?? 0) + rows - kept;
  if (rows > 0) reading.attempts = startAttempts(reading.attempts.policy);
}

function advanceToPageEnd(reading: Reading, request: PageRequest, end: PageEnd<unknown>): void {
  const { run, query, options, isProbe, position } = reading;
  const { length, isFull, lastId, otherIds, nextToken, otherAddress } = end;
  const last = lastId ?? otherIds.at(-1);
  const lastToken = last === undefined ? position.shards[0]!.after : `Id:${last}`;
  if (length > 0 && last === undefined) {
    position.tokens = "other";
  } else if (nextToken !== undefined) {
    const hasId = nextToken === lastToken || idOfToken(nextToken) !== undefined;
    position.tokens = hasId ? "ids" : "other";
  }
  advance(reading, end, position.tokens === "other" ? nextToken ?? lastToken : lastToken);
  if (position.pageSize !== undefined) {
    position.pageSize = grow(position.pageSize, request.top, query.top);
  }
  if (otherIds.length > 0) position.otherIds = [...position.otherIds ?? [], ...otherIds];
  if (nextToken === undefined) position.lastPage = { length, isFull };
  // An empty page that was only requested to find the end is not a page of the result.
  const isPage = !options.isInternal && (length > 0 || !isProbe);
  if (nextToken !== undefined) reading.isProbe = false;
  reportProgress(run, {
    ...(isPage && { pages: run.progress.pages + 1 }),
    ...(otherAddress && { otherAddress }),
  });
}

/** Whether the service rejected a token whose form is assumed, in a request for a page that nothing announced. */
function isRefusedGuess({ isProbe, position }: Reading, error: unknown): boolean {
  const isGuess = isProbe && position.tokens === undefined;
  return isGuess && error instanceof DataStreamError && error.status === 400;
}

/**
 * Splits the shard, or waits until the next attempt may start. Throws the error if no attempt is left.
 *
 * If only the assumed token was rejected, the page before it was the last one.
 */
async function handleFailure(
  reading: Reading,
  request: PageRequest,
  error: unknown,
): Promise<void> {
  const { run, query, attempts, position } = reading;
  if (isRefusedGuess(reading, error)) {
    position.tokens = "other";
    position.lastPage = { length: 0, isFull: false };
    return;
  }
  const { shards: [shard, ...later] } = position;
  const wasAnswered = run.answered.has(requestName(query, shard!.clauses));
  const shorter = wasAnswered ? undefined : shortenRefused(run, query, shard!, error);
  if (shorter !== undefined) {
    position.shards = [...shorter, ...later];
    return;
  }
  // The rows before a cursor were answered to another run, maybe without this firewall.
  const isLength = error instanceof DataStreamError && error.rule !== undefined;
  const isContinued = request.after !== query.skipToken && !isLength;
  const judged = await judge(run, attempts, error, wasAnswered || isContinued);
  let decision = decide(run, attempts, judged, request.top);
  if (isRefusal(decision.fault) && canSplit(reading)) {
    const isLastAttempt = decision.error !== undefined && attempts.policy.attempts > 1;
    if (isLastAttempt || attempts.timeouts === MAX_TIMEOUTS) {
      const result = await splitRefused(reading);
      if (result === "split") return;
      if (result === "outage" && isLastAttempt && !attempts.hasRestarted) {
        reading.attempts = startAttempts(attempts.policy, true);
        decision = decide(run, reading.attempts, judged, request.top);
      }
    }
  }
  if (decision.top !== request.top) position.pageSize = shrink(position.pageSize, decision.top!);
  await waitForRetry(run, reading.attempts, decision);
}

/** Splits a refused shard. Returns `outage` if a request for the locations or a count fails, too. */
async function splitRefused(reading: Reading): Promise<"split" | "indivisible" | "outage"> {
  const { position: { shards: [shard] } } = reading;
  try {
    const smaller = await split(reading);
    if (smaller.length < 2) return "indivisible";
    if (!isSplit(shard!)) await countSplit(reading, smaller);
    reading.attempts = startAttempts(reading.attempts.policy);
    return "split";
  } catch (error) {
    if (!(error instanceof DataStreamError)) throw error;
    return "outage";
  }
}

/**
 * Replaces the current shard with smaller ones, and returns them. Returns fewer than two if it cannot be split.
 *
 * @param rows Number of rows of the shard. Default: unknown, because the service refuses its pages
 */
async function split(reading: Reading, rows?: number): Promise<Shard[]> {
  const { run, query, position } = reading;
  const [shard, ...later] = position.shards;
  reportProgress(run, { splitting: "location" });
  try {
    const { settings } = run;
    // After a refusal, an outage must fail this request without delays. A page that is too large is still halved.
    const withoutDelays = { ...settings, retry: { ...settings.retry, backoff: 0 } };
    const locationsRun = rows === undefined ? { ...run, settings: withoutDelays } : run;
    run.locations ??= await requestLocations(locationsRun, query);
    const smaller = await splitShard(run, query, shard!, run.locations, rows);
    if (smaller.length > 1) position.shards = [...smaller, ...later];
    return smaller;
  } finally {
    run.progress.splitting = undefined;
  }
}

/** Counts the group of a refused shard. If the service refuses the count, adds up the counts of its new shards. */
async function countSplit(reading: Reading, shards: readonly Shard[]): Promise<void> {
  const { run, query, position: { groupCount }, countsLeft } = reading;
  if (groupCount !== undefined || countsLeft === 0) return;
  if (await countGroup(reading) !== undefined) return;
  let sum = 0;
  for (const { clauses } of shards) {
    const rows = await tryCount(run, query, clauses);
    if (rows === undefined) return;
    sum += rows;
  }
  reading.countsLeft = 1;
  setCount(reading, sum);
}

/** Counts the current group after its first page if it may be too large, and splits the shard if it is. */
async function splitIfLarge(reading: Reading): Promise<void> {
  const { query, position } = reading;
  const isWhole = !isSplit(position.shards[0]!);
  const mayBeLarge = query.limit > MAX_SHARD_ROWS && canSplit(reading) && isWhole;
  if (position.isSplitDecided || !mayBeLarge) return;
  position.isSplitDecided = true;
  const rows = position.groupCount ?? await countGroup(reading) ?? 0;
  if (rows > MAX_SHARD_ROWS) await split(reading, rows);
}

async function countGroup(reading: Reading): Promise<number | undefined> {
  const { run, query, position } = reading;
  const rows = await tryCount(run, query, groupOf(position.shards[0]!));
  if (rows === undefined) {
    reading.countsLeft = 0;
    position.isSplitDecided = true; // without a count, the group is not split
  } else {
    reading.countsLeft = Math.max(0, reading.countsLeft - 1);
    setCount(reading, rows);
  }
  return rows;
}

function setCount({ query, position }: Reading, rows: number): void {
  if (query.skipToken === undefined) position.groupCount = rows;
  if (isOnlyGroup(position)) position.expectedRows = rows;
}

/** Takes one step after a page without a link: to the next page, to a count or to the next shard. */
async function endPage(reading: Reading, page: LastPage): Promise<void> {
  const step = nextStep(page, reading.position, reading);
  if (step === "count") {
    await countGroup(reading);
    return reportProgress(reading.run, {});
  }
  if (step === "next page") {
    reading.isProbe = true;
    reading.position.lastPage = undefined;
    return;
  }
  if (step === "fail") requireAccepted(reading, page.length === 0);
  leaveShard(reading);
}

function leaveShard(reading: Reading): void {
  const { position } = reading;
  const [shard, ...later] = position.shards;
  reading.isProbe = false;
  position.shards = later;
  position.lastPage = undefined;
  if (later.length > 0 && isSameGroup(later[0]!, shard!)) return;
  reportDifference(reading);
  position.groupRows = 0;
  position.groupCount = undefined;
  position.isSplitDecided = undefined;
  reading.countsLeft = maxCounts(reading.query);
}

/** Decides the step after a page without a link that does not reach the limit of its query. */
export function nextStep(
  page: LastPage,
  { shards: [shard, next], groupRows, groupCount, tokens }: Position,
  { responses, countsLeft, isProbe }: Pick<Reading, "responses" | "countsLeft" | "isProbe">,
): "next page" | "next shard" | "count" | "fail" {
  const canContinue = tokens !== "other";
  const isCounted = groupCount !== undefined;
  const isWholeResult = next === undefined && responses <= 1 && !page.isFull;
  if (isWholeResult && !isCounted) return "next shard";
  const isEnd = page.length === 0 && isProbe;
  // Without a count, only an empty page that nothing announced shows that there are no more rows.
  if (!isCounted && countsLeft === 0) return isEnd || !canContinue ? "next shard" : "next page";
  if (next !== undefined && isSameGroup(next, shard!)) {
    // Requests for later shards of the group do not return rows that are missing in this one.
    const isShardEnd = isEnd || page.length > 0 && !page.isFull;
    return isShardEnd || !canContinue ? "next shard" : "next page";
  }
  if (!isCounted) return "count";
  const missing = groupCount - groupRows;
  if (Math.abs(missing) <= toleranceOf(groupCount)) return "next shard";
  // An empty page that was announced lacks rows, even if the count is too low.
  const mayFollow = !isEnd && (missing > 0 || page.length === 0);
  if (mayFollow && canContinue) return "next page";
  return countsLeft > 0 ? "count" : "fail";
}

/** Reports by how many rows a group differs from its count. Counts above 100,000 are estimates. */
function reportDifference({ run, position }: Reading): void {
  const { groupRows, groupCount = groupRows } = position;
  if (groupRows === groupCount) return;
  const name = groupRows < groupCount ? "missingRows" : "surplusRows";
  position[name] = (position[name] ?? 0) + Math.abs(groupCount - groupRows);
  reportProgress(run, {});
}

/** Throws if rows of the current group are missing or surplus, unless the query accepts another number of rows. */
function requireAccepted(reading: Reading, isEmpty: boolean): void {
  const { run, query, position, isProbe } = reading;
  const { shards: [shard], groupRows, groupCount = 0 } = position;
  const missing = groupCount - groupRows;
  // A count that is too low does not show how many rows the announced page should have had.
  const isUnknown = missing < 0 && isEmpty && !isProbe;
  if (query.acceptsIncomplete && !isUnknown) return;
  let reason = "";
  let hint = "run the query again later";
  if (isUnknown) reason = ", and an empty page where a link announced more";
  else if (missing < 0) hint = "the data changed during the download: run the query again";
  else {
    if (shard!.after) reason = `, and none come after the position ${shard!.after}`;
    hint += '; if the count is wrong, accept the rows with {incomplete: "warn"}';
  }
  throw new DataStreamError(
    `Received ${groupRows} of ${groupCount} counted rows of ${query.resource}${reason}`,
    {
      kind: missing < 0 && !isUnknown ? "changed" : "incomplete",
      isTemporary: false,
      option: missing < 0 ? undefined : "incomplete",
      url: urlOf(query, run.settings),
      hint,
      expectedRows: groupCount,
    },
  );
}

/** Throws if the received rows, with `added` ones, or the count of the query are more than `maxRows`. */
function checkMaxRows({ run, query, position }: Reading, added: number): void {
  const { resource, maxRows, maxRowsOption } = query;
  const received = position.rows + (position.leftOut ?? 0) + added;
  const count = isOnlyGroup(position) ? position.groupCount ?? 0 : 0;
  const rows = Math.max(received, count);
  if (rows <= maxRows) return;
  throw new DataStreamError(
    `${resource} has at least ${rows} rows for this query, more than ${maxRows}`,
    {
      kind: "too-many-rows",
      isTemporary: false,
      option: maxRowsOption ?? "maxRows",
      url: urlOf(query, run.settings),
      hint: `narrow the filter, set a {limit} or ${
        maxRowsOption ? "choose another {format}, such as csv" : "raise {maxRows}"
      }`,
      expectedRows: rows,
    },
  );
}

/** Adds to an error the number of delivered rows and, unless the query is split, the position after them. */
function withPosition(error: DataStreamError, { rows, shards }: Position): DataStreamError {
  if (rows === 0) return error;
  const [shard, ...later] = shards;
  const skipToken = later.length === 0 && shard?.clauses.length === 0 ? shard.after : undefined;
  const position = skipToken === undefined ? "" : `, up to the position ${skipToken}`;
  const delivered = rows === 1 ? "1 row was delivered" : `${rows} rows were delivered`;
  const hint = `${error.hint}; ${delivered} before${position}`;
  return amendError(error, { hint, rows, skipToken });
}

/**
 * Requests the Ids of the locations that rows of a query can have, ascending.
 *
 * Clauses with `ne` are left out, so that no location is missing. Example: `CharacteristicName ne 'pH'` can mean "has
 * no row with pH" in Locations, but the query needs "has a row other than pH".
 */
async function requestLocations(run: Run, query: CheckedQuery): Promise<number[]> {
  const ids = new Set<number>();
  const start = startRowConversion<{ Id: unknown }>;
  for await (const part of readParts(run, locationsQuery(query), start, { isInternal: true })) {
    for (const { Id } of part.data) ids.add(Number(Id));
  }
  return [...ids].sort((a, b) => a - b);
}

/** Returns the clauses of the groups of a query. With a bounding box, the locations in it are requested first. */
async function requestGroups(
  run: Run,
  query: CheckedQuery,
): Promise<readonly (readonly Clause[])[]> {
  if (matchesNothing(query.clauses)) return [];
  if (query.box !== undefined) run.locations ??= await requestLocations(run, query);
  return groupsOf(query, query.box && run.locations, run.settings);
}

/** Counts the rows of a query; `limit` and `skipToken` are ignored. */
export async function countQuery(run: Run, query: CheckedQuery): Promise<number> {
  let rows = 0;
  for (const clauses of await requestGroups(run, query)) {
    rows += await requestCount(run, query, clauses);
  }
  return rows;
}
