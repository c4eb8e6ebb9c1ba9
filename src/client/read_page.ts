import { utf8Decoder } from "../bytes.ts";
import { DataStreamError, oneLine } from "../errors.ts";
import { findDois } from "../formats/find_dois.ts";
import {
  completeIds,
  NO_ROW_LIST,
  PageFault,
  type PageWriter,
  releaseBuffer,
  type RowId,
  toRowId,
} from "../formats/page_writer.ts";
import { type PageRequest, requestedFields, toSystemQueryOptions } from "./fetch_page.ts";
import { FailedAttempt } from "./http_error.ts";
import { readSkipToken, toIdNumber } from "./next_link.ts";
import { isJson, type ServiceResponse } from "./transport.ts";
import { isCount } from "../validation.ts";

/** A page after its checks. */
export interface CheckedPage<T> extends PageRows {
  content: T;
  /** Skip token of the next page; `undefined` if the page has no link to a next one. */
  skipToken: string | undefined;
  /** Whether the page has as many rows as were requested. */
  isFull: boolean;
  /** Restores the reader's state before this page. Call it if the content is not used. */
  undo: () => void;
}

/** Number and Ids of the rows of a page, for its checks. */
interface PageRows {
  /** Number of rows. */
  rows: number;
  /** Ids of the rows; `undefined` if a row has no Id. */
  ids: readonly RowId[] | undefined;
}

/** Converts a response to content. It may have state that changes with each page. */
export type PageReader<T> = (response: ServiceResponse, dropsId: boolean) => UncheckedPage<T>;

/** A page before its checks. */
interface UncheckedPage<T> extends PageRows {
  content: T;
  /** Members of the page other than its rows. */
  envelope: Record<string, unknown>;
  /** Restores the reader's state before this page, so that the page can be read again. */
  undo?: () => void;
}

/** Skip tokens and Ids of earlier pages that have no order, to detect repetitions. */
export interface SeenPages {
  /** Skip tokens that are not integers. */
  tokens: ReadonlySet<string>;
  /** Ids that are not integers. */
  ids: ReadonlySet<string>;
}

/**
 * Reads a response as a page, checks its rows and reads the skip token of the next page.
 *
 * Source: DataStream Public API, "Response Format"; OData JSON Format 4.01, section 19.5
 * (an error in a page).
 *
 * @param sent The request, for the checks
 * @throws {DataStreamError} If the response is not the requested page, or its next link is invalid
 */
export function readPage<T>(
  response: ServiceResponse,
  read: PageReader<T>,
  sent: PageRequest,
  seen: SeenPages,
): CheckedPage<T> {
  const page = readOrFindError(response, read, requestedFields(sent) !== sent.select);
  const { content, rows, ids, envelope, undo = () => {} } = page;
  try {
    const error = errorIn(envelope);
    if (error !== undefined) throw errorInPage(response, error);
    // Before the link is read: a page of a wrong position also has a wrong link.
    const fault = findRowFault(page, sent, seen.ids);
    if (fault !== undefined) throw bodyError(response, fault, "the requested rows", TRY_LATER);
    const skipToken = readSkipToken(envelope, response, toSystemQueryOptions(sent), seen.tokens);
    return { content, rows, ids, skipToken, isFull: rows === sent.top, undo };
  } catch (error) {
    undo();
    throw error;
  }
}

/** Reads a page as rows. */
export function readRows<R>(response: ServiceResponse, dropsId: boolean): UncheckedPage<R[]> {
  const body = readJson(response);
  if (!isObject(body) || !Array.isArray(body.value) || !body.value.every(isObject)) {
    throw bodyError(response, NO_ROW_LIST);
  }
  const { value, ...envelope } = body;
  const ids = value.map(({ Id }) => toRowId(Id));
  if (dropsId) { for (const row of value) delete row.Id; }
  return { content: value as R[], rows: value.length, ids: completeIds(ids), envelope };
}

/** A page as data of the result, and the DOIs of its rows if they are collected. */
export interface PageData<T> {
  data: T;
  dois: readonly string[];
}

/** Creates a reader that converts pages to bytes. */
export function readBytes(
  writer: PageWriter,
  collectsDois: boolean,
): PageReader<PageData<Uint8Array<ArrayBuffer>>> {
  return (response, dropsId) => {
    requireJson(response);
    const { state } = writer;
    try {
      const { bytes: data, ...page } = writer.write(response.bytes, dropsId);
      const dois = collectsDois ? findDois(response.bytes, page) : [];
      releaseBuffer(response.bytes);
      return { content: { data, dois }, ...page, undo: () => writer.state = state };
    } catch (error) {
      if (!(error instanceof PageFault)) throw error;
      const { received, hint } = error;
      if (hint === undefined) throw bodyError(response, received);
      const permanent = new DataStreamError(received, { kind: "page", url: response.url, hint });
      throw new FailedAttempt(permanent, true);
    }
  };
}

