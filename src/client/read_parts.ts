import { amendError, DataStreamError } from "../errors.ts";
import type { CheckedQuery } from "../odata/query_options.ts";
import { isMeasured } from "../odata/resources.ts";
import type { Clause } from "../odata/clause.ts";
import { toRowId } from "../formats/row_reader.ts";
import { type StartConversion, startRowConversion } from "./convert_page.ts";
import { idOfToken } from "./next_link.ts";
import { type CheckedPage, openPage, type PageReader, type PageRows } from "./page_reader.ts";
import { filterOf, type PageRequest, type Shard, toPageRequest } from "./page_request.ts";
import type { RetryPolicy } from "./retry.ts";
import * as runs from "./run.ts";
import type { Attempts, Run } from "./run.ts";
import {
  isSameUnit,
  isSplit,
  locationsQuery,
  MAX_SHARD_ROWS,
  splitByCount,
  splitRefused,
  unitOf,
  unitsOf,
  urlOf,
} from "./split.ts";

/** A position in the result of a query, after its last delivered row. JSON-serialisable: cursors contain it. */
export interface Position {
  /** Shards that are still to be requested, the current one first. */
  readonly shards: readonly Shard[];
  /** Number of rows before this position. */
  readonly rows: number;
  /** Number of these rows in the current unit. */
  readonly unitRows: number;
  /** Number of rows that the service counted for the current unit; `undefined` if it was not counted. */
  readonly unitCount?: number | undefined;
}

/** Rows of a result, in order, and the position after them. */
export interface Part<T> {
  content: T;
  /** Number of rows in the content; at least 1. */
  rows: number;
  position: Position;
  /** Whether they are the last rows of a page. */
  isPageEnd: boolean;
  /** Whether more rows may follow: the page has a link, or shards remain. */
  hasMore: boolean;
}

/** How to read the parts of a result. */
export interface ReadOptions {
  /** Position to continue after. Default: the start of the query. */
  from?: Position | undefined;
  /** Whether rows are delivered before their page is complete. Default false. */
  deliversEarly?: boolean | undefined;
  /** Retry options. Default: those of the client. */
  retry?: RetryPolicy | undefined;
  /** Whether errors name the position after the delivered rows. Default true. */
  reportsPosition?: boolean | undefined;
}

/**
 * Reads the result of a query in parts. Each row is delivered once, or the query fails, unless it accepts an incomplete
 * result.
 *
 * This is the only loop that requests pages. Each turn requests the rows after the position, so the next page, the rest
 * of a page that broke and a page that failed are the same request. The position is the last delivered Id, or the token
 * of the link if tokens do not have the form `Id:<digits>`. Otherwise a link only says that there are more rows.
 *
 * The rows of a unit are compared with a count, unless the query is one page that is not full, its `limit` ends it, it
 * has a `skipToken`, or the service refuses to count.
 *
 * Source: DataStream Public API, "Response Format".
 *
 * @param startConversion Starts the conversion of each page
 * @throws {DataStreamError} Of kind `incomplete` if the service counted another number of rows,
 *   `too-many-rows` if it counted more than `maxRows`, or of another kind if a request fails
 */
