import type { Clock } from "../clock.ts";
import type { RequestOptions } from "../endpoint/types.ts";
import { amendError, DataStreamError } from "../errors.ts";
import type { FoundValue } from "../formats/distinct_values.ts";
import { PageFault } from "../formats/json_scanner.ts";
import { ByteBuffer, releaseBuffer } from "../bytes.ts";
import {
  brokenJson,
  NO_ROW_LIST,
  type PageConversion,
  type PageOptions,
  RowIdList,
  type RowIds,
  type TakenRows,
} from "../formats/page_writer.ts";
import { type RowId, toRowId } from "../formats/row_reader.ts";
import type { ResourceName } from "../odata/resources.ts";
import { firstRepeated, isCount, isObject } from "../validation.ts";
import { findMessage } from "./http_error.ts";
import { idOfToken, readNextLink } from "./next_link.ts";
import { isJson, type ServiceResponse } from "./transport.ts";

export interface PageRequest extends PageOptions {
  resource: ResourceName;
  options: RequestOptions;
  top: number;
  /** Skip token. */
  after: string | undefined;
  hasIds: boolean;
}

export interface PageRows<T> extends TakenRows<T> {
  lastId: number | undefined;
}

/** The last rows of a page, and what its response says about later rows. */
export interface PageEnd<T> extends PageRows<T | undefined> {
  /** Ids of the response that are not integers. */
  otherIds: readonly string[];
  length: number;
  isFull: boolean;
  nextToken: string | undefined;
  otherAddress: string | undefined;
}

export interface PageOrder {
  request: PageRequest;
  /** Greatest Id before the page, if it is known. */
  lastId: number | undefined;
  /** Earlier Ids that are not integers. */
  seen: ReadonlySet<string>;
  deliversEarly: boolean;
  clock: Clock;
}

/** Minimum length (bytes) of a part that is delivered early. Shorter parts take more time per row. */
const PART_LENGTH = 1 << 18;

/** Time (ms) after which rows are delivered even if they are shorter than {@linkcode PART_LENGTH}. */
const PART_INTERVAL = 100;

/**
 * Yields rows while the page arrives, as long as each Id is greater than the one before. Returns the
 * other rows at the end of the page: their Ids must be distinct and greater than the Ids before it.
 * If a page breaks, the rows that have arrived are delivered before the error is thrown.
 *
 * Source: DataStream Public API, "Response Format"; OData JSON Format 4.01, section 19.5 (an error
 * in a page).
 */
export async function* readPage<T, P>(
  response: ServiceResponse,
  conversion: PageConversion<T>,
  order: PageOrder,
  toPart: (rows: PageRows<T>) => P,
): AsyncGenerator<P, PageEnd<T>, void> {
  const { request: { top }, lastId: start = NO_ID, deliversEarly, clock } = order;
  /** Whether rows may still be delivered early: so far, each Id is greater than the one before. */
  let mayDeliver = deliversEarly;
  let checked = 0;
  let delivered = 0;
  let deliveredAt = clock.now();
  const checkOrder = () => {
    const { ids } = conversion;
    if (ids.length > top) throw new PageFault(`${ids.length} rows instead of at most ${top}`);
    mayDeliver &&= ids instanceof Float64Array && findFall(ids, start, checked) < 0;
    checked = ids.length;
  };
  const canTake = () => mayDeliver && conversion.takeableLength > 0;
  const take = () => {
    const taken = conversion.take();
    delivered += taken.rows;
    deliveredAt = clock.now();
    return toPart({ ...taken, lastId: conversion.ids[delivered - 1] as number });
  };
  try {
    requireJson(response);
    try {
      for (let bytes = await response.read(); bytes; bytes = await response.read()) {
        conversion.feed(bytes);
        checkOrder();
        const isDue = conversion.takeableLength >= PART_LENGTH ||
          clock.now() - deliveredAt >= PART_INTERVAL;
        if (isDue && canTake()) yield take();
      }
    } catch (error) {
      const isBroken = error instanceof DataStreamError && error.isTemporary;
      if (isBroken && canTake()) yield take();
      throw error;
    }
    const { envelope, fault } = conversion.end();
    requireNoError(envelope, response.redact);
    if (fault !== undefined) throw fault;
    checkOrder();
    const facts = checkPage(conversion.ids, envelope, response, order);
    const taken = facts.length > delivered ? conversion.take() : NO_ROWS;
    return { ...taken, ...facts };
  } catch (error) {
    const failure = toAttemptError(response, error, A_PAGE);
    throw delivered > 0 && !mayDeliver ? toGapError(failure) : failure;
  } finally {
    response.close();
  }
}

