import { type Bytes, utf8Decoder, utf8Encoder } from "../bytes.ts";
import { checkCsvOptions, type CsvOptions } from "../formats/csv.ts";
import {
  createWriter,
  type FormatName,
  FORMATS,
  type LoadedFormat,
  type WriterOptions,
} from "../formats/formats.ts";
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
import { createStream, iterate, readAhead } from "./iterable_stream.ts";
import {
  type KnownVersions,
  requestVersions,
  requireSameVersions,
  requireSettled,
  type VersionCheck,
} from "./dataset_versions.ts";
import type { ClientSettings } from "./options.ts";
import { type StartConversion, startRowConversion } from "./page_reader.ts";
import type {
  AnyResourceQuery,
  Batch,
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

/** Only Locations has `geojson()`. `clauses` are not checked. */
export function createQuery<R extends object>(
  resource: ResourceName,
  options: AnyResourceQuery,
  settings: ClientSettings,
  clauses?: readonly Clause[],
): Query<R> & Partial<Pick<LocationsQuery<R>, "geojson">> {
  const given: AnyResourceQuery = readOptions(`a query of ${resource}`, options, QUERY_OPTIONS);
  const { signal, onProgress, unchecked } = given;
  const query = checkQuery(resource, given, clauses);
  const { select, rules } = query;
  if (rules?.units !== undefined) checkUnits(rules.units);
  const url = firstUrlOf(query, settings);
  const versionCheck = given.sameVersion
    ? { url, filter: toWiderMetadataFilter(given) }
    : undefined;

  const startRun = (stop: AbortSignal, writer?: PageWriter) => {
    const notes = writer && (() => writer.state.notes);
    return createRun(settings, signal ? AbortSignal.any([signal, stop]) : stop, onProgress, notes);
  };
  /** Cancelling the stream stops the request in flight. */
  const streamBatches = <T, C>(
    source: BatchSource<T>,
    toChunks: (batch: Batch<T>) => readonly C[],
    readBatches = (next: NextBatch<T>) => next,
  ) => {
    const stop = new AbortController();
    const run = startRun(stop.signal, source.converter.writer);
    const next = readBatches(requestBatches(run, query, source, versionCheck));
    const nextChunks = async () => {
      const batch = await next();
      return batch && toChunks(batch);
    };
    return createStream(nextChunks, signal, (reason) => stop.abort(reason));
  };
  const createFormatWriter = (
    format: FormatName | LoadedFormat,
    options: Pick<WriterOptions, "csv" | "state">,
  ) => createWriter(format, { resource, select, unchecked, rules, ...options });
  const createRowConverter = (state?: WriterState) =>
    rules ? ruledRowConverter<R>(createFormatWriter("ndjson", { state })) : rowConverter<R>();

  // The last batch holds only the end of a document, which rows do not have.
  const pages = () =>
    streamBatches(
      { converter: createRowConverter() },
      ({ isLast, rows, data }) => isLast || rows === 0 ? [] : [data],
    );
  // A page is enqueued in one pull. One pull per row takes 1.5 times as long for rows of three fields.
  const rows = () => streamBatches({ converter: createRowConverter() }, ({ data }) => data);

  const bytes = (
    format: FormatName | LoadedFormat,
    options: { csv?: CsvOptions | undefined } = {},
  ) => {
    const { csv } = readOptions("bytes()", options, { csv: {} });
    return streamBatches(
      { converter: byteConverter(createFormatWriter(format, { csv })), deliversEarly: true },
      ({ data }) => data.length > 0 ? [data] : [],
      // With a limit, fewer rows may be left than the next page would have.
      (next) => readAhead(next, query.limit === Infinity),
    );
  };

  const batches = (options: BatchOptions = {}) => {
    const given = readOptions("batches()", options, BATCH_OPTIONS);
    const { format, csv, distinct: fields, parts: deliversEarly } = given;
    if (fields !== undefined) requireFields("distinct", resource, fields);
    if (format === undefined && csv !== undefined) {
      const hint = 'set {format: "csv"}';
      throw invalidOption("csv", "must not be set without a format", csv, hint);
    }
    if (format !== undefined) createFormatWriter(format, { csv }); // throws now if the format is invalid
    const digest = digestOf(query, settings.baseUrl, format, csv, versionCheck !== undefined);
    const hasWriter = format !== undefined || rules !== undefined;
    const cursor = given.after === undefined
      ? undefined
      : checkCursor(given.after, digest, hasWriter);
    // A resumed list of values is complete only if the cursor carries the earlier values.
    const isKnown = cursor === undefined ||
      fields?.every((field) => cursor.distinct?.[field] !== undefined);
    const distinct = isKnown ? fields : undefined;
    return {
      [Symbol.asyncIterator]() {
        const after = positionOf(cursor);
        const state = after?.writer as WriterState | undefined;
        const converter: PageConverter<unknown> = format === undefined
          ? createRowConverter(state)
          : byteConverter(createFormatWriter(format, { csv, state }));
        const source = { converter, digest, after, distinct, deliversEarly };
        return iterate(streamBatches(source, (batch) => [batch]), signal);
      },
    };
  };

  // Every method takes options of CSV, so that a format that has none rejects them.
  const inFormat = (format: FormatName) => (csv?: CsvOptions) => bytes(format, { csv });

  return {
    url,
    count: () => countQuery(startRun(new AbortController().signal), query),
    pages,
    rows,
    bytes,
    csv: inFormat("csv"),
    ndjson: inFormat("ndjson"),
    json: inFormat("json"),
    ...(resource === "Locations" && { geojson: inFormat("geojson") }),
    batches: batches as Query<R>["batches"],
    async toArray() {
      const all: R[][] = [];
      for await (const rows of pages()) all.push(rows);
      return all.flat();
    },
    [Symbol.asyncIterator]: () => iterate(pages(), signal, (rows: R[]) => rows),
  };
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
  query: CheckedQuery,
  { converter, digest, after, distinct, deliversEarly }: BatchSource<T>,
  check: VersionCheck | undefined,
): NextBatch<T> {
  const parts = readParts(run, { ...query, distinct }, converter.start, {
    from: after,
    deliversEarly,
    isResumable: digest !== undefined,
  });
  const known = new Map(distinct?.map((field) => [field, new Set(after?.distinct?.[field])]));
  const listValues = (): Cursor["distinct"] =>
    distinct && Object.fromEntries([...known].map(([field, values]) => [field, [...values]]));
  const { writer } = converter;
  let values = listValues();
  let versions = after?.versions;
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
  if (after !== undefined) run.position = after;
  let isFirst = true;
  return async () => {
    if (isLast) return undefined;
    if (check && isFirst) {
      if (after !== undefined) await requireSameVersions(run, check, versions!, after.rows);
      versions ??= await requestVersions(run, check);
    }
    isFirst = false;
    const before = { distinct: values, writer: writer?.state };
    const { done, value } = await parts.next();
    isLast = done === true;
    const part = done ? undefined : value;
    const position = done ? value : value.position;
    if (part !== undefined) isOneResponse = part.responses === 1;
    if (check && !isOneResponse) {
      const delivered = position.rows - (part?.kept ?? 0);
      requireSettled(check, versions!, delivered);
      if (done) await requireSameVersions(run, check, versions!, delivered);
    }
    for (const [field, value] of part?.values ?? []) known.get(field)?.add(value);
    values = listValues();
    const data = part === undefined ? await converter.end() : part.data;
    const cursor = toCursor(position, { distinct: values, writer: writer?.state });
    const { notes } = writer?.state ?? {};
    return {
      data,
      rows: part?.kept ?? 0,
      totalRows: position.rows,
      cursor: part && writer?.toCursor?.(cursor, toCursor(part.start, before)) || cursor,
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

/** Returns the position to continue at: an earlier one if the writer no longer has the rows that the cursor refers to. */
function positionOf(cursor: StoredCursor | undefined): StoredCursor | undefined {
  const { buffered } = (cursor?.writer ?? {}) as WriterState;
  return buffered?.memory.isReused ? (cursor as { toJSON?(): StoredCursor }).toJSON?.() : cursor;
}

function rowConverter<R>(): PageConverter<R[]> {
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
  const hasCsvOptions = typeof format === "string" && FORMATS[format].hasCsvOptions;
  const output = [name, hasCsvOptions ? checkCsvOptions(csv) : undefined];
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
function checkCursor(after: unknown, digest: string, hasWriter: boolean): StoredCursor {
  const isValid = isObject(after) && after.version === CURSOR_VERSION && after.query === digest &&
    Array.isArray(after.shards) && isCount(after.rows) && isCount(after.groupRows) &&
    (after.writer !== undefined) === hasWriter;
  if (isValid) return after as unknown as StoredCursor;
  const hint = "pass the same options as before, or start without {after}";
  throw invalidValue("after", "a cursor of a query with the same options", after, hint);
}