export async function* readParts<T>(
  run: Run,
  query: CheckedQuery,
  startConversion: StartConversion<T>,
  options: ReadOptions = {},
): AsyncGenerator<Part<T>, void, void> {
  run.signal.throwIfAborted();
  const { reportsPosition = true } = options;
  const reading = startReading(run, query, options);
  try {
    if (reading.rows >= query.limit) return;
    if (options.from === undefined) await startQuery(reading);
    while (reading.shards.length > 0) {
      if (await splitIfLarge(reading)) continue;
      const request = nextRequest(reading);
      let page: PageReader<T> | undefined;
      let end: CheckedPage<T>;
      try {
        page = await openNextPage(reading, request, startConversion);
        for (let rows = await page.read(); rows !== undefined; rows = await page.read()) {
          const position = deliver(reading, rows, `Id:${rows.lastId}`);
          reading.unit.isAnnounced = true; // a page has at least one row after those that are delivered early
          yield { ...rows, position, isPageEnd: false, hasMore: true };
        }
        end = page.end();
      } catch (error) {
        await handleFailure(reading, request, page, error);
        continue;
      } finally {
        page?.close();
      }
      await requireFewRows(reading, request, end);
      const { hasMore, position } = deliverPageEnd(reading, request, end);
      const { rows } = end;
      if (rows > 0) yield { content: end.take(), rows, position, isPageEnd: true, hasMore };
      run.signal.throwIfAborted(); // a signal that is aborted after the last page also stops the query
      if (reading.rows >= query.limit) return;
      await endPage(reading, request, end);
    }
  } catch (error) {
    throw error instanceof DataStreamError && reportsPosition
      ? withPosition(error, reading)
      : error;
  }
}

/** The state of one call of `readParts()`. */
interface Reading {
  readonly run: Run;
  readonly query: CheckedQuery;
  readonly deliversEarly: boolean;
  readonly newAttempts: () => Attempts;
  /** Shards that are still to be requested, the current one first. */
  shards: readonly Shard[];
  /** Number of rows before the position. */
  rows: number;
  /** Whether all shards are in one unit: one count tells the number of rows of the query. */
  isOneUnit: boolean;
  unit: Unit;
  source: Source;
  /** Attempts since rows were delivered. */
  attempts: Attempts;
  /** Number of refusals among them. */
  refusals: number;
  /** Whether the attempts were restarted once, because the request for the locations failed too. */
  hasRestarted: boolean;
}

/**
 * Rows that are compared with one count: all rows of the query, or those that match one group of values of each long
 * list. The shards of a unit share its count.
 */
interface Unit {
  /** Number of delivered rows. */
  rows: number;
  /** Number of counted rows; `undefined` if they were not counted. */
  count: number | undefined;
  /** Whether the service has refused to count. */
  isRefused: boolean;
  /** Whether it was counted again after the rows had a different number. */
  isRecounted: boolean;
  /** Whether it was decided if its shards are to be split. */
  isSplitDecided: boolean;
  /** Number of responses with status 200; 1 after rows of the unit were delivered by an earlier call. */
  responses: number;
  /**
   * Whether at least one more row must follow, because of a link or of rows that were delivered early; `undefined` at
   * the start of a shard.
   */
  isAnnounced: boolean | undefined;
}

/** Order of the rows, as far as the responses show it. */
interface Source {
  /** Greatest Id of the shard so far, if Ids are integers; otherwise -1. */
  lastId: number;
  /** Whether skip tokens have the form `Id:<digits>`. It is assumed until a link shows another form. */
  hasIdTokens: boolean;
  /** Whether the rows after the last one can be requested without a link. */
  canContinue: boolean;
  /** Earlier skip tokens that do not have the form `Id:<digits>`. */
  readonly seenTokens: Set<string>;
  /** Earlier Ids that are not integers. */
  readonly seenIds: Set<string>;
}

function startReading(run: Run, query: CheckedQuery, options: ReadOptions): Reading {
  const { from, deliversEarly = false, retry } = options;
  const newAttempts = () => runs.createAttempts(run, retry);
  const shards = from?.shards ?? [];
  return {
    run,
    query,
    deliversEarly: deliversEarly && query.skipToken === undefined,
    newAttempts,
    shards,
    rows: from?.rows ?? 0,
    isOneUnit: isUnit(shards) && from?.rows === from?.unitRows,
    unit: startUnit(from),
    source: {
      ...startOf(shards[0]),
      hasIdTokens: hasIdToken(shards[0]),
      seenTokens: new Set(),
      seenIds: new Set(),
    },
    attempts: newAttempts(),
    refusals: 0,
    hasRestarted: false,
  };
}

