import { DataStream } from "../../../../mod.ts";
import {
  type FeedLimits,
  type FeedPart,
  Feeds,
  type FeedSource,
  type Reader,
} from "../../../../edge/downloads/feeds.ts";
import { requestState } from "../../../../edge/downloads/versions.ts";
import type { Clock } from "../../../../src/clock.ts";
import { FakeClock } from "../../../helpers/fake_clock.ts";
import { ROOT } from "../../../helpers/upstream.ts";

/** A service of rows with an Id and a text, whose datasets can be published again. */
export class PublishedService {
  /** Texts of the rows; the Id of the first row is 1. */
  rows: readonly string[];
  /** Datasets, with the times (ms) of their publications as Metadata says them. */
  datasets = [{ doi: "10.1/a", version: 1, publishedAt: -3_600_000 }];
  /** Whether pages have a link to the next one. */
  hasLinks = true;
  /** Requests in order: skip token and page size, `count` or `versions`. */
  readonly requests: string[] = [];

  /** @param delay Returns the duration (ms) of a request */
  constructor(rows: readonly string[], readonly clock: Clock, readonly delay = () => 10) {
    this.rows = rows;
  }

  readonly fetch = async ({ url, signal }: Request): Promise<Response> => {
    const { pathname, searchParams } = new URL(url);
    await this.clock.sleep(this.delay(), signal);
    const headers = { date: new Date(this.clock.now()).toUTCString() };
    if (pathname.endsWith("/Metadata")) {
      this.requests.push("versions");
      const value = this.datasets.map(({ doi, version, publishedAt }) => ({
        Id: doi,
        DOI: doi,
        Version: `${version}`,
        PublishedTimestamp: new Date(publishedAt).toISOString(),
      }));
      return Response.json({ value }, { headers });
    }
    if (searchParams.has("$count")) {
      this.requests.push("count");
      return Response.json({ value: this.rows.length }, { headers });
    }
    const token = searchParams.get("$skiptoken");
    const top = Number(searchParams.get("$top"));
    this.requests.push(`${token} ${top}`);
    const first = token === null ? 0 : Number(token.slice(3));
    const value = this.rows.slice(first, first + top)
      .map((DOI, index) => ({ Id: first + index + 1, DOI }));
    const link = this.hasLinks && first + top < this.rows.length
      ? `${new URL(ROOT).origin}${pathname}?$skiptoken=Id:${first + top}`
      : undefined;
    return Response.json({ value, "@odata.nextLink": link }, { headers });
  };

  /** Returns the document of all rows. */
  get text(): string {
    return ['"Id","DOI"', ...this.rows.map((row, index) => `${index + 1},${row}`), ""].join("\r\n");
  }
}

/** Feeds of one document of a service. */
export interface TestFeeds {
  feeds: Feeds;
  clock: FakeClock;
  service: PublishedService;
  open(client?: string, source?: Partial<FeedSource>): Reader;
}

/** Creates feeds over a service. */
export function feedsOver(
  options: Partial<FeedLimits> & {
    rows?: readonly string[];
    top?: number;
    delay?: () => number;
    clock?: FakeClock;
  } = {},
): TestFeeds {
  const { rows = textsOf(30), top = 10, delay, clock = new FakeClock(), ...limits } = options;
  const service = new PublishedService(rows, clock, delay);
  const client = new DataStream({
    apiKey: "k3y-of-a-test",
    baseUrl: ROOT,
    clock,
    fetch: service.fetch,
    requestsPerSecond: Infinity,
    retry: { attempts: 1 },
  });
  const feeds = new Feeds({
    maxDownloads: 20,
    maxDownloadsPerClient: Infinity,
    maxCachedBytes: 64_000_000,
    cacheTtl: 60_000,
    clock,
    ...limits,
  });
  const open = (name?: string, source: Partial<FeedSource> = {}) =>
    feeds.open("document", {
      start: (after, signal) =>
        client.query("Records", { select: ["Id", "DOI"], top, signal })
          .batches({ format: "csv", after, parts: true })[Symbol.asyncIterator](),
      requestState: (signal) => requestState(client, { filter: undefined }, signal, feeds),
      responseDate: () => clock.now(),
      ...source,
    }, name);
  return { feeds, clock, service, open };
}

export function textsOf(count: number): string[] {
  return Array.from({ length: count }, (_, index) => `a${index}`);
}

/** Reads a document to its end; the promise of `onPart` is awaited. */
export async function readText(
  reader: Reader,
  onPart: (part: FeedPart) => unknown = () => {},
): Promise<string> {
  const decoder = new TextDecoder();
  let text = "";
  try {
    for (let part = await reader.read(); part !== undefined; part = await reader.read()) {
      text += decoder.decode(part.data, { stream: true });
      await onPart(part);
    }
  } finally {
    reader.close();
  }
  return text;
}
