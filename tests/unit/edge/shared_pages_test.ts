// Downloads that share pages while they are fetched, through the app.
import "../../helpers/no_permission.ts";
import { assert, assertEquals, assertRejects } from "@std/assert";
import type { EdgeApp } from "../../../edge/app.ts";
import { ACCESS_MODES, type AppOptions } from "../../../edge/options.ts";
import { DEADLINE } from "../../helpers/deadline.ts";
import { overSandbox, overUpstream, problemOf, SECRET } from "../../helpers/edge.ts";
import { page, ROOT } from "../../helpers/upstream.ts";

/** Requests downloads concurrently; returns their texts. */
async function readAll(app: EdgeApp, paths: readonly string[]): Promise<string[]> {
  return await Promise.all(paths.map(async (path) => {
    const response = await app.request(path);
    assertEquals(response.status, 200);
    return await response.text();
  }));
}

const repeat = <T>(count: number, value: T): T[] => new Array(count).fill(value);

/** Text of a download that shares no pages. */
async function unshared(path: string, records: number): Promise<string> {
  const { app } = overSandbox({ records }, { cacheTtl: 0 });
  return (await readAll(app, [path]))[0]!;
}

Deno.test(
  "EdgeApp.request() sends the requests of one download when 100 identical ones are concurrent",
  DEADLINE,
  async () => {
    const path = "/Records.csv?$select=Id,DOI,ResultValue";
    const expected = await unshared(path, 40_000);
    const { app, stats, clock } = overSandbox({ records: 40_000 });
    const responses = await Promise.all(
      repeat(100, path).map(async (path) => {
        const response = await app.request(path);
        return { response, begin: clock.now() };
      }),
    );
    assertEquals(responses.map(({ response }) => response.status), repeat(100, 200));
    const begins = responses.map(({ begin }) => begin);
    assert(Math.max(...begins) - Math.min(...begins) < 1_000);
    const texts = await Promise.all(responses.map(({ response }) => response.text()));
    assert(texts.every((text) => text === expected));
    assertEquals(stats.requests, 6); // versions of the datasets, four pages and a count
  },
);

const variants: [name: string, path: string][] = [
  ["format", "/Records.ndjson?$select=Id"],
  ["separator", "/Records.csv?$select=Id&separator=;"],
  ["selection", "/Records.csv?$select=Id,DOI"],
  ["filter", "/Records.csv?$select=Id&$filter=LocationId%20eq%201015"],
  ["limit", "/Records.csv?$select=Id&limit=9"],
  ["page size", "/Records.csv?$select=Id&$top=5000"],
];
for (const [name, path] of variants) {
  Deno.test(
    `EdgeApp.request() does not share pages when the ${name} differs`,
    DEADLINE,
    async () => {
      const { app } = overSandbox({ records: 2_000 });
      const paths = ["/Records.csv?$select=Id", path];
      const [first, second] = await readAll(app, paths);
      assertEquals(first, await unshared(paths[0]!, 2_000));
      assertEquals(second, await unshared(path, 2_000));
      assertMetric(app, "weir_page_cache_hits_total", 0);
    },
  );
}

Deno.test(
  "EdgeApp.request() shares pages when only the name of the file differs",
  DEADLINE,
  async () => {
    const { app, stats } = overSandbox({ records: 20 });
    await readAll(app, ["/Records.csv?filename=a", "/Records.csv?filename=b"]);
    assertEquals(stats.requests, 2); // versions of the datasets, and a page
    assertMetric(app, "weir_page_cache_hits_total", 1);
    assertMetric(app, "weir_page_cache_misses_total", 1);
  },
);