async function startQuery(reading: Reading): Promise<void> {
  const { run, query } = reading;
  const units = await requestUnits(run, query);
  reading.shards = units.map((clauses) => ({ clauses, after: query.skipToken }));
  reading.isOneUnit = isUnit(reading.shards);
  Object.assign(reading.source, startOf(reading.shards[0]));
}

function startUnit(from?: Position): Unit {
  return {
    rows: from?.unitRows ?? 0,
    count: from?.unitCount,
    isRefused: false,
    isRecounted: false,
    isSplitDecided: false,
    responses: (from?.unitRows ?? 0) > 0 ? 1 : 0,
    isAnnounced: undefined,
  };
}

/** Returns the state of the order at the start of a shard. */
function startOf(shard: Shard | undefined): Pick<Source, "lastId" | "canContinue"> {
  return { lastId: idOfToken(shard?.after) ?? -1, canContinue: true };
}

/** Whether a shard begins at a token of the form `Id:<digits>`, or at the start. */
function hasIdToken(shard: Shard | undefined): boolean {
  return shard?.after === undefined || idOfToken(shard.after) !== undefined;
}

function isUnit(shards: readonly Shard[]): boolean {
  return shards.every((shard) => isSameUnit(shard, shards[0]!));
}

/** Whether the query can be split: only Observations and Records have locations, and shards need integer Ids. */
function canSplit({ query, source }: Reading): boolean {
  return isMeasured(query.resource) && query.partition !== "never" && source.hasIdTokens;
}

/**
 * Counts the current unit after its first page if it may be too large, and splits the shard if it is.
 *
 * @returns Whether the shard was split
 */
async function splitIfLarge(reading: Reading): Promise<boolean> {
  const { run, query, unit, shards: [shard, ...later] } = reading;
  const mayBeLarge = query.limit > MAX_SHARD_ROWS && canSplit(reading);
  if (unit.isSplitDecided || unit.responses === 0 || isSplit(shard!) || !mayBeLarge) return false;
  unit.isSplitDecided = true;
  const rows = unit.count ?? await countUnit(reading);
  if (rows === undefined || rows <= MAX_SHARD_ROWS) return false;
  runs.reportProgress(run, { splitting: "location" });
  const locations = await locationIds(run, query);
  reading.shards = [...await splitByCount(run, query, shard!, locations, rows), ...later];
  runs.changeProgress(run, { splitting: undefined });
  return true;
}

/** Counts the rows of the current unit. Returns `undefined` if the service refuses to. */
async function countUnit(reading: Reading): Promise<number | undefined> {
  const { run, query, unit, shards } = reading;
  const { resource, skipToken } = query;
  const filter = filterOf(query, unitOf(shards[0]!));
  const rows = await runs.tryCount(run, { resource, filter });
  unit.isRefused = rows === undefined;
  // Counts ignore skip tokens, so a count does not apply to a query that begins at one.
  if (skipToken === undefined) unit.count = rows ?? unit.count;
  if (reading.isOneUnit && rows !== undefined) runs.changeProgress(run, { expectedRows: rows });
  return rows;
}

/** Returns the request for the rows after the position. */
function nextRequest({ run, query, shards, rows }: Reading): PageRequest {
  const rowsWanted = query.limit - rows;
  const top = Math.min(runs.limitTop(run, query.resource, query.top), rowsWanted);
  return toPageRequest(query, shards[0]!, top, rowsWanted);
}

/** Whether the rows of the query have to be counted before the first one is delivered. */
function needsCountFirst({ query, rows, isOneUnit }: Reading): boolean {
  return rows === 0 && isOneUnit && query.limit > query.maxRows;
}

