// Downloads that share pages have the bytes of downloads that do not, whatever their clients do.
import fc from "fast-check";
import { assert, assertEquals } from "@std/assert";
import { type SharedDownloads, shareOver } from "../helpers/shared_downloads.ts";

/** Query of a download. */
interface RandomQuery {
  format: "csv" | "ndjson" | "json";
  top: number;
  limit?: number;
  skipToken?: string;
  datasetsDigest: "v1" | "v2" | undefined;
}

/** A client: its query, when it starts, how fast it reads, and when it leaves. */
interface RandomClient {
  query: number;
  startDelay: number;
  readDelay: number;
  /** Number of chunks after which the client leaves. */
  leavesAfter: number | undefined;
}

const randomQuery: fc.Arbitrary<RandomQuery> = fc.record({
  format: fc.constantFrom("csv", "ndjson", "json"),
  top: fc.integer({ min: 50, max: 400 }),
  limit: fc.option(fc.integer({ min: 1, max: 900 }), { nil: undefined }),
  skipToken: fc.option(fc.constantFrom("Id:1", "Id:200", "Id:999999999"), { nil: undefined }),
  datasetsDigest: fc.constantFrom("v1", "v2", undefined),
}, { requiredKeys: ["format", "top", "datasetsDigest"] });

const randomClient: fc.Arbitrary<RandomClient> = fc.record({
  query: fc.nat(2),
  startDelay: fc.integer({ min: 0, max: 3_000 }),
  readDelay: fc.constantFrom(0, 0, 100, 2_000),
  leavesAfter: fc.option(fc.nat(4), { nil: undefined }),
});

/** How the service delivers responses. */
interface Delivery {
  /** Delay (ms) before the second half of each response. */
  delay: number;
  /** Number of the response that breaks after its first half. */
  broken: number | undefined;
}

/** Delivers each response in two halves. */
function inHalves({ delay, broken }: Delivery) {
  return (
    fetch: (request: Request) => Promise<Response>,
    clock: Pick<SharedDownloads["clock"], "sleep">,
  ) => {
    let responses = 0;
    return async (request: Request) => {
      const response = await fetch(request);
      const isBroken = responses++ === broken;
      const bytes = new Uint8Array(await response.arrayBuffer());
      const half = bytes.length / 2;
      const body = new ReadableStream({
        async start(controller) {
          controller.enqueue(bytes.subarray(0, half));
          await clock.sleep(delay);
          if (isBroken) return controller.error(new Error("broken"));
          controller.enqueue(bytes.subarray(half));
          controller.close();
        },
      });
      return new Response(body, response);
    };
  };
}

/** Reads a download as a client; returns its text, and whether it is complete. */
async function readAs(
  { open, clock }: SharedDownloads,
  query: RandomQuery,
  { startDelay, readDelay, leavesAfter = Infinity }: Omit<RandomClient, "query">,
): Promise<{ text: string; isComplete: boolean }> {
  await clock.sleep(startDelay);
  const { stream, release, close } = open(query);
  const reader = stream.getReader();
  const decoder = new TextDecoder();
  let text = "";
  for (let chunks = 0;; chunks++) {
    if (chunks === leavesAfter) {
      close();
      await reader.cancel();
      return { text, isComplete: false };
    }
    let item;
    try {
      item = await reader.read();
    } catch {
      close();
      return { text, isComplete: false };
    }
    const { done, value } = item;
    if (done) {
      close();
      return { text, isComplete: true };
    }
    text += decoder.decode(value, { stream: true });
    release();
    await clock.sleep(readDelay);
  }
}

const ALONE = { startDelay: 0, readDelay: 0, leavesAfter: undefined };

Deno.test("shareDownload() delivers the bytes of a download that shares no pages", async () => {
  await fc.assert(
    fc.asyncProperty(
      fc.array(randomQuery, { minLength: 3, maxLength: 3 }),
      fc.array(randomClient, { minLength: 1, maxLength: 8 }),
      fc.constantFrom(0, 20_000, Infinity),
      fc.record({
        delay: fc.constantFrom(0, 50, 1_500),
        broken: fc.option(fc.nat(8), { nil: undefined }),
      }),
      async (queries, clients, maxBytes, delivery) => {
        const expected = await Promise.all(
          queries.map(async (query) =>
            (await readAs(shareOver({ records: 1_000 }), query, ALONE)).text
          ),
        );
        const wrapFetch = inHalves(delivery);
        const shared = shareOver({ records: 1_000, maxBytes, maxDownloads: 8, wrapFetch });
        const results = await Promise.all(
          clients.map((client) => readAs(shared, queries[client.query]!, client)),
        );
        let failed = 0;
        for (const [index, { text, isComplete }] of results.entries()) {
          const { query, leavesAfter } = clients[index]!;
          const whole = expected[query]!;
          assertEquals(text, isComplete ? whole : whole.slice(0, text.length));
          if (!isComplete && leavesAfter === undefined) failed++;
        }
        // A response that breaks breaks at most the download that requested it.
        assert(failed <= (delivery.broken === undefined ? 0 : 1), `${failed} downloads failed`);
        assertEquals(shared.budget.used, 0);
        const { tooFast, parallel } = shared.stats;
        assertEquals([tooFast, parallel], [0, 0]);
      },
    ),
    { numRuns: 150 },
  );
});
