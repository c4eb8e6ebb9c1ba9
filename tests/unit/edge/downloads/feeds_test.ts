// Feeds fetch a document once for all its readers, keep the limits of memory and slots, and never mix dataset versions.
import "../../../helpers/no_permission.ts";
import { assert, assertEquals, assertRejects } from "@std/assert";
import type { Cursor } from "../../../../src/client/query.ts";
import { utf8Encoder } from "../../../../src/bytes.ts";
import type { FeedPart, FeedSource } from "../../../../edge/downloads/feed.ts";
import { HttpProblem } from "../../../../edge/http/problem.ts";
import { LONG_DEADLINE, test } from "../../../helpers/deadline.ts";
import type { FakeClock } from "../../../helpers/fake_clock.ts";
import { feedsOver, readText, textsOf } from "./feeds.ts";
import type { PublishedService } from "../../../helpers/published_service.ts";
import { Random } from "../../../properties/random.ts";

test("Feeds continue with the requests of another client when the runtime drops the one that fetches", async () => {
  const { open, service, clock } = feedsOver();
  const first = open();
  const { start } = first.source;
  const pages: unknown[] = [];
  first.source.start = (from, signal) => {
    const parts = start(from, signal);
    const never = new Promise<never>(() => {});
    return { next: () => pages.push(0) === 1 ? parts.next() : never };
  };
  await first.read();
  first.read().catch(() => {});
  await clock.sleep(100);
  // Neither its requests nor its timers continue.
  Object.defineProperty(first.feed.run, "seenAt", { value: clock.now(), writable: false });
  Object.defineProperty(first, "wake", { value() {}, writable: false });
  assertEquals(await readText(open()), service.text);
  assertEquals([pages.length, Math.floor(clock.now() / 1_000)], [2, 3]);
  assertEquals(service.requests.filter((request) => request === "null 10").length, 1);
});

test("Feeds drop rows when they expire, before another download", async () => {
  const { feeds, open, clock } = feedsOver({ cacheTtl: 20_000 });
  const reader = open("a");
  await readText(open("b"));
  await reader.read();
  const { bytes } = feeds;
  await clock.sleep(19_000);
  assertEquals([bytes > 0, feeds.bytes], [true, bytes]);
  await clock.sleep(2_000);
  // The other client has not read them all.
  assertEquals(feeds.bytes, bytes);
  await reader.read();
  assert(feeds.bytes < bytes);
  reader.close();
  const other = feedsOver({ cacheTtl: 20_000 });
  await readText(other.open());
  await other.clock.sleep(21_000);
  assertEquals(other.feeds.bytes, 0);
});

test("Feeds wait for a slow reader of another document when the memory is full, and then disconnect it", async () => {
  const rows = Array.from({ length: 40 }, (_, index) => `${index}`.padStart(1_000, "x"));
  const { feeds, open, clock } = feedsOver({ rows, maxCachedBytes: 25_000, cacheTtl: 0 });
  const slow = open("slow");
  await slow.read();
  const stalled = open("stalled");
  await stalled.read();
  await stalled.read(); // the run has fetched the second page
  const startedAt = clock.now();
  let mostBytes = 0;
  const fast = await readText(open("fast"), () => {
    mostBytes = Math.max(mostBytes, feeds.bytes);
  });
  assert(mostBytes <= 25_000 + 11_000, `${mostBytes} bytes`);
  assertEquals([fast.length > 40_000, feeds.disconnected > 0], [true, true]);
  assert(clock.now() - startedAt >= 10_000);
  const disconnected = [slow, stalled].filter(({ error }) => error !== undefined);
  await assertRejects(
    async () => {
      while (await disconnected[0]!.read());
    },
    Error,
    "another client needed its memory",
  );
  for (const reader of [slow, stalled]) reader.close();
});

