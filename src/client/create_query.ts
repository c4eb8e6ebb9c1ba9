import { unknownSelectFieldHint } from "../odata/name_hints.ts";
import { checkQuery } from "../odata/query_options.ts";
import {
  createWriter,
  type FormatName,
  FORMATS,
  formatsOf,
  type WriterOptions,
} from "../formats/formats.ts";
import { ValidationError } from "../errors.ts";
import { startRowConversion } from "./convert_page.ts";
import type { Clause } from "../odata/clause.ts";
import type { Bytes } from "../bytes.ts";
import {
  invalidValue,
  isListOfStrings,
  listNames,
  requireOptions,
  requireType,
} from "../validation.ts";
import { fieldNames, type ResourceName } from "../odata/resources.ts";
import { createRun } from "./run.ts";
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
  type PageConverter,
  requestBatches,
} from "./batches.ts";
import { iterate, toIterableStream } from "./iterable_stream.ts";
import { readAhead } from "./read_ahead.ts";
import type { FoundValue } from "../formats/distinct_values.ts";
import type { PageWriter } from "../formats/page_writer.ts";

/** Names of the query options; `checkQuery` adds the defaults. The type requires each name. */
const QUERY_OPTIONS: Record<keyof AnyResourceQuery, undefined> = {
  select: undefined,
  filter: undefined,
  within: undefined,
  top: undefined,
  limit: undefined,
  skipToken: undefined,
  partition: undefined,
  unchecked: undefined,
  incomplete: undefined,
  maxRows: undefined,
  signal: undefined,
  onProgress: undefined,
};

/**
 * Creates a query of a resource. Only Locations has `geojson()`.
 *
 * @param clauses Clauses that the rows must match too. They are not checked. Default: none
 * @throws {ValidationError} If an option is unknown or invalid, or the request would be too long
 */
export function createQuery<R extends object>(
  resource: ResourceName,
  options: AnyResourceQuery,
  settings: ClientSettings,
  clauses?: readonly Clause[],
): Query<R> & Partial<Pick<LocationsQuery<R>, "geojson">> {
  const given = requireOptions(`a query of ${resource}`, options, QUERY_OPTIONS);
  const { signal, onProgress, unchecked } = given;
  requireSignal(signal);
  requireType("onProgress", onProgress, "function");
  const query = checkQuery(resource, given, { added: clauses });
  const { select } = query;
  const url = firstUrlOf(query, settings);

  const startRun = (stop: AbortSignal) =>
    createRun(settings, signal ? AbortSignal.any([signal, stop]) : stop, onProgress);
  /**
   * Creates a stream of batches. Cancelling it stops the request in flight.
   *
   * @param toChunks Converts a batch to chunks of the stream
   * @param readBatches Requests the batches. Default: each when it is pulled
   */
  const streamBatches = <T, C>(
    converter: PageConverter<T>,
    toChunks: (batch: Batch<T>) => readonly C[],
    position: BatchPosition = {},
    readBatches = (next: NextBatch<T>) => next,
  ) => {
    const stop = new AbortController();
    const batches = requestBatches(
      startRun(stop.signal),
      { ...query, distinct: position.distinct ?? [] },
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
    createWriter(format, { resource, select, unchecked, ...options });

  // The last batch holds only the end of a document, which rows do not have.
  const pages = () => streamBatches(rowConverter<R>(), ({ isLast, data }) => isLast ? [] : [data]);
  // A page is enqueued in one pull. One pull per row takes 1.5 times as long for rows of three fields.
  const rows = () => streamBatches(rowConverter<R>(), ({ data }) => data);

  const bytes = (format: FormatName, options: { csv?: CsvOptions | undefined } = {}) => {
    const { csv } = requireOptions("bytes()", options, { csv: undefined });
    const converter = byteConverter(createFormatWriter(format, { csv }));
    const toChunks = ({ data }: Batch<Bytes>) => data.length > 0 ? [data] : [];
    // With a limit, fewer rows may be left than the next page would have.
    const readsNextPage = query.limit === Infinity;
    return streamBatches(converter, toChunks, { deliversEarly: true }, (next) =>
      readAhead(next, {
        isPageEnd: ({ isPageEnd }) => isPageEnd,
        lengthOf: ({ data }) => data.length,
        readsNextPage,
      }));
  };

  const batches = (options: BatchOptions = {}) => {
    const { format, csv, distinct: fields, parts, after: cursor } = requireOptions(
      "batches()",
      options,
      {
        format: undefined,
        csv: undefined,
        after: undefined,
        distinct: undefined,
        parts: undefined,
      },
    );
    if (fields !== undefined) requireFields(resource, fields);
    requireType("parts", parts, "boolean");
    if (format === undefined && csv !== undefined) {
      throw new ValidationError("csv", "must not be set without a format", {
        received: csv,
        hint: 'set {format: "csv"}',
      });
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
      format === undefined
        ? rowConverter<R>(distinct)
        : byteConverter(createFormatWriter(format, { csv, state: after?.writer }), distinct);
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
    [Symbol.asyncIterator]: () => iterate(pages(), signal, (rows) => rows),
  };
}

/** Requests the next batch; returns `undefined` after the last one. */
type NextBatch<T> = ReturnType<typeof requestBatches<T>>;

/** Creates a converter of pages to rows. */
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

/** Returns the value of a row in a field; an empty list without one. */
function valueOf(row: Record<string, unknown>, field: string): FoundValue[] {
  const value = row[field];
  const isValue = typeof value === "number" || typeof value === "string" && value !== "";
  return isValue ? [[field, String(value)]] : [];
}

/** Checks the option `distinct`. */
function requireFields(resource: ResourceName, fields: unknown): void {
  if (!isListOfStrings(fields)) throw invalidValue("distinct", "an array of fields", fields);
  const unknown = fields.find((field) => !fieldNames(resource).some((name) => name === field));
  if (unknown === undefined) return;
  throw new ValidationError(
    "distinct",
    `includes "${unknown}", which is not a field of ${resource}`,
    {
      received: fields,
      hint: unknownSelectFieldHint(resource, unknown) ?? listNames(fieldNames(resource)),
    },
  );
}

/** Creates a converter of pages to the bytes of a document. */
function byteConverter(
  writer: PageWriter,
  distinct: readonly string[] = [],
): PageConverter<Bytes> {
  return {
    start: (options) => writer.openPage({ ...options, distinct }),
    end: () => writer.end(),
    writer,
  };
}

/** Checks the option `signal`. A frequent mistake is to pass the AbortController. */
function requireSignal(signal: unknown): void {
  if (signal === undefined || signal instanceof AbortSignal) return;
  const hint = "pass the signal property of an AbortController";
  throw invalidValue("signal", "an AbortSignal", signal, hint);
}
