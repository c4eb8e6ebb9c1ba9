import "../../helpers/no_permission.ts";
import { assertEquals, assertStringIncludes, assertThrows } from "@std/assert";
import { createSandbox, type SandboxOptions } from "../../../src/sandbox/service.ts";
import { ask } from "../../helpers/sandbox.ts";

const key = { "x-api-key": "sandbox" };
const unlimited = { requestsPerSecond: Infinity };

/** A sandbox, and a request that starts at a time and is read: its status. */
function started(options: SandboxOptions = {}) {
  let time = 0;
  const { fetch, url, stats } = createSandbox({ ...options, now: () => time });
  const start = async (at: number): Promise<number> => {
    time = at;
    const response = await fetch(`${url}/Records?%24top=1`, { headers: key });
    await response.text();
    return response.status;
  };
  return { start, stats };
}

async function refusal(response: Response): Promise<[number, unknown]> {
  assertStringIncludes(response.headers.get("content-type") ?? "", "application/json");
  return [response.status, (await response.json()).message];
}

Deno.test("fetch() answers a raw $ in the query with 400 and a null message", async () => {
  const { fetch, url } = createSandbox(unlimited);
  for (const query of ["$top=1", "%24top=1&%24select=$x", "a$"]) {
    const response = await fetch(`${url}/Records?${query}`, { headers: key });
    assertEquals([response.status, await response.text()], [400, '{"message":null}']);
  }
});

Deno.test("fetch() answers a raw $ before it looks for a key", async () => {
  const { fetch, url } = createSandbox(unlimited);
  assertEquals(await refusal(await fetch(`${url}/Records?$top=1`)), [400, null]);
});

Deno.test("fetch() answers a broken percent-encoding with 400 and a null message", async () => {
  const { fetch, url } = createSandbox(unlimited);
  const response = await fetch(`${url}/Records?%24filter=%E9`, { headers: key });
  assertEquals(await refusal(response), [400, null]);
});

Deno.test("fetch() answers a missing key with 401, a wrong one with 403", async () => {
  const { fetch, url } = createSandbox({ ...unlimited, apiKey: "right" });
  assertEquals((await refusal(await fetch(`${url}/Records`)))[0], 401);
  for (const wrong of ["sandbox", "r", "righ", "rightly", "RIGHT"]) {
    const response = await fetch(`${url}/Records`, { headers: { "x-api-key": wrong } });
    assertEquals((await refusal(response))[0], 403);
  }
  const right = await fetch(`${url}/Records`, { headers: { "X-API-Key": "right" } });
  assertEquals(right.status, 200);
});

Deno.test("fetch() answers another path with 404, another method with 405", async () => {
  const { fetch, url } = createSandbox(unlimited);
  for (const path of ["/records", "/Records/", "/Records/1", ""]) {
    assertEquals((await fetch(url + path, { headers: key })).status, 404);
  }
  assertEquals((await fetch("https://sandbox.invalid/Records", { headers: key })).status, 404);
  for (const method of ["POST", "PUT", "DELETE", "HEAD", "OPTIONS"]) {
    const response = await fetch(`${url}/Records`, { method, headers: key });
    assertEquals([response.status, response.headers.get("allow")], [405, "GET"]);
  }
});

Deno.test("fetch() answers on any origin, and links to that one", async () => {
  const { fetch } = createSandbox(unlimited);
  const response = await fetch("http://127.0.0.1:81/v1/odata/v4/Records", { headers: key });
  const link = (await response.json())["@odata.nextLink"];
  assertEquals(new URL(link).origin, "http://127.0.0.1:81");
});

Deno.test("fetch() answers a third start within a second with 429, and counts it", async () => {
  const { start, stats } = started();
  assertEquals(await start(0), 200);
  assertEquals(await start(999), 200);
  assertEquals(await start(999), 429);
  assertEquals(await start(1000), 200);
  assertEquals(await start(1998), 429);
  assertEquals(await start(1999), 200);
  assertEquals([stats.requests, stats.tooFast, stats.parallel, stats.rows], [6, 2, 0, 4]);
});

