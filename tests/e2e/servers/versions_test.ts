// Datasets that are published during a download, on each runtime: a complete file never has rows of two versions.
import { assertEquals } from "@std/assert";
import { startApp, testOnEach } from "./runtimes.ts";
import {
  appOptionsFor,
  isComplete,
  jsonResponse,
  pageFor,
  rowsOf,
  serveUpstream,
} from "./upstream.ts";

const shape = { rows: 1_000, width: 1, pages: 3 };

/** Points of a download at which the dataset is published, and the version that is complete afterwards, if any. */
const SCHEDULES: [publishedAt: string, complete: "old" | "new" | undefined][] = [
  ["never", "old"],
  ["page 1", "new"],
  ["versions 1", undefined],
  ["page 2", undefined],
  ["page 3", undefined],
  ["versions 2", undefined],
  ["the second client", undefined],
];

/** A service whose rows have the number of the version as their text. */
function startService() {
  const state = { version: 1, publishedAt: 0, publishesAt: "", pages: 0, versionRequests: 0 };
  /** Resolves when the second client, if any, has received rows. */
  const second = { joined: Promise.resolve() };
  const reach = (point: string) => {
    if (point !== state.publishesAt) return;
    state.version++;
    state.publishedAt = Date.now();
  };
  const upstream = serveUpstream(
    async (request) => {
      if (request.url.includes("skiptoken")) await second.joined;
      reach(`page ${++state.pages}`);
      return jsonResponse(pageFor(request, shape).replaceAll('"x"', `"${state.version}"`));
    },
    rowsOf(shape),
    () => {
      reach(`versions ${++state.versionRequests}`);
      const PublishedTimestamp = new Date(state.publishedAt).toISOString();
      return [{ DOI: "10.25976/a", Version: `${state.version}`, PublishedTimestamp }];
    },
  );
  return { upstream, state, second, reach };
}

/** Returns the version of all rows of a complete download, or how it ended. */
async function outcomeOf(response: Promise<Response>, onPart = () => {}): Promise<string> {
  const decoder = new TextDecoder();
  let text = "";
  try {
    const { body, status } = await response;
    if (status !== 200) return `status ${status}`;
    for await (const part of body!) {
      text += decoder.decode(part, { stream: true });
      onPart();
    }
  } catch {
    return "broken";
  }
  const versions = new Set(text.match(/(?<=,)\d+/g));
  return isComplete(text, shape) && versions.size === 1 ? [...versions][0]! : "mixed";
}

for (const cacheTtl of [0, 60_000]) {
  testOnEach(
    `downloads never have rows of two versions when the cache time is ${cacheTtl} ms`,
    async (runtime) => {
      const { upstream, state, second, reach } = startService();
      await using _upstream = upstream;
      await using server = await startApp(runtime, appOptionsFor(upstream, { cacheTtl }));
      for (const [index, [point, complete]] of SCHEDULES.entries()) {
        const old = state.version;
        const hasSecond = point === "the second client";
        const joined = Promise.withResolvers<void>();
        if (hasSecond) second.joined = joined.promise;
        Object.assign(state, { publishesAt: point, publishedAt: 0, pages: 0, versionRequests: 0 });
        const filter = encodeURIComponent(`LocationId eq ${index}`);
        const url =
          `${server.root}/Records.csv?$select=Id,ResultComment&$top=1000&$filter=${filter}`;
        const first = outcomeOf(fetch(url));
        const outcomes = [first];
        if (hasSecond) {
          outcomes.push(outcomeOf(fetch(url), () => {
            reach(point);
            state.publishesAt = "";
            joined.resolve();
          }));
        }
        const expected = complete === undefined
          ? "broken"
          : `${complete === "old" ? old : old + 1}`;
        const found = await Promise.all(outcomes);
        // Bun sends the head of a response with its first bytes, and `fetch()` can repeat a request that has no head.
        const isRepeated = (outcome: string) =>
          runtime.name === "Bun" && expected === "broken" && outcome === `${state.version}`;
        const compared = found.map((outcome) => isRepeated(outcome) ? expected : outcome);
        assertEquals([point, ...compared], [point, ...found.map(() => expected)]);
        assertEquals([point, await outcomeOf(fetch(url))], [point, `${state.version}`]);
      }
    },
  );
}
