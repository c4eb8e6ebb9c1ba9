import { DataStream } from "../../../../mod.ts";
import type { FeedPart, FeedSource, Reader } from "../../../../edge/downloads/feed.ts";
import { type FeedLimits, Feeds } from "../../../../edge/downloads/feeds.ts";
import { requestState } from "../../../../edge/downloads/versions.ts";
import { FakeClock } from "../../../helpers/fake_clock.ts";
import { PublishedService } from "../../../helpers/published_service.ts";
import { ROOT } from "../../../helpers/upstream.ts";

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
