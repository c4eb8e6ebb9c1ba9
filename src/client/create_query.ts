import type { CsvOptions } from "../formats/csv_options.ts";
import { createWriter, type FormatName, FORMATS } from "../formats/formats.ts";
import type { PageWriter } from "../formats/page_writer.ts";
import { checkQuery, type UntypedQuery } from "../odata/query_options.ts";
import type { ResourceName } from "../odata/resources.ts";
import { describe, requireOptions } from "../validation.ts";
import { requireShortTarget, Run, type Service, toRequestOptions } from "./fetch_page.ts";
import { toWireSelect } from "./paginate.ts";
import type { Progress } from "./progress.ts";
import type { LocationsQuery, Query } from "./query.ts";
import { firstPages, readPages } from "./query_pages.ts";
import { type PageReader, readBytes, readRows } from "./read_page.ts";
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

  const start = (stop: AbortController) =>
    new Run(service, signal ? AbortSignal.any([signal, stop.signal]) : stop.signal, onProgress);

  async function* run<T>(
    stop: AbortController,
    read: PageReader<T>,
  ): AsyncGenerator<T, void, void> {
    for await (const { content } of readPages(start(stop), query, read)) yield content;
  }

  async function* write(
    stop: AbortController,
    writer: PageWriter,
  ): AsyncGenerator<Bytes, void, void> {
    for await (const bytes of run(stop, readBytes(writer))) if (bytes.length > 0) yield bytes;
    const end = writer.end();
    if (end.length > 0) yield end;
  }

  const pages = () => streamOf((stop) => run(stop, readRows<R>));
  const bytes = (format: FormatName, csv?: CsvOptions) => {
    const writer = createWriter(format, { resource, select, csv, unchecked: given.unchecked });
    return streamOf((stop) => write(stop, writer));
  };

  return {
    url,
    count: () => countAll(start(new AbortController()), query),
    pages,
    rows: () => streamRows(pages(), signal),
    csv: (options) => bytes("csv", options),
    ndjson: () => bytes("ndjson"),
    json: () => bytes("json"),
    ...(FORMATS.geojson.resources.includes(resource) && { geojson: () => bytes("geojson") }),
    async toArray() {
      const all: R[][] = [];
      for await (const rows of pages()) all.push(rows);
      return all.flat();
    },
    [Symbol.asyncIterator]: () => iterateRows(pages(), signal),
  };
}

/** A stream of what is generated, when it is pulled; cancelling it stops the request in flight. */
function streamOf<T>(
  generate: (stop: AbortController) => AsyncGenerator<T, void, void>,
): ReadableStream<T> {
  const stop = new AbortController();
  const source = generate(stop);
  return new ReadableStream<T>({
    async pull(controller) {
      const { done, value } = await source.next();
      if (done) controller.close();
      else controller.enqueue(value);
    },
    cancel: (reason) => stop.abort(reason),
  }, { highWaterMark: 0 });
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
