import { type Bytes, utf8Encoder } from "../bytes.ts";
import type { CheckedCsvOptions, CsvOptions } from "../formats/csv.ts";
import type { FormatName, LoadedFormat } from "../formats/formats.ts";
import type { PageWriter } from "../formats/page_writer.ts";
import type { RowNotes } from "../formats/tidy.ts";
import type { CheckedQuery } from "../odata/query_options.ts";
import { invalidValue, isCount, isObject } from "../validation.ts";
import type { StartConversion } from "./page_reader.ts";
import { type Position, readParts } from "./read_parts.ts";
import type { Run } from "./progress.ts";

/**
 * Options for {@linkcode Query.batches}.
 *
 * @example Save a cursor after each batch
 * ```ts
 * import { type BatchOptions, DataStream } from "@weir/datastream";
 * import { createSandbox } from "@weir/datastream/sandbox";
 * import { assertEquals } from "@std/assert";
 *
 * const options: BatchOptions & { format: "csv" } = { format: "csv" };
 * const { apiKey, url, fetch } = createSandbox();
 * const client = new DataStream({ apiKey, baseUrl: url, fetch });
 * let saved = "";
 * for await (const { cursor } of client.records({ limit: 10 }).batches(options)) {
 *   saved = JSON.stringify(cursor);
 * }
 * assertEquals(JSON.parse(saved).rows, 10);
 * ```
 */
export interface BatchOptions {
  /** Format of the data. Default: rows. */
  format?: FormatName | LoadedFormat | undefined;
  /** Options of CSV; the other formats reject them. */
  csv?: CsvOptions | undefined;
  /** Cursor of the batch to continue after. Default: none, to begin with the first row. */
  after?: Cursor | undefined;
  /**
   * Fields whose distinct values are collected in {@linkcode Batch.distinct}, such as `["DOI"]`. A field that is not
   * selected is requested, and left out of the data. Default: none.
   */
  distinct?: readonly string[] | undefined;
  /**
   * Whether to return rows before their page is complete, if their Ids are ascending integers. A batch is then a
   * part of a page: at least 256 kB, or the rows that arrive in 100 ms. Default false: a batch is a page.
   */
  parts?: boolean | undefined;
}

/**
 * One page of a result, or a part of it, and the cursor to continue after it.
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
  /** Whether it ends a page. Only with the option `parts` can it be false. */
  readonly isPageEnd: boolean;
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
   * Distinct values of all rows so far, by field, numbers as text. `undefined` if the option `distinct` is not set,
   * or if the batches before `after` were requested without one of its fields.
   */
  readonly distinct: Readonly<Record<string, readonly string[]>> | undefined;
}

const CURSOR_VERSION: Cursor["version"] = 2;

/**
 * A position in the result of a query: an opaque value that survives `JSON.parse(JSON.stringify(cursor))`.
 *
 * Accept only cursors that your program wrote: a changed clause would be sent to the service. A cursor contains no API
 * key. Its size grows with the number of shards, of which there can be many if the query has a bounding box or a long
 * list. For Metadata, it contains the Ids of all rows before it. From one cursor to the next, only the first shards change, and all others are the same objects.
 */
export interface Cursor {
  /** Version of the format. */
  readonly version: 2;
  /** Digest of the options that determine the result. A cursor is valid only for a query with the same ones. */
  readonly query: string;
  /** Shards of the query that are not yet finished, the current one first. Opaque. */
  readonly shards: readonly unknown[];
  /** Number of rows before this position. */
  readonly rows: number;
  /** Number of these rows that are compared with the next count. */
  readonly groupRows: number;
  /** Number of rows before this position that were left out. */
  readonly leftOut?: number | undefined;
  /** This count, if it is known. */
  readonly groupCount?: number | undefined;
  /** Whether it was decided if the shards with this count are to be split. */
  readonly isSplitDecided?: boolean | undefined;
  /** Page size that the service can deliver. Opaque. */
  readonly pageSize?: unknown;
  /** Ids of the rows before this position, if they are not integers. */
  readonly otherIds?: readonly string[] | undefined;
  /** Number of rows that the service counted for the query. */
  readonly expectedRows?: number | undefined;
  /** Number of counted rows that were not received and are accepted. */
  readonly missingRows?: number | undefined;
  /** Whether the result is complete. */
  readonly isComplete?: boolean | undefined;
  /** State of the writer of the format. Opaque. */
  readonly writer?: unknown;
  /** Distinct values of the rows before this position. */
  readonly distinct?: Readonly<Record<string, readonly string[]>> | undefined;
}

/** Converts the pages of a result. */
export interface PageConverter<T> {
  readonly start: StartConversion<T>;
  /** Returns the end of the document. */
  end(): T | Promise<T>;
  readonly notes?: () => RowNotes | undefined;
  /** Its state is a part of the cursor. */
  readonly writer?: PageWriter;
}

export interface BatchSource<T> {
  converter: PageConverter<T>;
  /** Digest of the query, for its cursors. */
  digest?: string;
  after?: Cursor | undefined;
  /** Whether rows are delivered before their page is complete. Default false. */
  deliversEarly?: boolean | undefined;
}

/** Returns `undefined` after the last batch. Not called concurrently. */
export type NextBatch<T> = () => Promise<Batch<T> | undefined>;

