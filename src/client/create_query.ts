import { checkQuery, QUERY_RULES, requireFields } from "../odata/query_options.ts";
import {
  createWriter,
  type FormatName,
  FORMATS,
  formatsOf,
  type WriterOptions,
} from "../formats/formats.ts";
import { startRowConversion } from "./page_reader.ts";
import type { Clause } from "../odata/clause.ts";
import { type Bytes, utf8Decoder } from "../bytes.ts";
import { fieldsOfRules, type RowNotes, type TidyRow } from "../formats/tidy.ts";
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
  type BatchPosition,
  checkCursor,
  digestOf,
  type NextBatch,
  type PageConverter,
  readAhead,
  requestBatches,
} from "./batches.ts";
import { iterate, toIterableStream } from "./iterable_stream.ts";
import type { FoundValue } from "../formats/distinct_values.ts";
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

  const startRun = (stop: AbortSignal, getNotes?: () => RowNotes | undefined) =>
    createRun(
      settings,
      signal ? AbortSignal.any([signal, stop]) : stop,
      onProgress && rules && getNotes
        ? (progress) => onProgress({ ...progress, notes: getNotes() })
        : onProgress,
    );
  /** Cancelling the stream stops the request in flight. */
  const streamBatches = <T, C>(
    converter: PageConverter<T>,
    toChunks: (batch: Batch<T>) => readonly C[],
    position: BatchPosition = {},
    readBatches = (next: NextBatch<T>) => next,
  ) => {
    const stop = new AbortController();
    const batches = requestBatches(
      startRun(stop.signal, converter.notes),
      { ...query, distinct: [...position.distinct ?? [], ...rules ? fieldsOfRules(rules) : []] },
      converter,
      position,
    );
    const next = readBatches(batches);
    let dropQueue = () => {};
    return toIterableStream(
      new ReadableStream<C>({
        async pull(controller) {
          signal?.removeEventListener("abort", dropQueue);
          // Repeat until a chunk is enqueued: a stream is not pulled again after a pull that adds nothing.
          for (;;) {
            const item = await next();
            signal?.throwIfAborted();
            if (item === undefined) return controller.close();
            const chunks = toChunks(item);
            if (chunks.length === 0) continue;
            // `next` does not see a signal that aborts while chunks are queued.
            dropQueue = () => controller.error(signal?.reason);
            if (chunks.length > 1) signal?.addEventListener("abort", dropQueue, { once: true });
            for (const chunk of chunks) controller.enqueue(chunk);
            return;
          }
        },
        cancel(reason) {
          signal?.removeEventListener("abort", dropQueue);
          stop.abort(reason);
        },
      }, { highWaterMark: 0 }),
    );
  };
  const createFormatWriter = (format: FormatName, options: Pick<WriterOptions, "csv" | "state">) =>
    createWriter(format, { resource, select, unchecked, rules, ...options });
  const toRowConverter = (distinct?: readonly string[]) =>
    rules === undefined
      ? rowConverter<R>(distinct)
      : ruledRowConverter<R>(createFormatWriter("ndjson", {}), distinct);

  // The last batch holds only the end of a document, which rows do not have.
  const pages = () =>
    streamBatches(toRowConverter(), ({ isLast, rows, data }) => isLast || rows === 0 ? [] : [data]);
  // A page is enqueued in one pull. One pull per row takes 1.5 times as long for rows of three fields.
  const rows = () => streamBatches(toRowConverter(), ({ data }) => data);

  const bytes = (format: FormatName, options: { csv?: CsvOptions | undefined } = {}) => {
    const { csv } = readOptions("bytes()", options, { csv: {} });
    const converter = byteConverter(createFormatWriter(format, { csv }));
    const toChunks = ({ data }: Batch<Bytes>) => data.length > 0 ? [data] : [];
    // With a limit, fewer rows may be left than the next page would have.
    const readsNextPage = query.limit === Infinity;
    return streamBatches(
      converter,
      toChunks,
      { deliversEarly: true },
      (next) => readAhead(next, readsNextPage),
    );
  };

  const batches = (options: BatchOptions = {}) => {
    const { format, csv, distinct: fields, parts, after: cursor } = readOptions(
      "batches()",
      options,
      {
        format: {},
        csv: {},
        after: {},
        distinct: {
          check(option, fields) {
            if (!isListOfStrings(fields)) throw invalidValue(option, "an array of fields", fields);
            requireFields(option, resource, fields);
          },
        },
        parts: { type: "boolean" },
      },
    );
    if (format === undefined && csv !== undefined) {
      const hint = 'set {format: "csv"}';
      throw invalidOption("csv", "must not be set without a format", csv, hint);
    }
    if (format !== undefined) createFormatWriter(format, { csv }); // throws now if the format is invalid
    const checkedCsv = format && FORMATS[format].hasCsvOptions ? checkCsvOptions(csv) : undefined;
    const digest = digestOf(query, settings.baseUrl, format, checkedCsv);
    const after = cursor === undefined ? undefined : checkCursor(cursor, digest, format);
    // A resumed list of values is complete only if the cursor carries the earlier values.
    const isKnown = after === undefined ||
      fields?.every((field) => after.distinct?.[field] !== undefined);
    const distinct = isKnown ? fields : undefined;
    const createConverter = (): PageConverter<unknown> =>
      format === undefined ? toRowConverter(distinct) : byteConverter(
        createFormatWriter(format, { csv, state: after?.writer as WriterState }),
        distinct,
      );
    return {
      [Symbol.asyncIterator]() {
        const position = { digest, after, distinct, deliversEarly: parts };
        return iterate(streamBatches(createConverter(), (batch) => [batch], position), signal);
      },
    };
  };

  // Every method takes options of CSV, so that a format that has none rejects them.
  const formatMethods = Object.fromEntries(
    formatsOf(resource).map((format) => [format, (csv?: CsvOptions) => bytes(format, { csv })]),
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

function rowConverter<R extends object>(distinct: readonly string[] = []): PageConverter<R[]> {
  const toContent = (data: R[]) => ({
    data,
    values: distinct.flatMap((field) =>
      data.flatMap((row) => valueOf(row as Record<string, unknown>, field))
    ),
  });
  const last = { length: 0 };
  return {
    start: (options) => startRowConversion(options, toContent, last),
    end: () => [],
  };
}

/** Returns an empty list for a field without a value. */
function valueOf(row: Record<string, unknown>, field: string): FoundValue[] {
  const value = row[field];
  const isValue = typeof value === "number" || typeof value === "string" && value !== "";
  return isValue ? [[field, String(value)]] : [];
}

function byteConverter(
  writer: PageWriter,
  distinct: readonly string[] = [],
): PageConverter<Bytes> {
  return {
    start: (options) => writer.openPage({ ...options, distinct }),
    end: () => writer.end(),
    notes: () => writer.state.notes,
    writer,
  };
}

function ruledRowConverter<R extends object>(
  writer: PageWriter,
  distinct: readonly string[] = [],
): PageConverter<R[]> {
  return {
    start(options) {
      const page = writer.openPage({ ...options, distinct });
      return {
        get ids() {
          return page.ids;
        },
        takeableLength: 0,
        feed: (bytes) => page.feed(bytes),
        take: () => ({ content: { data: [], values: [] }, rows: 0, kept: 0 }),
        end() {
          const { take, ...end } = page.end();
          return {
            ...end,
            take() {
              const { data, values } = take();
              const lines = utf8Decoder.decode(data).trimEnd();
              return { data: JSON.parse(`[${lines.replaceAll("\n", ",")}]`), values };
            },
          };
        },
      };
    },
    end: () => [],
    notes: () => writer.state.notes,
  };
}
