// A page is requested before the reader has read the page before it, within a limit of memory.
import "../../helpers/no_permission.ts";
import { assert, assertEquals } from "@std/assert";
import { DataStream } from "../../../mod.ts";
import { DEADLINE } from "../../helpers/deadline.ts";
import { FakeClock } from "../../helpers/fake_clock.ts";
import { ROOT } from "../../helpers/upstream.ts";
import { CHUNK_LENGTH, delayedPages } from "./delayed_pages.ts";

/** Creates a query of a service whose pages have a number of chunks. */
function serve(pages: number, chunks: number, options: { limit?: number } = {}) {
  const clock = new FakeClock();
  const service = delayedPages(clock, pages, chunks);
  const { fetch } = service;
  const client = new DataStream({ baseUrl: ROOT, clock, fetch, requestsPerSecond: Infinity });
  return { clock, service, query: client.records({ select: ["Id", "DOI"], ...options }) };
}

for (const chunks of [0, 2]) {
  const parts = chunks + 1;
  const test = (name: string, run: () => Promise<void>) =>
    Deno.test(`csv() ${name} when pages have ${parts} parts`, DEADLINE, run);

  test("requests a page while the one before is read", async () => {
    const { service, query } = serve(5, chunks);
    assertEquals(await service.readSteadily(query.csv()), 300 + 5 * 300);
  });

  test("requests no page while the one before is read, if the query has a limit,", async () => {
    const { service, query } = serve(5, chunks, { limit: 1_000 });
    assertEquals(await service.readSteadily(query.csv()), 5 * (300 + 300));
  });

  test("requests one page ahead of a reader that stops", async () => {
    const { clock, service, query } = serve(4, chunks);
    const reader = query.csv().getReader();
    for (let page = 1; page < 4; page++) {
      for (let part = 0; part < parts; part++) {
        const { value } = await reader.read();
        assert(value!.length > 0);
        await clock.sleep(10_000);
        assertEquals(service.requests, page + 1);
      }
    }
    await reader.cancel();
  });
}

Deno.test("csv() buffers at most 32 MiB when it requests a page ahead", DEADLINE, async () => {
  const chunks = 45; // 18 MB
  const { clock, service, query } = serve(2, chunks);
  const reader = query.csv().getReader();
  const partsToRead = Math.ceil(2 * chunks - 2 ** 25 / CHUNK_LENGTH);
  for (let part = 1; part <= partsToRead; part++) {
    assert(service.requests < 2);
    await reader.read();
    await clock.sleep(10_000);
  }
  assertEquals(service.requests, 2);
  await reader.cancel();
});
