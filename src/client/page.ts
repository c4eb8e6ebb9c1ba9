import { DataStreamError, oneLine } from "../errors.ts";
import type { SystemQueryOptions } from "../odata/query_options.ts";
import { letGo } from "../output/let_go.ts";
import { PageFault, type PageWriter } from "../output/page_writer.ts";
import { allIds, toRowId } from "../output/row_id.ts";
import { broken, isObject, readJson, requireJson } from "./json_body.ts";
import { readSkipToken } from "./next_link.ts";
import { findRowFault, type PageRequest, type ReceivedRows } from "./page_rows.ts";
import { type Answer, FailedAttempt } from "./transport.ts";

/** One page: what it holds, and where the next one begins. */
export interface Page<T> {
  content: T;
  /** Number of rows in the content. */
  rows: number;
  /** The `$skiptoken` of the next page; undefined on the last one. */
  skipToken: string | undefined;
}

/** How a reader takes the rows of a page. */
export interface RowOptions {
  /** Maximum number of rows to take. */
  most: number;
  /** Whether `Id` was requested for the checks of pages alone, and is left out of the content. */
  hidesId: boolean;
}

/** What a reader makes of a page. */
export interface PageContent<T> extends ReceivedRows {
  content: T;
  /** Number of rows in the content. */
  rows: number;
  /** What the page holds beside its rows. */
  envelope: Record<string, unknown>;
  /** Takes back what the reader keeps of the page, so that it can be read again. */
  undo?: () => void;
}

/** Reads an answer as a page, whole or not at all. */
export type PageReader<T> = (
  answer: Answer,
  options: RowOptions,
) => PageContent<T>;

/** Reads a page as rows. */
export function readRows<R>(answer: Answer, { most, hidesId }: RowOptions): PageContent<R[]> {
  const body = readJson(answer);
  if (!isObject(body) || !Array.isArray(body.value) || !body.value.every(isObject)) {
    throw broken(answer, 'no list of rows under "value"');
  }
  const { value, ...envelope } = body;
  const ids = value.map(({ Id }) => toRowId(Id));
  if (hidesId) { for (const row of value) delete row.Id; }
  const content = (value.length > most ? value.slice(0, most) : value) as R[];
  return {
    content,
    rows: content.length,
    received: value.length,
    ids: allIds(ids),
    envelope,
  };
}

/** Reads a page as the bytes that a writer makes of it. */
export function readBytes(writer: PageWriter): PageReader<Uint8Array<ArrayBuffer>> {
  return (answer, { most, hidesId }) => {
    requireJson(answer);
    const { state } = writer;
    try {
      const { bytes, ...page } = writer.write(answer.bytes, most, hidesId);
      letGo(answer.bytes);
      return { content: bytes, ...page, undo: () => writer.state = state };
    } catch (error) {
      if (!(error instanceof PageFault)) throw error;
      const { came, hint } = error;
      if (hint === undefined) throw broken(answer, came);
      const fault = new DataStreamError(came, { kind: "page", url: answer.url, hint });
      throw new FailedAttempt(fault, true);
    }
  };
}

/** A page that was read and checked. */
export interface CheckedPage<T> extends Page<T>, ReceivedRows {
  /** Whether it holds as many rows as were requested. */
  isFull: boolean;
  /** Takes back what the reader keeps of the page, where its content is not used. */
  undo: () => void;
}

/** What a page was requested with, for its checks. */
export interface SentRequest extends PageRequest {
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
  rowOptions: RowOptions,
  sent: SentRequest,
): CheckedPage<T> {
  const page = read(answer, rowOptions);
  const { content, rows, received, ids, envelope, undo = () => {} } = page;
  try {
    const error = errorIn(envelope);
    if (error !== undefined) {
      throw broken(answer, `an error in the page${answer.withoutKey(error)}`);
    }
    // Before the link: a page of another position has the link of that position.
    const fault = findRowFault(page, sent);
    if (fault !== undefined) throw broken(answer, fault, "the requested rows");
    const skipToken = readSkipToken(envelope, answer, sent.options, sent.seenTokens);
    return { content, rows, received, ids, skipToken, isFull: received >= sent.top, undo };
  } catch (error) {
    undo();
    throw error;
  }
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