test("Feeds wait for memory within a page when many pages are longer than expected", async () => {
  const { feeds, clock } = feedsOver({ maxCachedBytes: 1_000_000, cacheTtl: 0 });
  let most = 0;
  const source = {
    async *start(): AsyncGenerator<FeedPart> {
      for (let index = 0; index < 20; index++) {
        await clock.sleep(1);
        most = Math.max(most, feeds.bytes);
        const data = new Uint8Array(10_000);
        yield { data, rows: 1, isPageEnd: index === 19, hasMore: false, isLast: false };
      }
      yield { data: new Uint8Array(), rows: 0, isPageEnd: true, hasMore: false, isLast: true };
    },
    requestState: () => Promise.resolve({ digest: "", publishedAt: 0 }),
  };
  const read = (name: string) => readText(feeds.open(name, source, name), () => clock.sleep(20));
  const texts = await Promise.all(Array.from({ length: 30 }, (_, index) => read(`${index}`)));
  assertEquals(new Set(texts.map(({ length }) => length)), new Set([200_000]));
  assertEquals(feeds.disconnected, 0);
  assert(most <= 1_500_000, `${most} bytes`);
});

test("Feeds let a page that is longer than expected arrive in the memory that waiting requests have reserved", async () => {
  const { feeds, clock } = feedsOver({ maxCachedBytes: 25_000, maxDownloads: 2 });
  let arrived = () => {};
  const hasArrived = new Promise<void>((resolve) => arrived = resolve);
  const page = (length: number, isLast: boolean): FeedPart => ({
    data: new Uint8Array(length),
    rows: 1,
    isPageEnd: isLast,
    hasMore: false,
    isLast,
  });
  const long = feeds.open("long", {
    async *start() {
      for (let part = 1; part <= 6; part++) {
        if (part === 6) arrived();
        yield page(4_000, part === 6);
      }
    },
  }, "stalled");
  const waiting = readText(
    feeds.open("waiting", {
      // As at the rate limiter.
      async *start() {
        await hasArrived;
        yield page(1_000, true);
      },
    }, "other"),
  );
  await long.read();
  assertEquals((await waiting).length, 1_000);
  assertEquals([feeds.disconnected, clock.now() < 2_000], [0, true], `${clock.now()} ms`);
  long.close();
});

test("Feeds need no slot for a client that does not read, and one slot for two clients of a document", async () => {
  const { feeds, open, service, clock } = feedsOver({ maxDownloads: 1 });
  const idle = open("a");
  await idle.read();
  await clock.sleep(1_000);
  assertEquals(feeds.slots.running, 0);
  assertEquals(await readText(open("b")), service.text);
  idle.close();
});

test("Feeds continue a download when its client reads again and 200 others wait", async () => {
  const { feeds, open, service, clock } = feedsOver({ maxDownloads: 1, cacheTtl: 0 });
  const { signal } = new AbortController();
  const reader = open("a");
  const text = readText(reader, ({ rows }) => rows > 0 && clock.sleep(5_000));
  await clock.sleep(1_000); // its run has paused
  const leave = await feeds.slots.enter("b", signal);
  const enterAndLeave = () => feeds.slots.enter("b", signal).then((leave) => leave());
  const others = Array.from({ length: 200 }, enterAndLeave);
  await clock.sleep(20_000);
  leave();
  await Promise.all(others);
  assertEquals(await text, service.text);
});

/** A document of 12 pages in which each fifth page has the rows of all since the last one that had some. */
function heldSource(
  clock: FakeClock,
  requests: number[],
  wait = (_page: number) => clock.sleep(10),
): FeedSource {
  return {
    requestState: () => Promise.resolve({ digest: "", publishedAt: undefined }),
    async *start(from?: Cursor): AsyncGenerator<FeedPart> {
      let position = Number(from) || 0;
      for (let page = position; page < 12; page++) {
        requests.push(page);
        await wait(page);
        const isGroup = page % 5 === 4;
        if (isGroup) position = page + 1;
        yield {
          data: new Uint8Array(isGroup ? 100 : 0),
          rows: isGroup ? 5 : 0,
          cursor: position as unknown as Cursor,
          heldBytes: isGroup ? 0 : 1_000 * (page + 1 - position),
          isPageEnd: true,
          hasMore: page < 11,
          isLast: false,
        };
      }
      yield { data: new Uint8Array(40), rows: 2, isPageEnd: true, hasMore: false, isLast: true };
    },
  };
}

