import type { ResourceName } from "../odata/resources.ts";
import { readCount } from "./count.ts";
import { numberOf } from "./next_link.ts";
import { type Page, type PageReader, readPage } from "./page.ts";
import { toRequestOptions } from "./requests.ts";
import type { Run } from "./run.ts";

/** What pages are asked for. */
export interface PageQuery {
  resource: ResourceName;
  select: readonly string[] | undefined;
  filter: string | undefined;
  /** The page size. */
  top: number;
  /** The most rows that are wanted still. */
  left(): number;
}

/** What a page query wants where it wants all. */
export const ALL = (): number => Infinity;

/**
 * The pages of a result, one after the other, each asked for when it is pulled.
 *
 * Fields, filter and page size are the query's own on every page: of a link to the next one only
 * the place to go on from is taken.
 *
 * Source: water-quality-api, Paging.
 *
 * @param read Reads each page
 * @param skipToken Where to begin; undefined is the start
 */
export async function* follow<T>(
  run: Run,
  { resource, select, filter, top, left }: PageQuery,
  read: PageReader<T>,
  skipToken?: string,
): AsyncGenerator<Page<T>, void, void> {
  // Tokens with numbers must rise; others, of which there are few, must be new.
  const followed = new Set<string>();
  let next = skipToken;
  do {
    const toOptions = (rows: number | undefined) => ({
      $select: select?.join(","),
      $filter: filter,
      $top: rows,
      $skiptoken: next,
    });
    const page: Page<T> = await run.ask({
      top: Math.min(top, left()),
      request: (rows) => toRequestOptions(run.service, resource, toOptions(rows)),
      read: (answer) => readPage(answer, read, left(), toOptions(undefined), followed),
    });
    if (next !== undefined && numberOf(next) === undefined) followed.add(next);
    next = page.skipToken;
    yield page;
  } while (next !== undefined);
}

/**
 * How many rows of a resource meet a filter; large counts are estimates.
 *
 * Source: water-quality-api, Query options.
 */
export function countRows(
  run: Run,
  resource: ResourceName,
  filter: string | undefined,
): Promise<number> {
  return run.ask({
    top: undefined,
    request: () => toRequestOptions(run.service, resource, { $filter: filter, $count: "true" }),
    read: readCount,
  });
}