Deno.test(
  "EdgeApp.request() completes the other downloads when the one that fetches is cancelled",
  DEADLINE,
  async () => {
    const path = "/Records.csv?$select=Id,DOI&$top=1000";
    const expected = await unshared(path, 5_000);
    const { app } = overSandbox({ records: 5_000 });
    const [first, ...others] = await Promise.all(repeat(4, path).map((path) => app.request(path)));
    const reader = first!.body!.getReader();
    await reader.read();
    await reader.cancel();
    const texts = await Promise.all(others.map((response) => response.text()));
    assertEquals(texts, repeat(3, expected));
  },
);

Deno.test(
  "EdgeApp.request() completes a fast download when an identical one is read slowly",
  DEADLINE,
  async () => {
    const path = "/Records.csv?$select=Id,DOI&$top=1000";
    const expected = await unshared(path, 5_000);
    const { app, clock } = overSandbox({ records: 5_000 });
    const [slow, fast] = await Promise.all([app.request(path), app.request(path)]);
    const reader = slow.body!.getReader();
    const decoder = new TextDecoder();
    let text = decoder.decode((await reader.read()).value);
    assertEquals(await fast.text(), expected);
    for (;;) {
      const { done, value } = await reader.read();
      if (done) break;
      text += decoder.decode(value);
      await clock.sleep(30_000);
    }
    assertEquals(text, expected);
  },
);

const failed = () => Response.json({}, { status: 500 });

Deno.test(
  "EdgeApp.request() requests a page again for one of the other downloads when it fails",
  DEADLINE,
  async () => {
    const { app, requests } = overUpstream([failed(), page([{ Id: 1 }])], { cacheTtl: 60_000 });
    const responses = await Promise.all(
      repeat(3, "/Records.csv?$select=Id").map((path) => app.request(path)),
    );
    assertEquals(responses.map(({ status }) => status), [502, 200, 200]);
    await responses[0]!.body!.cancel();
    for (const response of responses.slice(1)) assertEquals(await response.text(), "Id\r\n1\r\n");
    assertEquals(requests.length, 2);
  },
);

Deno.test(
  "EdgeApp.request() requests a page twice when all its requests fail",
  DEADLINE,
  async () => {
    const { app, requests } = overUpstream([failed(), failed()], { cacheTtl: 60_000 });
    const responses = await Promise.all(
      repeat(9, "/Records.csv?$select=Id").map((path) => app.request(path)),
    );
    for (const response of responses) {
      assertEquals(response.status, 502);
      assertEquals(
        (await problemOf(response)).detail,
        "DataStream did not return a complete response",
      );
    }
    assertEquals(requests.length, 2);
  },
);

Deno.test(
  "EdgeApp.request() breaks only the download that fetches when a later page fails",
  DEADLINE,
  async () => {
    const link = `${ROOT}/Records?$skiptoken=Id:1`;
    const responses = [page([{ Id: 1 }], link), Response.json({ value: 2 }), failed()];
    const { app } = overUpstream(
      [...responses, Response.json({ value: 2 }), page([{ Id: 2 }])],
      { cacheTtl: 60_000 },
    );
    const path = "/Records.csv?$select=Id";
    const [first, second] = await Promise.all([app.request(path), app.request(path)]);
    await Promise.all([
      assertRejects(() => first.text()),
      second.text().then((text) => assertEquals(text, "Id\r\n1\r\n2\r\n")),
    ]);
  },
);

Deno.test(
  "EdgeApp.request() returns 413 to all downloads when the result has more than maxRows",
  DEADLINE,
  async () => {
    const { app, stats } = overSandbox({ records: 3_000 }, { maxRows: 2_000, pageRows: 1_000 });
    const responses = await Promise.all(
      repeat(9, "/Records.csv").map((path) => app.request(path)),
    );
    for (const response of responses) {
      assertEquals(response.status, 413);
      await response.body!.cancel();
    }
    assertEquals(stats.requests, 5); // versions of the datasets, and twice a page and a count
  },
);

