import "../../../helpers/no_permission.ts";
import { assert, assertEquals, assertRejects, assertStringIncludes } from "@std/assert";
import { createApp } from "../../../../edge/app.ts";
import { FakeClock } from "../../../helpers/fake_clock.ts";
import { largeService } from "../../../helpers/large_service.ts";
import { overSandbox, overUpstream, problemOf } from "../../../helpers/edge.ts";
import { page, ROOT } from "../../../helpers/upstream.ts";

const rowsOf = (...ids: number[]) => ids.map((Id) => ({ Id }));
const isCount = ({ url }: Request) => url.includes("count=true");

Deno.test("a download of one page with more than maxRows rows is 413 with the remedy, without a count", async () => {
  const { app, stats } = overSandbox({ records: 1_001 }, { maxRows: 1_000 });
  const response = await app.request("/Records.csv");
  assertEquals([response.status, stats.requests], [413, 1]);
  const { detail, hint } = await problemOf(response);
  assertStringIncludes(detail, "1001 rows");
  assertStringIncludes(hint, "limit=1000");
});

Deno.test("a limit within maxRows is served without a count", async () => {
  const { app, stats } = overSandbox({ records: 1_001 }, { maxRows: 1_000 });
  const response = await app.request("/Records.csv?$select=Id&limit=1000");
  assertEquals((await response.text()).split("\r\n").length, 1_002);
  assertEquals(stats.requests, 1);
});

Deno.test("a download of several pages with more than maxRows rows is 413 after its first page and a count", async () => {
  const { app, stats } = overSandbox({ records: 15_000 }, { maxRows: 14_999 });
  const response = await app.request("/Records.csv");
  assertEquals([response.status, stats.requests], [413, 2]);
  assertStringIncludes((await problemOf(response)).detail, "15000 rows");
});

Deno.test("a public download of one page is one request", async () => {
  for (const path of ["/Records.csv", "/Observations.ndjson", "/Locations.geojson"]) {
    const { app, stats } = overSandbox({ records: 1_001 }, { maxRows: undefined });
    assertEquals((await app.request(path)).status, 200);
    assertEquals(stats.requests, 1, path);
  }
});

Deno.test("a download of up to maxRows rows is counted once, after its first page", async () => {
  const { app, requests } = overUpstream([
    page(rowsOf(1, 2), `${ROOT}/Records?$skiptoken=Id:2`),
    Response.json({ value: 3 }),
    page(rowsOf(3)),
  ], { maxRows: 3 });
  const response = await app.request("/Records.csv?$select=Id&$filter=DOI eq 'x'&limit=5");
  assertEquals(await response.text(), "Id\r\n1\r\n2\r\n3\r\n");
  assertEquals(requests.map(isCount), [false, true, false]);
  assertStringIncludes(requests[0]!.url, "%24filter=DOI");
});

Deno.test("between a million rows and maxRows a download is split, and whole", async () => {
  const rows = 1_100_000;
  const service = largeService(rows, 30);
  const clock = new FakeClock();
  const baseUrl = "https://large.invalid/v1/odata/v4";
  const app = createApp({ access: "public", apiKey: "k", baseUrl, clock, fetch: service.fetch });
  const response = await app.request("/Observations.ndjson?$select=Id,LocationId");
  const seen = new Uint8Array(rows);
  let left = "";
  for await (const text of response.body!.pipeThrough(new TextDecoderStream())) {
    const lines = (left + text).split("\n");
    left = lines.pop()!;
    for (const line of lines) seen[Number(/\d+/.exec(line)![0]) - 1]!++;
  }
  assert(seen.every((times) => times === 1));
  assert(service.asked.some((url) => url.includes("LocationId gte")));
});

Deno.test("up to a million rows a download is counted once, and not split", async () => {
  const service = largeService(900_000, 30);
  const clock = new FakeClock();
  const baseUrl = "https://small.invalid/v1/odata/v4";
  const app = createApp({ access: "public", apiKey: "k", baseUrl, clock, fetch: service.fetch });
  const response = await app.request("/Observations.ndjson");
  await response.body!.pipeTo(new WritableStream());
  assertEquals([service.counts, service.asked.length], [[900_000], 91]);
});

Deno.test("public access has five million rows at most, the others any number", async () => {
  const count = () => Response.json({ value: 5_000_001 });
  for (const resource of ["Records", "Locations"]) {
    const first = page(rowsOf(1), `${ROOT}/${resource}?$skiptoken=Id:1`);
    const { app } = overUpstream([first, count()], { maxRows: undefined });
    const response = await app.request(`/${resource}.csv`);
    assertEquals(response.status, 413);
    assertStringIncludes((await problemOf(response)).hint, "limit=5000000");
  }
  const { app, requests } = overUpstream([page(rowsOf(1))], {
    maxRows: undefined,
    access: "token",
    tokens: ["the-token-of-a-test"],
  });
  const response = await app.request("/Records.csv", {
    headers: { authorization: "Bearer the-token-of-a-test" },
  });
  await response.text();
  assertEquals(requests.map(isCount), [false]);
});

Deno.test("a count that fails is told as any fault", async () => {
  const first = page(rowsOf(1), `${ROOT}/Records?$skiptoken=Id:1`);
  const { app } = overUpstream([first, Response.json({}, { status: 504 })], { maxRows: 10 });
  assertEquals((await app.request("/Records.csv")).status, 504);
});

