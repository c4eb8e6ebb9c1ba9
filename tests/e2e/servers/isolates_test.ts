// Four isolates of the published Worker in workerd keep one rate limit, by a Durable Object.
import { assert, assertEquals } from "@std/assert";
import { needing } from "../needs.ts";
import { workerd } from "../runtime_programs.ts";
import { waitFor } from "../wait_for.ts";
import { baseUrlOf, startSandbox, statsOf } from "../../bench/processes.ts";
import { createStorage, type Isolates, restartObject, startIsolates } from "./isolates.ts";
import type { Server } from "./server.ts";
import { DOWNLOAD, jsonResponse, serveUpstream } from "./upstream.ts";

const needs = { workerd };
/** A download of one page. */
const PATH = "/Records.csv?$select=Id&limit=5";
/** Time (ms) after which a permit that is not extended expires. */
const PERMIT_TTL = 5_000;
const API_KEY = "sandbox";
const encoder = new TextEncoder();

/** Starts isolates that share a Durable Object with its storage in a folder. */
function startWorkers(baseUrl: string, storage: string, count = 4): Promise<Isolates> {
  return startIsolates({
    environment: {
      DATASTREAM_API_KEY: API_KEY,
      DATASTREAM_BASE_URL: baseUrl,
      WEIR_ACCESS: "public",
      // The downloads have the same URL, and come from the same client.
      WEIR_CACHE_TTL: "0",
      WEIR_MAX_DOWNLOADS_PER_CLIENT: "20",
    },
    storage,
    count,
  });
}

/** Downloads concurrently, from one isolate after the other. Returns the number of complete downloads. */
async function download({ roots }: Isolates, count: number): Promise<number> {
  const results = await Promise.all(
    Array.from({ length: count }, async (_, index) => {
      const response = await fetch(roots[index % roots.length] + PATH);
      const lines = (await response.text()).split("\r\n");
      return response.status === 200 && lines.length === 1 + 5 + 1;
    }),
  );
  return results.filter((isComplete) => isComplete).length;
}

async function requireWithinLimits(service: Server, requests: number): Promise<void> {
  const stats = await statsOf(service);
  assertEquals([stats.tooFast, stats.parallel], [0, 0]);
  assert(stats.requests >= requests, `${stats.requests} requests`);
}

Deno.test(needing(
  needs,
  "four isolates complete three rounds of 20 downloads within the limits when a Durable Object gives the permits",
  async () => {
    await using service = await startSandbox(5, 2);
    await using storage = await createStorage();
    await using workers = await startWorkers(baseUrlOf(service), storage.path);
    for (let round = 0; round < 3; round++) assertEquals(await download(workers, 20), 20);
    await requireWithinLimits(service, 60);
  },
));

Deno.test(needing(
  needs,
  "isolates continue within the limits, before a permit expires, when the Durable Object restarts",
  async () => {
    await using service = await startSandbox(5, 2);
    await using storage = await createStorage();
    await using workers = await startWorkers(baseUrlOf(service), storage.path);
    const downloads = download(workers, 8);
    await waitFor(async () => (await statsOf(service)).requests >= 3, "three requests");
    await restartObject(workers, service.root, API_KEY);
    assertEquals(await downloads, 8);
    await requireWithinLimits(service, 8);
    const { largestGap } = await statsOf(service);
    assert(largestGap < PERMIT_TTL - 500, `no request for ${largestGap} ms`);
  },
));

Deno.test(needing(
  needs,
  "an isolate releases its permit when the client leaves before the page is complete",
  async () => {
    // Rows without end: 10 kB every 100 ms.
    await using service = serveUpstream((_, number) => {
      if (number > 1) return Response.json({ value: [1, 2, 3, 4, 5].map((Id) => ({ Id })) });
      let id = 0;
      return jsonResponse(
        new ReadableStream({
          start: (controller) => controller.enqueue(encoder.encode('{"value":[')),
          async pull(controller) {
            await new Promise((resolve) => setTimeout(resolve, 100));
            const row = `{"Id":${++id},"ResultComment":"${"x".repeat(10_000)}"}`;
            controller.enqueue(encoder.encode(id === 1 ? row : `,${row}`));
          },
        }, { highWaterMark: 0 }),
      );
    }, 1_000_000);
    await using storage = await createStorage();
    await using workers = await startWorkers(service.baseUrl, storage.path, 1);
    const client = new AbortController();
    const response = await fetch(`${workers.roots[0]}${DOWNLOAD}&limit=10000`, {
      signal: client.signal,
    });
    await response.body!.getReader().read();
    const left = performance.now();
    client.abort();
    await response.body?.cancel().catch(() => {});
    // Long before its permit expires.
    assertEquals(await download(workers, 1), 1);
    assert(performance.now() - left < PERMIT_TTL - 1_000);
  },
));