Deno.test(
  "EdgeApp.request() requests a count once when identical requests for it are concurrent",
  DEADLINE,
  async () => {
    const { app, stats } = overSandbox({ records: 70 }, { maxDownloads: 1 });
    const texts = await readAll(app, repeat(9, "/Records?$count=true"));
    assertEquals([texts, stats.requests], [repeat(9, '{"count":70}\n'), 2]);
  },
);

Deno.test(
  "EdgeApp.request() requests citations once when identical requests for them are concurrent",
  DEADLINE,
  async () => {
    const { app, stats } = overSandbox({ records: 70 }, { maxDownloads: 1 });
    const [first, ...others] = await readAll(app, repeat(9, "/Citations.json"));
    assertEquals(others, repeat(8, first!));
    assertEquals(stats.requests, 1);
  },
);

for (const path of ["/Records?$count=true", "/Citations.json", "/Records.csv?$select=Id"]) {
  Deno.test(
    `EdgeApp.request() returns 504 within 60 s to all requests for ${path} when DataStream is silent`,
    DEADLINE,
    async () => {
      const silent = repeat(9, () => new Promise<Response>(() => {}));
      const options = { cacheTtl: 60_000, retry: {} } as const;
      const { app, clock } = overUpstream(silent, options);
      const responses = await Promise.all(repeat(5, path).map((path) => app.request(path)));
      for (const response of responses) {
        assertEquals(response.status, 504);
        await response.body!.cancel();
      }
      assert(clock.now() <= 61_000, `${clock.now()} ms`);
    },
  );
}

Deno.test(
  "EdgeApp.request() needs no permit for a download when another one fetches its pages",
  DEADLINE,
  async () => {
    const { app } = overSandbox({ records: 3_000 }, { maxDownloads: 1, pageRows: 1_000 });
    const path = "/Records.csv?$select=Id";
    const responses = await Promise.all(repeat(5, path).map((path) => app.request(path)));
    assertEquals(responses.map(({ status }) => status), repeat(5, 200));
    const other = await app.request("/Locations.csv");
    assertEquals(other.status, 503);
    await other.body!.cancel();
    for (const response of responses) await response.text();
  },
);

Deno.test(
  "EdgeApp.request() waits for a permit when a download has to fetch after its first rows",
  DEADLINE,
  async () => {
    const { app, clock } = overSandbox({ records: 3_000 }, { maxDownloads: 1, pageRows: 1_000 });
    const path = "/Records.csv?$select=Id,DOI";
    const [first, second] = await Promise.all([app.request(path), app.request(path)]);
    await first.body!.cancel();
    const other = await app.request("/Locations.csv");
    assertEquals(other.status, 200);
    let isComplete = false;
    const text = second.text().finally(() => isComplete = true);
    await clock.sleep(20_000);
    assertEquals(isComplete, false);
    await other.text();
    assertEquals(await text, await unshared(`${path}&$top=1000`, 3_000));
  },
);

Deno.test(
  "EdgeApp.request() completes a fast download of a client when its identical ones are read slowly",
  DEADLINE,
  async () => {
    const { app, clock } = overSandbox({ records: 5_000 }, {
      pageRows: 1_000,
      maxDownloadsPerClient: 1,
    });
    const path = "/Records.csv?$select=Id,DOI";
    const open = () =>
      app.fetch(new Request(`http://localhost${path}`), { clientAddress: "192.0.2.1" });
    const expected = await unshared(`${path}&$top=1000`, 5_000);
    const slow = await open();
    const reader = slow.body!.getReader();
    const decoder = new TextDecoder();
    let slowText = decoder.decode((await reader.read()).value);
    const start = clock.now();
    // The slow download has the only permit of the client, and does not use it.
    assertEquals(await (await open()).text(), expected);
    assert(clock.now() - start < 5_000, `${clock.now() - start} ms`);
    for (;;) {
      const { done, value } = await reader.read();
      if (done) break;
      slowText += decoder.decode(value);
      await clock.sleep(10_000);
    }
    assertEquals(slowText, expected);
    assertMetric(app, "weir_downloads_in_progress", 0);
  },
);

