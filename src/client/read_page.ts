import type { Bytes } from "../bytes.ts";
import type { Clock } from "../clock.ts";
import { DataStreamError, oneLine } from "../errors.ts";
import {
  type ByteTarget,
  type CompleteIds,
  completeIds,
  type CompletePage,
  concatBytes,
  NO_ROW_LIST,
  PageFault,
  type PageWriter,
  releaseBuffer,
  RowIdList,
  type RowIds,
  type TakenRows,
  toRowId,
} from "../formats/page_writer.ts";
import type { DeliveredRows } from "./delivered_rows.ts";
import { type PageRequest, requestedFields, toSystemQueryOptions } from "./fetch_page.ts";
import { FailedAttempt } from "./http_error.ts";
import { readSkipToken, toIdNumber } from "./next_link.ts";
import { isJson, type ServiceResponse } from "./transport.ts";
import { isCount } from "../validation.ts";

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

/** How to convert a page. */
interface ConversionOptions {
  /** Whether to leave out `Id`. */
  dropsId: boolean;
  /** Ids of rows to leave out. */
  omittedIds: ReadonlySet<number> | undefined;
}

/** Creates the converter of a page. Only one page is converted at a time. */
export type PageReader<T> = (options: ConversionOptions) => PageConversion<T>;

/** Converts a page while it arrives. */
interface PageConversion<T> extends ByteTarget {
  /** Number of bytes that are not yet scanned. */
  readonly unscanned: number;
  /** Converts the rows that have arrived completely. */
  scan(): void;
  /** Number of lists of rows that have begun. Each replaces the earlier ones. */
  readonly lists: number;
  /** Ids of the rows that were scanned. */
  readonly ids: RowIds;
  /** Number of bytes that `take()` would return; 0 if it must not be called. */
  readonly takeableLength: number;
  /** Returns the rows that were scanned since the last call, except the last one. */
  take(): TakenContent<T>;
  /**
   * Ends the page.
   *
   * @throws {PageFault} If the page is malformed or incomplete
   */
  end(): ConvertedPage<T>;
}

interface TakenContent<T> {
  content: T;
  /** Number of rows in the content. */
  rows: number;
}

/** A complete page, not yet checked. */
interface ConvertedPage<T> extends Omit<CompletePage, "takeRows"> {
  take: () => T;
}

/** Skip tokens and Ids of earlier pages that have no order, to detect repetitions. */
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
const PART_LENGTH = 1 << 20;

/**
 * Number of bytes that are scanned together. Each scan ends in the middle of a row, which is read again with the next
 * bytes, and a compressed body arrives in Node in pieces of 16 KB, which are only a few rows.
 */
const SCAN_LENGTH = 1 << 16;

/** Maximum time (ms) for which rows that have arrived are kept to deliver them with further ones. */
const MAX_DELAY = 10;

