// Pages in the standard `caches`, with a cache in memory.
// Tests `shareDownload()` directly: the app takes `caches` from the runtime.
import "../../helpers/no_permission.ts";
import { assert, assertEquals, assertRejects, assertStringIncludes } from "@std/assert";
import { HttpProblem } from "../../../edge/problem.ts";
import { StandardPageStore } from "../../../edge/standard_page_store.ts";
import { FakeClock } from "../../helpers/fake_clock.ts";
import { DEADLINE } from "../../helpers/deadline.ts";
import { MAX_WAIT, shareOver } from "../../helpers/shared_downloads.ts";

const REQUESTS = 4;

/** A cache that ignores `max-age` and has no maximum, like that of Deno. */
function memoryCaches() {
  const entries = new Map<string, { body: Uint8Array<ArrayBuffer>; headers: Headers }>();
  const calls: string[] = [];
  let failure: Error | undefined;
  const call = (name: string) => {
    calls.push(name);
    if (failure) throw failure;
  };
  const cache = {
    // deno-lint-ignore require-await -- a cache rejects instead of throwing
    async match(url: string) {
      call("match");
      const entry = entries.get(url);
      return entry && new Response(entry.body, { headers: entry.headers });
    },
    async put(url: string, response: Response) {
      call("put");
      const body = new Uint8Array(await response.arrayBuffer());
      entries.set(url, { body, headers: response.headers });
    },
    // deno-lint-ignore require-await -- a cache rejects instead of throwing
    async delete(url: string) {
      call("delete");
      return entries.delete(url);
    },
    // deno-lint-ignore require-await -- a cache rejects instead of throwing
    async keys() {
      call("keys");
      return [...entries.keys()].map((url) => new Request(url));
    },
  };
  const caches = { open: () => Promise.resolve(cache) };
  return { caches, cache, entries, calls, fail: (error: Error) => failure = error };
}

/**
 * Downloads with pages in such a cache. The fake clock does not give the time, because it advances while a hash is
 * computed.
 */
function overCaches(
  {
    maxBytes = Infinity,
    ttl = 300_000,
    memory = memoryCaches(),
    maxBufferedBytes = Infinity,
    clock = new FakeClock(),
  } = {},
) {
  const time = { now: 1_800_000_000_000 };
  const now = () => time.now;
  const { caches } = memory;
  const store = new StandardPageStore({ maxBytes, ttl, now, caches, clock });
  return {
    ...shareOver({ store, ttl, now, maxBufferedBytes }),
    ...memory,
    store,
    time,
    cacheClock: clock,
  };
}

const known = { datasetsDigest: "v1" };

Deno.test("StandardPageStore serves a later download", DEADLINE, async () => {
  const { read, stats, entries, storeErrors } = overCaches();
  const text = await read(known);
  assertEquals(await read(known), text);
  assertEquals([stats.requests, entries.size, storeErrors], [REQUESTS, 3, []]);
});

Deno.test("StandardPageStore serves a download of another process", DEADLINE, async () => {
  const memory = memoryCaches();
  const text = await overCaches({ memory }).read(known);
  const second = overCaches({ memory });
  assertEquals(await second.read(known), text);
  assertEquals(second.stats.requests, 0);
});

Deno.test(
  "StandardPageStore stores no page when the datasets are not known",
  DEADLINE,
  async () => {
    const { read, entries, calls } = overCaches();
    await read();
    assertEquals([entries.size, calls], [0, []]);
  },
);

Deno.test(
  "StandardPageStore does not write the query into names and headers",
  DEADLINE,
  async () => {
    const { read, entries } = overCaches();
    await read({ ...known, filter: "DOI eq '10.25976/weir-aa00'" });
    for (const [url, { headers }] of entries) {
      assert(/^https:\/\/weir\.invalid\/pages\/[0-9a-f]{64}$/.test(url));
      assertEquals([...headers.keys()].sort(), [
        "cache-control",
        "content-type",
        "x-weir-fetched-at",
        "x-weir-length",
      ]);
      assertEquals(headers.get("cache-control"), "public, max-age=300");
    }
  },
);

Deno.test(
  "StandardPageStore ignores and replaces entries when they are older than the TTL",
  DEADLINE,
  async () => {
    const { read, time, stats, entries } = overCaches({ ttl: 60_000 });
    await read(known);
    time.now += 61_000;
    await read(known);
    assertEquals([stats.requests, entries.size], [2 * REQUESTS, 3]);
  },
);

type Entry = { body: Uint8Array<ArrayBuffer>; headers: Headers };
const damages: [name: string, damage: (entry: Entry) => void][] = [
  ["is too short", (entry) => entry.body = entry.body.subarray(0, -1)],
  ["is empty", (entry) => entry.body = new Uint8Array()],
  ["begins with other bytes", (entry) => entry.body[0] = 0],
  ["has no line feed", (entry) => entry.body = entry.body.fill(0x20)],
  ["has no time", ({ headers }) => headers.delete("x-weir-fetched-at")],
  ["has an invalid time", ({ headers }) => headers.set("x-weir-fetched-at", "today")],
  ["is from the future", ({ headers }) => headers.set("x-weir-fetched-at", "9e15")],
  ["has no length", ({ headers }) => headers.delete("x-weir-length")],
  ["has an empty first line", ({ body }) => body.set([0x7b, 0x7d, 0x0a])],
  ["has the cursor null", (entry) => changeCursor(entry, null)],
  ["has another cursor", (entry) => changeCursor(entry, { a: 1 })],
];

