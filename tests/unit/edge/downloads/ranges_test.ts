// A document that is complete in memory has a length, a strong ETag and ranges of its bytes, at no request; another one has
// none of them. Formats whose readers need the length are fetched for HEAD if they are small.
import "../../../helpers/no_permission.ts";
import {
  assert,
  assertEquals,
  assertMatch,
  assertRejects,
  assertStringIncludes,
} from "@std/assert";
import type { AppOptions } from "../../../../edge/app.ts";
import { CITATION_PATHS } from "../../../../edge/downloads/citations.ts";
import type { SandboxOptions } from "../../../../src/sandbox/service.ts";
import { FORMAT_NAMES, FORMATS, formatsOf } from "../../../../src/formats/formats.ts";
import { test } from "../../../helpers/deadline.ts";
import { overSandbox, overUpstream, problemOf } from "../../../helpers/edge.ts";
import { readParquet } from "../../../helpers/parquet.ts";
import { page, ROOT } from "../../../helpers/upstream.ts";

const FACTS = ["accept-ranges", "content-length", "content-range", "etag"] as const;
const factsOf = (
  { status, headers }: Response,
) => [status, ...FACTS.map((name) => headers.get(name))];

/** Creates an app over a sandbox, and functions that send requests. */
function serve(sandbox: SandboxOptions = {}, options: Partial<AppOptions> = {}) {
  const served = overSandbox({ records: 2_500, locations: 30, ...sandbox }, options);
  const get = async (path: string, headers: Record<string, string> = {}, method = "GET") =>
    await served.app.request(path, { headers, method });
  return {
    ...served,
    get,
    head: (path: string, headers?: Record<string, string>) => get(path, headers, "HEAD"),
    bytes: async (path: string, headers?: Record<string, string>) =>
      await (await get(path, headers)).bytes(),
  };
}

const tagOf = async (bytes: Uint8Array<ArrayBuffer>) =>
  `"${new Uint8Array(await crypto.subtle.digest("SHA-256", bytes)).toHex()}"`;

