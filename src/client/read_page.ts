import { DataStreamError, oneLine } from "../errors.ts";
import { PageFault, type PageWriter, releaseBuffer } from "../formats/page_writer.ts";
import { completeIds, type RowId, toRowId } from "../formats/row_id.ts";
import type { SystemQueryOptions } from "../odata/query_options.ts";
import { broken, isObject, readJson, requireJson } from "./json_body.ts";
import { numberOf, readSkipToken } from "./next_link.ts";
import { type Answer, FailedAttempt } from "./transport.ts";

/** One page: what it holds, and where the next one begins. */
export interface Page<T> {
  content: T;
  /** Number of rows in the content. */
  rows: number;
  /** The `$skiptoken` of the next page to request; undefined on the last one. */
  skipToken: string | undefined;
  /** Whether the page links to a next one. Without a link, one more page may be requested as a check. */
  hasLink: boolean;
}

/** What a reader makes of a page. */
interface PageContent<T> extends ReceivedRows {
  content: T;
  /** What the page holds beside its rows. */
  envelope: Record<string, unknown>;
  /** Takes back what the reader keeps of the page, so that it can be read again. */
  undo?: () => void;
}

/** Reads an answer as a page, whole or not at all. */
export type PageReader<T> = (
  answer: Answer,
  omitsId: boolean,
) => PageContent<T>;

/** Reads a page as rows. */
export function readRows<R>(answer: Answer, omitsId: boolean): PageContent<R[]> {
  const body = readJson(answer);
  if (!isObject(body) || !Array.isArray(body.value) || !body.value.every(isObject)) {
    throw broken(answer, 'no list of rows under "value"');
  }
  const { value, ...envelope } = body;
  const ids = value.map(({ Id }) => toRowId(Id));
  if (omitsId) { for (const row of value) delete row.Id; }
  return { content: value as R[], rows: value.length, ids: completeIds(ids), envelope };
}

/** Reads a page as the bytes that a writer makes of it. */
export function readBytes(writer: PageWriter): PageReader<Uint8Array<ArrayBuffer>> {
  return (answer, omitsId) => {
    requireJson(answer);
    const { state } = writer;
    try {
      const { bytes, ...page } = writer.write(answer.bytes, omitsId);
      releaseBuffer(answer.bytes);
      return { content: bytes, ...page, undo: () => writer.state = state };
    } catch (error) {
      if (!(error instanceof PageFault)) throw error;
      const { received, hint } = error;
      if (hint === undefined) throw broken(answer, received);
      const fault = new DataStreamError(received, { kind: "page", url: answer.url, hint });
      throw new FailedAttempt(fault, true);
    }
  };
}

/** A page that was read and checked. */
export interface CheckedPage<T> extends Omit<Page<T>, "hasLink">, ReceivedRows {
  /** Whether it holds as many rows as were requested. */
  isFull: boolean;
  /** Takes back what the reader keeps of the page, where its content is not used. */
  undo: () => void;
}

/** What a page was requested with, for its checks. */
interface SentRequest extends PageRequest {
  options: SystemQueryOptions;
  /** Skip tokens of earlier pages, as far as they are not integers. */
  seenTokens: ReadonlySet<string>;
}

/**
 * Reads an answer as a page, checks its rows and finds where the next one begins.
 *
 * Source: the service's public documentation, "Paging"; OData JSON Format 4.01, section 19.5
 * (an error in a page).
 *
 * @throws {DataStreamError} If the answer is not the requested page, or its next link leads elsewhere
 */
export function readPage<T>(
  answer: Answer,
  read: PageReader<T>,
  omitsId: boolean,
  sent: SentRequest,
): CheckedPage<T> {
  const page = readOrTell(answer, read, omitsId);
  const { content, rows, ids, envelope, undo = () => {} } = page;
  try {
    const error = errorIn(envelope);
    if (error !== undefined) {
      throw errorInPage(answer, error);
    }
    // Before the link: a page of another position has the link of that position.
    const fault = findRowFault(page, sent);
    if (fault !== undefined) throw broken(answer, fault, "the requested rows", TRY_LATER);
    const skipToken = readSkipToken(envelope, answer, sent.options, sent.seenTokens);
    return { content, rows, ids, skipToken, isFull: rows === sent.top, undo };
  } catch (error) {
    undo();
    throw error;
  }
}

