import "../../helpers/no_permission.ts";
import { assert, assertEquals, assertRejects, assertStringIncludes } from "@std/assert";
import { createApp } from "../../../edge/app.ts";
import { DEADLINE } from "../../helpers/deadline.ts";
import { FakeClock } from "../../helpers/fake_clock.ts";
import { largeService } from "../../helpers/large_service.ts";
import { overSandbox, overUpstream, problemOf } from "../../helpers/edge.ts";
import { page, ROOT } from "../../helpers/upstream.ts";

const rowsOf = (...ids: number[]) => ids.map((Id) => ({ Id }));
const isCount = ({ url }: Request) => url.includes("count=true");

Deno.test(
  "EdgeApp.request() returns 413 without a count when one page has more than maxRows rows",
  DEADLINE,
  async () => {
    const { app, stats } = overSandbox({ records: 1_001 }, { maxRows: 1_000 });
    const response = await app.request("/Records.csv");
    assertEquals([response.status, stats.requests], [413, 2]); // one for the versions of the datasets
    const { detail, hint } = await problemOf(response);
    assertStringIncludes(detail, "1001 rows");
    assertStringIncludes(hint, "limit=1000");
  },
);

Deno.test("EdgeApp.request() sends no count when limit is at most maxRows", DEADLINE, async () => {
  const { app, stats } = overSandbox({ records: 1_001 }, { maxRows: 1_000 });
  const response = await app.request("/Records.csv?$select=Id&limit=1000");
  assertEquals((await response.text()).split("\r\n").length, 1_002);
  assertEquals(stats.requests, 2); // one for the versions of the datasets
});

Deno.test(
  "EdgeApp.request() returns 413 after the first page and a count when several pages have more than maxRows rows",
  DEADLINE,
  async () => {
    const { app, stats } = overSandbox({ records: 15_000 }, { maxRows: 14_999 });
    const response = await app.request("/Records.csv");
    assertEquals([response.status, stats.requests], [413, 3]); // one for the versions of the datasets
    assertStringIncludes((await problemOf(response)).detail, "15000 rows");
  },
);

Deno.test(
  "EdgeApp.request() sends one request, and one for the versions of the datasets, when the result is one page",
  DEADLINE,
  async () => {
    for (const path of ["/Records.csv", "/Observations.ndjson", "/Locations.geojson"]) {
      const { app, stats } = overSandbox({ records: 1_001 }, { maxRows: undefined });
      assertEquals((await app.request(path)).status, 200);
      assertEquals(stats.requests, 2, path);
    }
  },
);

Deno.test(
  "EdgeApp.request() counts once, after the first page, when the result has at most maxRows rows",
  DEADLINE,
  async () => {
    const { app, requests } = overUpstream([
      page(rowsOf(1, 2), `${ROOT}/Records?$skiptoken=Id:2`),
      Response.json({ value: 3 }),
      page(rowsOf(3)),
    ], { maxRows: 3 });
    const response = await app.request("/Records.csv?$select=Id&$filter=DOI eq 'x'&limit=5");
    assertEquals(await response.text(), "Id\r\n1\r\n2\r\n3\r\n");
    assertEquals(requests.map(isCount), [false, true, false]);
    assertStringIncludes(requests[0]!.url, "%24filter=DOI");
  },
);

Deno.test(
  "EdgeApp.request() splits the query and returns each row once when it has more than a million rows",
  DEADLINE,
  async () => {
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
    assert(service.requests.some((url) => url.includes("LocationId gte")));
  },
);

Deno.test(
  "EdgeApp.request() counts once and does not split when there are less than a million rows",
  DEADLINE,
  async () => {
    const service = largeService(900_000, 30);
    const clock = new FakeClock();
    const baseUrl = "https://small.invalid/v1/odata/v4";
    const app = createApp({ access: "public", apiKey: "k", baseUrl, clock, fetch: service.fetch });
    const response = await app.request("/Observations.ndjson");
    await response.body!.pipeTo(new WritableStream());
    assertEquals([service.counts, service.requests.length], [[900_000], 92]);
  },
);

Deno.test(
  "EdgeApp.request() allows five million rows when access is public, and any number otherwise",
  DEADLINE,
  async () => {
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
  },
);

Deno.test(
  "EdgeApp.request() breaks the transfer after maxRows when the service refuses to count",
  DEADLINE,
  async () => {
    const first = page([{ Id: 1 }], `${ROOT}/Records?$skiptoken=Id:1`);
    const refusal = Response.json({}, { status: 413 });
    const responses = [first, refusal, page([{ Id: 2 }], `${ROOT}/Records?$skiptoken=Id:2`)];
    const { app } = overUpstream(responses, { maxRows: 1 });
    const response = await app.request("/Records.csv?$select=Id");
    assertEquals(response.status, 200);
    await assertRejects(() => response.text());
  },
);