Deno.test(
  "EdgeApp.request() returns 503 to all concurrent downloads when the rate limit refuses the first one",
  DEADLINE,
  async () => {
    const headers = { "retry-after": "15" };
    const busy = () => Response.json({}, { status: 429, headers });
    const { app, clock } = overUpstream(repeat(9, busy), { cacheTtl: 60_000, retry: {} });
    const responses = await Promise.all(
      repeat(5, "/Records.csv?$select=Id").map((path) => app.request(path)),
    );
    for (const response of responses) {
      assertEquals(response.status, 503);
      await response.body!.cancel();
    }
    assert(clock.now() <= 20_000, `${clock.now()} ms`);
  },
);

Deno.test(
  "EdgeApp.request() delays no other client when a download waits for the permit of its client",
  DEADLINE,
  async () => {
    const { app, clock } = overSandbox({ records: 3_000 }, {
      pageRows: 1_000,
      maxDownloadsPerClient: 1,
    });
    const open = (path: string, clientAddress: string) =>
      app.fetch(new Request(`http://localhost${path}`), { clientAddress });
    const path = "/Records.csv?$select=Id,DOI";
    const first = await open(path, "192.0.2.1"); // only its first page is requested and cached
    await first.body!.cancel();
    const long = await open("/Records.csv?$select=Id", "192.0.2.2");
    const waiting = await open(path, "192.0.2.2");
    let isComplete = false;
    const waitingText = waiting.text().finally(() => isComplete = true);
    await clock.sleep(10_000);
    assertEquals(isComplete, false);
    const other = await open(path, "192.0.2.3");
    const text = await other.text();
    assertEquals(text, await unshared(`${path}&$top=1000`, 3_000));
    // The download that waited follows the other one, and needs no permit.
    assertEquals(await waitingText, text);
    assertEquals(isComplete, true);
    await long.text();
  },
);

Deno.test("EdgeApp.request() shares no pages when callers have their own keys", async () => {
  const { app, stats } = overSandbox({ records: 20 }, {
    access: "caller",
    apiKey: undefined,
  });
  const init = { headers: { "x-api-key": overSandbox().apiKey } };
  const responses = await Promise.all([1, 2].map(() => app.request("/Records.csv", init)));
  for (const response of responses) await response.text();
  assertEquals([responses.map(({ status }) => status), stats.requests], [[200, 200], 2]);
});

Deno.test("createApp() shares pages for each access mode except caller, unless cacheTtl is 0", () => {
  const others = { tokens: ["the-token-of-a-test"], signingSecret: SECRET };
  const sharesPages = (access: AppOptions["access"], cacheTtl?: number) =>
    overSandbox({}, { ...others, access, cacheTtl }).app.metrics().includes("weir_page_cache");
  assertEquals(ACCESS_MODES.map((mode) => sharesPages(mode)), [false, true, true, true]);
  assertEquals(ACCESS_MODES.map((mode) => sharesPages(mode, 0)), [false, false, false, false]);
});

Deno.test(
  "EdgeApp.request() logs the rows of each download, and the requests of the one that fetches",
  DEADLINE,
  async () => {
    const { app, log } = overSandbox({ records: 3_000 }, {
      logRequests: true,
      logFormat: "json",
      pageRows: 1_000,
    });
    await readAll(app, repeat(3, "/Records.csv?$select=Id"));
    const lines = log.map((line) => JSON.parse(line));
    assertEquals(lines.map(({ rows }) => rows), [3_000, 3_000, 3_000]);
    assertEquals(lines.reduce((sum, { upstreamRequests }) => sum + upstreamRequests, 0), 5);
  },
);

function assertMetric(app: EdgeApp, name: string, value: number): void {
  assertEquals(new RegExp(`^${name} (.*)$`, "m").exec(app.metrics())?.[1], String(value));
}
