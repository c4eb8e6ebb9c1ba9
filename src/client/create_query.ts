import { checkQuery, QUERY_RULES, requireFields } from "../odata/query_options.ts";
import {
  createWriter,
  type FormatName,
  FORMATS,
  formatsOf,
  type LoadedFormat,
  type WriterOptions,
} from "../formats/formats.ts";
import { startRowConversion } from "./page_reader.ts";
import type { Clause } from "../odata/clause.ts";
import { type Bytes, utf8Decoder } from "../bytes.ts";
import type { TidyRow } from "../formats/tidy.ts";
import { checkUnits } from "../formats/units.ts";
import {
  invalidOption,
  invalidValue,
  isListOfStrings,
  type OptionRule,
  readOptions,
} from "../validation.ts";
import type { ResourceName } from "../odata/resources.ts";
import { createRun } from "./progress.ts";
import { firstUrlOf } from "./split.ts";
import { countQuery } from "./read_parts.ts";
import { checkCsvOptions, type CsvOptions } from "../formats/csv.ts";
import type { ClientSettings } from "./options.ts";
import type { AnyResourceQuery, LocationsQuery, Query } from "./query.ts";
import {
  type Batch,
  type BatchOptions,
  type BatchSource,
  checkCursor,
  digestOf,
  type NextBatch,
  type PageConverter,
  readAhead,
  requestBatches,
} from "./batches.ts";
import { createStream, iterate } from "./iterable_stream.ts";
import type { PageWriter, WriterState } from "../formats/page_writer.ts";

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
  const query = checkQuery(resource, given, { added: clauses });
  const { select, rules } = query;
  if (rules?.units !== undefined) checkUnits(rules.units);
  const url = firstUrlOf(query, settings);

  const startRun = (stop: AbortSignal, notes?: PageConverter<unknown>["notes"]) =>
    createRun(settings, signal ? AbortSignal.any([signal, stop]) : stop, onProgress, notes);
  /** Cancelling the stream stops the request in flight. */
  const streamBatches = <T, C>(
    { distinct, ...source }: BatchSource<T> & { distinct?: readonly string[] | undefined },
    toChunks: (batch: Batch<T>) => readonly C[],
    readBatches = (next: NextBatch<T>) => next,
  ) => {
    const stop = new AbortController();
    const run = startRun(stop.signal, rules && source.converter.notes);
    const next = readBatches(requestBatches(run, { ...query, distinct }, source));
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
  const createRowConverter = () =>
    rules ? ruledRowConverter<R>(createFormatWriter("ndjson", {})) : rowConverter<R>();

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
    const hasCsvOptions = typeof format === "string" && FORMATS[format].hasCsvOptions;
    const checkedCsv = hasCsvOptions ? checkCsvOptions(csv) : undefined;
    const digest = digestOf(query, settings.baseUrl, format, checkedCsv);
    const after = given.after === undefined ? undefined : checkCursor(given.after, digest, format);
    const state = after?.writer as WriterState | undefined;
    // A resumed list of values is complete only if the cursor carries the earlier values.
    const isKnown = after === undefined ||
      fields?.every((field) => after.distinct?.[field] !== undefined);
    const distinct = isKnown ? fields : undefined;
    return {
      [Symbol.asyncIterator]() {
        const converter: PageConverter<unknown> = format === undefined
          ? createRowConverter()
          : byteConverter(createFormatWriter(format, { csv, state }));
        const source = { converter, digest, after, distinct, deliversEarly };
        return iterate(streamBatches(source, (batch) => [batch]), signal);
      },
    };
  };

  // Every method takes options of CSV, so that a format that has none rejects them.
  const formatMethods = Object.fromEntries(
    formatsOf(resource).flatMap((format) =>
      format === "parquet" || format === "csv.gz"
        ? []
        : [[format, (csv?: CsvOptions) => bytes(format, { csv })]]
    ),
  ) as Pick<Query<R>, "csv" | "ndjson" | "json">;

  return {
    url,
    tidy: () => createQuery<R & TidyRow>(resource, { ...options, tidy: true }, settings, clauses),
    count: () => countQuery(startRun(new AbortController().signal), query),
    pages,
    rows,
    bytes,
    ...formatMethods,
    batches: batches as Query<R>["batches"],
    async toArray() {
      const all: R[][] = [];
      for await (const rows of pages()) all.push(rows);
      return all.flat();
    },
    [Symbol.asyncIterator]: () => iterate(pages(), signal, (rows: R[]) => rows),
  };
}

function rowConverter<R>(): PageConverter<R[]> {
  const last = { length: 0 };
  return { start: (options) => startRowConversion(options, last), end: () => [] };
}

function byteConverter(writer: PageWriter): PageConverter<Bytes> {
  return {
    start: (options) => writer.openPage(options),
    end: () => writer.end(),
    notes: () => writer.state.notes,
    writer,
  };
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
    notes: () => writer.state.notes,
  };
}
