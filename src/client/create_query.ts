import { describe } from "../describe.ts";
import { didYouMean } from "../did_you_mean.ts";
import { checkOptions, type GivenOptions } from "../odata/query_options.ts";
import { fieldNames, type ResourceName } from "../odata/resources.ts";
import { type CsvFormat, toCsvFormat } from "../output/csv_options.ts";
import { CsvWriter } from "../output/csv_writer.ts";
import { geojsonWriter } from "../output/geojson.ts";
import { jsonWriter } from "../output/json.ts";
import { NdjsonWriter } from "../output/ndjson.ts";
import type { PageWriter } from "../output/page_writer.ts";
import { requireOptions } from "../require_options.ts";
import { type PageReader, readBytes, readRows } from "./page.ts";
import { toWireSelect } from "./follow.ts";
import { countAll } from "./legs.ts";
import { firstPages } from "./parts.ts";
import type { Progress } from "./progress.ts";
import type { LocationsQuery, Query } from "./query.ts";
import { readPages } from "./read_pages.ts";
import { ownUrl, requireRoom } from "./related.ts";
import { requireShortTarget, toRequestOptions } from "./requests.ts";
import { iterateRows, streamRows } from "./rows.ts";
import { Run, type Service } from "./run.ts";

type Bytes = Uint8Array<ArrayBuffer>;

/** What to ask for, when to stop, and whom to tell. */
export interface RunOptions extends GivenOptions {
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
  requireOptions(`A query of ${resource}`, options, Object.keys(KEYS));
  const { signal, onProgress, ...given } = options;
  requireSignal(signal);
  if (onProgress !== undefined && typeof onProgress !== "function") {
    throw new TypeError(`onProgress must be a function, got ${describe(onProgress)}`);
  }
  const query = checkOptions(resource, given);
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
  const bytes = (writer: PageWriter) => streamOf((stop) => write(stop, writer));

  return {
    url,
    count: () => countAll(start(new AbortController()), query),
    pages,
    rows: () => streamRows(pages(), signal),
    csv(options) {
      const format = toCsvFormat(options);
      const fields = select ?? fieldNames(resource);
      if (!given.unchecked) requireColumns(format, fields);
      return bytes(new CsvWriter(format, fields, select === undefined));
    },
    ndjson: () => bytes(new NdjsonWriter()),
    json: () => bytes(jsonWriter()),
    ...(resource === "Locations" && {
      geojson() {
        requirePosition(select);
        return bytes(geojsonWriter());
      },
    }),
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

function requireColumns({ columns = [] }: CsvFormat, fields: readonly string[]): void {
  const wrong = columns.find(([field]) => !fields.includes(field));
  if (wrong === undefined) return;
  throw new TypeError(
    `Cannot write column "${wrong[0]}", which is not selected: ${
      didYouMean(wrong[0], fields, "select it too, or leave the column out")
    }`,
  );
}

function requirePosition(select: readonly string[] | undefined): void {
  const missing = ["Longitude", "Latitude"].filter((name) => select && !select.includes(name));
  if (missing.length === 0) return;
  throw new TypeError(`Cannot write GeoJSON without ${missing.join(" and ")}: select it too`);
}

/** Refuses a controller in place of its signal, above all. */
function requireSignal(signal: unknown): void {
  if (signal === undefined || (signal as AbortSignal | null)?.throwIfAborted !== undefined) return;
  throw new TypeError(
    `signal must be an AbortSignal, such as a controller's signal, got ${describe(signal)}`,
  );
}
