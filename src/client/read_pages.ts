import type { QueryOptions } from "../odata/query_options.ts";
import type { PageReader } from "./page.ts";
import { allPages, type Leg, type PlacedPage } from "./parts.ts";
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
  let left = query.limit - (from?.rows ?? 0);
  if (left <= 0) return;
  for await (const page of allPages(run, query, read, () => left, from?.rest)) {
    left -= page.rows;
    run.passOn(page.rows);
    yield page;
    // Aborted after the last page, it is not whole to whoever aborted it.
    run.signal.throwIfAborted();
    if (left === 0) return;
  }
}