async function openNextPage<T>(
  reading: Reading,
  request: PageRequest,
  startConversion: StartConversion<T>,
): Promise<PageReader<T>> {
  const { run: { settings: { clock } }, attempts, source, unit } = reading;
  const deliversEarly = reading.deliversEarly && source.hasIdTokens && !needsCountFirst(reading);
  const response = await attempts.send(request);
  unit.responses++;
  const conversion = startConversion({ drops: request.adds });
  return openPage(response, conversion, request, { ...source, deliversEarly }, clock);
}

/** Moves the position past rows that are about to be delivered. */
function deliver(
  reading: Reading,
  { rows, lastId }: Pick<PageRows<unknown>, "rows" | "lastId">,
  after?: string,
): Position {
  const { run, unit, source, shards: [shard, ...later] } = reading;
  requireAtMost(reading, reading.rows + rows, "at least ");
  reading.rows += rows;
  unit.rows += rows;
  source.lastId = lastId ?? source.lastId;
  reading.shards = [{ ...shard!, after }, ...later];
  if (rows > 0) restartAttempts(reading);
  runs.changeProgress(run, { rows: run.progress.rows + rows });
  return { shards: reading.shards, rows: reading.rows, unitRows: unit.rows, unitCount: unit.count };
}

/** Restarts the attempts, after rows were delivered or because of an outage. */
function restartAttempts(reading: Reading, isOutage = false): void {
  reading.attempts = reading.newAttempts();
  reading.refusals = 0;
  reading.hasRestarted = isOutage;
}

/** Moves the position past a page. */
function deliverPageEnd(
  reading: Reading,
  request: PageRequest,
  end: CheckedPage<unknown>,
): Pick<Part<unknown>, "position" | "hasMore"> {
  const { run, query, unit, source, shards } = reading;
  const { length, lastId, otherIds, nextToken } = end;
  run.pageSizes.get(query.resource)?.succeeded(request.top, query.top);
  for (const id of otherIds ?? []) source.seenIds.add(id);
  if (nextToken !== undefined) {
    const isIdToken = idOfToken(nextToken) !== undefined;
    if (!isIdToken) source.seenTokens.add(nextToken);
    if (lastId !== undefined) source.hasIdTokens = isIdToken;
  }
  if (length > 0) source.canContinue = lastId === undefined ? !!otherIds : source.hasIdTokens;
  // Continue after the last row, or with the token of the link if tokens do not have the form `Id:<digits>`.
  const last = lastId ?? otherIds?.at(-1);
  const followsLink = nextToken !== undefined && !(source.hasIdTokens && lastId !== undefined);
  const after = followsLink ? nextToken : last === undefined ? request.after : `Id:${last}`;
  const position = deliver(reading, end, after);
  // An empty page after the last one is not a page of the result.
  if (length > 0 || unit.isAnnounced !== false) {
    runs.reportProgress(run, { pages: run.progress.pages + 1 });
  }
  return { position, hasMore: nextToken !== undefined || shards.length > 1 };
}

/** Splits the shard, or waits until the next attempt may start. Throws the error if no attempt is left. */
async function handleFailure(
  reading: Reading,
  request: PageRequest,
  page: PageReader<unknown> | undefined,
  error: unknown,
): Promise<void> {
  const failed = runs.toFailedAttempt(error);
  if (page?.hasGaps) throw gapError(failed.error);
  let decision = reading.attempts.decide(failed, request.top);
  if (runs.isRefusal(failed.error) && canSplit(reading)) {
    // After status 413, smaller pages are requested first.
    reading.refusals += failed.error.status === 413 ? 0 : 1;
    const isLast = decision.action === "fail" && reading.run.settings.retry.attempts > 1;
    if (isLast || reading.refusals === runs.MAX_REFUSALS) {
      const result = await splitRefusedShard(reading);
      if (result === "split") return;
      if (result === "outage" && isLast && !reading.hasRestarted) {
        restartAttempts(reading, true);
        decision = reading.attempts.decide(failed, request.top);
      }
    }
  }
  await reading.attempts.retry(failed, decision, request);
}