/** Replaces the cursor of an entry, without a change of its length. */
function changeCursor({ body }: Entry, cursor: unknown): void {
  const lineEnd = body.indexOf(0x0a);
  const head = JSON.parse(new TextDecoder().decode(body.subarray(0, lineEnd)));
  const changed = JSON.stringify({ ...head, cursor }).padEnd(lineEnd);
  body.set(new TextEncoder().encode(changed));
}

for (const [name, damage] of damages) {
  Deno.test(`StandardPageStore ignores an entry when it ${name}`, DEADLINE, async () => {
    const { read, stats, entries, storeErrors } = overCaches();
    const text = await read(known);
    entries.forEach(damage);
    assertEquals(await read(known), text);
    assertEquals([stats.requests, storeErrors], [2 * REQUESTS, []]);
  });
}

Deno.test("shareDownload() continues without the store when it fails", DEADLINE, async () => {
  const { read, stats, storeErrors, fail } = overCaches();
  fail(new Error("the disk is full"));
  const text = await read(known);
  assertEquals([text, stats.requests], [await shareOver().read(), REQUESTS]);
  assert(storeErrors.length > 0);
});

Deno.test(
  "StandardPageStore deletes the entries that were used least recently when there is no room",
  DEADLINE,
  async () => {
    const page = { ...known, top: 4_000 };
    const [a, b, c] = [page, { ...page, top: 5_000 }, { ...page, top: 6_000 }];
    const one = overCaches();
    await one.read(a);
    const { read, stats, store, entries } = overCaches({ maxBytes: 2.5 * one.store.bytes });
    for (const options of [a, b, a, c]) await read(options);
    assertEquals([stats.requests, entries.size], [3, 2]);
    assert(store.bytes <= 2.5 * one.store.bytes);
    await read(a);
    assertEquals(stats.requests, 3);
    await read(b);
    assertEquals(stats.requests, 4);
  },
);

Deno.test(
  "StandardPageStore stores no page that is longer than the maximum",
  DEADLINE,
  async () => {
    const { read, store, entries } = overCaches({ maxBytes: 10 });
    await read(known);
    assertEquals([store.bytes, entries.size], [0, 0]);
    // It does not replace a page that is short enough.
    const short = { ...known, top: 1_000, limit: 100 };
    const small = overCaches({ maxBytes: 5_000 });
    await small.read(short);
    const { bytes } = small.store;
    await small.read(known);
    assertEquals([small.store.bytes, small.entries.size, bytes > 0], [bytes, 1, true]);
  },
);

Deno.test(
  "shareDownload() fails after the maximum wait when there is no room for a stored page",
  DEADLINE,
  async () => {
    const { read, open, clock, storeErrors } = overCaches({ maxBufferedBytes: 1 });
    await read(known);
    const other = open({ ...known, top: 2_000 });
    await other.stream.getReader().read();
    const startedAt = clock.now();
    await assertRejects(() => read(known), HttpProblem, "memory");
    assert(clock.now() - startedAt < 1.5 * MAX_WAIT);
    assertEquals(storeErrors, []);
    other.close();
  },
);

Deno.test(
  "StandardPageStore stores pages when the cache cannot list its entries",
  DEADLINE,
  async () => {
    const memory = memoryCaches();
    // As in workerd.
    memory.cache.keys = () => Promise.reject(new Error("not implemented"));
    const { read, entries, storeErrors } = overCaches({ memory });
    await read(known);
    assertEquals([entries.size, storeErrors], [3, []]);
  },
);

Deno.test(
  "StandardPageStore deletes what an earlier process has left when there is no room",
  DEADLINE,
  async () => {
    const memory = memoryCaches();
    const earlier = overCaches({ memory });
    await earlier.read({ ...known, top: 4_000 });
    await memory.cache.put("https://weir.invalid/pages/other", new Response("no headers"));
    const size = earlier.store.bytes;
    const { read, store, entries } = overCaches({ memory, maxBytes: 1.5 * size });
    await read({ ...known, top: 5_000 });
    assertEquals(entries.size, 1);
    assert(store.bytes <= 1.5 * size);
  },
);

for (const method of ["match", "put"] as const) {
  Deno.test(
    `StandardPageStore is not used for 60 s when ${method}() of the cache never settles`,
    DEADLINE,
    async () => {
      const memory = memoryCaches();
      const { cache, calls } = memory;
      const works = { ...cache };
      cache[method] = () => {
        calls.push(method);
        return new Promise<never>(() => {});
      };
      const { read, storeErrors, cacheClock, entries } = overCaches({ memory });
      const text = await read(known);
      assertEquals(cacheClock.now(), 10_000); // one time limit, not one for each page
      assertEquals(calls.filter((name) => name === method).length, 1);
      assertStringIncludes(String(storeErrors[0]), "no response from the cache within 10 s");
      Object.assign(cache, works);
      await cacheClock.sleep(59_000);
      assertEquals([await read(known), entries.size], [text, 0]);
      await cacheClock.sleep(2_000);
      assertEquals([await read(known), entries.size], [text, 3]);
    },
  );
}