/** Hint for a page that came from the service itself: the base URL is right. */
const TRY_LATER = "try again later; if it stays so, report it to the service";

/** Largest answer (bytes) that is searched for an error when it is no page. */
const MOST_ERROR_BYTES = 10_000;

/** Reads a page; an answer that is an error in place of a page is reported with its message. */
function readOrTell<T>(answer: Answer, read: PageReader<T>, omitsId: boolean): PageContent<T> {
  const { bytes } = answer;
  // A copy, because a reader may release the bytes.
  const start = bytes.length > MOST_ERROR_BYTES ? undefined : bytes.slice();
  try {
    return read(answer, omitsId);
  } catch (fault) {
    if (start === undefined) throw fault;
    let error: string | undefined;
    try {
      error = errorIn(JSON.parse(new TextDecoder().decode(start)));
    } catch {
      throw fault;
    }
    throw error === undefined ? fault : errorInPage(answer, error);
  }
}

function errorInPage(answer: Answer, message: string): DataStreamError {
  return broken(answer, `an error in the page${answer.withoutKey(message)}`, undefined, TRY_LATER);
}

/** The message of an in-stream error, in parentheses; undefined if a page has no error. */
function errorIn(
  { error, errors }: Record<string, unknown>,
): string | undefined {
  const found = error ??
    (Array.isArray(errors) && errors.length === 0 ? undefined : errors);
  if (found === undefined || found === null) return undefined;
  const message = isObject(found) ? found.message : found;
  return typeof message === "string" ? ` (${oneLine(message)})` : "";
}

/** The rows of a page, as far as the checks of a page need them. */
interface ReceivedRows {
  /** Number of rows on the page. */
  rows: number;
  /** Their Ids; undefined if a row has none. */
  ids: readonly RowId[] | undefined;
}

/** What a page was requested with. */
interface PageRequest {
  /** Maximum number of rows. */
  top: number;
  /** Skip token after which the page begins; undefined is the start. */
  position: string | undefined;
  /** Ids of earlier pages, as far as they are not integers. */
  seenIds: ReadonlySet<string>;
}

/**
 * Finds what is wrong with the rows of a page: more rows than were requested, rows at or before the
 * position, or a row twice. The rows of a page may come in any order.
 *
 * @returns What came, for an error message; undefined if nothing is wrong
 */
function findRowFault(
  { rows, ids }: ReceivedRows,
  { top, position, seenIds }: PageRequest,
): string | undefined {
  if (rows > top) return `${rows} rows instead of at most ${top}`;
  if (ids === undefined) return undefined;
  if (!areIntegers(ids)) {
    const onPage = new Set<string>();
    const repeated = ids.map(String).find((id) =>
      seenIds.has(id) || onPage.size === onPage.add(id).size
    );
    return repeated === undefined ? undefined : `the row with Id ${repeated} again`;
  }
  const after = Number(numberOf(position) ?? -Infinity);
  const early = ids.find((id) => id <= after);
  if (early !== undefined) {
    return `the row with Id ${early} after the position ${position}`;
  }
  const sorted = isRising(ids) ? ids : ids.toSorted((a, b) => a - b);
  const repeated = sorted.find((id, index) => id === sorted[index + 1]);
  return repeated === undefined ? undefined : `the row with Id ${repeated} twice`;
}

/**
 * Returns the position after a page: its greatest Id, or its last one where Ids have no order;
 * undefined where a row has no Id.
 *
 * @param position The position that the page was requested with, which a page without rows keeps
 */
export function positionAfter(
  ids: readonly RowId[] | undefined,
  position: string | undefined,
): string | undefined {
  if (ids === undefined) return undefined;
  if (ids.length === 0) return position;
  const last = areIntegers(ids) ? ids.reduce((a, b) => Math.max(a, b)) : ids.at(-1);
  return `Id:${last}`;
}

/** Whether all Ids are integers, whose order is that of the rows. */
export function areIntegers(ids: readonly RowId[]): ids is readonly number[] {
  return ids.every((id) => typeof id === "number");
}

function isRising(ids: readonly number[]): boolean {
  return ids.every((id, index) => index === 0 || ids[index - 1]! < id);
}
