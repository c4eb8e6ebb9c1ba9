// Reads the response to a request for a page or a count, and checks it.
import type { Clock } from "../clock.ts";
import { DataStreamError, oneLine } from "../errors.ts";
import { PageFault } from "../formats/json_scanner.ts";
import { ByteBuffer, type CompleteIds, type PageConversion } from "../formats/page_writer.ts";
import { isCount, isObject } from "../validation.ts";
import { parseBody } from "./convert_page.ts";
import { FailedAttempt } from "./http_error.ts";
import { readSkipToken } from "./next_link.ts";
import { type PageRequest, toSystemQueryOptions } from "./page_request.ts";
import { isJson, type ServiceResponse } from "./transport.ts";

/** Rows of a page that can be delivered. */
export interface PageRows<T> {
  content: T;
  /** Number of rows in the content. */
  rows: number;
  /** Greatest Id up to the end of these rows, if Ids are integers. */
  lastId: number | undefined;
}

/** The last rows of a page, and what its response says about the rows after them. */
export interface CheckedPage<T> extends Omit<PageRows<T>, "content"> {
  /** Converts the last rows. Call it at most once, and only if there are any: it changes the state of the writer. */
  take: () => T;
  /** Ids of the rows of the response if they are not integers; `undefined` also if a row has no Id. */
  otherIds: readonly string[] | undefined;
  /** Number of rows of the response. */
  length: number;
  /** Skip token of the link to the next page; `undefined` without a link. */
  nextToken: string | undefined;
}

/** What earlier pages tell about the next one. */
export interface PageOrder {
  /** Greatest Id of the rows before the page, if Ids are integers; -1 at the start. */
  lastId: number;
  /** Whether rows are delivered before the page is complete. */
  deliversEarly: boolean;
  /** Skip tokens of earlier requests, if they do not have the form `Id:<digits>`. */
  seenTokens: ReadonlySet<string>;
  /** Ids of earlier rows that are not integers. */
  seenIds: ReadonlySet<string>;
}

/** A page that is arriving. */
export interface PageReader<T> {
  /**
   * Reads until enough rows have arrived, or to the end of the page. If the page breaks, returns the rows that have
   * arrived, and throws the error at the next call.
   *
   * @returns The next rows; `undefined` at the end of the page
   * @throws {DataStreamError | FailedAttempt} If the response is not the requested page
   */
  read(): Promise<PageRows<T> | undefined>;
  /**
   * Checks the complete page.
   *
   * @returns Its last rows
   * @throws {DataStreamError | FailedAttempt} If the response is not the requested page
   */
  end(): CheckedPage<T>;
  /**
   * Whether rows were delivered, and rows before them may follow: an Id was lower than the one before. Such a page
   * cannot be continued after its last delivered row.
   */
  readonly hasGaps: boolean;
  /** Ends the request. */
  close(): void;
}

/** Length (bytes) at which rows that have arrived are delivered. Shorter parts take more time per row. */
const PART_LENGTH = 1 << 18;

/** Interval (ms) after which rows that have arrived are delivered, even if they are short. */
const PART_INTERVAL = 100;

/**
 * Opens a page.
 *
 * Rows are delivered before the page is complete as long as each Id is greater than the one before. Otherwise they
 * are delivered at the end of the page, if their Ids are distinct and greater than the Ids before the page.
 *
 * Source: DataStream Public API, "Response Format"; OData JSON Format 4.01, section 19.5 (an error in a page).
 */
