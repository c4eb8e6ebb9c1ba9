import { amendError, DataStreamError } from "../errors.ts";
import type { StartConversion } from "./convert_page.ts";
import { DeliveredRows } from "./delivered_rows.ts";
import type { Execution, PageRequest } from "./fetch_page.ts";
import { toIdNumber } from "./next_link.ts";
import {
  areIntegers,
  type CheckedPage,
  type PagePart,
  positionAfter,
  readPage,
} from "./read_page.ts";

/** One page of a result, or a part of it. */
export interface Page<T> {
  content: T;
  /** Number of rows in the content. */
  rows: number;
  /** Skip token after the content, at which the next request begins; `undefined` on the last page. */
  skipToken: string | undefined;
  /** Whether the page has a link to a next one. Without a link, one more page may be requested. */
  hasLink: boolean;
  /** Whether the content is the last part of its page. */
  isPageEnd: boolean;
  /** Whether the page broke, and the last request continued it after its delivered rows. Set on the last part. */
  isContinued?: boolean;
}

/** Functions whose results change while pages are delivered. */
interface Expectations {
  /** Returns the number of rows still wanted. Default: no limit. */
  rowsWanted?: () => number;
  /** Returns the number of counted rows not yet received; `undefined` if they were not counted. */
  rowsMissing?: () => number | undefined;
  /** Returns whether rows of the next page may be delivered before it is complete. Default: no. */
  mayDeliverEarly?: () => boolean;
  /** Returns whether a page that breaks may be continued: a count will show whether rows are missing. */
  mayContinue?: () => boolean;
}

/**
 * Requests the pages of a result one after the other, each when it is pulled. If rows may be delivered early,
 * a page can have several parts.
 *
 * Each request has the fields, filter and page size of the first one. A link on a page means that a next
 * page exists. If Ids are integers, the next page begins after the greatest Id received. The position of the
 * link is not used, so no link can skip or repeat a row.
 *
 * A page without a link is usually the last one, but the service may have lost the link. One more page is
 * therefore requested if counted rows are missing. It is also requested after a full page if there is no count
 * or the count is too low. An empty page is requested once more if a link on it, a link to it or the count
 * announced rows.
 *
 * Source: DataStream Public API, "Response Format".
 *
 * @param first The first request
 * @param startConversion Starts the conversion of each page
 */
export async function* paginate<T>(
  execution: Execution,
  first: PageRequest,
  startConversion: StartConversion<T>,
  {
    rowsWanted = () => Infinity,
    rowsMissing = () => undefined,
    mayDeliverEarly = () => false,
    mayContinue = mayDeliverEarly,
  }: Expectations = {},
): AsyncGenerator<Page<T>, void, void> {
  // Integer Ids must rise from page to page. Other Ids must be new; only small resources have them.
  const seen = { tokens: new Set<string>(), ids: new Set<string>() };
  let { position } = first;
  let isLinked = false;
  let isLinkCheck = false;
  let isRepeated = false;
  for (;;) {
    const wanted = rowsWanted();
    const request = { ...first, top: Math.min(first.top, wanted), position, rowsWanted: wanted };
    const delivered = new DeliveredRows(request, mayDeliverEarly(), mayContinue());
    const parts = execution.request<PagePart<T>, CheckedPage<T>, PageRequest>(
      () => delivered.nextRequest(),
      (sent) => (response) =>
        readPage(response, startConversion, sent, seen, delivered, execution.settings.clock),
    );
    let part;
    try {
      for (part = await parts.next(); !part.done; part = await parts.next()) {
        const { content, rows, position: skipToken } = part.value;
        yield { content, rows, skipToken, hasLink: true, isPageEnd: false };
      }
    } catch (error) {
      throw delivered.mayHaveGaps ? gapError(error) : error;
    }
    const page = part.value;
    const { rows, ids } = page;
    // Rows of the page that were delivered by an earlier attempt are not in `rows`.
    const isEmpty = ids?.length === 0;
    const missing = rowsMissing();
    let next = page.skipToken;
    const isLast = next === undefined;
    const isAnnounced = isLinked || !isLast || (missing ?? 0) > 0;
    if (isEmpty && (isLast ? isLinkCheck || isAnnounced : !isRepeated)) {
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
    if (isLinkCheck || (!isEmpty && areNumbers)) next = end;
    const { isContinued } = delivered;
    const content = page.take();
    yield { content, rows, skipToken: next, hasLink: !isLast, isPageEnd: true, isContinued };
    if (isLast && !isLinkCheck) return;
    isLinked = !isLast;
    position = next;
  }
}

/**
 * Converts the last error of a page whose rows were not in order after some of them were delivered. It has no
 * status, because no request after the last delivered row, as for a split query, would get all other rows.
 */
function gapError(error: unknown): unknown {
  if (!(error instanceof DataStreamError)) return error;
  const hint = `${error.hint}; rows before the last delivered one may be missing, so start again`;
  return amendError(error, { kind: "page", status: undefined, hint });
}

/** Whether a next page may exist although the page has no link to it. */
function mayHaveMore(
  { rows, ids, isFull }: CheckedPage<unknown>,
  missing: number | undefined,
): boolean {
  // Without Ids, no position after the rows can be requested.
  if (ids === undefined || ids.length === 0) return false;
  // A count below the number of received rows is wrong, so it is ignored.
  return missing === undefined || missing < rows ? isFull : missing > rows;
}