test("Feeds count held rows as memory, and finish them when the client does not read and another one waits", async () => {
  const { feeds, clock } = feedsOver({ maxDownloads: 2 });
  const requests: number[] = [];
  const { signal } = new AbortController();
  const reader = feeds.open("held", heldSource(clock, requests), "a");
  const leave = await feeds.slots.enter("a", signal);
  await reader.read();
  const waiting = feeds.slots.enter("b", signal);
  await clock.sleep(25);
  assertEquals(feeds.bytes, 3_000);
  await clock.sleep(1_000);
  assertEquals(feeds.bytes, 100);
  (await waiting)();
  leave();
  assertEquals((await readText(reader)).length, 240);
  assertEquals(requests, Array.from({ length: 12 }, (_, page) => page));
});

test("Feeds request held rows again when the runtime drops the client that fetches", async () => {
  const { feeds, clock } = feedsOver();
  const requests: number[] = [];
  const [first, second] = ["a", "b"].map((client) =>
    feeds.open("held", heldSource(clock, requests), client)
  );
  await first!.read();
  const text = readText(second!);
  Object.defineProperty(first!.feed.run, "seenAt", { value: -1e6, writable: false });
  await clock.sleep(1);
  assertEquals(feeds.bytes, 0);
  assertEquals([(await text).length, feeds.bytes], [240, 240]);
  // The run that was replaced requests no other page.
  assertEquals(requests.slice(0, 4), [0, 0, 1, 2]);
  first!.close();
});

test("Feeds complete downloads that hold more rows than the memory", async () => {
  const { feeds, clock } = feedsOver({ maxCachedBytes: 4_500, cacheTtl: 0 });
  let most = 0;
  const texts = await Promise.all(
    Array.from(
      { length: 5 },
      (_, index) =>
        readText(feeds.open(`${index}`, heldSource(clock, []), "a"), () => {
          most = Math.max(most, feeds.bytes);
        }),
    ),
  );
  assertEquals(texts.map(({ length }) => length), texts.map(() => 240));
  // The oldest one may go on until its rows are in a part.
  assert(most <= 4_500 + 4_000, `${most} bytes`);
});

/** A document of one short row. */
const shortSource = (clock: FakeClock): FeedSource => ({
  expectedLength: 100,
  async *start(): AsyncGenerator<FeedPart> {
    await clock.sleep(10);
    yield { data: new Uint8Array(80), rows: 1, isPageEnd: true, hasMore: false, isLast: true };
  },
});

test("Feeds give the slot of a run that waits 5 s for memory to others, and continue it later", async () => {
  const rows = Array.from({ length: 40 }, (_, index) => `${index}`.padStart(1_000, "x"));
  const { feeds, open, service, clock } = feedsOver({
    rows,
    maxCachedBytes: 25_000,
    maxDownloads: 2,
  });
  const example = open();
  const { source } = example;
  const read = (client: string, wait: number) =>
    readText(feeds.open(client, source, client), () => clock.sleep(wait));
  const slow = ["a", "b"].map((client) => read(client, 60_000));
  const stalled = ["c", "d"].map((client) => read(client, 0));
  await clock.sleep(2_000);
  assertEquals(feeds.slots.running, 2);
  const start = clock.now();
  const short = await readText(feeds.open("short", shortSource(clock), "e"));
  const waited = clock.now() - start;
  assertEquals([short.length, waited < 4_500], [80, true], `${waited} ms`);
  assertEquals(await Promise.all(stalled), [service.text, service.text]);
  await Promise.allSettled(slow);
  assertEquals(feeds.slots.size, 0);
  example.close();
});

test("Feeds give the next slot to a client without a download", async () => {
  const { feeds, clock } = feedsOver({ maxDownloads: 2 });
  const order: string[] = [];
  const read = (client: string) =>
    readText(feeds.open(client, shortSource(clock), client)).then(() => order.push(client));
  const idle = feeds.open("idle", shortSource(clock), "busy");
  await idle.read();
  const { signal } = new AbortController();
  const leave = await Promise.all(["x", "y"].map((name) => feeds.slots.enter(name, signal)));
  const waiting = ["busy", "new"].map(async (client) => await read(client));
  await clock.sleep(100);
  leave[0]!();
  await Promise.all(waiting);
  assertEquals(order, ["new", "busy"]);
  leave[1]!();
  idle.close();
});