/**
 * Reads the response to `$count=true`: a number or a string of digits, under `value` or the count
 * member of OData JSON, with its `@` or without.
 *
 * Source: DataStream Public API, "URL Parameters", `$count`; its OpenAPI file.
 *
 * @throws {DataStreamError} If there is no count in it
 */
export function readCount(response: ServiceResponse): number {
  const body = readJson(response);
  if (isObject(body) && (body.error ?? undefined) !== undefined) {
    throw bodyError(response, "an error", "a count");
  }
  const members = isObject(body) ? [body["@odata.count"], body["odata.count"], body.value] : [body];
  for (const member of members) {
    const count = typeof member === "string" && /^\d+$/.test(member) ? Number(member) : member;
    if (isCount(count)) return count;
  }
  throw bodyError(response, "no number of rows", "a count");
}

/** Hint for a page of the service: the base URL is correct. */
const TRY_LATER = "try again later; if it fails again, report it to DataStream";

/** Maximum size (bytes) of a response to search for an error object if it is not a page. */
const MAX_ERROR_SIZE = 10_000;

/** Reads a page. If the response is an error object instead, the error has its message. */
function readOrFindError<T>(
  response: ServiceResponse,
  read: PageReader<T>,
  dropsId: boolean,
): UncheckedPage<T> {
  const { bytes } = response;
  // A copy, because a reader may release the buffer.
  const copy = bytes.length > MAX_ERROR_SIZE ? undefined : bytes.slice();
  try {
    return read(response, dropsId);
  } catch (readError) {
    if (copy === undefined) throw readError;
    let error: string | undefined;
    try {
      error = errorIn(JSON.parse(utf8Decoder.decode(copy)));
    } catch {
      throw readError;
    }
    throw error === undefined ? readError : errorInPage(response, error);
  }
}

function errorInPage(response: ServiceResponse, message: string): DataStreamError {
  const received = `an error in the page${response.redact(message)}`;
  return bodyError(response, received, undefined, TRY_LATER);
}

/** Returns the message of an error in a page, in parentheses; `undefined` if it has no error. */
function errorIn({ error, errors }: Record<string, unknown>): string | undefined {
  const found = error ?? (Array.isArray(errors) && errors.length === 0 ? undefined : errors);
  if (found === undefined || found === null) return undefined;
  const message = isObject(found) ? found.message : found;
  return typeof message === "string" ? ` (${oneLine(message)})` : "";
}

/**
 * Finds a fault of the rows of a page: more rows than requested, a row whose Id is not after the position,
 * or a repeated row. Rows within a page may have any order.
 *
 * @param seenIds Ids of earlier pages that are not integers
 * @returns The error in the rows, for a message; `undefined` if the rows are correct
 */
function findRowFault(
  { rows, ids }: PageRows,
  { top, position }: PageRequest,
  seenIds: ReadonlySet<string>,
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
  const after = Number(toIdNumber(position) ?? -Infinity);
  const early = ids.find((id) => id <= after);
  if (early !== undefined) {
    return `the row with Id ${early} after the position ${position}`;
  }
  const sorted = isAscending(ids) ? ids : ids.toSorted((a, b) => a - b);
  const repeated = sorted.find((id, index) => id === sorted[index + 1]);
  return repeated === undefined ? undefined : `the row with Id ${repeated} twice`;
}

/**
 * Returns the position after a page: its greatest Id, or its last Id if Ids are not integers; `undefined`
 * if a row has no Id.
 *
 * @param position Position of the page. It is returned if the page has no rows
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

/** Whether all Ids are integers. The pages of a result are then in ascending order of Ids. */
export function areIntegers(ids: readonly RowId[]): ids is readonly number[] {
  return ids.every((id) => typeof id === "number");
}

function isAscending(ids: readonly number[]): boolean {
  return ids.every((id, index) => index === 0 || ids[index - 1]! < id);
}

/** Parses the JSON of a response. */
function readJson(response: ServiceResponse): unknown {
  requireJson(response);
  try {
    return JSON.parse(new TextDecoder("utf-8", { fatal: true }).decode(response.bytes));
  } catch {
    // The message of `JSON.parse` would quote the response, which may contain the API key.
    throw bodyError(response, "broken JSON");
  }
}

function requireJson(response: ServiceResponse): void {
  const { headers } = response;
  if (!isJson(headers)) {
    throw bodyError(response, headers.get("content-type") ?? "no content type");
  }
}

/** Creates the error for a response body that is not the requested one. */
function bodyError(
  { url }: ServiceResponse,
  received: string,
  expected = "a page of JSON",
  hint = "check the base URL, then try again",
): DataStreamError {
  const detail = `Wanted ${expected} from ${new URL(url).pathname}, got ${received}`;
  return new DataStreamError(detail, { kind: "page", url, hint });
}

/** Whether a value is an object, and not an array or `null`. */
export function isObject(value: unknown): value is Record<string, unknown> {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}
