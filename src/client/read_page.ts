import type { Clock } from "../clock.ts";
import { DataStreamError, oneLine } from "../errors.ts";
import { type CompleteIds, PageFault, type RowIds } from "../formats/page_writer.ts";
import { isCount, isObject } from "../validation.ts";
import { JsonBody, type PageConversion, type StartConversion } from "./convert_page.ts";
import type { DeliveredRows } from "./delivered_rows.ts";
import { type PageRequest, requestedFields, toSystemQueryOptions } from "./fetch_page.ts";
import { FailedAttempt } from "./http_error.ts";
import { readSkipToken, toIdNumber } from "./next_link.ts";
import { isJson, type ServiceResponse } from "./transport.ts";

/** Rows of a page that are delivered before the page is complete. */
export interface PagePart<T> {
  content: T;
  /** Number of rows in the content. */
  rows: number;
  /** Skip token after these rows. */
  position: string;
}

/** A page after its checks. */
export interface CheckedPage<T> {
  /** Returns the rows that were not delivered as parts. Call it at most once. */
  take: () => T;
  /** Number of these rows. */
  rows: number;
  /** Ids of all rows of the response; `undefined` if a row has no Id. */
  ids: CompleteIds | undefined;
  /** Skip token of the next page; `undefined` if the page has no link to a next one. */
  skipToken: string | undefined;
  /** Whether the response has as many rows as were requested. */
  isFull: boolean;
}

/** Skip tokens and Ids of earlier pages, to detect repetitions if Ids are not integers. */
export interface SeenPages {
  /** Skip tokens that are not integers. */
  tokens: ReadonlySet<string>;
  /** Ids that are not integers. */
  ids: ReadonlySet<string>;
}

/**
 * Length (bytes) from which the rows that have arrived are delivered immediately. Shorter parts of a page take
 * more time per row, longer ones more memory.
 */
const PART_LENGTH = 1 << 18;

/**
 * Number of bytes that are scanned together. The last row of a scan is usually incomplete, and is read again by the
 * next one. In Node, a compressed body arrives in pieces of 16 KB, a few rows each.
 */
const SCAN_LENGTH = 1 << 16;

/** Maximum time (ms) for which rows that have arrived are kept to deliver them with further ones. */
const MAX_DELAY = 10;

/**
 * Reads a response as a page, checks its rows and reads the skip token of the next page. Yields rows before
 * the page is complete if their Ids are ascending integers.
 *
 * Source: DataStream Public API, "Response Format"; OData JSON Format 4.01, section 19.5
 * (an error in a page).
 *
 * @param sent The request, for the checks
 * @param delivered The rows of the page that were delivered in any attempt. It is updated
 * @throws {DataStreamError} If the response is not the requested page, or its next link is invalid
 */
export async function* readPage<T>(
  response: ServiceResponse,
  startConversion: StartConversion<T>,
  sent: PageRequest,
  seen: SeenPages,
  delivered: DeliveredRows,
  clock: Clock,
): AsyncGenerator<PagePart<T>, CheckedPage<T>, void> {
  requireJson(response);
  const dropsId = requestedFields(sent) !== sent.select;
  try {
    const conversion = startConversion({ dropsId, omittedIds: sent.omittedIds });
    yield* readParts(response, conversion, sent, delivered, clock);
    const { envelope, fault, rows, ids, take } = conversion.end();
    const error = errorIn(envelope);
    if (error !== undefined) throw errorInPage(response, error);
    if (fault !== undefined) throw fault;
    // Before the link is read: a page of a wrong position also has a wrong link.
    const rowFault = findRowFault(ids, conversion.ids, sent, seen.ids);
    if (rowFault !== undefined) throw rowError(response, rowFault);
    const skipToken = readSkipToken(envelope, response, toSystemQueryOptions(sent), seen.tokens);
    return { take, rows, ids, skipToken, isFull: conversion.ids.length === sent.top };
  } catch (error) {
    throw error instanceof PageFault ? toAttemptError(response, error) : error;
  }
}

/**
 * Reads the body of a page, and yields rows before it has ended.
 *
 * @throws {DataStreamError} If rows were delivered, and a later row shows that the page is wrong
 */
async function* readParts<T>(
  response: ServiceResponse,
  conversion: PageConversion<T>,
  sent: PageRequest,
  delivered: DeliveredRows,
  clock: Clock,
): AsyncGenerator<PagePart<T>, void, void> {
  const order = delivered.startAttempt(sent);
  const takePart = (): PagePart<T> => {
    const { content, rows } = conversion.take();
    return { content, rows, position: delivered.add(conversion.ids, rows) };
  };
  const check = () => {
    const fault = order.check(conversion.ids, conversion.lists);
    if (fault !== undefined) throw rowError(response, fault);
  };
  const scan = () => {
    conversion.scan();
    check();
  };
  // Whether rows, or bytes that may contain rows, wait for further ones.
  const isWaiting = () =>
    order.isRising && (conversion.unscanned > 0 || conversion.takeableLength > 0);
  const stop = new AbortController();
  let isDelayed = false;
  let isDue = false;
  let isSettled = false;
  let isRead = false;
  let wake = () => {};
  const onSettled = () => isSettled = true;
  const delay = () => {
    isDelayed = true;
    const onDue = () => {
      isDue = true;
      wake();
    };
    clock.sleep(MAX_DELAY, stop.signal).then(onDue, onDue);
  };
  /** Reads until a part is long enough. Returns false at the end of the body. */
  const readPart = async () => {
    for (;;) {
      const reading = response.readBody(conversion);
      if (isWaiting() && !isDelayed) {
        isSettled = false;
        reading.then(onSettled, onSettled);
        // A read that takes longer probably waits for the network. For a page in memory, this saves a timer.
        for (let count = 0; count < MICROTASKS && !isSettled; count++) await undefined;
        if (!isSettled) delay();
      }
      if (!await reading) return false;
      if (conversion.unscanned >= SCAN_LENGTH) scan();
      else check();
      if (order.isRising && conversion.takeableLength >= PART_LENGTH) return true;
    }
  };
  const onRead = () => {
    isRead = true;
    wake();
  };
  try {
    for (;;) {
      // Waits once per part, not per read. A compressed page has thousands of reads, and each wait creates several
      // objects.
      const reading = readPart();
      isRead = false;
      reading.then(onRead, onRead);
      while (!isRead) {
        if (!isDue) await new Promise<void>((resolve) => wake = resolve);
        if (!isDue || isRead) continue;
        isDelayed = isDue = false;
        scan();
        if (isWaiting()) yield takePart();
      }
      if (!await reading) break;
      yield takePart();
    }
    scan();
  } finally {
    stop.abort("the page has ended"); // without a reason, an error with a stack would be created
  }
}

