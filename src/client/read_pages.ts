import { amendError, DataStreamError } from "../errors.ts";
import type { QueryOptions } from "../odata/query_options.ts";
import type { PageReader } from "./page.ts";
import type { Leg } from "./legs.ts";
import { allPages, type PlacedPage } from "./parts.ts";
import type { Run } from "./run.ts";

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
  query: QueryOptions,
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
