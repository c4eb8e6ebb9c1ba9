import type { Bytes } from "../../src/bytes.ts";
import { DataStream, type DataStreamOptions } from "../../mod.ts";
import { type BatchPart, PAGE_PARTS } from "../../src/client/batches.ts";
import type { Clock } from "../../src/clock.ts";
import { ConcurrencyLimit } from "../../edge/concurrency_limit.ts";
import { OutputBudget, OutputBuffer } from "../../edge/output_budget.ts";
import { PageCache } from "../../edge/page_cache.ts";
import { type SharedDownload, shareDownload } from "../../edge/shared_download.ts";
import { StartDeadline } from "../../edge/start_deadline.ts";
import type { StandardPageStore } from "../../edge/standard_page_store.ts";
import type { FormatName } from "../../src/formats/formats.ts";
import { createSandbox, type SandboxStats } from "../../src/sandbox/service.ts";
import { FakeClock } from "./fake_clock.ts";

/** Options of {@linkcode shareOver}. */
interface ShareOptions {
  records?: number;
  /** Maximum number of bytes of the cache. Default: no limit. */
  maxBytes?: number;
  /** Default 300 s. */
  ttl?: number;
  maxDownloads?: number;
  /** Default: no limit. */
  maxBufferedBytes?: number;
  /** Clock of the leases of pages. Default: the clock of the downloads. */
  leaseClock?: Clock;
  /** Time of the cache. Default: the time of the fake clock. */
  now?: () => number;
  store?: StandardPageStore;
  /** Replaces `fetch` of the sandbox. */
  wrapFetch?: (
    fetch: NonNullable<DataStreamOptions["fetch"]>,
    clock: FakeClock,
  ) => DataStreamOptions["fetch"];
}

/** A download of a test. */
interface DownloadOptions {
  top?: number;
  limit?: number;
  filter?: string;
  /** The query is then not split. */
  skipToken?: string;
  /** Digest of the versions of the datasets. Default: none. */
  datasetsDigest?: string | undefined;
  format?: FormatName;
}

/** Maximum time (ms) for which a download waits for room. */
export const MAX_WAIT = 20_000;

/** Downloads of a sandbox that share pages, without an app. */
export interface SharedDownloads {
  cache: PageCache;
  budget: OutputBudget;
  clock: FakeClock;
  stats: SandboxStats;
  /** Errors of the store. */
  storeErrors: unknown[];
  /** Opens a download of records. */
  open(options?: DownloadOptions): SharedDownload;
  /** Returns the text of a download. */
  read(options?: DownloadOptions): Promise<string>;
}

/** Creates downloads that share a page cache over a sandbox. The time of the cache is that of the fake clock. */
export function shareOver({
  records = 3_000,
  maxBytes = Infinity,
  ttl = 300_000,
  maxDownloads = Infinity,
  maxBufferedBytes = Infinity,
  store,
  leaseClock,
  now,
  wrapFetch = (fetch) => fetch,
}: ShareOptions = {}): SharedDownloads {
  const clock = new FakeClock();
  const { apiKey, url, fetch, stats } = createSandbox({
    records,
    hostileNames: true,
    now: () => clock.now(),
  });
  const client = new DataStream({
    apiKey,
    baseUrl: url,
    fetch: wrapFetch(fetch, clock),
    clock,
    retry: { attempts: 1 },
  });
  const budget = new OutputBudget(maxBufferedBytes, clock);
  const cache = new PageCache({
    maxBytes,
    ttl,
    now: now ?? (() => clock.now()),
    clock: leaseClock ?? clock,
    budget,
    store,
  });
  const permits = new ConcurrencyLimit({ max: maxDownloads }, "downloads", clock);
  const storeErrors: unknown[] = [];
  const open = ({ datasetsDigest, format = "csv", ...options }: DownloadOptions = {}) => {
    const query = client.query("Records", {
      select: ["Id", "DOI"],
      top: 1_000,
      ...options,
      ...(options.skipToken !== undefined && { partition: "never" }),
    });
    return shareDownload({
      cache,
      buffer: new OutputBuffer(budget, () => MAX_WAIT),
      permits,
      document: [query.url, options, format],
      datasetsDigest,
      deadline: new StartDeadline(clock, url),
      request(after) {
        const batchOptions = { format, after, [PAGE_PARTS]: true };
        const parts = query.batches(batchOptions) as AsyncIterable<BatchPart<Bytes>>;
        return parts[Symbol.asyncIterator]();
      },
      readsNextPage: options.limit === undefined,
      clock,
      onRows: () => {},
      onStoreError: (error) => storeErrors.push(error),
    });
  };
  return {
    cache,
    budget,
    clock,
    stats,
    storeErrors,
    open,
    read: (options) => textOf(open(options)),
  };
}

/** Reads a download to its end. */
export async function textOf({ stream, release, close }: SharedDownload): Promise<string> {
  const decoder = new TextDecoder();
  let text = "";
  try {
    for await (const bytes of stream) {
      text += decoder.decode(bytes, { stream: true });
      release();
    }
  } finally {
    close();
  }
  return text;
}
