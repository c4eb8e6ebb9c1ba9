import { endpoint } from "../endpoint/endpoint.ts";
import type { RequestOptions } from "../endpoint/types.ts";
import { type QueryOptions, toSystemQueryOptions } from "../odata/query_options.ts";
import { fieldNames, type ResourceName, RESOURCES } from "../odata/resources.ts";
import { csvFromPages } from "../output/csv_rows.ts";
import { type Page, readPage } from "./page.ts";
import { send, type Transport } from "./transport.ts";

/** What a query needs of the client that made it. */
export interface QueryContext extends Transport {
  baseUrl: string;
  headers: Record<string, string>;
}

/** What to ask for, and when to stop. */
export interface RunOptions extends QueryOptions {
  signal?: AbortSignal;
}

/**
 * A question to the service, not yet asked: nothing is sent until it is consumed, and each
 * consumption asks anew.
 *
 * Every way to consume it gives all rows or fails: pages are fetched one at a time, when they are
 * asked for, and each is read whole before any of its rows is passed on. Made by the methods of `DataStream`.
 *
 * @typeParam R The type of a row
 *
 * @example Leave a loop early, and nothing more is asked
 * ```ts
 * import { DataStream } from "@weir/datastream";
 * import { createSandbox } from "@weir/datastream/sandbox";
 * import { assertEquals } from "@std/assert";
 *
 * const sandbox = createSandbox();
 * const { apiKey, url, fetch } = sandbox;
 * const client = new DataStream({ apiKey, baseUrl: url, fetch });
 * for await (const row of client.records({ select: ["Id"], top: 100 })) {
 *   assertEquals(row.Id, 500003);
 *   break;
 * }
 * assertEquals(sandbox.stats.requests, 1);
 * ```
 */
export interface Query<R> extends AsyncIterable<R> {
  /** The URL of the first request, encoded: to log, or to paste elsewhere. */
  readonly url: string;
  /**
   * The rows, page by page: the unit of work. A page is fetched when it is pulled, none ahead;
   * cancelling stops the request in flight.
   *
   * @returns A stream of lists of rows; it errors with a `DataStreamError` on any fault
   */
  pages(): ReadableStream<R[]>;
  /**
   * The rows as CSV: one chunk a page, the header in the first, also where there are no rows.
   *
   * Columns stand in the order of `select`, else in the documented order. Source: RFC 4180.
   *
   * @returns A stream of UTF-8 bytes; it errors with a `DataStreamError` on any fault
   */
  csv(): ReadableStream<Uint8Array<ArrayBuffer>>;
  /**
   * All rows at once.
   *
   * @returns The rows, in the service's order
   * @throws {DataStreamError} On any fault
   */
  toArray(): Promise<R[]>;
  /**
   * The rows one by one; leaving the loop early stops the request in flight.
   *
   * @throws {DataStreamError} On any fault
   */
  [Symbol.asyncIterator](): AsyncIterableIterator<R, void, void>;
}

/**
 * Makes a query over the pages of a resource.
 *
 * @throws {TypeError} If a field is not one of the resource, or `select` or `filter` is empty
 * @throws {RangeError} If `top` is not a whole number from 1 to 10000
 */
export function createQuery<R extends object>(
  resource: ResourceName,
  { signal, select, ...rest }: RunOptions,
  context: QueryContext,
): Query<R> {
  const { baseUrl, headers } = context;
  const columns = select && [...select];
  const options: QueryOptions = { ...rest, ...(columns && { select: columns }) };
  const requestFrom = (skipToken?: string): RequestOptions =>
    endpoint(`GET ${RESOURCES[resource].path}`, {
      baseUrl,
      headers,
      ...toSystemQueryOptions(resource, options, skipToken),
    });

  async function* run(signal: AbortSignal): AsyncGenerator<R[], void, void> {
    const followed = new Set<string>();
    let skipToken: string | undefined;
    do {
      const page: Page<R> = readPage(await send(requestFrom(skipToken), context, signal), followed);
      skipToken = page.skipToken;
      if (skipToken !== undefined) followed.add(skipToken);
      yield page.rows;
    } while (skipToken !== undefined);
  }

  function pages(): ReadableStream<R[]> {
    const stop = new AbortController();
    const source = run(signal ? AbortSignal.any([signal, stop.signal]) : stop.signal);
    return new ReadableStream<R[]>({
      async pull(controller) {
        const { done, value } = await source.next();
        if (done) controller.close();
        else controller.enqueue(value);
      },
      cancel: (reason) => stop.abort(reason),
    }, { highWaterMark: 0 });
  }

  return {
    url: requestFrom().url,
    pages,
    csv: () =>
      csvFromPages(pages(), {
        columns: columns ?? fieldNames(resource),
        open: !columns,
        url: requestFrom().url,
      }),
    async toArray() {
      const all: R[][] = [];
      for await (const rows of pages()) all.push(rows);
      return all.flat();
    },
    [Symbol.asyncIterator]: () => iterateRows(pages()),
  };
}

/**
 * Rows out of pages. By hand, because a generator's `return()` waits for the `next()` before it, and
 * so would not stop the request in flight.
 */
function iterateRows<R>(pages: ReadableStream<R[]>): AsyncIterableIterator<R, void, void> {
  const reader = pages.getReader();
  let rows: R[] = [];
  let taken = 0;
  return {
    async next() {
      while (taken === rows.length) {
        const { done, value } = await reader.read();
        if (done) return { done, value: undefined };
        rows = value;
        taken = 0;
      }
      return { done: false, value: rows[taken++]! };
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
