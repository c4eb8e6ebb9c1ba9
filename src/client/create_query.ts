import { describe } from "../describe.ts";
import { requireOptions } from "../odata/did_you_mean.ts";
import { checkOptions, type GivenOptions } from "../odata/query_options.ts";
import { fieldNames, type ResourceName } from "../odata/resources.ts";
import { csvFromPages } from "../output/csv_rows.ts";
import { allPages, countAll, firstPages } from "./parts.ts";
import type { Progress } from "./progress.ts";
import type { Query } from "./query.ts";
import { requireRoom } from "./related.ts";
import { requireShortTarget, toRequestOptions } from "./requests.ts";
import { iterateRows, streamRows } from "./rows.ts";
import { Run, type Service } from "./run.ts";

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
): Query<R> {
  requireOptions(`A query of ${resource}`, options, Object.keys(KEYS));
  const { signal, onProgress, ...given } = options;
  requireSignal(signal);
  if (onProgress !== undefined && typeof onProgress !== "function") {
    throw new TypeError(`onProgress must be a function, got ${describe(onProgress)}`);
  }
  const query = checkOptions(resource, given);
  const { select, limit } = query;
  const first = firstPages(query);
  const { url } = toRequestOptions(service, first.resource, {
    $select: first.select?.join(","),
    $filter: first.filter,
    $top: first.resource === resource ? Math.min(query.top, Math.max(limit, 1)) : first.top(),
    $skiptoken: first.resource === resource ? query.skipToken : undefined,
  });
  requireShortTarget(url);
  if (query.box) requireRoom(query, service);

  const start = (stop: AbortController) =>
    new Run(service, signal ? AbortSignal.any([signal, stop.signal]) : stop.signal, onProgress);

  async function* pagesOfRows(stop: AbortController): AsyncGenerator<R[], void, void> {
    const run = start(stop);
    run.signal.throwIfAborted();
    let left = limit;
    if (left === 0) return;
    for await (const page of allPages<R>(run, query, () => Math.min(query.top, left))) {
      const rows = page.rows.length > left ? page.rows.slice(0, left) : page.rows;
      left -= rows.length;
      run.passOn(rows.length);
      yield rows;
      // Aborted after the last page, it is not whole to whoever aborted it.
      run.signal.throwIfAborted();
      if (left === 0) return;
    }
  }

  function pages(): ReadableStream<R[]> {
    const stop = new AbortController();
    const source = pagesOfRows(stop);
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
    url,
    count: () => countAll(start(new AbortController()), query),
    pages,
    rows: () => streamRows(pages(), signal),
    csv: () =>
      csvFromPages(pages(), { columns: select ?? fieldNames(resource), open: !select, url }),
    async toArray() {
      const all: R[][] = [];
      for await (const rows of pages()) all.push(rows);
      return all.flat();
    },
    [Symbol.asyncIterator]: () => iterateRows(pages(), signal),
  };
}

/** Refuses a controller in place of its signal, above all. */
function requireSignal(signal: unknown): void {
  if (signal === undefined || (signal as AbortSignal | null)?.throwIfAborted !== undefined) return;
  throw new TypeError(
    `signal must be an AbortSignal, such as a controller's signal, got ${describe(signal)}`,
  );
}