/**
 * Splits the shard, because the service has refused its pages.
 *
 * @returns `outage` if a request for the locations or a count fails too
 */
async function splitRefusedShard(reading: Reading): Promise<"split" | "indivisible" | "outage"> {
  const { run, query, shards: [shard, ...later] } = reading;
  runs.reportProgress(run, { splitting: "location" });
  try {
    const once = { ...run.settings.retry, attempts: 1 };
    const locations = await locationIds(run, query, once);
    const smaller = await splitRefused(run, query, shard!, locations);
    if (smaller === undefined) return "indivisible";
    await countSplit(reading, smaller);
    reading.shards = [...smaller, ...later];
    restartAttempts(reading);
    return "split";
  } catch (error) {
    if (!(error instanceof DataStreamError)) throw error;
    return "outage";
  } finally {
    runs.changeProgress(run, { splitting: undefined });
  }
}

/** Counts the unit of a refused shard. If the service refuses that too, adds up the counts of the new shards. */
async function countSplit(reading: Reading, shards: readonly Shard[]): Promise<void> {
  const { run, query, unit } = reading;
  if (unit.count !== undefined || unit.isRefused || query.skipToken !== undefined) return;
  if (await countUnit(reading) !== undefined || isSplit(reading.shards[0]!)) return;
  let sum = 0;
  for (const { clauses } of shards) {
    const filter = filterOf(query, clauses);
    const rows = await runs.tryCount(run, { resource: query.resource, filter });
    if (rows === undefined) return;
    sum += rows;
  }
  unit.count = sum;
  unit.isRefused = false;
  if (reading.isOneUnit) runs.changeProgress(run, { expectedRows: sum });
}

/** Starts the next step after a page: its next page, a count of the unit, or the next shard. */
async function endPage(
  reading: Reading,
  { top }: PageRequest,
  end: CheckedPage<unknown>,
): Promise<void> {
  const { query, unit, source, shards: [shard, ...later] } = reading;
  const isUnitEnd = later.length === 0 || !isSameUnit(later[0]!, shard!);
  const page = {
    rows: end.length,
    hasLink: end.nextToken !== undefined,
    isFull: end.length === top,
  };
  const facts = {
    isUnitEnd,
    canCount: query.skipToken === undefined,
    canContinue: source.canContinue,
    isOnlyUnit: reading.isOneUnit,
  };
  for (;;) {
    const step = nextStep(page, { ...unit, ...facts });
    if (step === "next page") {
      unit.isAnnounced = page.hasLink;
      return;
    }
    if (step === "count") {
      unit.isRecounted = unit.count !== undefined;
      await countUnit(reading);
      runs.reportProgress(reading.run, {});
      continue;
    }
    if (step === "fail") acceptOrFail(reading, page);
    reading.shards = later;
    unit.isAnnounced = undefined;
    Object.assign(source, startOf(later[0]));
    if (isUnitEnd) reading.unit = startUnit();
    return;
  }
}

/** A complete page, for {@linkcode nextStep}. */
export interface PageFacts {
  /** Number of rows of the response. */
  rows: number;
  hasLink: boolean;
  /** Whether it has as many rows as were requested. */
  isFull: boolean;
}

/** The unit of the page, for {@linkcode nextStep}. */
export interface UnitFacts
  extends Pick<Unit, "rows" | "count" | "isRefused" | "isRecounted" | "responses" | "isAnnounced"> {
  /** Whether the page is one of the last shard of the unit. */
  isUnitEnd: boolean;
  /** Whether a count applies to the rows: the query does not begin at a skip token. */
  canCount: boolean;
  /** Whether the rows after the last one can be requested without a link. */
  canContinue: boolean;
  /** Whether it has all rows of the query. */
  isOnlyUnit: boolean;
}

