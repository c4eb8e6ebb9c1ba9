import { ID_FIELD } from "../formats/row_id.ts";
import type { ResourceName } from "../odata/resources.ts";
import { type Run, toRequestOptions } from "./fetch_page.ts";
import { readCount } from "./json_body.ts";
import { numberOf } from "./next_link.ts";
import {
  areIntegers,
  type CheckedPage,
  type Page,
  type PageReader,
  positionAfter,
  readPage,
} from "./read_page.ts";

/** What pages are asked for. */
export interface PageQuery {
  resource: ResourceName;
  /** The fields of the content; undefined is all. */
  select: readonly string[] | undefined;
  /** Whether `Id` is requested for the checks of pages also where it is not selected. */
  hasIds: boolean;
  filter: string | undefined;
  /** The page size. */
  top: number;
  /** Maximum number of rows that are still wanted. Default: no limit. */
  left?: () => number;
  /** Number of rows that the service counted and has not delivered; undefined if nothing was counted. */
  missing?: () => number | undefined;
}

/**
 * The pages of a result, one after the other, each requested when it is pulled.
 *
 * Fields, filter and page size are the query's own on every page. A link says that there is a next
 * page; where Ids are integers, it begins after the greatest one received, so that no link can skip
 * or repeat a row. After the last page one more is requested if rows are missing, or if the page is
 * full and nothing, or too little, was counted: the link may have been lost. An empty page is
 * requested once more where a link, before or on it, or the count announced rows.
 *
 * Source: the service's public documentation, "Paging".
 *
 * @param read Reads each page
 * @param skipToken Where to begin; undefined is the start
 */
export async function* follow<T>(
  run: Run,
  query: PageQuery,
  read: PageReader<T>,
  skipToken?: string,
): AsyncGenerator<Page<T>, void, void> {
  const { resource, filter, top, left = () => Infinity } = query;
  // Integers must rise; others, of which there are few, must be new.
  const seenTokens = new Set<string>();
  const seenIds = new Set<string>();
  let position = skipToken;
  let isLinked = false;
  let isExtra = false;
  let isRepeated = false;
  for (;;) {
    const toOptions = (rows: number) => ({
      $select: toWireSelect(query, rows >= left() && position === undefined)?.join(","),
      $filter: filter,
      $top: rows,
      $skiptoken: position,
    });
    const page: CheckedPage<T> = await run.ask({
      resource,
      top: Math.min(top, left()),
      request: (rows) => toRequestOptions(run.service, resource, toOptions(rows!)),
      read: (answer, rows) => {
        const options = toOptions(rows!);
        const omitsId = options.$select !== query.select?.join(",");
        const sent = { options, top: rows!, position, seenIds, seenTokens };
        return readPage(answer, read, omitsId, sent);
      },
    });
    const { content, rows, ids } = page;
    const missing = query.missing?.();
    let next = page.skipToken;
    const isLast = next === undefined;
    const isAnnounced = isLinked || !isLast || (missing ?? 0) > 0;
    if (rows === 0 && (isLast ? isExtra || isAnnounced : !isRepeated)) {
      page.undo();
      if (isExtra && isLast) return;
      isExtra = isRepeated = true;
      continue;
    }
    isRepeated = false;
    if (ids !== undefined && !areIntegers(ids)) ids.forEach((id) => seenIds.add(String(id)));
    if (position !== undefined && numberOf(position) === undefined) seenTokens.add(position);
    isExtra = isLast && mayHaveMore(page, missing);
    const last = positionAfter(ids, position);
    const areNumbers = numberOf(next) !== undefined && numberOf(last) !== undefined;
    if (isExtra || (rows > 0 && areNumbers)) next = last;
    yield { content, rows, skipToken: next, hasLink: !isLast };
    if (isLast && !isExtra) return;
    isLinked = !isLast;
    position = next;
  }
}

/**
 * The fields to request. `Id` is among them, unless the first page is the whole result: without it,
 * a repeated row cannot be told from a new one, and no page requested after the last row.
 */
export function toWireSelect(
  { select, hasIds }: Pick<PageQuery, "select" | "hasIds">,
  isWhole: boolean,
): readonly string[] | undefined {
  const isComplete = select === undefined || !hasIds || isWhole || select.includes(ID_FIELD);
  return isComplete ? select : [...select, ID_FIELD];
}

/** Whether a page without a next link may not be the last. */
function mayHaveMore(
  { rows, ids, isFull }: CheckedPage<unknown>,
  missing: number | undefined,
): boolean {
  // Without Ids there is no position after the rows.
  if (rows === 0 || ids === undefined) return false;
  // A count that is below the rows received says nothing about those to come.
  return missing === undefined || missing < rows ? isFull : missing > rows;
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
    resource,
    top: undefined,
    request: () => toRequestOptions(run.service, resource, { $filter: filter, $count: "true" }),
    read: readCount,
  });
}
