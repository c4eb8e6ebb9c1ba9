// Downloads end at maxRows, take turns, and do not wait for clients that read nothing.
import "../../../helpers/no_permission.ts";
import { setFlagsFromString } from "node:v8";
import { runInNewContext } from "node:vm";
import { assert, assertEquals, assertRejects, assertStringIncludes } from "@std/assert";
import { test } from "../../../helpers/deadline.ts";
import { overSandbox, overUpstream, problemOf } from "../../../helpers/edge.ts";
import { createSandbox } from "../../../../src/sandbox/service.ts";
import { page, ROOT } from "../../../helpers/upstream.ts";

test("EdgeApp.request() returns 413 when the result has more than maxRows rows, after a count if it has several pages", async () => {
  for (const [records, maxRows, requests] of [[999, 998, 1], [1_500, 1_499, 2]] as const) {
    const { app, stats } = overSandbox({ records }, { maxRows, pageRows: 1_000 });
    const response = await app.request("/Records.csv");
    assertEquals([response.status, stats.requests], [413, requests]);
    const { detail, hint } = await problemOf(response);
    assertStringIncludes(detail, `${records} rows`);
    assertStringIncludes(hint, `limit=${maxRows}`);
  }
});

test("EdgeApp.request() sends the first rows of a box after four requests when 20,000 locations are in it", async () => {
  const { app, stats } = overSandbox({ records: 20_000, locations: 20_000 }, {
    maxRows: undefined,
  });
  const response = await app.request("/Records.csv?$select=Id&bbox=-141,41,-52,83");
  const reader = response.body!.getReader();
  assertEquals((await reader.read()).done, false);
  assert(stats.requests <= 4, `${stats.requests} requests`);
  await reader.cancel();
});

test("EdgeApp.request() breaks the transfer after maxRows when the service refuses to count", async () => {
  const first = page([{ Id: 1 }], `${ROOT}/Records?$skiptoken=Id:1`);
  const refusal = Response.json({}, { status: 413 });
  const { app } = overUpstream([first, refusal, page([{ Id: 2 }])], { maxRows: 1 });
  const response = await app.request("/Records.csv?$select=Id");
  assertEquals(response.status, 200);
  await assertRejects(() => response.text());
});

test("EdgeApp.request() releases the permit when a download, a count or citations fail before the first row", async () => {
  for (const path of ["/Records.csv", "/Records?$count=true", "/Citations.json"]) {
    const limits = { maxDownloads: 1, cacheTtl: 60_000 };
    const reply = path.includes("$count") ? Response.json({ value: 0 }) : page([]);
    const { app } = overUpstream([new Error("reset"), reply], limits);
    assertEquals((await app.request(path)).status, 502);
    const next = await app.request(path);
    await next.text();
    assertEquals(next.status, 200);
  }
});

test("EdgeApp.request() ends and logs a download when the client reads nothing for readerTimeout", async () => {
  for (const readerTimeout of [undefined, 60_000]) {
    const { app, clock, log } = overSandbox({ records: 3_000 }, {
      readerTimeout,
      pageRows: 1_000,
    });
    const reader = (await app.request("/Records.csv")).body!.getReader();
    await reader.read();
    const seconds = (readerTimeout ?? 600_000) / 1_000;
    await clock.sleep(1_000 * seconds - 2_000);
    assertEquals(log, []);
    await clock.sleep(3_000);
    assertStringIncludes(log.join(), `read nothing for ${seconds} s`);
    await assertRejects(() => reader.read(), Error, "was interrupted");
    assertStringIncludes(app.metrics(), 'outcome="disconnected"} 1\n');
  }
});