/**
 * Reads a response as a page, checks its rows and reads the skip token of the next page. Yields rows before
 * the page is complete if their Ids are integers that rise.
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
  read: PageReader<T>,
  sent: PageRequest,
  seen: SeenPages,
  delivered: DeliveredRows,
  clock: Clock,
): AsyncGenerator<PagePart<T>, CheckedPage<T>, void> {
  requireJson(response);
  const dropsId = requestedFields(sent) !== sent.select;
  try {
    const conversion = read({ dropsId, omittedIds: sent.omittedIds });
    yield* readParts(response, conversion, sent, delivered, clock);
    const { envelope, fault, rows, ids, take } = conversion.end();
    const error = errorIn(envelope);
    if (error !== undefined) throw errorInPage(response, error);
    if (fault !== undefined) throw fault;
    // Before the link is read: a page of a wrong position also has a wrong link.
    const rowFault = findRowFault(ids, conversion.ids.length, sent, seen.ids);
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
  const stop = new AbortController();
  let isDelayed = false;
  let isDue = false;
  let isRead = false;
  let wake = () => {};
  const onDue = () => {
    isDue = true;
    wake();
  };
  const onRead = () => {
    isRead = true;
    wake();
  };
  // Whether rows, or bytes that may contain rows, wait for further ones.
  const isWaiting = () =>
    order.isRising && (conversion.unscanned > 0 || conversion.takeableLength > 0);
  try {
    for (;;) {
      const reading = response.readBody(conversion);
      if (isWaiting()) {
        isRead = false;
        reading.then(onRead, onRead);
        // A read that takes longer probably waits for the network. For a page in memory, this saves a timer.
        for (let count = 0; count < MICROTASKS && !isRead && !isDelayed; count++) await undefined;
        // Not `Promise.race`: a compressed page has thousands of reads, and each race creates several promises.
        while (!isRead && isWaiting()) {
          if (!isDelayed) clock.sleep(MAX_DELAY, stop.signal).then(onDue, onDue);
          isDelayed = true;
          if (!isDue) await new Promise<void>((resolve) => wake = resolve);
          if (!isDue) continue;
          isDelayed = isDue = false;
          scan();
          if (isWaiting()) yield takePart();
        }
      }
      if (!await reading) break;
      if (conversion.unscanned >= SCAN_LENGTH) scan();
      else check();
      if (order.isRising && conversion.takeableLength >= PART_LENGTH) yield takePart();
    }
    scan();
  } finally {
    stop.abort("the page has ended"); // without a reason, an error with a stack would be created
  }
}

/** Number of microtasks after which a promise that is not settled probably waits for the network. */
const MICROTASKS = 10;

/**
 * Reads a page as rows.
 *
 * @param toContent Converts the rows. Default: no conversion
 * @param last Length (bytes) of the last page. It is updated. A buffer that begins with it need not grow: in Deno, that
 *   takes 0.9 times the time, and less memory than joining blocks
 */
export function readRows<R, T = R[]>(
  { dropsId }: ConversionOptions,
  toContent: (rows: R[]) => T = (rows) => rows as T,
  last = { length: 0 },
): PageConversion<T> {
  const body = new JsonBody(last.length);
  const list = new RowIdList();
  return {
    get ids() {
      return list.ids;
    },
    unscanned: 0,
    lists: 1,
    scan() {},
    takeableLength: 0,
    space: () => body.space(),
    add: (filled) => body.add(filled),
    append: (chunk) => body.append(chunk),
    take: () => ({ content: toContent([]), rows: 0 }),
    end() {
      const page = body.parse();
      last.length = body.length;
      const { value, ...envelope } = isObject(page) ? page : {};
      if (!Array.isArray(value) || !value.every(isObject)) {
        const fault = new PageFault(NO_ROW_LIST);
        return { envelope, fault, rows: 0, ids: undefined, take: () => toContent([]) };
      }
      for (const { Id } of value) list.push(toRowId(Id));
      if (dropsId) { for (const row of value) delete row.Id; }
      return {
        envelope,
        fault: undefined,
        rows: value.length,
        ids: completeIds(list.ids),
        take: () => toContent(value as R[]),
      };
    },
  };
}

/** A page as data of the result, and the DOIs of its rows if they are collected. */
export interface PageData<T> {
  data: T;
  dois: readonly string[];
}

/** Creates a reader that converts pages to bytes. */
export function readBytes(writer: PageWriter, collectsDois: boolean): PageReader<PageData<Bytes>> {
  const toContent = ({ bytes, dois, rows }: TakenRows) => ({
    content: { data: bytes, dois },
    rows,
  });
  return ({ dropsId, omittedIds }) => {
    const page = writer.openPage({ dropsId, collectsDois, omittedIds });
    return {
      get unscanned() {
        return page.unscanned;
      },
      scan: () => page.scan(),
      get lists() {
        return page.lists;
      },
      get ids() {
        return page.ids;
      },
      get takeableLength() {
        return page.takeableLength;
      },
      space: () => page.space(),
      add: (filled) => page.add(filled),
      append: (chunk) => page.append(chunk),
      take: () => toContent(page.takeRows()),
      end() {
        const { takeRows, ...complete } = page.end();
        return { ...complete, take: () => toContent(takeRows()).content };
      },
    };
  };
}