export function requestBatches<T>(
  run: Run,
  query: CheckedQuery,
  { converter, digest = "", after, deliversEarly }: BatchSource<T>,
): NextBatch<T> {
  const { distinct } = query;
  const parts = readParts(run, query, converter.start, { from: after as Position, deliversEarly });
  const known = new Map(distinct?.map((field) => [field, new Set(after?.distinct?.[field])]));
  let isLast = after?.isComplete === true;
  let earlier: Pick<Cursor, "expectedRows" | "missingRows" | "distinct"> = {
    expectedRows: after?.expectedRows,
    missingRows: after?.missingRows ?? 0,
    distinct: after?.distinct ??
      (distinct && Object.fromEntries(distinct.map((name) => [name, []]))),
  };
  const { writer } = converter;
  return async () => {
    if (isLast) return undefined;
    const state = writer?.state;
    const { done, value } = await parts.next();
    isLast = done === true;
    const part = done ? undefined : value;
    const position = done ? value : value.position;
    for (const [field, value] of part?.values ?? []) known.get(field)?.add(value);
    const { expectedRows = after?.expectedRows, missingRows = 0 } = run.progress;
    const counts = {
      expectedRows,
      missingRows: (after?.missingRows ?? 0) + missingRows,
      distinct: distinct &&
        Object.fromEntries([...known].map(([field, values]) => [field, [...values]])),
    };
    const data = part === undefined ? await converter.end() : part.data;
    const cursor: Cursor = {
      ...counts,
      ...position,
      version: CURSOR_VERSION,
      query: digest,
      isComplete: isLast,
      writer: writer?.state,
    };
    const before = part && { ...cursor, ...earlier, ...part.start, writer: state };
    earlier = counts;
    return {
      ...counts,
      data,
      rows: part?.kept ?? 0,
      totalRows: position.rows,
      cursor: before && writer?.toCursor?.(cursor, before) || cursor,
      isLast,
      hasMore: part !== undefined && part.hasMore && position.rows < query.limit,
      isPageEnd: part?.isPageEnd ?? true,
    };
  };
}

export function digestOf(
  query: CheckedQuery,
  baseUrl: string,
  format: FormatName | LoadedFormat | undefined,
  csv: CheckedCsvOptions | undefined,
): string {
  const { resource, select, clauses, unparsedFilter, box, limit, skipToken, partition, rules } =
    query;
  const filters = [clauses, unparsedFilter, box, rules];
  const options = [
    ...[resource, baseUrl, select, limit, skipToken, partition, ...filters],
    typeof format === "object" ? [format.name, format.options] : format,
    csv,
  ];
  return toHash(JSON.stringify(options));
}

/** Two FNV-1a hashes (64 bits) in hexadecimal. Only has to tell queries apart. */
function toHash(text: string): string {
  let [low, high] = [0x811c9dc5, 0xc9dc5118];
  for (const byte of utf8Encoder.encode(text)) {
    low = Math.imul(low ^ byte, 0x01000193);
    high = Math.imul(high ^ byte ^ 0xff, 0x01000193);
  }
  return [low, high].map((half) => (half >>> 0).toString(16).padStart(8, "0")).join("");
}

export function checkCursor(
  after: unknown,
  digest: string,
  format: FormatName | LoadedFormat | undefined,
): Cursor {
  const isOfQuery = isCursor(after) && after.query === digest;
  if (isOfQuery && (after.writer !== undefined) === (format !== undefined)) return after;
  const hint = "pass the same options as before, or start without {after}";
  throw invalidValue("after", "a cursor of a query with the same options", after, hint);
}

/** Does not check each member: the digest tells whether the cursor belongs to the query. */
export function isCursor(value: unknown): value is Cursor {
  return isObject(value) && value.version === CURSOR_VERSION && typeof value.query === "string" &&
    Array.isArray(value.shards) && isCount(value.rows) && isCount(value.groupRows);
}

/** Bytes of buffered items and the next page, which is probably as long as the page before. */
const MAX_BUFFERED = 1 << 25;

/**
 * Reads a page without waiting for the reader, because a page in transit blocks other requests.
 * Buffers at most the page that the reader takes, and the next one if `readsNextPage`.
 */
export function readAhead(
  next: NextBatch<Bytes>,
  readsNextPage: boolean,
): NextBatch<Bytes> {
  const queue: (Batch<Bytes> | undefined)[] = [];
  let queueLength = 0;
  /** Bytes of the last page; 0 until it is complete. */
  let pageLength = 0;
  let failure: { error: unknown } | undefined;
  let isReading = false;
  let wake = () => {};
  const readPage = async () => {
    isReading = true;
    pageLength = 0;
    let arrived = 0;
    try {
      for (;;) {
        const batch = await next();
        arrived += batch?.data.length ?? 0;
        queueLength += batch?.data.length ?? 0;
        queue.push(batch);
        wake();
        if (batch?.isPageEnd ?? true) break;
      }
      pageLength = arrived;
    } catch (error) {
      failure = { error };
    }
    isReading = false;
    wake();
    readNextPage();
  };
  const readNextPage = () => {
    const isPartlyTaken = queueLength < pageLength;
    if (!readsNextPage || !isPartlyTaken || queueLength + pageLength > MAX_BUFFERED) return;
    readPage();
  };
  return async () => {
    while (queue.length === 0) {
      if (failure !== undefined) throw failure.error;
      if (!isReading) readPage();
      else await new Promise<void>((resolve) => wake = resolve);
    }
    const batch = queue.shift();
    queueLength -= batch?.data.length ?? 0;
    readNextPage();
    return batch;
  };
}
