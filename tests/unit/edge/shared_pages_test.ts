// Downloads that share pages while they are fetched, through the app.
import "../../helpers/no_permission.ts";
import { assert, assertEquals } from "@std/assert";
import type { EdgeApp } from "../../../edge/app.ts";
import { DEADLINE } from "../../helpers/deadline.ts";
import { overSandbox, overUpstream, problemOf } from "../../helpers/edge.ts";
import { page } from "../../helpers/upstream.ts";

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
    assertEquals(stats.requests, 7); // four pages, a count, and twice the versions of the datasets
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
    assertEquals(stats.requests, 1);
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

Deno.test(
  "EdgeApp.request() returns the error of the service to all concurrent downloads, and requests again afterwards",
  DEADLINE,
  async () => {
    const failed = () => Response.json({}, { status: 500 });
    const { app, requests } = overUpstream([failed(), page([{ Id: 1 }])], { cacheTtl: 60_000 });
    const path = "/Records.csv?$select=Id";
    const responses = await Promise.all(repeat(9, path).map((path) => app.request(path)));
    for (const response of responses) {
      assertEquals(response.status, 502);
      assertEquals(
        (await problemOf(response)).detail,
        "DataStream did not return a complete response",
      );
    }
    assertEquals([await (await app.request(path)).text(), requests.length], ["Id\r\n1\r\n", 2]);
  },
);

Deno.test("EdgeApp.request() shares the rows of callers with the same API key, and no others", async () => {
  const { app, stats } = overSandbox({ records: 20 }, { access: "caller", apiKey: undefined });
  const statuses = [];
  for (const key of ["sandbox", "sandbox", "another-key"]) {
    const response = await app.request("/Records.csv", { headers: { "x-api-key": key } });
    await response.text();
    statuses.push(response.status);
  }
  assertEquals([statuses, stats.requests], [[200, 200, 403], 2]);
});

Deno.test("EdgeApp.request() shares rows when access is token", async () => {
  const tokens = ["the-first-token-of-a-test", "the-second-token-of-a-test"];
  const { app, stats } = overSandbox({ records: 20 }, { access: "token", tokens });
  for (const token of tokens) {
    const headers = { authorization: `Bearer ${token}` };
    assertEquals((await app.request("/Records.csv", { headers })).status, 200);
  }
  assertEquals(stats.requests, 1);
});

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
    assertEquals(stats.requests, 2); // a page and a count
  },
);

Deno.test(
  "EdgeApp.request() requests a count once when identical requests for it are concurrent",
  DEADLINE,
  async () => {
    const { app, stats } = overSandbox({ records: 70 }, { maxDownloads: 1 });
    const texts = await readAll(app, repeat(9, "/Records?$count=true"));
    assertEquals([texts, stats.requests], [repeat(9, '{"count":70}\n'), 1]);
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
    assertEquals(lines.reduce((sum, { upstreamRequests }) => sum + upstreamRequests, 0), 6);
  },
);

function assertMetric(app: EdgeApp, name: string, value: number): void {
  assertEquals(new RegExp(`^${name} (.*)$`, "m").exec(app.metrics())?.[1], String(value));
}
