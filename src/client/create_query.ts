import { requireKnownKeys } from "../odata/did_you_mean.ts";
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
  { signal, onProgress, ...given }: RunOptions,
  service: Service,
): Query<R> {
  requireKnownKeys(`A query of ${resource}`, given, Object.keys(KEYS));
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
    let left = limit;
    if (left === 0) return;
    for await (const page of allPages<R>(run, query, () => Math.min(query.top, left))) {
      const rows = page.rows.length > left ? page.rows.slice(0, left) : page.rows;
      left -= rows.length;
      run.passOn(rows.length);
      yield rows;
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
    rows: () => streamRows(pages()),
    csv: () =>
      csvFromPages(pages(), { columns: select ?? fieldNames(resource), open: !select, url }),
    async toArray() {
      const all: R[][] = [];
      for await (const rows of pages()) all.push(rows);
      return all.flat();
    },
    [Symbol.asyncIterator]: () => iterateRows(pages()),
  };
}