/** Checks a complete page. Its Ids come first, because a page of a wrong position also has a wrong link. */
function checkPage(
  ids: RowIds,
  envelope: Record<string, unknown>,
  response: ServiceResponse,
  { request, lastId: start = NO_ID, seen }: PageOrder,
): Omit<PageEnd<unknown>, keyof TakenRows<unknown>> {
  const { length } = ids;
  const lastId = ids instanceof Float64Array ? checkIds(ids, start) : undefined;
  const otherIds = ids instanceof Float64Array ? [] : checkOtherIds(ids, seen);
  const { token: nextToken, otherAddress } = readNextLink(envelope, response);
  if (nextToken !== undefined && length === 0) {
    throw new PageFault("no rows, and a link to a next page");
  }
  // The next request follows a link only if its token has no Id.
  const isSamePage = nextToken !== undefined && nextToken === request.after;
  if (isSamePage && idOfToken(nextToken) === undefined) {
    throw new PageFault("a link to the same page");
  }
  // Without Ids, a repeated page cannot be recognized. The Ids of Metadata are not integers.
  const mayLackIntegers = request.resource === "Metadata" &&
    (otherIds.length > 0 || nextToken === undefined);
  if (length > 0 && lastId === undefined && !mayLackIntegers && request.hasIds) {
    throw new PageFault("a row without an integer Id");
  }
  return { length, isFull: length === request.top, lastId, otherIds, nextToken, otherAddress };
}

/** For messages. */
const A_PAGE = "a page of rows";

/** Less than each Id. */
const NO_ID = -1;

const NO_ROWS: TakenRows<undefined> = { data: undefined, values: [], rows: 0, kept: 0 };

/** Returns the greatest Id. Throws unless all are distinct and greater than `start`, in any order. */
function checkIds(ids: Float64Array, start: number): number | undefined {
  const sorted = findFall(ids, start) < 0 ? ids : ids.toSorted();
  const fall = findFall(sorted, start);
  if (fall < 0) return sorted.at(-1);
  const problem = fall === 0 ? `after the position Id:${start}` : "twice";
  throw new PageFault(`the row with Id ${sorted[fall]} ${problem}`);
}

/** Returns the index of the first Id that is not greater than the one before, or -1. */
function findFall(ids: Float64Array, start: number, from = 0): number {
  let previous = from > 0 ? ids[from - 1]! : start;
  // `ids.findIndex()` would create an object for each Id: together 160 KB for a page.
  for (let index = from; index < ids.length; index++) {
    if (ids[index]! <= previous) return index;
    previous = ids[index]!;
  }
  return -1;
}

/** Returns the Ids as texts; none if a row has no Id. Throws if an Id is repeated. */
function checkOtherIds(ids: readonly (RowId | undefined)[], seen: ReadonlySet<string>): string[] {
  if (ids.includes(undefined)) return [];
  const texts = ids.map(String);
  const repeated = firstRepeated([...seen, ...texts]);
  if (repeated === undefined) return texts;
  throw new PageFault(`the row with Id ${repeated} a second time`);
}

function requireNoError(
  envelope: Record<string, unknown>,
  redact: ServiceResponse["redact"],
): void {
  const { error, errors } = envelope;
  const isEmpty = Array.isArray(errors) && errors.length === 0;
  const found = error ?? (isEmpty ? undefined : errors);
  if (found === undefined || found === null) return;
  const text = findMessage(envelope);
  throw new PageFault(`an error in the page${text && ` (${redact(text)})`}`);
}

export function readCount(response: ServiceResponse): Promise<number> {
  return readJson(response, "a count", (body) => {
    const count = countOf(body);
    if (count === undefined) throw new PageFault("no number of rows");
    return count;
  });
}

/** Reads a response whose content does not matter. Throws unless it is complete and JSON. */
export function readAnswer(response: ServiceResponse): Promise<void> {
  return readJson(response, A_PAGE, () => {});
}

