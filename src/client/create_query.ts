import { ValidationError } from "../errors.ts";
import { checkCsvOptions, type CsvOptions } from "../formats/csv_options.ts";
import { DoiCollector } from "../formats/doi_collector.ts";
import { createWriter, type FormatName, FORMATS, type WriterOptions } from "../formats/formats.ts";
import type { PageWriter } from "../formats/page_writer.ts";
import { checkQuery } from "../odata/query_options.ts";
import { fieldNames, type ResourceName } from "../odata/resources.ts";
import { describe, requireOptions } from "../validation.ts";
import {
  type BatchOptions,
  checkCursor,
  type CheckedCursor,
  type Cursor,
  fingerprintOf,
  type PageConverter,
  requestBatches,
} from "./batches.ts";
import { Execution, requireShortTarget, toRequestOptions } from "./fetch_page.ts";
import type { ClientSettings } from "./options.ts";
import type { AnyResourceQuery, LocationsQuery, Query } from "./query.ts";
import { readBytes, readRows } from "./read_page.ts";
import { countQuery, firstRequest, requireRoomForLocations, urlOf } from "./shards.ts";

type Bytes = Uint8Array<ArrayBuffer>;

const KEYS: Record<keyof AnyResourceQuery, true> = {
  select: true,
  filter: true,
  within: true,
  top: true,
  limit: true,
  skipToken: true,
  partition: true,
  unchecked: true,
  incomplete: true,
  maxRows: true,
  signal: true,
  onProgress: true,
};

/**
 * Creates a query of a resource. Only Locations has `geojson()`.
 *
 * @throws {ValidationError} If an option is unknown or invalid, or the request would be too long
 */
export function createQuery<R extends object>(
  resource: ResourceName,
  options: AnyResourceQuery,
  settings: ClientSettings,
): Query<R> & Partial<Pick<LocationsQuery<R>, "geojson">> {
  requireOptions(`a query of ${resource}`, options, Object.keys(KEYS));
  const { signal, onProgress, unchecked } = options;
  requireSignal(signal);
  requireProgressCallback(onProgress);
  const query = checkQuery(resource, options);
  const { select } = query;
  const { url } = toRequestOptions(settings, firstRequest(query));
  requireShortTarget(url);
  requireShortTarget(urlOf(query, settings));
  if (query.box) requireRoomForLocations(query, settings);

  const execute = (stop: AbortSignal) =>
    new Execution(settings, signal ? AbortSignal.any([signal, stop]) : stop, onProgress);
  const start = <T>(
    stop: AbortSignal,
    converter: PageConverter<T>,
    fingerprint: Cursor["query"] = {},
    after?: CheckedCursor,
  ) => requestBatches(execute(stop), query, converter, fingerprint, after);
  const toWriter = (format: FormatName, options: Pick<WriterOptions, "csv" | "state">) =>
    createWriter(format, { resource, select, unchecked, ...options });

  const pages = () =>
    toStream((stop) => {
      const next = start(stop, toRows<R>());
      return async () => {
        const batch = await next();
        return batch?.isLast ? undefined : batch?.data;
      };
    });

  const bytes = (format: FormatName, options: { csv?: CsvOptions | undefined } = {}) => {
    requireOptions("bytes()", options, ["csv"]);
    const converter = toBytes(toWriter(format, { csv: options.csv }));
    return toStream((stop) => {
      const next = start(stop, converter);
      return async () => {
        for (;;) {
          const batch = await next();
          if (batch?.data.length !== 0) return batch?.data;
        }
      };
    });
  };

  const batches = (options: BatchOptions = {}) => {
    requireBatchOptions(options);
    const { format, csv, dois } = options;
    const checkedCsv = format === "csv" ? checkCsvOptions(csv) : undefined;
    const fingerprint = fingerprintOf(query, settings.baseUrl, format, checkedCsv);
    const after = options.after === undefined ? undefined : checkCursor(options.after, fingerprint);
    // The list is complete only if it has the DOIs of the rows before the cursor, too.
    const collectsDois = dois && (select ?? fieldNames(resource)).includes("DOI") &&
      (after === undefined || after.dois !== undefined);
    const knownDois = collectsDois ? after?.dois ?? [] : undefined;
    const toConverter = (): PageConverter<unknown> =>
      format === undefined
        ? toRows<R>(knownDois)
        : toBytes(toWriter(format, { csv, state: after?.writer }), knownDois);
    toConverter(); // checks the format and its options
    return {
      [Symbol.asyncIterator]: () =>
        iterate(toStream((stop) => start(stop, toConverter(), fingerprint, after))),
    };
  };

  return {
    url,
    count: () => countQuery(execute(new AbortController().signal), query),
    pages,
    rows: () => streamRows(pages(), signal),
    bytes,
    csv: (options) => bytes("csv", { csv: options }),
    ndjson: () => bytes("ndjson"),
    json: () => bytes("json"),
    ...(FORMATS.geojson.resources.includes(resource) && { geojson: () => bytes("geojson") }),
    batches: batches as Query<R>["batches"],
    async toArray() {
      const all: R[][] = [];
      for await (const rows of pages()) all.push(rows);
      return all.flat();
    },
    [Symbol.asyncIterator]: () => iterateRows(pages(), signal),
  };
}

/**
 * Creates a converter of pages to rows.
 *
 * @param knownDois DOIs of earlier rows, if DOIs are collected
 */
