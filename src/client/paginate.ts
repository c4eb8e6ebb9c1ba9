import type { Execution, PageRequest } from "./fetch_page.ts";
import { toIdNumber } from "./next_link.ts";
import {
  areIntegers,
  type CheckedPage,
  type PageReader,
  positionAfter,
  readPage,
} from "./read_page.ts";

/** One page of a result. */
export interface Page<T> {
  content: T;
  /** Number of rows in the content. */
  rows: number;
  /** Skip token of the next page to request; `undefined` on the last page. */
  skipToken: string | undefined;
  /** Whether the page has a link to a next one. Without a link, one more page may be requested. */
  hasLink: boolean;
}

/** Numbers that change while the pages are delivered. */
interface Expectations {
  /** Returns the number of rows that are still wanted. Default: no limit. */
  rowsWanted?: () => number;
  /** Returns the number of counted rows that are still to come; `undefined` if nothing was counted. */
  rowsMissing?: () => number | undefined;
}

/**
 * Requests the pages of a result one after the other, each when it is pulled.
 *
 * Fields, filter and page size of each request are those of the first one. A link says that there is a
 * next page; if Ids are integers, that page begins after the greatest Id received, so that no link can
 * skip or repeat a row.
 *
 * After the last page one more is requested if rows are missing, or if the page is full and the result
 * was not counted, or counted too low: the link may have been lost. An empty page is requested once more
 * if a link, before or on it, or the count announced rows.
 *
 * Source: DataStream Public API, "Response Format".
 *
 * @param first The first request
 * @param read Reads each page
 */
export async function* paginate<T>(
  execution: Execution,
  first: PageRequest,
  read: PageReader<T>,
  { rowsWanted = () => Infinity, rowsMissing = () => undefined }: Expectations = {},
): AsyncGenerator<Page<T>, void, void> {
  // Integers must rise; other Ids, of which there are few, must be new.
  const seen = { tokens: new Set<string>(), ids: new Set<string>() };
  let { position } = first;
  let isLinked = false;
  let isLinkCheck = false;
  let isRepeated = false;
  for (;;) {
    const wanted = rowsWanted();
    const request = { ...first, top: Math.min(first.top, wanted), position, rowsWanted: wanted };
    const page: CheckedPage<T> = await execution.fetchPage(
      request,
      (response, sent) => readPage(response, read, sent, seen),
    );
    const { content, rows, ids } = page;
    const missing = rowsMissing();
    let next = page.skipToken;
    const isLast = next === undefined;
    const isAnnounced = isLinked || !isLast || (missing ?? 0) > 0;
    if (rows === 0 && (isLast ? isLinkCheck || isAnnounced : !isRepeated)) {
      page.undo();
      if (isLinkCheck && isLast) return;
      isLinkCheck = isRepeated = true;
      continue;
    }
    isRepeated = false;
    if (ids !== undefined && !areIntegers(ids)) ids.forEach((id) => seen.ids.add(String(id)));
    if (position !== undefined && toIdNumber(position) === undefined) seen.tokens.add(position);
    isLinkCheck = isLast && mayHaveMore(page, missing);
    const end = positionAfter(ids, position);
    const areNumbers = toIdNumber(next) !== undefined && toIdNumber(end) !== undefined;
    if (isLinkCheck || (rows > 0 && areNumbers)) next = end;
    yield { content, rows, skipToken: next, hasLink: !isLast };
    if (isLast && !isLinkCheck) return;
    isLinked = !isLast;
    position = next;
  }
}

/** Whether a page without a link to a next one may not be the last. */
function mayHaveMore(
  { rows, ids, isFull }: CheckedPage<unknown>,
  missing: number | undefined,
): boolean {
  // Without Ids there is no position after the rows.
  if (rows === 0 || ids === undefined) return false;
  // A count that is below the rows received says nothing about those to come.
  return missing === undefined || missing < rows ? isFull : missing > rows;
}
