import { ValidationError } from "../errors.ts";
import { checkCsvOptions, type CsvOptions } from "../formats/csv_options.ts";
import { DoiCollector } from "../formats/doi_collector.ts";
import { createWriter, type FormatName, FORMATS, type WriterOptions } from "../formats/formats.ts";
import type { PageWriter } from "../formats/page_writer.ts";
import { checkQuery, type UntypedQuery } from "../odata/query_options.ts";
import { fieldNames, type ResourceName } from "../odata/resources.ts";
import { describe, requireOptions } from "../validation.ts";
import {
  type BatchOptions,
  checkCursor,
  type CheckedCursor,
  type Cursor,
  fingerprintOf,
  type Output,
  requestBatches,
} from "./batches.ts";
import { requireShortTarget, Run, type Service, toRequestOptions } from "./fetch_page.ts";
import { toWireSelect } from "./paginate.ts";
import type { Progress } from "./progress.ts";
import type { LocationsQuery, Query } from "./query.ts";
import { firstPages } from "./query_pages.ts";
import { readBytes, readRows } from "./read_page.ts";
import { countAll, ownUrl, requireRoom } from "./shards.ts";

type Bytes = Uint8Array<ArrayBuffer>;

/** What to ask for, when to stop, and whom to tell. */
interface RunOptions extends UntypedQuery {
  signal?: AbortSignal | undefined;
  onProgress?: ((progress: Progress) => void) | undefined;
}