test("Feeds let a page arrive that is longer than expected when the next page of held rows waits for its end", async () => {
  const { feeds, clock } = feedsOver({ maxCachedBytes: 2_900, cacheTtl: 0 });
  let end = () => {};
  const ended = new Promise<void>((resolve) => end = resolve);
  const held = heldSource(clock, [], (page) => page === 3 ? ended : clock.sleep(10));
  const source: FeedSource = {
    async *start(): AsyncGenerator<FeedPart> {
      for (let index = 0; index < 4; index++) {
        await clock.sleep(20);
        const part = { rows: 1, isPageEnd: index === 3, hasMore: false, isLast: false };
        yield { ...part, data: new Uint8Array(2_000) };
      }
      end();
      yield { data: new Uint8Array(), rows: 0, isPageEnd: true, hasMore: false, isLast: true };
    },
  };
  const texts = ["held", "long"].map((key) =>
    readText(feeds.open(key, key === "held" ? held : source, key))
  );
  assertEquals((await Promise.all(texts)).map(({ length }) => length), [240, 8_000]);
});

test("Feeds start a document that a busy client waits for when another client requests it", async () => {
  const { feeds, open, clock } = feedsOver({ rows: textsOf(9), maxDownloads: 4 });
  const enter = (client: string) => feeds.slots.enter(client, new AbortController().signal);
  const [leave] = await Promise.all(["busy", "busy", "busy", "other"].map(enter));
  const readers = ["busy", "idle"].map((client) => open(client));
  const complete = readers.map((reader) => readText(reader).then(() => clock.now()));
  const next = enter("other");
  await clock.sleep(100);
  leave!();
  const times = await Promise.all(complete);
  assert(Math.max(...times) < 200, times.join());
  await next;
});

test("Feeds request the versions between pages when the service omits the link to a long page", async () => {
  const rows = Array.from({ length: 30 }, (_, index) => `${index}`.padStart(100_000, "x"));
  const { open, service, clock } = feedsOver({ rows });
  service.hasLinks = false;
  assertEquals(await readText(open()), service.text);
  assert(clock.now() < 10_000, `${clock.now()} ms`);
});

test("Feeds interrupt a run at the end of a page when a client with fewer downloads waits", async () => {
  const { feeds, open, clock } = feedsOver({ maxDownloads: 2, cacheTtl: 0 });
  const source = {
    readsAhead: true,
    requestState: () => Promise.resolve({ digest: "", publishedAt: undefined }),
    async *start(from?: Cursor): AsyncGenerator<FeedPart> {
      const newPart = () => ({ data: new Uint8Array(1), rows: 1, hasMore: true, isLast: false });
      for (let page = Number(from) || 0; page < 100; page++) {
        yield { ...newPart(), isPageEnd: false };
        await clock.sleep(10);
        yield { ...newPart(), isPageEnd: true, cursor: `${page + 1}` as unknown as Cursor };
      }
      yield { ...newPart(), rows: 0, isPageEnd: true, hasMore: false, isLast: true };
    },
  };
  // The readers still read the first part of a page when the rest of it arrives.
  const downloads = [open("a", source), open("a", source)].map((reader) =>
    readText(reader, ({ isPageEnd }) => isPageEnd || clock.sleep(10.2))
  );
  await clock.sleep(25);
  const leave = await feeds.slots.enter("b", new AbortController().signal);
  assert(clock.now() < 100, `${clock.now()} ms`);
  leave();
  assertEquals((await Promise.all(downloads)).map((text) => text.length), [201, 201]);
});

test("Feeds request the first page again when a dataset was published less than ten minutes before it", async () => {
  const { open, service } = feedsOver({ rows: textsOf(15) });
  service.datasets[0]!.publishedAt = -599_000;
  assertEquals(await readText(open()), service.text);
  assertEquals(service.requests.slice(0, 4), ["null 10", "versions", "null 10", "count"]);
});