test("EdgeApp.request() completes a download when the client reads a chunk every 59 s", async () => {
  const { app, clock, log } = overSandbox({ records: 4_000 });
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

test("EdgeApp.request() alternates between concurrent downloads of one client, page by page", async () => {
  const order: string[] = [];
  const { app } = overSandbox({ records: 900 }, { pageRows: 100, cacheTtl: 0 });
  await Promise.all(["a", "b", "c"].map(async (name) => {
    const response = await app.request(`/Records.csv?$select=Id&limit=300&filename=${name}`);
    for await (const _ of response.body!) order.push(name);
  }));
  const rounds = [0, 3, 6].map((start) => order.slice(start, start + 3).sort().join(""));
  assertEquals(rounds, ["abc", "abc", "abc"]);
});

test("EdgeApp.request() counts rows that a compressor holds, and disconnects their slow client when another one needs the memory", async () => {
  for (const format of ["csv.gz", "xlsx"]) {
    const { app, clock } = overSandbox({ records: 3_000 }, {
      maxCachedBytes: 1_000_000,
      pageRows: 1_000,
    });
    const stalled = (await app.request(`/Records.${format}`)).body!.getReader();
    await stalled.read();
    await clock.sleep(3_000);
    const counted = new RegExp(`^weir_page_cache_bytes{format="${format}"} (.*)$`, "m");
    assert(Number(counted.exec(app.metrics())?.[1]) >= 2 ** 20, app.metrics());
    const start = clock.now();
    await (await app.request("/Locations.csv?limit=1")).text();
    assert(clock.now() - start >= 7_000, `${format}: ${clock.now() - start} ms`);
    await stalled.cancel().catch(() => {});
  }
});

test("EdgeApp.request() keeps no rows in memory that the client has read while it waits for others", async () => {
  setFlagsFromString("--expose-gc");
  const collect: () => void = runInNewContext("gc");
  const external = () => {
    collect();
    return Deno.memoryUsage().external;
  };
  const ResultComment = "x".repeat(100_000);
  const value = Array.from({ length: 300 }, (_, index) => ({ Id: index + 1, ResultComment }));
  const body = { value, "@odata.nextLink": `${ROOT}/Records?$skiptoken=Id:300` };
  let pages = 0;
  const { app, clock } = overUpstream([], {
    maxRows: 1_000,
    // Not scripted: requests that are recorded keep their responses in memory.
    fetch: async ({ url }) => {
      if (!url.includes("/Records")) return Response.json({ value: [] });
      if (url.includes("count")) return Response.json({ value: 301 });
      return await (pages++ === 0 ? Response.json(body) : new Promise<Response>(() => {}));
    },
  });
  const before = external();
  const reader = (await app.request("/Records.csv?$select=Id,ResultComment")).body!.getReader();
  await clock.sleep(5_000); // the versions of the datasets have arrived
  while ((await reader.read()).value!.length === 65_536);
  const next = reader.read().catch(() => {});
  await clock.sleep(1_000);
  const held = external() - before;
  assert(held < 1e7, `${held} bytes`);
  await reader.cancel();
  await next;
});

test("EdgeApp.request() requests the count of a page before the pages of later downloads", async () => {
  let uncounted = 0;
  let most = 0;
  const { fetch: answer, ...service } = createSandbox({
    records: 300,
    requestsPerSecond: Infinity,
  });
  const { app, clock } = overSandbox({}, {
    apiKey: service.apiKey,
    baseUrl: service.url,
    fetch: (request) => {
      if (request.url.includes("/Records?")) {
        uncounted += request.url.includes("count") ? -1 : 1;
        most = Math.max(most, uncounted);
      }
      return answer(request);
    },
    maxRows: 1_000,
    pageRows: 100,
  });
  const open: Promise<unknown>[] = [];
  for (const fields of ["Id", "DOI", "Id,DOI", "DOI,Id", "Id,LocationId"]) {
    open.push(Promise.resolve(app.request(`/Records.csv?$select=${fields}`)));
    await clock.sleep(10);
  }
  await Promise.all(open);
  // The page whose turn came while the one before it arrived.
  assertEquals(most, 2);
});