Deno.test("fetch() keeps other limits, below one a second too", async () => {
  const { start } = started({ requestsPerSecond: 0.5 });
  assertEquals([await start(0), await start(1999), await start(2000)], [200, 429, 200]);
});

Deno.test("fetch() keeps a rate between two whole ones", async () => {
  const { start } = started({ requestsPerSecond: 2.5 });
  assertEquals(
    [await start(0), await start(1), await start(799), await start(800)],
    [200, 200, 429, 200],
  );
});

Deno.test("fetch() answers two requests at once with 429 until the first body is taken", async () => {
  let time = 0;
  const { fetch, url, stats } = createSandbox({ now: () => time });
  const get = () => {
    time += 10_000;
    return fetch(`${url}/Records`, { headers: key });
  };
  const first = await get();
  assertEquals((await refusal(await get()))[0], 429);
  await first.text();
  const second = await get();
  assertEquals(second.status, 200);
  await second.body?.cancel();
  assertEquals((await get()).status, 200);
  assertEquals([stats.parallel, stats.tooFast, stats.mostInFlight], [1, 0, 1]);
});

Deno.test("fetch() takes an aborted request for ended, and one of 30 seconds too", async () => {
  let time = 0;
  const { fetch, url } = createSandbox({ now: () => time });
  const stop = new AbortController();
  const aborted = await fetch(`${url}/Records`, { headers: key, signal: stop.signal });
  stop.abort("enough");
  assertEquals(await aborted.text().catch((error) => error), "enough");
  time = 1000;
  assertEquals((await fetch(`${url}/Records`, { headers: key })).status, 200);
  time = 30_999;
  assertEquals((await fetch(`${url}/Records`, { headers: key })).status, 429);
  time = 31_000;
  assertEquals((await fetch(`${url}/Records`, { headers: key })).status, 200);
});

Deno.test("fetch() lets a refused query go at once, but counts its start", async () => {
  let time = 0;
  const { fetch, url } = createSandbox({ now: () => time });
  const get = (query: string) => fetch(`${url}/Records?${query}`, { headers: key });
  assertEquals((await get("%24top=0")).status, 400);
  assertEquals((await get("%24top=0")).status, 400);
  assertEquals((await get("%24top=0")).status, 429);
  time = 1000;
  assertEquals((await get("%24top=1")).status, 200);
});

Deno.test("fetch() without a limit turns nobody away, and tells how many came at once", async () => {
  const { fetch, url, stats } = createSandbox(unlimited);
  const get = () => fetch(`${url}/Metadata`, { headers: key });
  const answers = await Promise.all([get(), get(), get()]);
  assertEquals(answers.map(({ status }) => status), [200, 200, 200]);
  assertEquals([stats.mostInFlight, stats.tooFast, stats.parallel], [3, 0, 0]);
  for (const answer of answers) await answer.text();
  await (await get()).text();
  assertEquals(stats.mostInFlight, 3);
});

Deno.test("fetch() rejects a request that is aborted already", async () => {
  const { fetch, url } = createSandbox();
  const reason = new Error("stopped by the test");
  const given = fetch(`${url}/Records`, { headers: key, signal: AbortSignal.abort(reason) });
  assertEquals(await given.catch((error) => error), reason);
});

Deno.test("createSandbox() refuses numbers that are none", () => {
  assertThrows(() => createSandbox({ records: -1 }), RangeError, "records");
  assertThrows(() => createSandbox({ records: 1.5 }), RangeError, "records");
  assertThrows(() => createSandbox({ locations: 0 }), RangeError, "locations");
  assertThrows(() => createSandbox({ requestsPerSecond: 0 }), RangeError, "requestsPerSecond");
  assertThrows(() => createSandbox({ requestsPerSecond: NaN }), RangeError, "requestsPerSecond");
});

Deno.test("createSandbox() has the documented defaults", async () => {
  const { sandbox, count } = ask();
  assertEquals([sandbox.apiKey, sandbox.url], ["sandbox", "https://sandbox.invalid/v1/odata/v4"]);
  assertEquals([await count("Records"), await count("Locations")], [40_000, 60]);
});
