import { type Bytes, utf8Decoder, utf8Encoder } from "../bytes.ts";
import type { CsvOptions } from "../formats/csv.ts";
import {
  createWriter,
  csvOptionsOf,
  type FormatName,
  FORMATS,
  type LoadedFormat,
} from "../formats/formats.ts";
import type { FoundValue } from "../formats/distinct_values.ts";
import type { PageWriter, WriterState } from "../formats/page_writer.ts";
import { checkUnits } from "../formats/units.ts";
import type { Clause } from "../odata/clause.ts";
import {
  type CheckedQuery,
  checkQuery,
  QUERY_RULES,
  requireFields,
  toWiderMetadataFilter,
} from "../odata/query_options.ts";
import type { ResourceName } from "../odata/resources.ts";
import {
  invalidOption,
  invalidValue,
  isCount,
  isListOfStrings,
  isObject,
  type OptionRule,
  readOptions,
} from "../validation.ts";
import { createStream, type IterableStream, iterate, readAhead } from "./iterable_stream.ts";
import { type KnownVersions, requireOneVersion, startVersions } from "./dataset_versions.ts";
import type { ClientSettings } from "./options.ts";
import { type StartConversion, startRowConversion } from "./page_reader.ts";
import type {
  AnyResourceQuery,
  Batch,
  Batches,
  BatchOptions,
  Cursor,
  LocationsQuery,
  Query,
} from "./query.ts";
import { cameInOneResponse, countQuery, type Position, readParts } from "./read_parts.ts";
import { createRun, type Run } from "./retry.ts";
import { firstUrlOf } from "./split.ts";

const QUERY_OPTIONS: Record<keyof AnyResourceQuery, OptionRule> = {
  ...QUERY_RULES,
  signal: {
    // A frequent mistake is to pass the AbortController.
    check(option, value) {
      if (value instanceof AbortSignal) return;
      const hint = "pass the signal property of an AbortController";
      throw invalidValue(option, "an AbortSignal", value, hint);
    },
  },
  onProgress: { type: "function" },
};

const BATCH_OPTIONS: Record<keyof BatchOptions, OptionRule> = {
  format: {},
  csv: {},
  after: {},
  distinct: {
    check(option, fields) {
      if (!isListOfStrings(fields)) throw invalidValue(option, "an array of fields", fields);
    },
  },
  parts: { type: "boolean" },
};

type PreparedQuery = ReturnType<typeof prepareQuery>;

/** Checks the options of a query. Nothing is sent. */
function prepareQuery(
  resource: ResourceName,
  options: AnyResourceQuery,
  settings: ClientSettings,
  clauses?: readonly Clause[],
) {
  const given: AnyResourceQuery = readOptions(`a query of ${resource}`, options, QUERY_OPTIONS);
  const { signal, onProgress, sameVersion } = given;
  const query = checkQuery(resource, given, clauses);
  const { units } = query.rules ?? {};
  if (units !== undefined) checkUnits(units);
  const url = firstUrlOf(query, settings);
  const versionCheck = sameVersion ? { url, filter: toWiderMetadataFilter(given) } : undefined;
  return { query, settings, url, versionCheck, signal, onProgress };
}

/** Only Locations has `geojson()`. `clauses` are not checked. */
export function createQuery<R extends object>(
  resource: ResourceName,
  options: AnyResourceQuery,
  settings: ClientSettings,
  clauses?: readonly Clause[],
): Query<R> & Partial<Pick<LocationsQuery<R>, "geojson">> {
  const prepared = prepareQuery(resource, options, settings, clauses);
  const { query, url, signal } = prepared;
  const toRows = () => ({ converter: createRowConverter<R>(query) });
  // The last batch holds only the end of a document, which rows do not have.
  const pages = () =>
    streamBatches(
      prepared,
      toRows(),
      ({ isLast, rows, data }) => isLast || rows === 0 ? [] : [data],
    );
  const bytes = (
    format: FormatName | LoadedFormat,
    options: { csv?: CsvOptions | undefined } = {},
  ) => {
    const { csv } = readOptions("bytes()", options, { csv: {} });
    const converter = byteConverter(createWriter(format, { ...query, csv }));
    return streamBatches(
      { ...prepared, query: limitRows(query, format) },
      { converter, deliversEarly: true },
      ({ data }) => data.length > 0 ? [data] : [],
      // With a limit, fewer rows may be left than the next page would have.
      (next) => readAhead(next, query.limit === Infinity),
    );
  };
  // Every method takes options of CSV, so that a format that has none rejects them.
  const inFormat = (format: FormatName) => (csv?: CsvOptions) => bytes(format, { csv });
  return {
    url,
    count: () => countQuery(createRun(prepared, new AbortController().signal), query),
    pages,
    // A page is enqueued in one pull. One pull per row takes 1.5 times as long for rows of three fields.
    rows: () => streamBatches(prepared, toRows(), ({ data }) => data),
    bytes,
    csv: inFormat("csv"),
    ndjson: inFormat("ndjson"),
    json: inFormat("json"),
    ...(resource === "Locations" && { geojson: inFormat("geojson") }),
    batches: ((options) => createBatches<R>(prepared, options)) as Query<R>["batches"],
    async toArray() {
      const all: R[][] = [];
      for await (const rows of pages()) all.push(rows);
      return all.flat();
    },
    [Symbol.asyncIterator]: () => iterate(pages(), signal, (rows: R[]) => rows),
  };
}