const DOCUMENTS = [
  // Three pages, so more than one part.
  ...formatsOf("Locations").map((format) => `/Locations.${format}?$top=10`),
  "/Records.csv?$top=1000",
  "/Records.parquet?$top=1000",
  "/Summary.csv?by=dataset",
  "/Records?$count=true",
  ...CITATION_PATHS,
  "/Records.datapackage.json?limit=3",
];
for (const path of DOCUMENTS) {
  test(`EdgeApp.request() sends any bytes of ${path} from memory`, async () => {
    const { get, head, bytes, stats } = serve();
    const document = await bytes(path);
    const { requests } = stats;
    const { length } = document;
    const { headers } = await head(path);
    const etag = headers.get("etag")!;
    assertEquals(await tagOf(document), etag.replace(/^"[0-9a-f]{32}\./, '"'));
    assertEquals(factsOf(await head(path)), [200, "bytes", String(length), null, etag]);
    const whole = await get(path);
    assertEquals(factsOf(whole), [200, "bytes", String(length), null, etag]);
    assertEquals(await whole.bytes(), document);
    const step = Math.ceil(length / 7);
    for (let start = 0; start < length; start += step) {
      const end = Math.min(length, start + step);
      const response = await get(path, { range: `bytes=${start}-${end - 1}` });
      const range = `bytes ${start}-${end - 1}/${length}`;
      assertEquals(factsOf(response), [206, "bytes", String(end - start), range, etag]);
      assertEquals(await response.bytes(), document.slice(start, end));
    }
    assertEquals(await bytes(path, { range: "bytes=-1" }), document.slice(-1));
    assertEquals(await bytes(path, { range: "bytes=0-" }), document);
    const outside = await get(path, { range: `bytes=${length}-` });
    assertEquals([outside.status, outside.headers.get("content-range")], [
      416,
      `bytes */${length}`,
    ]);
    assertStringIncludes((await problemOf(outside)).hint, `before byte ${length}`);
    assertEquals(stats.requests, requests);
  });
}

test("EdgeApp.request() compares strong tags for If-Range and If-Match", async () => {
  const { get, bytes, head, clock } = serve();
  const path = "/Records.csv?limit=50";
  // With the version of the datasets, of which the tag of the document then has the version, too.
  const first = await get(path, { "if-none-match": "" });
  const weak = first.headers.get("etag")!;
  const document = await first.bytes();
  const { headers } = await head(path);
  const [etag, modified] = ["etag", "last-modified"].map((name) => headers.get(name)!);
  assertMatch(etag!, new RegExp(`^"${weak.slice(3, -1)}\\.[0-9a-f]{64}"$`));
  const ofBytes = await tagOf(document);
  const range = "bytes=10-19";
  const conditions: [status: number, headers: Record<string, string>][] = [
    [206, { range, "if-range": etag! }],
    [206, { range, "if-range": ofBytes }],
    [206, { range, "if-match": `"x", ${etag}` }],
    [206, { range, "if-match": "*" }],
    [200, { range, "if-range": weak }],
    // Rows can change without a publication.
    [200, { range, "if-range": modified! }],
    [200, { range, "if-range": '"x"' }],
    [412, { range, "if-match": weak }],
    [412, { "if-match": '"x"' }],
    [412, { "if-unmodified-since": "Mon, 01 Jan 2001 00:00:00 GMT" }],
    ...[etag!, ofBytes, weak, weak.slice(2), "*"].map((tag) =>
      [304, { range, "if-none-match": tag }] as [number, Record<string, string>]
    ),
    [206, { range, "if-none-match": `"x", ${etag!.replace(/.{5}"$/, 'other"')}` }],
  ];
  for (const [status, given] of conditions) {
    const response = await get(path, given);
    assertEquals(response.status, status, JSON.stringify(given));
    if (status === 412) assertStringIncludes((await problemOf(response)).hint, "if-match");
    else if (status !== 304) {
      const wanted = status === 206 ? document.slice(10, 20) : document;
      assertEquals(await response.bytes(), wanted);
    }
  }
  // No longer in memory: the version still tells that nothing is new.
  clock.advance(60_001);
  assertEquals((await get(path, { "if-none-match": etag! })).status, 304);
  assertEquals((await get(path, { "if-match": etag! })).status, 412);
  assertEquals(await bytes(path, { range, "if-range": etag! }), document);
});

test("EdgeApp.request() keeps the ETag of a document when the server no longer knows the versions", async () => {
  const { bytes, head, clock } = serve();
  const tagAt = async (time: number) => {
    clock.advance(time - clock.now());
    return (await head("/Records.csv")).headers.get("etag");
  };
  await bytes("/Records.ndjson", { "if-none-match": "" });
  clock.advance(10_000);
  await bytes("/Records.csv");
  const early = await tagAt(20_000);
  assertMatch(early!, /\./);
  assertEquals(await tagAt(61_000), early);
});

test("EdgeApp.request() sends all of a document, without a length, while it is incomplete or no longer in memory", async () => {
  const path = "/Records.csv?$select=Id&$top=1000";
  const range = { range: "bytes=0-9" };
  const { get, head, bytes, clock } = serve();
  const isWhole = (response: Response) =>
    assertEquals(factsOf(response).slice(0, 4), [200, "none", null, null]);
  const slow = await get(path);
  isWhole(slow);
  const reader = slow.body!.getReader();
  await reader.read();
  isWhole(await head(path));
  const second = await get(path, range);
  isWhole(second);
  const document = await second.bytes();
  await reader.cancel();
  assertEquals(await bytes(path, range), document.slice(0, 10));
  clock.advance(60_001);
  isWhole(await head(path));
  assertEquals(await bytes(path, range), document);
  for (const limits of [{ cacheTtl: 0 }, { maxCachedBytes: 1 }]) {
    const { get, head, bytes } = serve({}, limits);
    await bytes(path);
    isWhole(await head(path));
    const again = await get(path, range);
    isWhole(again);
    assertEquals(await again.bytes(), document);
  }
});

test("EdgeApp.request() gives each caller only documents of their own key", async () => {
  const { app, apiKey } = overSandbox({ records: 20 }, { access: "caller", apiKey: undefined });
  const path = "/Records.parquet";
  const send = async (key: string, method: string, headers: Record<string, string> = {}) =>
    await app.request(path, { method, headers: { ...headers, "x-api-key": key } });
  const { length } = await (await send(apiKey, "GET")).bytes();
  const mine = await send(apiKey, "HEAD");
  assertEquals(mine.headers.get("content-length"), String(length));
  for (const method of ["HEAD", "GET"]) {
    const other = await send("another-key", method, { range: "bytes=0-3" });
    await other.body?.cancel();
    assertEquals([other.status, other.headers.get("content-length")], [403, null]);
  }
});

/** Replaces `node:crypto` while a test runs; returns the number of hashes. */
function replaceCrypto(getBuiltinModule: ((name: string) => unknown) | undefined): Disposable {
  const { process } = globalThis as unknown as { process: Record<string, unknown> };
  const original = process.getBuiltinModule;
  process.getBuiltinModule = getBuiltinModule;
  return { [Symbol.dispose]: () => void (process.getBuiltinModule = original) };
}

test("EdgeApp.request() hashes a document once, when a response needs it", async () => {
  const { get, head, bytes } = serve();
  const crypto = await import("node:crypto");
  let hashes = 0;
  using _ = replaceCrypto(() => ({
    createHash: (name: string) => (hashes++, crypto.createHash(name)),
  }));
  await bytes("/Records.csv");
  assertEquals(hashes, 0);
  for (let times = 0; times < 3; times++) {
    await head("/Records.csv");
    await bytes("/Records.csv", { range: "bytes=0-9" });
  }
  await (await get("/Records.datapackage.json")).text();
  assertEquals(hashes, 1);
});

test("EdgeApp.request() has neither lengths nor ranges without node:crypto", async () => {
  const { get, head, bytes } = serve();
  using _ = replaceCrypto(undefined);
  const document = await bytes("/Records.parquet");
  for (
    const response of [
      await head("/Records.parquet"),
      await get("/Records.parquet", { range: "bytes=0-9" }),
    ]
  ) {
    assertEquals(factsOf(response).slice(0, 4), [200, "none", null, null]);
    const body = await response.bytes();
    assert(body.length === 0 || body.length === document.length);
  }
});

test("EdgeApp.request() counts and logs the bytes of a range, and disconnects a client that does not read it", async () => {
  const { get, bytes, clock, log, app } = serve({}, { logRequests: true, readerTimeout: 30_000 });
  const path = "/Records.csv?$top=1000";
  const { length } = await bytes(path);
  // The second page ends in the range.
  await bytes(path, { range: `bytes=${Math.floor(length / 2)}-${length - 10}` });
  await bytes(path, { range: "bytes=0-9" });
  const lines = log.map((line) => /csv (\d+ \w+: \d+ rows, \d+ bytes)/.exec(line)?.[1]);
  assertEquals(lines, [
    `200 complete: 2500 rows, ${length} bytes`,
    `206 complete: 1000 rows, ${length - 9 - Math.floor(length / 2)} bytes`,
    "206 complete: 0 rows, 10 bytes",
  ]);
  const reader = (await get(path, { range: "bytes=5-" })).body!.getReader();
  await reader.read();
  await clock.sleep(32_000);
  await assertRejects(() => reader.read(), Error, "was interrupted");
  assertMatch(log.at(-1)!, /206 disconnected: /);
  assertStringIncludes(
    app.metrics(),
    'weir_requests_total{route="/Records.csv",method="GET",status="206"} 3',
  );
});

for (const format of FORMAT_NAMES.filter((name) => FORMATS[name].needsLength)) {
  test(`EdgeApp.request() fetches a small document of ${format} once, for HEAD`, async () => {
    const path = `/Locations.${format}?$top=20`;
    const first = serve();
    const { headers } = await first.head(path);
    const { requests } = first.stats;
    const document = await first.bytes(path);
    assertEquals(headers.get("content-length"), String(document.length));
    assertEquals(await first.bytes(path, { range: "bytes=-8" }), document.slice(-8));
    assertEquals([first.stats.requests, first.app.openResponses()], [requests, 0]);
    first.clock.advance(60_001);
    assertEquals(factsOf(await first.get(path, { range: "bytes=-8" })).slice(0, 3), [
      200,
      "none",
      null,
    ]);
  });
}

test("EdgeApp.request() requests the versions and one page for HEAD of one page of Parquet", async () => {
  const { head, stats } = serve();
  await head("/Records.parquet?limit=500");
  assertEquals(stats.requests, 2);
});

const ROWS = [{ Id: 1 }, { Id: 2 }];
for (const [count, requests] of [[100_000, 3], [100_001, 2]] as const) {
  test(`EdgeApp.request() sends ${requests} requests for HEAD of Parquet when ${count} rows are counted after the first page`, async () => {
    const link = `${ROOT}/Records?$skiptoken=Id:2`;
    const served = overUpstream([
      ...Array.from({ length: 2 }, () => [page(ROWS, link), Response.json({ value: count })])
        .flat(),
      page([{ Id: 3 }]),
    ], { cacheTtl: 60_000, maxRows: 5_000_000 });
    const path = "/Records.parquet?$select=Id";
    const head = await served.app.request(path, { method: "HEAD" });
    assertEquals(served.requests.length, requests);
    if (count === 100_000) return;
    assertEquals(factsOf(head).slice(0, 3), [200, "none", null]);
    // The count is known from then on.
    const again = await served.app.request(path, { method: "HEAD" });
    assertEquals([again.headers.get("content-length"), served.requests.length], [null, 2]);
  });
}

test("EdgeApp.request() sends a large Parquet document after HEAD has requested its first page", async () => {
  const { head, bytes, stats } = serve({ records: 100_001, locations: 1 }, { maxRows: 5_000_000 });
  const path = "/Records.parquet?$select=Id";
  assertEquals(factsOf(await head(path)).slice(0, 3), [200, "none", null]);
  // The versions, a page and the count.
  assertEquals(stats.requests, 3);
  const { rows } = await readParquet((await bytes(path)).buffer);
  assertEquals(rows.length, 100_001);
});

test("EdgeApp.request() answers HEAD of Parquet with the problem of the document", async () => {
  const { head, log } = serve({}, { maxRows: 100 });
  const { status, headers } = await head("/Records.parquet");
  assertEquals([status, headers.get("content-type"), log], [413, "application/problem+json", []]);
});

test("EdgeApp.request() answers HEAD of Parquet without a length when its first rows are a minute old before its last ones", async () => {
  const { head, stats, clock, app } = serve({ records: 20_000 }, {
    pageRows: 1_000,
    requestsPerSecond: 0.1,
  });
  const response = await head("/Records.parquet?$select=Id");
  assertEquals(factsOf(response).slice(0, 3), [200, "none", null]);
  assert(stats.requests < 10, `${stats.requests} requests`);
  await clock.sleep(1_000);
  assertEquals(app.openResponses(), 0);
});