const KEYS: Record<keyof RunOptions, true> = {
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
 * Makes a query over the pages of a resource.
 *
 * @throws {TypeError} If an option or a name is none of the resource's, or an option is empty
 * @throws {SyntaxError} If the filter is not of the service's grammar
 * @throws {RangeError} If a number is out of range, or the request would be too long
 */
export function createQuery<R extends object>(
  resource: ResourceName,
  options: RunOptions,
  service: Service,
): Query<R> & Partial<Pick<LocationsQuery<R>, "geojson">> {
  requireOptions(`a query of ${resource}`, options, Object.keys(KEYS));
  const { signal, onProgress, ...given } = options;
  requireSignal(signal);
  if (onProgress !== undefined && typeof onProgress !== "function") {
    throw new TypeError(`onProgress must be a function, got ${describe(onProgress)}`);
  }
  const query = checkQuery(resource, given);
  const { select, limit } = query;
  const first = firstPages(query);
  const isOwn = first.resource === resource;
  const isWhole = isOwn && limit <= query.top && query.skipToken === undefined;
  const { url } = toRequestOptions(service, first.resource, {
    $select: toWireSelect(first, isWhole)?.join(","),
    $filter: first.filter,
    $top: isOwn ? Math.min(query.top, Math.max(limit, 1)) : first.top,
    $skiptoken: isOwn ? query.skipToken : undefined,
  });
  requireShortTarget(url);
  requireShortTarget(ownUrl(query, service));
  if (query.box) requireRoom(query, service);

  const start = <T>(
    stop: AbortSignal,
    output: Output<T>,
    fingerprint: Cursor["query"] = {},
    after?: CheckedCursor,
  ) => requestBatches(toRun(stop), query, output, fingerprint, after);
  const toRun = (stop: AbortSignal) =>
    new Run(service, signal ? AbortSignal.any([signal, stop]) : stop, onProgress);
  const toWriter = (format: FormatName, options: Pick<WriterOptions, "csv" | "state">) =>
    createWriter(format, { resource, select, unchecked: given.unchecked, ...options });

  const pages = () =>
    toStream((stop) => {
      const next = start(stop, rowsOutput<R>());
      return async () => {
        const batch = await next();
        return batch?.isLast ? undefined : batch?.data;
      };
    });
  const bytes = (format: FormatName, options: { csv?: CsvOptions | undefined } = {}) => {
    requireOptions("The options of bytes()", options, ["csv"]);
    const output = bytesOutput(toWriter(format, { csv: options.csv }));
    return toStream((stop) => {
      const next = start(stop, output);
      return async () => {
        for (;;) {
          const batch = await next();
          if (batch?.data.length !== 0) return batch?.data;
        }
      };
    });
  };

  function toBatches(options: BatchOptions): (stop: AbortSignal) => () => Promise<unknown> {
    requireOptions("The options of batches()", options, ["format", "csv", "after", "dois"]);
    const { format, csv, dois = false } = options;
    if (typeof dois !== "boolean") {
      throw new ValidationError("dois", `must be true or false, got ${describe(dois)}`, {
        received: dois,
      });
    }
    if (format === undefined && csv !== undefined) {
      throw new ValidationError("csv", "must not be set without a format", {
        received: csv,
        hint: 'pass {format} "csv" too',
      });
    }
    const csvFormat = format === "csv" ? checkCsvOptions(csv) : undefined;
    const fingerprint = fingerprintOf(query, service.baseUrl, format, csvFormat);
    const after = options.after === undefined ? undefined : checkCursor(options.after, fingerprint);
    // Of the rows before a cursor, no DOI is known unless all are.
    const collectsDois = dois && (select ?? fieldNames(resource)).includes("DOI") &&
      (after === undefined || after.dois !== undefined);
    const known = collectsDois ? after?.dois ?? [] : undefined;
    const toOutput = (): Output<unknown> =>
      format === undefined
        ? rowsOutput<R>(known)
        : bytesOutput(toWriter(format, { csv, state: after?.writer }), known);
    // Creates a writer, which checks the format and its options.
    toOutput();
    return (stop) => start(stop, toOutput(), fingerprint, after);
  }

  return {
    url,
    count: () => countAll(toRun(new AbortController().signal), query),
    pages,
    rows: () => streamRows(pages(), signal),
    bytes,
    csv: (options) => bytes("csv", { csv: options }),
    ndjson: () => bytes("ndjson"),
    json: () => bytes("json"),
    ...(FORMATS.geojson.resources.includes(resource) && { geojson: () => bytes("geojson") }),
    batches(options: BatchOptions = {}): AsyncIterable<never> {
      const requestNext = toBatches(options);
      return { [Symbol.asyncIterator]: () => iterate(toStream(requestNext)) } as AsyncIterable<
        never
      >;
    },
    async toArray() {
      const all: R[][] = [];
      for await (const rows of pages()) all.push(rows);
      return all.flat();
    },
    [Symbol.asyncIterator]: () => iterateRows(pages(), signal),
  };
}

/** Creates the output that passes rows on. */
function rowsOutput<R extends object>(known?: readonly string[]): Output<R[]> {
  let dois = known && new Set(known);
  return {
    read(answer, omitsId) {
      const page = readRows<R>(answer, omitsId);
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

/** Creates the output that writes bytes. */
function bytesOutput(plainWriter: PageWriter, known?: readonly string[]): Output<Bytes> {
  const collector = known && new DoiCollector(plainWriter, known);
  const writer = collector ?? plainWriter;
  return {
    read: readBytes(writer),
    end: () => writer.end(),
    state: () => ({ writer: plainWriter.state, dois: collector?.dois }),
  };
}

/**
 * Creates a stream that requests nothing ahead; cancelling it stops the request in flight.
 *
 * @param start Starts the work, and returns a function that returns each chunk and `undefined` at the end
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

/** Refuses a controller in place of its signal, above all. */
function requireSignal(signal: unknown): void {
  if (signal === undefined || (signal as AbortSignal | null)?.throwIfAborted !== undefined) return;
  throw new TypeError(
    `signal must be an AbortSignal, such as a controller's signal, got ${describe(signal)}`,
  );
}

/**
 * Rows out of pages, for a loop. By hand, because a generator's `return()` waits for the `next()`
 * before it, and so would not stop the request in flight.
 *
 * @param signal Ends it, in the midst of a page too
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
        // Whoever asks meanwhile waits for the same page.
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
 * Rows out of pages, as a stream that holds one page at most.
 *
 * @param signal Ends it, in the midst of a page too
 */
function streamRows<R>(
  pages: ReadableStream<R[]>,
  signal: AbortSignal | undefined,
): ReadableStream<R> {
  const reader = pages.getReader();
  let stop = () => {};
  const end = () => signal?.removeEventListener("abort", stop);
  const read = () =>
    reader.read().catch((error) => {
      end();
      throw error;
    });
  return new ReadableStream<R>({
    async pull(controller) {
      end();
      stop = () => controller.error(signal?.reason);
      signal?.addEventListener("abort", stop, { once: true });
      // Until there is a row: a stream whose pull brings none is not pulled again.
      for (;;) {
        const { done, value = [] } = await read();
        if (signal?.aborted) return;
        for (const row of value) controller.enqueue(row);
        if (done) {
          end();
          controller.close();
        }
        if (done || value.length > 0) return;
      }
    },
    cancel(reason) {
      end();
      return reader.cancel(reason);
    },
  }, { highWaterMark: 0 });
}
