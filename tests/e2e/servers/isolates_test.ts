// Four isolates of the published Worker in workerd keep one rate limit, by a Durable Object.
import { assert, assertEquals } from "@std/assert";
import { needing } from "../needs.ts";
import { workerd } from "../runtime_programs.ts";
import { waitFor } from "../wait_for.ts";
import { baseUrlOf, startSandbox, statsOf } from "../../bench/processes.ts";
import { type Isolates, restartObject, startIsolates } from "./isolates.ts";
import { DOWNLOAD, jsonResponse, serveUpstream } from "./upstream.ts";

/** A download of one page. */
const PATH = "/Records.csv?$select=Id&limit=5";
/** Time (ms) after which a permit that is not extended expires. */
const PERMIT_TTL = 5_000;
const encoder = new TextEncoder();

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

Deno.test(needing(
  { workerd },
  "four isolates complete 20 downloads within the limits, also when the Durable Object restarts",
  async () => {
    await using service = await startSandbox(5, 2);
    await using workers = await startIsolates(baseUrlOf(service));
    const downloads = download(workers, 20);
    await waitFor(async () => (await statsOf(service)).requests >= 3, "three requests");
    await restartObject(workers, service.root);
    assertEquals(await downloads, 20);
    const { tooFast, parallel, requests, largestGap } = await statsOf(service);
    assertEquals([tooFast, parallel], [0, 0]);
    assert(requests >= 20, `${requests} requests`);
    assert(largestGap < PERMIT_TTL - 500, `no request for ${largestGap} ms`);
  },
));

Deno.test(needing(
  { workerd },
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
    await using workers = await startIsolates(service.baseUrl, 1);
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
    assert(performance.now() - left < PERMIT_TTL - 500);
  },
));