/** Minimum length (bytes) of the memory to read into. */
const MIN_SPACE = 1 << 16;

/** Collects a body of JSON. */
class JsonBody implements ByteTarget {
  /** Chunks in memory of the stream. */
  readonly #chunks: Uint8Array[] = [];
  /** Bytes in own memory. A read can replace the buffer. */
  #own: Bytes = new Uint8Array();
  /** Number of these bytes. */
  #length = 0;
  readonly #capacity: number;

  /** @param expected Length (bytes) that the body probably has */
  constructor(expected = 0) {
    this.#capacity = expected * 9 / 8 + MIN_SPACE;
  }

  space(): Bytes {
    if (this.#own.length - this.#length < MIN_SPACE) {
      const larger = new Uint8Array(Math.max(this.#capacity, 2 * this.#own.length));
      larger.set(this.#own.subarray(0, this.#length));
      releaseBuffer(this.#own);
      this.#own = larger;
    }
    return this.#own.subarray(this.#length);
  }

  add(filled: Bytes): void {
    this.#own = new Uint8Array(filled.buffer);
    this.#length += filled.length;
  }

  append(chunk: Uint8Array): void {
    this.#chunks.push(chunk);
  }

  /** Length of the body (bytes), if it is in own memory. */
  get length(): number {
    return this.#length;
  }

  /**
   * Parses the JSON, and releases its bytes.
   *
   * @throws {PageFault} If it is malformed
   */
  parse(): unknown {
    // A body is read either into own memory or into that of the stream.
    const isOwn = this.#length > 0;
    const bytes = isOwn ? this.#own.subarray(0, this.#length) : concatBytes(this.#chunks.splice(0));
    try {
      const text = new TextDecoder("utf-8", { fatal: true }).decode(bytes);
      releaseBuffer(bytes);
      return JSON.parse(text);
    } catch {
      // The message of `JSON.parse` would quote the response, which may contain the API key.
      throw new PageFault("broken JSON");
    }
  }
}

/**
 * Reads the response to `$count=true`: a number or a string of digits, under `value` or the count
 * member of OData JSON, with its `@` or without.
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
 * Finds a fault of the rows of a page: more rows than requested, a row whose Id is not after the position,
 * or a repeated row. Rows within a page may have any order.
 *
 * @param ids Ids of the rows; `undefined` if a row has no Id
 * @param rows Number of rows
 * @param seenIds Ids of earlier pages that are not integers
 * @returns The error in the rows, for a message; `undefined` if the rows are correct
 */
function findRowFault(
  ids: CompleteIds | undefined,
  rows: number,
  { top, position, hasRows, omittedIds }: PageRequest,
  seenIds: ReadonlySet<string>,
): string | undefined {
  if (rows > top) return `${rows} rows instead of at most ${top}`;
  if (hasRows && rows === 0) return `no rows after the position ${position}`;
  if (omittedIds !== undefined) {
    const known = new Set(ids);
    const missing = [...omittedIds].find((id) => !known.has(id));
    if (missing !== undefined) return `no row with Id ${missing}`;
  }
  if ((hasRows || omittedIds !== undefined) && !(ids && areIntegers(ids))) {
    return "a row without an integer Id";
  }
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
  ids: CompleteIds | undefined,
  position: string | undefined,
): string | undefined {
  if (ids === undefined) return undefined;
  if (ids.length === 0) return position;
  const last = areIntegers(ids) ? ids.reduce((a, b) => Math.max(a, b)) : ids.at(-1);
  return `Id:${last}`;
}

/** Whether all Ids are integers. The pages of a result are then in ascending order of Ids. */
export function areIntegers(ids: CompleteIds): ids is Float64Array {
  return ids instanceof Float64Array;
}

function isAscending(ids: Float64Array): boolean {
  return ids.every((id, index) => index === 0 || ids[index - 1]! < id);
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