export function openPage<T>(
  response: ServiceResponse,
  conversion: PageConversion<T>,
  sent: PageRequest,
  { lastId: start, deliversEarly, seenTokens, seenIds }: PageOrder,
  clock: Clock,
): PageReader<T> {
  let isRising = deliversEarly;
  let greatest = start;
  let checked = 0;
  let delivered = 0;
  let deliveredAt = clock.now();
  let failure: unknown;
  const checkOrder = () => {
    const { ids } = conversion;
    if (ids.length > sent.top) {
      throw rowError(response, `${ids.length} rows instead of at most ${sent.top}`);
    }
    for (; isRising && checked < ids.length; checked++) {
      const id = ids[checked];
      isRising = typeof id === "number" && id > greatest;
      if (isRising) greatest = id as number;
    }
  };
  const take = (): PageRows<T> => {
    const { content, rows } = conversion.take();
    delivered += rows;
    deliveredAt = clock.now();
    return { content, rows, lastId: conversion.ids[delivered - 1] as number };
  };
  return {
    async read() {
      if (failure !== undefined) throw failure;
      requireJson(response);
      try {
        for (;;) {
          const bytes = await response.read();
          if (bytes === undefined) return undefined;
          conversion.feed(bytes);
          checkOrder();
          const isDue = conversion.takeableLength >= PART_LENGTH ||
            clock.now() - deliveredAt >= PART_INTERVAL;
          if (isRising && isDue && conversion.takeableLength > 0) return take();
        }
      } catch (error) {
        if (error instanceof PageFault) throw toAttemptError(response, error);
        const isBroken = error instanceof FailedAttempt && !error.isPermanent;
        if (!isBroken || !isRising || conversion.takeableLength === 0) throw error;
        // The next attempt begins after the rows that have arrived.
        failure = error;
        return take();
      }
    },
    end() {
      try {
        const { envelope, fault, rows, ids, take } = conversion.end();
        const error = errorIn(envelope);
        if (error !== undefined) throw errorInPage(response, error);
        if (fault !== undefined) throw fault;
        checkOrder();
        const rowFault = findRowFault(ids, start, seenIds) ??
          (ids instanceof Float64Array || delivered === 0 && (start < 0 || rows === 0)
            ? undefined
            : "a row without an integer Id");
        // Before the link is read: a page of a wrong position also has a wrong link.
        if (rowFault !== undefined) throw rowError(response, rowFault);
        const options = toSystemQueryOptions(sent);
        const nextToken = readSkipToken(envelope, response, options, seenTokens);
        const { length } = conversion.ids;
        if (length === 0 && nextToken !== undefined) {
          throw rowError(response, "no rows, and a link to a next page");
        }
        const areIntegers = ids instanceof Float64Array;
        return {
          take,
          rows,
          length,
          lastId: areIntegers && length > 0 ? greatestOf(ids) : undefined,
          otherIds: areIntegers ? undefined : ids?.map(String),
          nextToken,
        };
      } catch (error) {
        throw error instanceof PageFault ? toAttemptError(response, error) : error;
      }
    },
    get hasGaps() {
      return delivered > 0 && !isRising;
    },
    close: () => response.close(),
  };
}

/**
 * Finds a fault of the rows of a complete page: an Id that is not after the position, or a repeated row.
 *
 * @param ids Ids of the rows; `undefined` if a row has no Id
 * @returns The error in the rows, for a message; `undefined` if the rows are correct
 */
function findRowFault(
  ids: CompleteIds | undefined,
  start: number,
  seenIds: ReadonlySet<string>,
): string | undefined {
  if (ids === undefined) return undefined;
  if (!(ids instanceof Float64Array)) {
    const onPage = new Set<string>();
    const repeated = ids.map(String).find((id) =>
      seenIds.has(id) || onPage.size === onPage.add(id).size
    );
    return repeated === undefined ? undefined : `the row with Id ${repeated} a second time`;
  }
  const misplaced = findId(ids, (id) => id <= start);
  if (misplaced !== undefined) return `the row with Id ${misplaced} after the position Id:${start}`;
  const isFalling = findId(ids, (id, index) => id < ids[index - 1]!) !== undefined;
  const sorted = isFalling ? ids.toSorted() : ids;
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

function greatestOf(ids: Float64Array): number {
  let greatest = -Infinity;
  for (let index = 0; index < ids.length; index++) greatest = Math.max(greatest, ids[index]!);
  return greatest;
}

/**
 * Reads the response to `$count=true`: a number, or a string of digits. It is the body itself, or its member
 * `@odata.count`, `odata.count` or `value`.
 *
 * Source: DataStream Public API, "URL Parameters", `$count`; its OpenAPI file.
 *
 * @throws {DataStreamError} If there is no count in it
 */
export async function readCount(response: ServiceResponse): Promise<number> {
  requireJson(response);
  const json = new ByteBuffer(0);
  let body: unknown;
  try {
    for (let bytes = await response.read(); bytes; bytes = await response.read()) {
      json.append(bytes);
    }
    body = parseBody(json);
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