test("Feeds that send nothing early fail when a dataset was published less than ten minutes before the first page", async () => {
  const { open, service } = feedsOver({ rows: textsOf(15) });
  service.datasets[0]!.publishedAt = -599_000;
  const reader = open("a", { isStateFirst: true });
  await assertRejects(() => readText(reader), HttpProblem, "published again");
  service.datasets[0]!.publishedAt = -601_000;
  assertEquals(await readText(open("b", { isStateFirst: true })), service.text);
});

test("Feeds request the first page again when a dataset has another version than was seen before", async () => {
  const { feeds, open, service } = feedsOver({ rows: textsOf(15), cacheTtl: 0 });
  const download = async (isStateFirst = false) => {
    service.requests.length = 0;
    assertEquals(await readText(open("a", { isStateFirst })), service.text);
    return service.requests.map((request) => request.replace(" 10", "")).join();
  };
  const usual = "null,versions,count,Id:10,versions";
  assertEquals([await download(), await download()], [usual, usual]);
  service.datasets[0]!.version++;
  assertEquals(await download(), "null,versions,null,count,Id:10,versions");
  assertEquals(await download(), usual);
  service.datasets[0]!.version++;
  assertEquals(await download(true), "versions,null,count,Id:10,versions");
  // The memory for what was seen is limited.
  for (const round of ["b", "c"]) {
    service.datasets = Array.from(
      { length: 9_000 },
      (_, index) => ({ doi: `10.1/${round}${index}`, version: 1, publishedAt: -DAY }),
    );
    await download();
  }
  assertEquals(feeds.seen.size, 10_000);
});

test("Feeds fail when a dataset is published while the only page is continued", async () => {
  const { open, clock } = feedsOver();
  let rows = ["a", "b", "c"];
  const state = { digest: "1", publishedAt: -3_600_000 };
  const source = {
    async *start(): AsyncGenerator<FeedPart> {
      for (let index = 0; index < 3; index++) {
        await Promise.resolve();
        const part = { rows: 1, isPageEnd: index === 2, hasMore: index < 2, isLast: false };
        yield { ...part, data: utf8Encoder.encode(rows[index]) };
      }
      const end = { rows: 0, isPageEnd: true, hasMore: false, isLast: true };
      yield { ...end, data: new Uint8Array(), isOneResponse: false };
    },
    requestState: () => Promise.resolve({ ...state }),
    responseDate: () => clock.now(),
  };
  const publish = () => {
    rows = ["x", "b", "c"];
    Object.assign(state, { digest: "2", publishedAt: clock.now() });
  };
  await assertRejects(() => readText(open("a", source), publish), HttpProblem, "published again");
});

test("Feeds continue with a complete document after the process of its reader was suspended", async () => {
  const { feeds, open, service, clock } = feedsOver({ cacheTtl: 20_000 });
  const suspended = open("a");
  await readText(open("b"));
  await clock.sleep(21_000);
  suspended.seenAt = -10_000;
  feeds.open("other", shortSource(clock), "c").close();
  assertEquals(feeds.bytes, 0);
  assertEquals(await readText(suspended), service.text);
});

test("Feeds free the memory of rows when no client reads them any more", async () => {
  const { feeds, open, clock } = feedsOver({ cacheTtl: 20_000 });
  const lengths: number[] = [];
  const parts: FeedPart[] = [];
  await readText(open(), (part) => parts.push(part) && lengths.push(part.data.length));
  assertEquals(parts.map(({ data }) => data.length), lengths);
  await clock.sleep(21_000);
  assertEquals([feeds.bytes, ...parts.map(({ data }) => data.length)], [
    0,
    ...lengths.map(() => 0),
  ]);
});

test("Feeds free the rows in the state of a compressor when a later position replaces it", async () => {
  const { open } = feedsOver();
  const blocks = [0, 1, 2].map(() => new Uint8Array(100));
  const lengths: number[][] = [];
  const source = {
    async *start(from?: Cursor): AsyncGenerator<FeedPart> {
      const rows = (from?.rows ?? 0) + 1;
      const writer = { gzip: { pending: { bytes: blocks[rows - 1] } } };
      const cursor = { version: 2, query: "", shards: [], rows, writer } as const;
      const isLast = rows === blocks.length;
      yield { data: new Uint8Array(1), rows: 1, cursor, isPageEnd: true, hasMore: !isLast, isLast };
    },
    requestState: () => Promise.resolve({ digest: "", publishedAt: 0 }),
  };
  const reader = open("a", source);
  await readText(reader, () => lengths.push(blocks.map(({ length }) => length)));
  assertEquals(lengths, [[100, 100, 100], [0, 100, 100], [0, 0, 0]]);
});

