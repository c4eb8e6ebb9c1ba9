import { ValidationError } from "../errors.ts";
import { invalidValue } from "../validation.ts";
import type { CheckedCsvOptions, CsvOptions } from "../formats/csv.ts";
import type { FormatName } from "../formats/formats.ts";
import type { PageWriter, WriterState } from "../formats/page_writer.ts";
import type { Clause, Literal } from "../odata/clause.ts";
import type { CheckedQuery } from "../odata/query_options.ts";
import { isCount, isListOfStrings, isObject } from "../validation.ts";
import type { PageData, StartConversion } from "./convert_page.ts";
import type { Execution } from "./fetch_page.ts";
import { readPages } from "./query_pages.ts";
import type { Shard } from "./shards.ts";

/**
 * Options for {@linkcode Query.batches}.
 *
 * @example Save a cursor after each batch
 * ```ts
 * import { type BatchOptions, DataStream } from "@weir/datastream";
 * import { createSandbox } from "@weir/datastream/sandbox";
 * import { assertEquals } from "@std/assert";
 *
 * const options: BatchOptions & { format: "csv" } = { format: "csv", csv: { separator: ";" }, dois: true };
 * const { apiKey, url, fetch } = createSandbox();
 * const client = new DataStream({ apiKey, baseUrl: url, fetch });
 * let saved = "";
 * for await (const { cursor, dois } of client.records({ limit: 10 }).batches(options)) {
 *   saved = JSON.stringify(cursor);
 *   assertEquals(dois, ["10.25976/weir-aa00"]);
 * }
 * assertEquals(JSON.parse(saved).rows, 10);
 * ```
 */
export interface BatchOptions {
  /** Format of the data. Default: rows. */
  format?: FormatName | undefined;
  /** Options of CSV; the other formats reject them. */
  csv?: CsvOptions | undefined;
  /** Cursor of the batch to continue after. Default: none, to begin with the first row. */
  after?: Cursor | undefined;
  /** Whether to collect the DOIs of the rows in {@linkcode Batch.dois}. Default false. */
  dois?: boolean | undefined;
}

/**
 * One page of a result, and the cursor to continue after it.
 *
 * @typeParam T Type of the data: a list of rows, or bytes
 */
export interface Batch<T> {
  /** Rows or bytes. Concatenated, the data of all batches is the whole result. */
  readonly data: T;
  /** Number of rows in this batch. */
  readonly rows: number;
  /** Number of rows in this and all earlier batches, including those before the option `after`. */
  readonly totalRows: number;
  /** Value of the option `after` to continue after this batch. */
  readonly cursor: Cursor;
  /**
   * Whether this is the last batch: the result is complete. The last batch has no rows; its data is the
   * end of the document, such as `]}` in JSON.
   */
  readonly isLast: boolean;
  /**
   * Whether the service announced more rows, and the limit of the query is not reached. If it is false,
   * one more request may still follow, which checks that no page is missing.
   */
  readonly hasMore: boolean;
  /** Number of rows that the service counted for the query; `undefined` if it was not counted. */
  readonly expectedRows: number | undefined;
  /** Number of counted rows that were not received, accepted because of `incomplete: "warn"`. */
  readonly missingRows: number;
  /**
   * Distinct DOIs of all rows so far; `undefined` if the option `dois` is not set or `DOI` is not selected. Also
   * `undefined` if the batches before `after` were requested without the option.
   */
  readonly dois: readonly string[] | undefined;
}

/** Key of an internal option of `batches()`: whether a batch can be a part of a page. Default false. */
export const PAGE_PARTS: unique symbol = Symbol("PAGE_PARTS");

/** A page, or a part of it that is delivered before the page is complete. */
export interface BatchPart<T> extends Batch<T> {
  /** Whether it is the last part of its page, or the last batch. */
  readonly isPageEnd: boolean;
}

/** Version of the cursor's format. */
const CURSOR_VERSION: Cursor["version"] = 1;