function createBatches<R>(
  prepared: PreparedQuery,
  options: BatchOptions = {},
): Batches<unknown> {
  const { query, settings, versionCheck, signal } = prepared;
  const { format, csv, after, distinct: fields, parts: deliversEarly } = readOptions(
    "batches()",
    options,
    BATCH_OPTIONS,
  );
  if (fields !== undefined) requireFields("distinct", query.resource, fields);
  if (format === undefined && csv !== undefined) {
    const hint = 'set {format: "csv"}';
    throw invalidOption("csv", "must not be set without a format", csv, hint);
  }
  const createConverter = (state?: WriterState): PageConverter<unknown> =>
    format === undefined
      ? createRowConverter<R>(query, state)
      : byteConverter(createWriter(format, { ...query, csv, state }));
  /** Of the first reading. Created now, so that an invalid option of the format throws now. */
  let first: PageConverter<unknown> | undefined = createConverter();
  const hasWriter = first.writer !== undefined;
  const digest = digestOf(query, settings.baseUrl, format, csv, versionCheck !== undefined);
  const accepts = (cursor: unknown): cursor is StoredCursor => isCursor(cursor, digest, hasWriter);
  const readFrom: Batches<unknown>["with"] = (start) => {
    const { after: cursor, signal } = start;
    if (cursor !== undefined && !accepts(cursor)) {
      const hint = "pass the same options as before, or start without {after}";
      throw invalidValue("after", "a cursor of a query with the same options", cursor, hint);
    }
    // A resumed list of values is complete only if the cursor carries the earlier values.
    const isKnown = cursor === undefined ||
      fields?.every((field) => cursor.distinct?.[field] !== undefined);
    const distinct = isKnown ? fields : undefined;
    return {
      accepts,
      with: (changes) => readFrom({ ...start, ...changes }),
      [Symbol.asyncIterator]() {
        const state = cursor?.writer as WriterState | undefined;
        const converter = state === undefined && first || createConverter(state);
        first = undefined;
        const source = { converter, digest, after: cursor, distinct, deliversEarly };
        const limited = { ...prepared, query: limitRows(query, format), signal };
        return iterate(streamBatches(limited, source, (batch) => [batch]), signal);
      },
    };
  };
  return readFrom({ after, signal });
}

/** A file has at most as many rows as its format allows. */
function limitRows(query: CheckedQuery, format?: FormatName | LoadedFormat): CheckedQuery {
  if (format === undefined) return query;
  const { maxRows = Infinity } = FORMATS[typeof format === "object" ? format.name : format];
  return maxRows < query.maxRows ? { ...query, maxRows, maxRowsOption: "format" } : query;
}

/** Cancelling the stream stops the request in flight. */
function streamBatches<T, C>(
  prepared: PreparedQuery,
  source: BatchSource<T>,
  toChunks: (batch: Batch<T>) => readonly C[],
  readBatches = (next: NextBatch<T>) => next,
): IterableStream<C> {
  const stop = new AbortController();
  const run = createRun(prepared, stop.signal, source.converter.writer, source.after);
  const next = readBatches(requestBatches(run, prepared, source));
  const nextChunks = async () => {
    const batch = await next();
    return batch && toChunks(batch);
  };
  return createStream(nextChunks, prepared.signal, (reason) => stop.abort(reason));
}

interface PageConverter<T> {
  readonly start: StartConversion<T>;
  end(): T | Promise<T>;
  /** Its state is a part of the cursor. */
  readonly writer?: PageWriter;
}

type StoredCursor = Cursor & Position & { readonly versions?: KnownVersions | undefined };

interface BatchSource<T> {
  converter: PageConverter<T>;
  /** Hash of the query, for cursors; absent if the caller uses no cursor. */
  digest?: string;
  after?: StoredCursor | undefined;
  /** Fields whose distinct values are collected. */
  distinct?: readonly string[] | undefined;
  /** Whether rows are delivered before their page is complete. Default false. */
  deliversEarly?: boolean | undefined;
}

type NextBatch<T> = () => Promise<Batch<T> | undefined>;