Deno.test("so many downloads are open at once, and one more is told to come back", async () => {
  const { app, stats } = overSandbox({ records: 30 }, { maxWaiting: 2 });
  const open = [await app.request("/Records.csv"), await app.request("/Locations.csv")];
  const asked = stats.requests;
  for (const path of ["/Records.csv", "/Records?$count=true", "/Citations.txt"]) {
    const response = await app.request(path);
    assertEquals([response.status, response.headers.get("retry-after")], [503, "30"]);
    assertStringIncludes((await problemOf(response)).detail, "2 downloads are open");
  }
  assertEquals(stats.requests, asked);
  assertEquals((await app.request("/healthz")).status, 200);
  assertEquals((await app.request("/Records.csv", { method: "HEAD" })).status, 200);
  await open[0]!.text();
  const next = await app.request("/Metadata.csv");
  assertEquals(next.status, 200);
  await open[1]!.text();
  await next.text();
});

const endings: [name: string, end: (response: Response) => Promise<unknown>][] = [
  ["was read to its end", (response) => response.text()],
  ["was left", (response) => response.body!.cancel()],
  ["broke", (response) => assertRejects(() => response.text())],
];
for (const [name, end] of endings) {
  Deno.test(`a download that ${name} gives its place back`, async () => {
    const broken = name === "broke";
    const { app } = overUpstream([
      page(rowsOf(1), broken ? `${ROOT}/Records?$skiptoken=Id:1` : undefined),
      ...(broken ? [Response.json({ value: 2 }), new Error("reset")] : []),
      page(rowsOf(2)),
    ], { maxWaiting: 1 });
    const first = await app.request("/Records.csv?$select=Id");
    assertEquals((await app.request("/Records.csv?$select=Id")).status, 503);
    await end(first);
    const second = await app.request("/Records.csv?$select=Id");
    assertEquals(await second.text(), "Id\r\n2\r\n");
  });
}

const failures: [name: string, path: string][] = [
  ["a download", "/Records.csv"],
  ["a count", "/Records?$count=true"],
  ["citations", "/Citations.json"],
];
for (const [name, path] of failures) {
  Deno.test(`${name} that failed before its first row gives its place back`, async () => {
    const { app } = overUpstream([new Error("reset"), page([])], { maxWaiting: 1 });
    assertEquals((await app.request(path)).status, 502);
    const next = await app.request("/Records.csv");
    await next.text();
    assertEquals(next.status, 200);
  });
}

Deno.test("what a runtime has dropped holds its place for half a minute, and no longer", async () => {
  const { app, clock } = overSandbox({ records: 1 }, { maxWaiting: 1 });
  await app.request("/Records.csv"); // nobody reads it
  clock.forget(); // nor do its timers run any more
  clock.advance(29_000);
  assertEquals((await app.request("/Records.csv")).status, 503);
  clock.advance(2_000);
  const next = await app.request("/Records.csv");
  assertEquals(next.status, 200);
  await next.text();
});

Deno.test("a reader that takes nothing for a minute is cut, told of in the log, and its place is free", async () => {
  const { app, clock, log } = overSandbox({ records: 30 }, { maxWaiting: 1 });
  const response = await app.request("/Records.csv");
  await clock.sleep(59_000);
  assertEquals([(await app.request("/Records.csv")).status, log], [503, []]);
  await clock.sleep(2_000);
  assertStringIncludes(log.join(), "took nothing for 60 s");
  await assertRejects(() => response.text(), Error, "took nothing");
  const next = await app.request("/Records.csv");
  assert((await next.text()).endsWith("\r\n"));
});

Deno.test("a reader that takes some of a page and then nothing is cut, too", async () => {
  const { app, clock, log } = overSandbox({ records: 30_000 }, { maxWaiting: 1 });
  const reader = (await app.request("/Records.csv")).body!.getReader();
  await reader.read();
  await clock.sleep(59_000);
  assertEquals(log, []);
  await clock.sleep(2_000);
  assertStringIncludes(log.join(), "took nothing for 60 s");
  await assertRejects(() => reader.read(), Error, "took nothing");
  await (await app.request("/Locations.csv")).text();
});

Deno.test("a reader that left is not told of as one that took nothing", async () => {
  const { app, clock, log } = overSandbox({ records: 30 });
  await (await app.request("/Records.csv")).body!.cancel();
  await clock.sleep(70_000);
  assertEquals(log, []);
});

Deno.test("a reader that takes a little now and then is not cut", async () => {
  const { app, clock, log } = overSandbox({ records: 10_000 });
  const reader = (await app.request("/Records.csv")).body!.getReader();
  let bytes = 0;
  for (;;) {
    const { done, value } = await reader.read();
    if (done) break;
    assert(value.length <= 65_536);
    bytes += value.length;
    await clock.sleep(59_000);
  }
  assert(bytes > 1_000_000);
  assert(clock.now() > 900_000);
  assertEquals(log, []);
});

Deno.test("downloads take turns, page by page", async () => {
  const order: string[] = [];
  const { app } = overSandbox({ requestsPerSecond: Infinity, records: 9_000 }, {
    requestsPerSecond: 2,
    pageRows: 1_000,
  });
  const read = async (name: string) => {
    const { body } = await app.request(`/Records.csv?$select=Id&limit=3000&filename=${name}`);
    const reader = body!.getReader();
    for (;;) {
      const { done } = await reader.read();
      if (done) return;
      order.push(name);
    }
  };
  await Promise.all(["a", "b", "c"].map(read));
  for (let round = 0; round < 3; round++) {
    assertEquals(order.slice(round * 3, round * 3 + 3).sort(), ["a", "b", "c"]);
  }
});
