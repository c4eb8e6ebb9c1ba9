// Identical downloads share the requests and pages of one, but not between keys.
import "../../../helpers/no_permission.ts";
import { assert, assertEquals, assertStringIncludes } from "@std/assert";
import type { EdgeApp } from "../../../../edge/app.ts";
import { test } from "../../../helpers/deadline.ts";
import { overSandbox } from "../../../helpers/edge.ts";

/** Requests downloads concurrently; returns their texts. */
async function readAll(app: EdgeApp, paths: readonly string[]): Promise<string[]> {
  return await Promise.all(paths.map(async (path) => {
    const response = await app.request(path);
    assertEquals(response.status, 200);
    return await response.text();
  }));
}

const repeat = <T>(count: number, value: T): T[] => new Array(count).fill(value);

test("EdgeApp.request() sends the requests of one download when 100 identical ones are concurrent", async () => {
  const path = "/Records.csv?$select=Id,DOI,ResultValue";
  const [expected] = await readAll(overSandbox({ records: 4_000 }).app, [path]);
  const { app, stats, clock } = overSandbox({ records: 4_000 }, { pageRows: 1_000 });
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
  // Four pages, a count, and twice the versions of the datasets.
  assertEquals([stats.requests, stats.tooFast, stats.parallel], [7, 0, 0]);
});

test("EdgeApp.request() shares pages when only the name of the file or the page size differs", async () => {
  const { app, stats } = overSandbox({ records: 20 });
  await readAll(app, ["/Records.csv?filename=a", "/Records.csv?$top=2000"]);
  assertEquals(stats.requests, 1);
  assertStringIncludes(app.metrics(), "\nweir_page_cache_hits_total 1\n");
  assertStringIncludes(app.metrics(), "\nweir_page_cache_misses_total 1\n");
});

test("EdgeApp.request() shares nothing between queries whose rows differ", async () => {
  const { app, stats } = overSandbox({ records: 20 });
  const queries = ["", "$filter=DOI eq 'x'", "bbox=-64,46,-62,47", "$skiptoken=Id:500003"];
  const paths = [
    ...queries.map((query) => `/Records.csv?${query}`),
    ...queries.slice(0, 3).map((query) => `/Citations.txt?${query}`),
  ];
  for (const path of paths) {
    const { requests } = stats;
    await readAll(app, [path]);
    assert(stats.requests > requests, path);
  }
});

Deno.test("EdgeApp.request() shares the rows of callers with the same API key, and no others", async () => {
  const { app, stats } = overSandbox({ records: 20 }, { access: "caller", apiKey: undefined });
  const statuses = [];
  for (const key of ["sandbox", "sandbox", "another-key"]) {
    const response = await app.request("/Records.csv", { headers: { "x-api-key": key } });
    await response.text();
    statuses.push(response.status);
  }
  assertEquals([statuses, stats.requests], [[200, 200, 403], 3]);
});

Deno.test("EdgeApp.request() shares rows for a minute, and allows caching only for the time that is left, also with tokens", async () => {
  const tokens = ["the-first-token-of-a-test", "the-second-token-of-a-test"];
  for (const access of ["public", "token"] as const) {
    const { app, stats, clock } = overSandbox({ records: 20 }, { access, tokens });
    for (
      const [time, requests, seconds] of [[0, 1, 60], [41_000, 1, 19], [19_000, 2, 60]] as const
    ) {
      clock.advance(time);
      // Requests share rows whatever their token and the case of "Bearer" (RFC 9110, section 11.1) are.
      const authorization = time === 0 ? `Bearer ${tokens[0]}` : `bearer ${tokens[1]}`;
      const response = await app.request("/Records.csv", { headers: { authorization } });
      await response.text();
      assertEquals([response.status, stats.requests], [200, requests]);
      const isCached = access === "public" ? `public, max-age=${seconds}` : "private, no-store";
      assertEquals(response.headers.get("cache-control"), `${isCached}, no-transform`);
    }
  }
});

test("EdgeApp.request() requests a count and citations once when identical requests for them are concurrent", async () => {
  for (const path of ["/Records?$count=true", "/Citations.json"]) {
    const { app, stats } = overSandbox({ records: 70 }, { maxDownloads: 1 });
    const texts = await readAll(app, repeat(9, path));
    assertEquals([new Set(texts).size, stats.requests], [1, 1], path);
  }
});