/** Number of microtasks after which a promise that is not settled probably waits for the network. */
const MICROTASKS = 10;

/**
 * Reads the response to `$count=true`: a number, or a string of digits. It is the body itself, or its member
 * `@odata.count`, `odata.count` or `value`.
 *
 * Source: DataStream Public API, "URL Parameters", `$count`; its OpenAPI file.
 *
 * @throws {DataStreamError} If there is no count in it
 */
// deno-lint-ignore require-yield -- a count has no parts
export async function* readCount(response: ServiceResponse): AsyncGenerator<never, number, void> {
  requireJson(response);
  const json = new JsonBody();
  let body: unknown;
  try {
    while (await response.readBody(json));
    body = json.parse();
  } catch (error) {
    throw error instanceof PageFault ? toAttemptError(response, error) : error;
  }
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

/** Converts a fault of a page to the error of the attempt. */
function toAttemptError(
  response: ServiceResponse,
  { received, hint }: PageFault,
): DataStreamError | FailedAttempt {
  if (hint === undefined) return bodyError(response, received);
  return new FailedAttempt(
    new DataStreamError(received, { kind: "page", url: response.url, hint }),
    true,
  );
}

function rowError(response: ServiceResponse, fault: string): DataStreamError {
  return bodyError(response, fault, "the requested rows", TRY_LATER);
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
 * Finds a fault of the rows, such as too many rows, an Id that is not after the position, or a repeated
 * row. Rows within a page may have any order.
 *
 * @param ids Ids of the rows; `undefined` if a row has no Id
 * @param allIds Ids of the rows; `undefined` for a row without one
 * @param seenIds Ids of earlier pages that are not integers
 * @returns The error in the rows, for a message; `undefined` if the rows are correct
 */
function findRowFault(
  ids: CompleteIds | undefined,
  allIds: RowIds,
  { top, position, pageTop, omittedIds }: PageRequest,
  seenIds: ReadonlySet<string>,
): string | undefined {
  const rows = allIds.length;
  if (rows > top) return `${rows} rows instead of at most ${top}`;
  if (pageTop && rows === 0) return `no rows after the position ${position}`;
  if (omittedIds !== undefined) {
    const known = new Set(allIds);
    const missing = [...omittedIds].find((id) => !known.has(id));
    if (missing !== undefined) return `no row with Id ${missing}`;
  }
  if (pageTop && !(allIds instanceof Float64Array)) return "a row without an integer Id";
  if (ids === undefined) return undefined;
  if (!areIntegers(ids)) {
    const onPage = new Set<string>();
    const repeated = ids.map(String).find((id) =>
      seenIds.has(id) || onPage.size === onPage.add(id).size
    );
    return repeated === undefined ? undefined : `the row with Id ${repeated} a second time`;
  }
  const after = Number(toIdNumber(position) ?? -Infinity);
  const misplaced = findId(ids, (id) => id <= after);
  if (misplaced !== undefined) {
    return `the row with Id ${misplaced} after the position ${position}`;
  }
  const isFalling = findId(ids, (id, index) => id < ids[index - 1]!) !== undefined;
  const sorted = isFalling ? ids.toSorted((a, b) => a - b) : ids;
  const repeated = findId(sorted, (id, index) => id === sorted[index + 1]);
  return repeated === undefined ? undefined : `the row with Id ${repeated} twice`;
}

/** Like `ids.find()`, which creates an object for each Id: together 160 KB for a page. */
function findId(
  ids: Float64Array,
  isFound: (id: number, index: number) => boolean,
): number | undefined {
  for (let index = 0; index < ids.length; index++) {
    if (isFound(ids[index]!, index)) return ids[index];
  }
  return undefined;
}

/**
 * Returns the position after a page: its greatest Id, or its last Id if Ids are not integers; `undefined`
 * if a row has no Id.
 *
 * @param position Position of the page. It is returned if the page has no rows
 */
export function positionAfter(
  ids: CompleteIds | undefined,
  position: string | undefined,
): string | undefined {
  if (ids === undefined) return undefined;
  if (ids.length === 0) return position;
  return `Id:${areIntegers(ids) ? greatestOf(ids) : ids.at(-1)}`;
}

function greatestOf(ids: Float64Array): number {
  let greatest = -Infinity;
  for (let index = 0; index < ids.length; index++) greatest = Math.max(greatest, ids[index]!);
  return greatest;
}

/** Whether all Ids are integers. The pages of a result are then in ascending order of Ids. */
export function areIntegers(ids: CompleteIds): ids is Float64Array<ArrayBuffer> {
  return ids instanceof Float64Array;
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
  const detail = `Expected ${expected} from ${new URL(url).pathname}, got ${received}`;
  return new DataStreamError(detail, { kind: "page", url, hint });
}