/**
 * Finds a count: a number or a string of digits, which is the body or its member `@odata.count`,
 * `odata.count` or `value`.
 *
 * Source: DataStream Public API, "URL Parameters", `$count`; its OpenAPI file.
 */
export function countOf(body: unknown): number | undefined {
  const members = isObject(body) ? [body["@odata.count"], body["odata.count"], body.value] : [body];
  return members.map((member) =>
    typeof member === "string" && /^\d+$/.test(member) ? Number(member) : member
  ).find(isCount);
}

/** Reads and parses a response that is complete before it is used, and returns what `find` finds in it. */
async function readJson<T>(
  response: ServiceResponse,
  expected: string,
  find: (body: unknown) => T,
): Promise<T> {
  try {
    requireJson(response);
    const json = new ByteBuffer(0);
    for (let bytes = await response.read(); bytes; bytes = await response.read()) {
      json.append(bytes);
    }
    const body = parseBody(json);
    if (isObject(body)) requireNoError(body, response.redact);
    return find(body);
  } catch (error) {
    throw toAttemptError(response, error, expected);
  } finally {
    response.close();
  }
}

function requireJson({ headers }: ServiceResponse): void {
  if (!isJson(headers)) throw new PageFault(headers.get("content-type") ?? "no content type");
}

function toAttemptError({ url }: ServiceResponse, error: unknown, expected: string) {
  if (!(error instanceof PageFault)) return error;
  const { received, remedy } = error;
  const facts = { kind: "page", url } as const;
  if (remedy !== undefined) {
    return new DataStreamError(received, { ...facts, isTemporary: false, ...remedy });
  }
  const detail = `Expected ${expected} from ${new URL(url).pathname}, got ${received}`;
  const hint = "try again; if it fails again, check the base URL or report it to DataStream";
  return new DataStreamError(detail, { ...facts, isTemporary: true, hint });
}

/** Makes an error permanent: rows are not in order, so a request after the last delivered row can miss some. */
function toGapError(error: unknown): unknown {
  if (!(error instanceof DataStreamError)) return error;
  const hint = `${error.hint}; rows before the last delivered one may be missing, so start again`;
  return amendError(error, { isTemporary: false, hint });
}

/** Starts the conversion of a page. Only one page is converted at a time. */
export type StartConversion<T> = (options: PageOptions) => PageConversion<T>;

/**
 * Converts a page when it is complete.
 *
 * @param last Receives the length (bytes) of the page: the next one is probably about as long
 */
export function startRowConversion<R>(
  { omitted = [], distinct = [] }: PageOptions,
  last = { length: 0 },
): PageConversion<R[]> {
  const body = new ByteBuffer(Math.floor(last.length * 9 / 8));
  const list = new RowIdList();
  let rows: Record<string, unknown>[] = [];
  return {
    get ids() {
      return list.ids;
    },
    takeableLength: 0,
    feed: (bytes) => body.append(bytes),
    take() {
      const values = distinct.flatMap((field) => rows.flatMap((row) => valueOf(row, field)));
      for (const field of omitted) for (const row of rows) delete row[field];
      const data = rows as R[];
      // V8 collects this object later than the rows: it would keep them through its minor collections.
      rows = [];
      return { data, values, rows: data.length, kept: data.length };
    },
    end() {
      last.length = body.length;
      const page = parseBody(body);
      const { value, ...envelope } = isObject(page) ? page : {};
      if (!Array.isArray(value) || !value.every(isObject)) {
        return { envelope, fault: new PageFault(NO_ROW_LIST) };
      }
      rows = value;
      for (const { Id } of rows) list.push(toRowId(Id));
      return { envelope, fault: undefined };
    },
  };
}

function valueOf(row: Record<string, unknown>, field: string): FoundValue[] {
  const value = row[field];
  const isValue = typeof value === "number" || typeof value === "string" && value !== "";
  return isValue ? [[field, String(value)]] : [];
}

function parseBody({ bytes, length }: ByteBuffer): unknown {
  try {
    return JSON.parse(new TextDecoder("utf-8", { fatal: true }).decode(bytes.subarray(0, length)));
  } catch {
    // The message of `JSON.parse` would quote the response, which may contain the API key.
    throw brokenJson();
  } finally {
    releaseBuffer(bytes);
  }
}
