// Cached pages: age, versions of the datasets, memory, and requests that were dropped.
// Tests `shareDownload()` directly: the app does not show which pages are in memory.
import "../../helpers/no_permission.ts";
import { assert, assertEquals, assertRejects } from "@std/assert";
import { DEADLINE } from "../../helpers/deadline.ts";
import { shareOver, textOf } from "../../helpers/shared_downloads.ts";

/** Requests of a download of 3000 rows in three pages, with a count. */
const REQUESTS = 4;

Deno.test(
  "PageCache serves a later download when the datasets are the same",
  DEADLINE,
  async () => {
    const { cache, stats, read } = shareOver();
    const first = await read({ datasetsDigest: "v1" });
    assertEquals(await read({ datasetsDigest: "v1" }), first);
    assertEquals([stats.requests, cache.hits, cache.misses], [REQUESTS, 3, 3]);
  },
);

Deno.test("PageCache requests pages again when a dataset has changed", DEADLINE, async () => {
  const { cache, stats, read } = shareOver();
  await read({ datasetsDigest: "v1" });
  await read({ datasetsDigest: "v2" });
  assertEquals([stats.requests, cache.hits], [2 * REQUESTS, 0]);
});

Deno.test("PageCache requests pages again when they are older than the TTL", DEADLINE, async () => {
  const { clock, stats, read } = shareOver({ ttl: 60_000 });
  await read({ datasetsDigest: "v1" });
  clock.advance(50_000);
  await read({ datasetsDigest: "v1" });
  assertEquals(stats.requests, REQUESTS);
  clock.advance(20_000);
  await read({ datasetsDigest: "v1" });
  assertEquals(stats.requests, 2 * REQUESTS);
});

Deno.test(
  "PageCache requests pages again for a later download when the datasets are not known",
  DEADLINE,
  async () => {
    const { clock, stats, read } = shareOver();
    await read();
    clock.advance(1);
    await read();
    assertEquals(stats.requests, 2 * REQUESTS);
  },
);

Deno.test(
  "PageCache evicts the page that was used least recently when there is no room",
  DEADLINE,
  async () => {
    const wanted = { datasetsDigest: "v1", top: 4_000 };
    const { cache, stats, read } = shareOver();
    await read(wanted);
    const room = cache.bytes;
    const small = shareOver({ maxBytes: 2.5 * room });
    const [a, b, c] = [wanted, { ...wanted, top: 5_000 }, { ...wanted, top: 6_000 }];
    for (const options of [a, b, a, c]) await small.read(options);
    assertEquals(small.stats.requests, 3);
    assert(small.cache.bytes <= 2.5 * room);
    await small.read(a);
    assertEquals(small.stats.requests, 3);
    await small.read(b);
    assertEquals(small.stats.requests, 4);
    assertEquals(stats.requests, 1);
  },
);

Deno.test("PageCache keeps no page when each is longer than the maximum", DEADLINE, async () => {
  const { cache, stats, read } = shareOver({ maxBytes: 1 });
  const [first, second] = await Promise.all([read(), read()]);
  assertEquals([first === second, stats.requests], [true, REQUESTS]);
  assertEquals(cache.bytes, 0);
});

Deno.test(
  "PageCache keeps short pages when a longer page than the maximum arrives",
  DEADLINE,
  async () => {
    const { cache, read } = shareOver({ maxBytes: 10_000 });
    await read({ datasetsDigest: "v1", limit: 100 });
    const { bytes } = cache;
    await read({ datasetsDigest: "v1" });
    assertEquals([cache.bytes, bytes > 0], [bytes, true]);
  },
);

Deno.test(
  "OutputBudget counts a page once when several downloads read it",
  DEADLINE,
  async () => {
    const { budget, clock, open } = shareOver({ records: 1_000 });
    const downloads = [open(), open(), open()];
    const readers = downloads.map(({ stream }) => stream.getReader());
    const chunks = await Promise.all(readers.map((reader) => reader.read()));
    await clock.sleep(1_000);
    const length = budget.used;
    assertEquals(chunks.map(({ value }) => value!.length), [length, length, length]);
    downloads[0]!.close();
    downloads[1]!.close();
    assertEquals(budget.used, length);
    downloads[2]!.close();
    assertEquals(budget.used, 0);
  },
);

Deno.test(
  "OutputBudget counts no page when the client has read it",
  DEADLINE,
  async () => {
    const { budget, open } = shareOver({ records: 3_000 });
    const { stream, release, close } = open();
    for await (const chunk of stream) {
      assert(budget.used >= chunk.length);
      // The page that is read, and the next one.
      assert(budget.sharedPages.size <= 2);
      release();
    }
    assertEquals(budget.sharedPages.size, 1);
    close();
    assertEquals(budget.used, 0);
  },
);

Deno.test(
  "shareDownload() requests a page again when the request that fetched it was dropped",
  DEADLINE,
  async () => {
    const stopped = { now: () => clock.now(), sleep: () => new Promise<void>(() => {}) };
    let requests = 0;
    const { clock, read, open } = shareOver({
      // The lease of a dropped request is not renewed.
      leaseClock: stopped,
      wrapFetch: (fetch) => (request) => requests++ === 0 ? new Promise(() => {}) : fetch(request),
    });
    const dropped = open().stream.getReader();
    dropped.read().catch(() => {});
    const text = await read();
    assertEquals(text, await shareOver().read());
    assert(clock.now() > 5_000);
  },
);

/** Delivers the first page in two chunks, the second of which never arrives. */
function stallInFirstPage(fetch: (request: Request) => Promise<Response>) {
  let requests = 0;
  return async (request: Request) => {
    const response = await fetch(request);
    if (requests++ > 0) return response;
    const bytes = new Uint8Array(await response.arrayBuffer());
    const body = new ReadableStream({
      start: (controller) => controller.enqueue(bytes.subarray(0, bytes.length / 2)),
    });
    return new Response(body, response);
  };
}

Deno.test(
  "shareDownload() continues in a page when the download that fetched it is closed",
  DEADLINE,
  async () => {
    const { clock, open } = shareOver({ wrapFetch: stallInFirstPage });
    const first = open();
    const reader = first.stream.getReader();
    const second = open();
    const text = textOf(second);
    assert((await reader.read()).value!.length > 1_000);
    await clock.sleep(1_000);
    await reader.cancel();
    first.close();
    assertEquals(await text, await shareOver().read());
  },
);

Deno.test(
  "shareDownload() fails when the rows of a page have changed before it is requested again",
  DEADLINE,
  async () => {
    const { clock, open } = shareOver({
      wrapFetch(fetch) {
        let requests = 0;
        const stalled = stallInFirstPage(fetch);
        return async (request) => {
          if (requests++ === 0) return await stalled(request);
          const text = await (await fetch(request)).text();
          return new Response(text.replace('"DOI":"10.', '"DOI":"11.'), {
            headers: { "content-type": "application/json" },
          });
        };
      },
    });
    const first = open();
    const reader = first.stream.getReader();
    const second = open();
    const text = textOf(second);
    text.catch(() => {});
    await reader.read();
    await clock.sleep(1_000);
    first.close();
    await reader.cancel();
    await assertRejects(() => text, Error, "the rows of a page changed");
  },
);