/**
 * A position in the result of a query: an opaque value that survives
 * `JSON.parse(JSON.stringify(cursor))`.
 *
 * It contains no API key. Its size grows with the number of shards in `remaining`, of which there can be
 * 100,000. From one cursor to the next, only the first elements of `remaining` change, and all others are
 * the same objects. A program that stores each cursor can therefore store the tail of the array once.
 */
export interface Cursor {
  /** Version of the format. */
  readonly version: 1;
  /** Options that determine the result. A cursor is valid only for a query with the same ones. */
  readonly query: Readonly<Record<string, unknown>>;
  /** Shards of the query that are not yet finished, the current one first. Opaque. */
  readonly remaining: readonly unknown[];
  /** Number of rows before this position. */
  readonly rows: number;
  /** Number of rows that the service counted for the query. */
  readonly expectedRows?: number | undefined;
  /** Number of counted rows that were not received and are accepted. */
  readonly missingRows?: number | undefined;
  /** Whether the result is complete. */
  readonly isComplete?: boolean | undefined;
  /** State of the writer of the format. Opaque. */
  readonly writer?: unknown;
  /** DOIs of the rows before this position. */
  readonly dois?: readonly string[] | undefined;
}

/** A validated cursor. */
export interface CheckedCursor extends Cursor {
  readonly remaining: readonly Shard[];
  readonly writer?: WriterState | undefined;
}

/** Converts the pages of one result to rows, or to the bytes of a document. */
export interface PageConverter<T> {
  /** Starts the conversion of a page. */
  readonly start: StartConversion<PageData<T>>;
  /** Returns the data after the last page. */
  end(): T;
  /** Writer of the document. Cursors contain its state. */
  readonly writer?: PageWriter;
}

/** Position at which batches begin, and contents of their cursors. */
export interface BatchPosition {
  /** Options that determine the result. Default: none, if the cursors are not used. */
  fingerprint?: Cursor["query"];
  /** Cursor to continue after. Default: none, to begin with the first row. */
  after?: CheckedCursor | undefined;
  /** Whether to collect the DOIs of the rows. Default false. */
  collectsDois?: boolean | undefined;
  /** Whether a batch can have a part of a page, which is delivered before the page is complete. Default false. */
  deliversEarly?: boolean | undefined;
}

/** A batch, and whether it ends a page. */
export interface BatchOfPage<T> {
  batch: Batch<T>;
  /** Whether the batch is the last part of its page, or the last batch. */
  isPageEnd: boolean;
}

/**
 * Prepares the batches of a query. Nothing is requested yet.
 *
 * @param converter Converts the pages; used for this result only
 * @returns A function that requests the next batch; it returns `undefined` after the last one
 */
export function requestBatches<T>(
  execution: Execution,
  query: CheckedQuery,
  converter: PageConverter<T>,
  { fingerprint = {}, after, collectsDois = false, deliversEarly }: BatchPosition,
): () => Promise<BatchOfPage<T> | undefined> {
  const pages = readPages(execution, query, converter.start, { after, deliversEarly });
  const knownDois = new Set(after?.dois);
  let totalRows = after?.rows ?? 0;
  let isComplete = after?.isComplete === true;
  return async () => {
    if (isComplete) return undefined;
    const next = await pages.next();
    isComplete = next.done === true;
    const { content, rows, remaining, hasMore, isPageEnd } = next.done
      ? {
        content: { data: converter.end(), dois: [] },
        rows: 0,
        remaining: [],
        hasMore: false,
        isPageEnd: true,
      }
      : next.value;
    totalRows += rows;
    for (const doi of content.dois) knownDois.add(doi);
    const { progress } = execution;
    const counts = {
      expectedRows: progress.expectedRows ?? after?.expectedRows,
      missingRows: (after?.missingRows ?? 0) + (progress.missingRows ?? 0),
      dois: collectsDois ? [...knownDois] : undefined,
    };
    const batch = {
      ...counts,
      data: content.data,
      rows,
      totalRows,
      cursor: {
        ...counts,
        version: CURSOR_VERSION,
        query: fingerprint,
        remaining,
        rows: totalRows,
        isComplete,
        writer: converter.writer?.state,
      },
      isLast: isComplete,
      hasMore: hasMore && totalRows < query.limit,
    };
    return { batch, isPageEnd };
  };
}

