import { DataStreamError } from "../errors.ts";
import type { QueryOptions } from "../odata/query_options.ts";
import { countAll, type Leg } from "./legs.ts";
import { ownUrl } from "./related.ts";
import type { Run } from "./run.ts";

/** Inaccuracy of large counts: 0.0005 % (the service's public documentation, "Query options"). */
const COUNT_INACCURACY = 0.000_005;

/**
 * Compares the rows of a finished leg with the count, where there is one.
 *
 * @throws {DataStreamError} Of kind `incomplete` if rows are missing and the query does not accept that
 */
export async function requireComplete(run: Run, query: QueryOptions, leg: Leg): Promise<void> {
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
async function countAgain(run: Run, query: QueryOptions, earlier: number): Promise<number> {
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
async function countForYears(run: Run, query: QueryOptions): Promise<number | undefined> {
  const excludes = query.clauses?.some(({ field, operator }) =>
    /^ActivityStart(?:Date)?Year$/.test(field) && operator !== "ne"
  );
  return excludes || query.skipToken !== undefined ? undefined : await countAll(run, query);
}