test("Feeds reserve as much as a run holds, because the memory of held rows doubles", async () => {
  const { feeds, open } = feedsOver();
  const reserved: number[] = [];
  const source = {
    async *start(): AsyncGenerator<FeedPart> {
      for (const heldBytes of [5_000, 10_000, 15_000]) {
        reserved.push(feeds.reserved);
        yield {
          data: new Uint8Array(),
          rows: 0,
          heldBytes,
          isPageEnd: true,
          hasMore: true,
          isLast: false,
        };
      }
      reserved.push(feeds.reserved);
      yield { data: new Uint8Array(1), rows: 3, isPageEnd: true, hasMore: false, isLast: true };
    },
    requestState: () => Promise.resolve({ digest: "", publishedAt: 0 }),
  };
  await readText(open("a", source));
  const forResponse = 250_000;
  const expected = [5_000, 10_000, 15_000].map((held) => held + forResponse);
  assertEquals(reserved.slice(1), expected);
});

test("Feeds leave half of the memory for pages when many responses are sent", async () => {
  const { feeds, open } = feedsOver({ maxCachedBytes: 1_000_000 });
  await readText(open());
  const readers = Array.from({ length: 300 }, (_, index) => open(`${index}`));
  for (const reader of readers) await reader.read();
  assertEquals(feeds.reserved, 500_000);
  for (const reader of readers) reader.close();
});

test("Feeds send a document to many readers when a page is longer than the one before", async () => {
  const { feeds, clock } = feedsOver({ maxCachedBytes: 80_000, maxDownloads: 4 });
  const source = {
    async *start(from?: Cursor): AsyncGenerator<FeedPart> {
      for (let page = from?.rows ?? 0; page < 3; page++) {
        const parts = page === 1 ? 12 : 10;
        for (let part = 1; part <= parts; part++) {
          await clock.sleep(1);
          const isPageEnd = part === parts;
          const cursor = {
            version: 2,
            query: "",
            shards: [],
            rows: page + Number(isPageEnd),
          } as const;
          const isLast = isPageEnd && page === 2;
          const data = new Uint8Array(600);
          yield { data, rows: 1, cursor, isPageEnd, hasMore: !isLast, isLast };
        }
      }
    },
    requestState: () => Promise.resolve({ digest: "", publishedAt: 0 }),
  };
  const texts = await Promise.all(
    Array.from({ length: 70 }, (_, index) => readText(feeds.open("long", source, `${index}`))),
  );
  assertEquals(new Set(texts.map(({ length }) => length)), new Set([32 * 600]));
});

test("Feeds reserve memory for each response that is being sent", async () => {
  const { feeds, open } = feedsOver();
  await readText(open()); // so that no page is being fetched
  const readers = ["a", "b", "c"].map((client) => open(client));
  assertEquals(feeds.reserved, 0);
  for (const reader of readers) await reader.read();
  assertEquals(feeds.reserved, 750_000);
  for (const reader of readers) reader.close();
  assertEquals(feeds.reserved, 0);
});

test("Feeds fail when the next rows of a reader were dropped while its process was suspended", async () => {
  const { open, service } = feedsOver({ cacheTtl: 1 });
  const suspended = open("a");
  const other = open("b");
  await suspended.read();
  suspended.seenAt = -10_000;
  assertEquals(await readText(other), service.text);
  await assertRejects(() => readText(suspended), Error, "no longer in memory");
});

/** How a dataset changes when it is published: `at` is the time of the clock. */
type Publish = (service: PublishedService, at: number, random: (below: number) => number) => void;
const republish =
  (publishedAt: (at: number, random: (below: number) => number) => number) =>
  ({ datasets }: PublishedService, at: number, random: (below: number) => number) => {
    const dataset = datasets[random(datasets.length)]!;
    dataset.version++;
    dataset.publishedAt = publishedAt(at, random);
  };