/** Returns the options that determine the result of a query, by their public names. */
export function fingerprintOf(
  { resource, select, filter, box, limit, skipToken, partition }: CheckedQuery,
  baseUrl: string,
  format: FormatName | undefined,
  csv: CheckedCsvOptions | undefined,
): Cursor["query"] {
  return {
    resource,
    baseUrl,
    select,
    filter,
    within: box,
    limit: limit === Infinity ? undefined : limit,
    skipToken,
    partition,
    format,
    ...csv,
  };
}

/**
 * Checks the option `after`.
 *
 * @param fingerprint Options that determine the result of the query that continues
 * @throws {ValidationError} If it is not a cursor, or belongs to another query
 */
export function checkCursor(after: unknown, fingerprint: Cursor["query"]): CheckedCursor {
  if (!isCursor(after)) {
    const hint = "start again without {after}";
    throw invalidValue("after", "a cursor that batches() returned", after, hint);
  }
  const names = [...new Set([...Object.keys(fingerprint), ...Object.keys(after.query)])];
  const differing = names.find((name) =>
    JSON.stringify(fingerprint[name]) !== JSON.stringify(after.query[name])
  );
  if (differing === undefined) return after;
  throw new ValidationError(
    "after",
    `must be a cursor of the same query, got one with another ${differing}`,
    { received: after, hint: `pass the same {${differing}} as before, or start without {after}` },
  );
}

/** Whether a value, which may have been read from a file, is a cursor with valid members. */
export function isCursor(value: unknown): value is CheckedCursor {
  return hasForm<Cursor>(value, {
    version: (version) => version === CURSOR_VERSION,
    query: isObject,
    remaining: listOf(isShard),
    rows: isCount,
    expectedRows: optional(isCount),
    missingRows: optional(isCount),
    isComplete: optional(isBoolean),
    writer: (writer) =>
      (value as Cursor).query.format === undefined ? writer === undefined : isWriterState(writer),
    dois: optional(isListOfStrings),
  });
}

function isShard(value: unknown): boolean {
  return hasForm<Shard>(value, {
    clauses: listOf(isClause),
    skipToken: optional(isString),
    locations: optional(listOf(isCount)),
    isUncounted: optional(isBoolean),
    count: optional(isCount),
    rows: optional(isCount),
    isContinued: optional(isBoolean),
    isJoined: optional(isBoolean),
  });
}

/** Operators of the clauses of shards. */
const SPLIT_OPERATORS: unknown[] = ["gte", "lt", "in"] satisfies Clause["operator"][];

function isClause(value: unknown): boolean {
  return hasForm<Clause>(value, {
    field: isString,
    operator: (operator) => SPLIT_OPERATORS.includes(operator),
    values: listOf((literal) => hasForm<Literal>(literal, { text: isString, quoted: isBoolean })),
  });
}

function isWriterState(value: unknown): boolean {
  return hasForm<WriterState>(value, {
    isBegun: isBoolean,
    hasRows: optional(isBoolean),
    fields: optional(isListOfStrings),
  });
}

type Check = (value: unknown) => boolean;

/** Whether a value is an object whose members pass their checks. Other members are ignored. */
function hasForm<T>(value: unknown, checks: Record<keyof T, Check>): boolean {
  return isObject(value) &&
    Object.entries<Check>(checks).every(([name, isValid]) => isValid(value[name]));
}

function optional(isValid: Check): Check {
  return (value) => value === undefined || isValid(value);
}

function listOf(isValid: Check): Check {
  return (value) => Array.isArray(value) && value.every(isValid);
}

function isBoolean(value: unknown): boolean {
  return typeof value === "boolean";
}

function isString(value: unknown): boolean {
  return typeof value === "string";
}