function requestBatches<T>(
  run: Run,
  { query, versionCheck: check }: PreparedQuery,
  { converter, digest, after, distinct, deliversEarly }: BatchSource<T>,
): NextBatch<T> {
  const parts = readParts(run, { ...query, distinct }, converter.start, {
    from: after,
    deliversEarly,
    isResumable: digest !== undefined,
  });
  const { writer } = converter;
  const addValues = collectValues(distinct, after?.distinct);
  let values = addValues([]);
  let versions: KnownVersions | undefined;
  let isLast = after?.isComplete === true;
  let isOneResponse = after === undefined || cameInOneResponse(after);
  // Of an earlier cursor, the position has the other members too.
  const toCursor = (
    position: Position,
    state: Pick<Cursor, "distinct" | "writer">,
  ): StoredCursor => ({
    ...position,
    ...state,
    version: CURSOR_VERSION,
    query: digest ?? "",
    isComplete: isLast,
    versions,
  });
  /** A state keeps bytes in memory that the writer could use again. */
  const stateOf = () => digest === undefined ? undefined : writer?.state;
  /** The cursor after the rows that the writer does not hold. */
  let last = after;
  return async () => {
    if (isLast) return undefined;
    if (check) versions ??= await startVersions(run, check, after);
    const before = { distinct: values, writer: stateOf() };
    const { done, value } = await parts.next();
    isLast = done === true;
    const part = done ? undefined : value;
    const position = done ? value : value.position;
    if (part !== undefined) isOneResponse = part.responses === 1;
    if (check && !isOneResponse) {
      await requireOneVersion(run, check, versions!, position.rows - (part?.kept ?? 0), isLast);
    }
    values = addValues(part?.values ?? []);
    const data = part === undefined ? await converter.end() : part.data;
    const { heldBytes } = writer ?? {};
    const state = stateOf();
    const cursor = heldBytes && !writer?.holdsInState
      ? last ?? toCursor(part!.start, before)
      : toCursor(position, { distinct: values, writer: state });
    const { notes } = state ?? {};
    const rows = cursor.rows - (last?.rows ?? 0);
    last = cursor;
    return {
      data,
      rows,
      totalRows: cursor.rows,
      cursor,
      heldBytes,
      isLast,
      hasMore: part !== undefined && part.hasMore && position.rows < query.limit,
      isPageEnd: part?.isPageEnd ?? true,
      isOneResponse,
      expectedRows: position.expectedRows,
      missingRows: position.missingRows ?? 0,
      surplusRows: position.surplusRows ?? 0,
      distinct: values,
      ...(notes && { notes }),
    };
  };
}

/** Returns a function that adds values, and returns all distinct ones by field. */
function collectValues(
  fields: readonly string[] | undefined,
  earlier: Cursor["distinct"],
): (found: readonly FoundValue[]) => Cursor["distinct"] {
  const known = new Map(fields?.map((field) => [field, new Set(earlier?.[field])]));
  return (found) => {
    for (const [field, value] of found) known.get(field)?.add(value);
    return fields && Object.fromEntries([...known].map(([field, values]) => [field, [...values]]));
  };
}

function createRowConverter<R>(query: CheckedQuery, state?: WriterState): PageConverter<R[]> {
  if (query.rules) return ruledRowConverter(createWriter("ndjson", { ...query, state }));
  const last = { length: 0 };
  return { start: (options) => startRowConversion(options, last), end: () => [] };
}

function byteConverter(writer: PageWriter): PageConverter<Bytes> {
  return { start: (options) => writer.openPage(options), end: () => writer.end(), writer };
}

/** Parses the lines of NDJSON, to which the rules were applied. */
function ruledRowConverter<R>(writer: PageWriter): PageConverter<R[]> {
  return {
    start(options) {
      const page = writer.openPage(options);
      return {
        get ids() {
          return page.ids;
        },
        takeableLength: 0,
        feed: (bytes) => page.feed(bytes),
        take() {
          const { data, ...taken } = page.take();
          const lines = utf8Decoder.decode(data).trimEnd();
          return { ...taken, data: JSON.parse(`[${lines.replaceAll("\n", ",")}]`) };
        },
        end: () => page.end(),
      };
    },
    end: () => [],
    writer,
  };
}

function digestOf(
  query: CheckedQuery,
  baseUrl: string,
  format: FormatName | LoadedFormat | undefined,
  csv: CsvOptions | undefined,
  sameVersion: boolean,
): string {
  const { resource, select, clauses, unparsedFilter, box, limit, skipToken, partition, rules } =
    query;
  const selection = [resource, baseUrl, select, clauses, unparsedFilter, box, rules];
  const name = typeof format === "object" ? format.name : format;
  const output = [name, name && csvOptionsOf(name, csv)];
  return toHash(JSON.stringify([selection, limit, skipToken, partition, output, sameVersion]));
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

const CURSOR_VERSION: Cursor["version"] = 2;

/** Does not check each member: the digest tells whether the cursor belongs to the query. */
function isCursor(value: unknown, digest: string, hasWriter: boolean): value is StoredCursor {
  return isObject(value) && value.version === CURSOR_VERSION && value.query === digest &&
    Array.isArray(value.shards) && isCount(value.rows) && isCount(value.groupRows) &&
    (value.writer !== undefined) === hasWriter;
}