Deno.test(
  "EdgeApp.request() returns 503 with retry-after when maxDownloads downloads are running",
  DEADLINE,
  async () => {
    const { app, stats } = overSandbox({ records: 30 }, { maxDownloads: 2, cacheTtl: 0 });
    const open = [await app.request("/Records.csv"), await app.request("/Locations.csv")];
    const requestsBefore = stats.requests;
    for (const path of ["/Records.csv", "/Records?$count=true", "/Citations.txt"]) {
      const response = await app.request(path);
      assertEquals([response.status, response.headers.get("retry-after")], [503, "30"]);
      assertStringIncludes((await problemOf(response)).detail, "2 concurrent downloads");
    }
    assertEquals(stats.requests, requestsBefore);
    assertEquals((await app.request("/healthz")).status, 200);
    assertEquals((await app.request("/Records.csv", { method: "HEAD" })).status, 200);
    await open[0]!.text();
    const next = await app.request("/Metadata.csv");
    assertEquals(next.status, 200);
    await open[1]!.text();
    await next.text();
  },
);

const endings: [name: string, end: (response: Response) => Promise<unknown>][] = [
  ["is read to its end", (response) => response.text()],
  ["is cancelled", (response) => response.body!.cancel()],
  ["fails", (response) => assertRejects(() => response.text())],
];
for (const [name, end] of endings) {
  Deno.test(`EdgeApp.request() releases the permit when a download ${name}`, DEADLINE, async () => {
    const broken = name === "fails";
    const { app } = overUpstream([
      page(rowsOf(1), broken ? `${ROOT}/Records?$skiptoken=Id:1` : undefined),
      ...(broken ? [Response.json({ value: 2 }), new Error("reset")] : []),
      page(rowsOf(2)),
    ], { maxDownloads: 1 });
    const first = await app.request("/Records.csv?$select=Id");
    assertEquals((await app.request("/Records.csv?$select=DOI")).status, 503);
    await end(first);
    const second = await app.request("/Records.csv?$select=Id");
    assertEquals(await second.text(), "Id\r\n2\r\n");
  });
}

const failures: [name: string, path: string][] = [
  ["a download fails", "/Records.csv"],
  ["a count fails", "/Records?$count=true"],
  ["a request for citations fails", "/Citations.json"],
];
for (const [name, path] of failures) {
  Deno.test(
    `EdgeApp.request() releases the permit when ${name} before its first row`,
    DEADLINE,
    async () => {
      const { app } = overUpstream([new Error("reset"), page([])], { maxDownloads: 1 });
      assertEquals((await app.request(path)).status, 502);
      const next = await app.request("/Records.csv");
      await next.text();
      assertEquals(next.status, 200);
    },
  );
}

Deno.test(
  "EdgeApp.request() reclaims a permit after 30 s when the runtime has dropped its request",
  DEADLINE,
  async () => {
    const requestsPerSecond = Infinity;
    const options = { maxDownloads: 1, requestsPerSecond };
    const { app, clock } = overSandbox({ records: 1, requestsPerSecond }, options);
    await app.request("/Records.csv"); // its body is not read
    clock.dropTimers(); // and its timers no longer run
    clock.advance(30_000);
    assertEquals((await app.request("/Locations.csv")).status, 503);
    clock.advance(1);
    const next = await app.request("/Locations.csv");
    assertEquals(next.status, 200);
    await next.text();
  },
);

Deno.test(
  "EdgeApp.request() ends and logs a download, and releases its permit, when the client reads nothing for 60 s",
  DEADLINE,
  async () => {
    const { app, clock, log } = overSandbox({ records: 30 }, { maxDownloads: 1 });
    const response = await app.request("/Records.csv");
    await clock.sleep(59_000);
    assertEquals([(await app.request("/Locations.csv")).status, log], [503, []]);
    await clock.sleep(2_000);
    assertStringIncludes(log.join(), "read nothing for 60 s");
    await assertRejects(() => response.text(), Error, "was interrupted");
    const next = await app.request("/Records.csv");
    assert((await next.text()).endsWith("\r\n"));
  },
);

Deno.test(
  "EdgeApp.request() ends a download when the client stops reading in the middle of a page",
  DEADLINE,
  async () => {
    const { app, clock, log } = overSandbox({ records: 30_000 }, { maxDownloads: 1 });
    const reader = (await app.request("/Records.csv")).body!.getReader();
    await reader.read();
    await clock.sleep(59_000);
    assertEquals(log, []);
    await clock.sleep(2_000);
    assertStringIncludes(log.join(), "read nothing for 60 s");
    await assertRejects(() => reader.read(), Error, "was interrupted");
    await (await app.request("/Locations.csv")).text();
  },
);

Deno.test("EdgeApp.request() logs nothing when the client disconnects", DEADLINE, async () => {
  const { app, clock, log } = overSandbox({ records: 30 });
  await (await app.request("/Records.csv")).body!.cancel();
  await clock.sleep(70_000);
  assertEquals(log, []);
});

Deno.test(
  "EdgeApp.request() completes a download when the client reads a chunk every 59 s",
  DEADLINE,
  async () => {
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
  },
);

Deno.test(
  "EdgeApp.request() alternates between concurrent downloads, page by page",
  DEADLINE,
  async () => {
    const order: string[] = [];
    const { app } = overSandbox({ requestsPerSecond: Infinity, records: 9_000 }, {
      requestsPerSecond: 2,
      pageRows: 1_000,
      cacheTtl: 0,
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
  },
);