function toRows<R extends object>(knownDois?: readonly string[]): PageConverter<R[]> {
  let dois = knownDois && new Set(knownDois);
  return {
    read(response, omitsId) {
      const page = readRows<R>(response, omitsId);
      const before = dois;
      if (dois) dois = new Set([...dois, ...page.content.flatMap(doiOf)]);
      return { ...page, undo: () => dois = before };
    },
    end: () => [],
    state: () => ({ dois: dois && [...dois] }),
  };
}

function doiOf(row: { DOI?: unknown }): string | [] {
  return typeof row.DOI === "string" ? row.DOI : [];
}

/**
 * Creates a converter of pages to the bytes of a document.
 *
 * @param knownDois DOIs of earlier rows, if DOIs are collected
 */
function toBytes(documentWriter: PageWriter, knownDois?: readonly string[]): PageConverter<Bytes> {
  const collector = knownDois && new DoiCollector(documentWriter, knownDois);
  const writer = collector ?? documentWriter;
  return {
    read: readBytes(writer),
    end: () => writer.end(),
    state: () => ({ writer: documentWriter.state, dois: collector?.dois }),
  };
}

/**
 * Creates a stream that requests nothing ahead. Cancelling it stops the request in flight.
 *
 * @param start Returns a function that requests the next chunk, and returns `undefined` at the end
 */
function toStream<T>(
  start: (stop: AbortSignal) => () => Promise<T | undefined>,
): ReadableStream<T> {
  const stop = new AbortController();
  const next = start(stop.signal);
  return new ReadableStream<T>({
    async pull(controller) {
      const chunk = await next();
      if (chunk === undefined) controller.close();
      else controller.enqueue(chunk);
    },
    cancel: (reason) => stop.abort(reason),
  }, { highWaterMark: 0 });
}

/**
 * Iterates over a stream. By hand, because `return()` of a generator, and of a stream's own iterator,
 * waits for an earlier `next()`, and would not stop the request in flight.
 */
function iterate<T>(stream: ReadableStream<T>): AsyncIterableIterator<T, void, void> {
  const reader = stream.getReader();
  return {
    async next() {
      const { done, value } = await reader.read();
      return done ? { done, value: undefined } : { done: false, value };
    },
    async return() {
      await reader.cancel();
      return { done: true, value: undefined };
    },
    [Symbol.asyncIterator]() {
      return this;
    },
  };
}

function requireBatchOptions(options: BatchOptions): void {
  requireOptions("batches()", options, ["format", "csv", "after", "dois"]);
  const { format, csv, dois } = options;
  if (dois !== undefined && typeof dois !== "boolean") {
    throw new ValidationError("dois", `must be a boolean, got ${describe(dois)}`, {
      received: dois,
    });
  }
  if (format === undefined && csv !== undefined) {
    throw new ValidationError("csv", "must not be set without a format", {
      received: csv,
      hint: 'set {format} to "csv"',
    });
  }
}

/** Checks the option `signal`. A frequent mistake is to pass the controller. */
function requireSignal(signal: unknown): void {
  if (signal === undefined || (signal as AbortSignal | null)?.throwIfAborted !== undefined) return;
  throw new ValidationError("signal", `must be an AbortSignal, got ${describe(signal)}`, {
    received: signal,
    hint: "pass the signal property of an AbortController",
  });
}

function requireProgressCallback(onProgress: unknown): void {
  if (onProgress === undefined || typeof onProgress === "function") return;
  throw new ValidationError("onProgress", `must be a function, got ${describe(onProgress)}`, {
    received: onProgress,
  });
}

/**
 * Iterates over the rows of pages. Written by hand for the same reason as {@linkcode iterate}.
 *
 * @param signal Stops the iteration, also between two rows of a page
 */
function iterateRows<R>(
  pages: ReadableStream<R[]>,
  signal: AbortSignal | undefined,
): AsyncIterableIterator<R, void, void> {
  const reader = pages.getReader();
  let rows: R[] = [];
  let taken = 0;
  let isDone = false;
  let reading: Promise<void> | undefined;
  const read = async () => {
    const { done, value = [] } = await reader.read();
    isDone ||= done;
    rows = value;
    taken = 0;
  };
  return {
    async next() {
      while (!isDone && taken === rows.length) {
        // A concurrent call waits for the same page.
        reading ??= read().finally(() => reading = undefined);
        await reading;
      }
      if (isDone) return { done: true, value: undefined };
      signal?.throwIfAborted();
      return { done: false, value: rows[taken++]! };
    },
    async return() {
      isDone = true;
      await reader.cancel();
      return { done: true, value: undefined };
    },
    [Symbol.asyncIterator]() {
      return this;
    },
  };
}

/**
 * Creates a stream of the rows of pages, which holds at most one page.
 *
 * @param signal Stops the stream, also between two rows of a page
 */
function streamRows<R>(
  pages: ReadableStream<R[]>,
  signal: AbortSignal | undefined,
): ReadableStream<R> {
  const reader = pages.getReader();
  let onAbort = () => {};
  const removeListener = () => signal?.removeEventListener("abort", onAbort);
  const read = () =>
    reader.read().catch((error) => {
      removeListener();
      throw error;
    });
  return new ReadableStream<R>({
    async pull(controller) {
      removeListener();
      onAbort = () => controller.error(signal?.reason);
      signal?.addEventListener("abort", onAbort, { once: true });
      // Until there is a row: a stream is not pulled again after a pull that enqueued nothing.
      for (;;) {
        const { done, value = [] } = await read();
        if (signal?.aborted) return;
        for (const row of value) controller.enqueue(row);
        if (done) {
          removeListener();
          controller.close();
        }
        if (done || value.length > 0) return;
      }
    },
    cancel(reason) {
      removeListener();
      return reader.cancel(reason);
    },
  }, { highWaterMark: 0 });
}