/** Largest count that is exact. Above it, counts are estimates. */
const MAX_EXACT_COUNT = 100_000;
/** Inaccuracy of large counts: 0.0005 % (DataStream Public API, "URL Parameters", `$count`). */
const COUNT_INACCURACY = 0.000_005;

/** Decides the step after a page that does not reach the limit of its query. */
export function nextStep(
  page: PageFacts,
  unit: UnitFacts,
): "next page" | "next shard" | "count" | "fail" {
  if (page.hasLink) return "next page";
  // Without a count, only an empty page that was not announced shows that there are no more rows.
  const needsEmptyPage = unit.isRefused && unit.count === undefined && unit.canContinue;
  const isEmptyEnd = page.rows === 0 && !isPageMissing(page, unit);
  const isOnlyPage = unit.isOnlyUnit && unit.responses <= 1 && !page.isFull &&
    unit.count === undefined;
  if (!unit.canCount) {
    const isDoubtful = page.isFull || page.rows === 0 && !isEmptyEnd;
    return isDoubtful && unit.canContinue ? "next page" : "next shard";
  }
  if (unit.isUnitEnd && isOnlyPage) return "next shard";
  if (needsEmptyPage && !isEmptyEnd) return "next page";
  if (!unit.isUnitEnd) return "next shard";
  if (unit.count === undefined) return unit.isRefused ? "next shard" : "count";
  const missing = unit.count - unit.rows;
  const tolerance = unit.count > MAX_EXACT_COUNT ? Math.ceil(unit.count * COUNT_INACCURACY) : 0;
  if (Math.abs(missing) <= tolerance) return "next shard";
  const isEnd = unit.isAnnounced === false && page.rows === 0;
  const mayFollow = missing > 0 && !isEnd || isPageMissing(page, unit);
  if (mayFollow && unit.canContinue) return "next page";
  return unit.isRecounted ? "fail" : "count";
}

/** Whether a page is empty although more rows were announced. */
function isPageMissing(page: PageFacts, unit: Pick<Unit, "isAnnounced">): boolean {
  return page.rows === 0 && unit.isAnnounced === true;
}

/** Throws if rows of the current unit are missing or surplus, unless the query accepts an incomplete result. */
function acceptOrFail({ run, query, unit, shards }: Reading, page: PageFacts): void {
  const { resource, acceptsIncomplete } = query;
  const missing = unit.count! - unit.rows;
  // If the count is too low, it does not tell how many rows are missing with that page.
  const isUnknown = missing < 0 && isPageMissing(page, unit);
  if (acceptsIncomplete && !isUnknown) {
    if (missing <= 0) return;
    return runs.reportProgress(run, { missingRows: (run.progress.missingRows ?? 0) + missing });
  }
  const { after } = shards[0]!;
  const reason = isUnknown
    ? ", and an empty page where a link announced more"
    : missing < 0 || after === undefined
    ? ""
    : `, and none come after the position ${after}`;
  const accept = '; if the count is wrong, accept the rows with {incomplete: "warn"}';
  throw new DataStreamError(
    `Received ${unit.rows} of ${unit.count} counted rows of ${resource}${reason}`,
    {
      kind: "incomplete",
      url: urlOf(query, run.settings),
      hint: `run the query again later${isUnknown ? "" : accept}`,
      expectedRows: unit.count,
    },
  );
}

/**
 * Counts the rows before the first one is delivered, if the query has a maximum and the page is not all of it.
 *
 * @throws {DataStreamError} Of kind `too-many-rows` if there are more than the maximum
 */
async function requireFewRows(
  reading: Reading,
  { top }: PageRequest,
  { length, nextToken }: CheckedPage<unknown>,
): Promise<void> {
  if (!needsCountFirst(reading) || nextToken === undefined && length < top) return;
  const rows = reading.unit.count ?? await countUnit(reading);
  if (rows !== undefined) requireAtMost(reading, rows);
}