const DAY = 86_400_000;
const publications: Record<string, Publish> = {
  "a fresh time": republish((at, random) => at - random(500_000)),
  "a time that is too early": republish((at, random) => at - 600_000 - random(DAY)),
  "a time that is too late": republish((at, random) => at + random(DAY)),
  "an unchanged time": ({ datasets }) => void datasets[0]!.version++,
  "an unchanged version": ({ datasets }, at, random) =>
    void (datasets[0]!.publishedAt = at - 600_000 - random(DAY)),
  "added and removed datasets"(service, at, random) {
    const removed = random(service.datasets.length);
    service.datasets.splice(removed, random(2));
    service.datasets.push({ doi: `10.1/${random(1e9)}`, version: 1, publishedAt: at - DAY });
  },
};
for (const [kind, changeDatasets] of Object.entries(publications)) {
  Deno.test(
    `Feeds never complete a file of two versions when datasets are published at random times with ${kind}`,
    LONG_DEADLINE,
    async () => {
      const counts = await runSchedules(changeDatasets);
      assertEquals(counts.mixed, 0, JSON.stringify(counts));
      assert(counts.complete > 50 && counts.failed > 50, JSON.stringify(counts));
    },
  );
}

Deno.test(
  "Feeds complete files of two versions only when Metadata shows no change",
  LONG_DEADLINE,
  async () => {
    const { mixed } = await runSchedules(() => {});
    assert(mixed > 0, "the documents say that such a change cannot be seen");
  },
);

/** Returns the number of downloads of 45 random schedules that are complete, have rows of two versions, or fail. */
async function runSchedules(changeDatasets: Publish) {
  const counts = { complete: 0, mixed: 0, failed: 0 };
  for (let seed = 1; seed <= 45; seed++) await runSchedule(seed, changeDatasets, counts);
  return counts;
}

/** Runs random downloads and publications, after the server has seen the versions. */
async function runSchedule(
  seed: number,
  changeDatasets: Publish,
  counts: Record<"complete" | "mixed" | "failed", number>,
): Promise<void> {
  const numbers = new Random(seed);
  const random = (below: number) => numbers.int(0, below - 1);
  const count = 5 + random(40);
  const { feeds, open, service, clock } = feedsOver({
    rows: textsOf(count),
    top: 3 + random(10),
    delay: () => 5 + random(60),
    cacheTtl: [0, 500, 60_000][random(3)]!,
    maxDownloads: 1 + random(3),
    maxDownloadsPerClient: [1, Infinity][random(2)]!,
  });
  service.hasLinks = random(4) > 0;
  service.datasets.push({ doi: "10.1/b", version: 1, publishedAt: -DAY });
  const first = open("first");
  await first.source.requestState!(new AbortController().signal);
  first.close();
  const versions = [service.text];
  const publish = async () => {
    for (let number = random(4); number > 0; number--) {
      await clock.sleep(random(250));
      const rows = [...service.rows];
      const changed = random(rows.length);
      for (let index = changed; index < rows.length; index++) {
        if (random(2) === 0) rows[index] = `${number}v${index}`;
      }
      rows[changed] = `${number}w${changed}`;
      if (random(3) === 0) rows.push(`new${number}`);
      service.rows = rows;
      changeDatasets(service, clock.now(), random);
      versions.push(service.text);
    }
  };
  const download = async () => {
    await clock.sleep(random(300));
    const source = { readsAhead: random(2) === 0, isStateFirst: random(3) === 0 };
    const limit = random(3) === 0 ? random(4) : Infinity;
    let parts = 0;
    try {
      const text = await readText(open(`${random(3)}`, source), async () => {
        if (++parts > limit) throw new Error("left");
        await clock.sleep(random(2) * random(100));
      });
      counts[versions.includes(text) ? "complete" : "mixed"]++;
    } catch {
      counts.failed++;
    }
  };
  await Promise.all([publish(), download(), download(), download(), download()]);
  await clock.sleep(62_000); // until all rows have expired
  assertEquals([feeds.slots.size, feeds.bytes, clock.pending], [0, 0, 0], `seed ${seed}`);
}