/**
 * Checks that a query has at most `maxRows` rows.
 *
 * @throws {DataStreamError} Of kind `too-many-rows` if it has more
 */
function requireAtMost({ run, query }: Reading, rows: number, bound = ""): void {
  const { resource, maxRows } = query;
  if (rows <= maxRows) return;
  throw new DataStreamError(
    `${resource} has ${bound}${rows} rows for this query, more than ${maxRows}`,
    {
      kind: "too-many-rows",
      url: urlOf(query, run.settings),
      hint: "narrow the filter, set a {limit} or raise {maxRows}",
      expectedRows: rows,
    },
  );
}

/** Adds to an error the number of delivered rows and, unless the query is split, the position after them. */
function withPosition(error: DataStreamError, { rows, shards }: Reading): DataStreamError {
  if (rows === 0) return error;
  const [shard, ...later] = shards;
  const skipToken = later.length === 0 && shard?.clauses.length === 0 ? shard.after : undefined;
  const position = skipToken === undefined ? "" : `, up to the position ${skipToken}`;
  const hint = `${error.hint}; ${rows} rows were delivered before${position}`;
  return amendError(error, { hint, rows, skipToken });
}

/**
 * Converts the error of a page that broke after rows were delivered which were not in order. It has no status, because
 * no request after the last delivered row would get all other rows.
 */
function gapError(error: DataStreamError): DataStreamError {
  const hint = `${error.hint}; rows before the last delivered one may be missing, so start again`;
  return amendError(error, { kind: "page", status: undefined, hint });
}

/**
 * Returns the Ids of the locations that rows of a query can have, ascending. They are requested once per run.
 *
 * Clauses with `ne` are left out, so that no location is missing. Example: `CharacteristicName ne 'pH'` can mean "has
 * no row with pH" in Locations, but the query needs "has a row other than pH".
 */
async function locationIds(
  run: Run,
  query: CheckedQuery,
  retry?: RetryPolicy,
): Promise<readonly number[]> {
  if (run.locations !== undefined) return run.locations;
  const locations = locationsQuery(query);
  const ids = new Set<number>();
  const parts = readParts(
    withoutRows(run),
    locations,
    (options) => startRowConversion<{ Id?: unknown }>(options),
    { retry, reportsPosition: false },
  );
  for await (const { content } of parts) {
    for (const { Id } of content) {
      const id = toRowId(Id);
      if (typeof id !== "number") {
        throw new DataStreamError("Expected the Id of each location, got another value", {
          kind: "page",
          url: urlOf(locations, run.settings).split("?")[0]!,
          hint: "the result is incomplete. Report it to DataStream",
        });
      }
      ids.add(id);
    }
  }
  return run.locations = [...ids].sort((a, b) => a - b);
}

/** Creates a run that adds its requests and waits to the progress of another run, but not its pages and rows. */
function withoutRows(run: Run): Run {
  return {
    ...run,
    get progress() {
      return run.progress;
    },
    set progress(progress) {
      const { pages, rows, expectedRows } = run.progress;
      run.progress = { ...progress, pages, rows, expectedRows };
    },
    onProgress: () => run.onProgress(run.progress),
  };
}

/** Returns the clauses of the units of a query. With a bounding box, the locations in it are requested first. */
async function requestUnits(
  run: Run,
  query: CheckedQuery,
): Promise<readonly (readonly Clause[])[]> {
  if (query.matchesNothing) return [];
  const ids = query.box && await locationIds(run, query);
  return unitsOf(query, ids, run.settings);
}

/** Counts the rows of a query; `limit` and `skipToken` are ignored. */
export async function countQuery(run: Run, query: CheckedQuery): Promise<number> {
  const { resource } = query;
  let rows = 0;
  for (const clauses of await requestUnits(run, query)) {
    rows += await runs.requestCount(run, { resource, filter: filterOf(query, clauses) });
  }
  return rows;
}
