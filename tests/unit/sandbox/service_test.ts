// The sandbox checks keys, rates and URLs as the gateway of the service does.
import "../../helpers/no_permission.ts";
import { assertEquals, assertStringIncludes, assertThrows } from "@std/assert";
import { ValidationError } from "../../../mod.ts";
import { createSandbox, type SandboxOptions } from "../../../src/sandbox/service.ts";
import { sandboxRequests } from "../../helpers/sandbox.ts";

const key = { "x-api-key": "sandbox" };
const unlimited = { requestsPerSecond: Infinity };

/** A sandbox, and a request that starts at a time and is read: its status. */
function started(options: SandboxOptions = {}) {
  let time = 0;
  const { fetch, url, stats } = createSandbox({ ...options, now: () => time });
  const start = async (at: number, query = "%24top=1"): Promise<number> => {
    time = at;
    const response = await fetch(`${url}/Records?${query}`, { headers: key });
    await response.text();
    return response.status;
  };
  return { start, stats };
}

async function refusal(response: Response): Promise<[number, unknown]> {
  assertStringIncludes(response.headers.get("content-type") ?? "", "application/json");
  return [response.status, (await response.json()).message];
}

Deno.test("fetch() answers 400 with a null message when the query string has a raw $ or broken percent-encoding", async () => {
  const { fetch, url } = createSandbox(unlimited);
  for (const query of ["$top=1", "%24top=1&%24select=$x", "a$", "%24filter=%E9"]) {
    const response = await fetch(`${url}/Records?${query}`, { headers: key });
    assertEquals(await refusal(response), [400, null]);
  }
});

Deno.test("fetch() answers 401 when the key is missing, and 403 when it is wrong", async () => {
  const { fetch, url } = createSandbox({ ...unlimited, apiKey: "right" });
  assertEquals((await refusal(await fetch(`${url}/Records`)))[0], 401);
  for (const wrong of ["sandbox", "r", "righ", "rightly", "RIGHT"]) {
    const response = await fetch(`${url}/Records`, { headers: { "x-api-key": wrong } });
    assertEquals((await refusal(response))[0], 403);
  }
  const right = await fetch(`${url}/Records`, { headers: { "X-API-Key": "right" } });
  assertEquals(right.status, 200);
});

Deno.test("fetch() answers 404 when the path is unknown, and 405 when the method is not GET", async () => {
  const { fetch, url } = createSandbox(unlimited);
  for (const path of ["/records", "/Records/", "/Records/1", ""]) {
    assertEquals((await fetch(url + path, { headers: key })).status, 404);
  }
  assertEquals((await fetch("https://sandbox.invalid/Records", { headers: key })).status, 404);
  for (const method of ["POST", "HEAD"]) {
    const response = await fetch(`${url}/Records`, { method, headers: key });
    assertEquals([response.status, response.headers.get("allow")], [405, "GET"]);
  }
});

Deno.test("fetch() links to the origin of the request when the origin is another one", async () => {
  const { fetch } = createSandbox(unlimited);
  const response = await fetch("http://127.0.0.1:81/v1/odata/v4/Records", { headers: key });
  const link = (await response.json())["@odata.nextLink"];
  assertEquals(new URL(link).origin, "http://127.0.0.1:81");
});

Deno.test("fetch() answers 429 when a third request starts within a second", async () => {
  const { start, stats } = started();
  assertEquals(await start(0), 200);
  assertEquals(await start(999), 200);
  assertEquals(await start(999), 429);
  assertEquals(await start(1000), 200);
  assertEquals(await start(1998), 429);
  assertEquals(await start(1999), 200);
  assertEquals([stats.requests, stats.tooFast, stats.parallel, stats.rows], [6, 2, 0, 4]);
});

Deno.test("fetch() answers 429 when the body of another response is not consumed", async () => {
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

Deno.test("fetch() admits the next request when the one before was aborted or is 30 seconds old", async () => {
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

Deno.test("fetch() counts the start but not the body when a query is rejected", async () => {
  const { start } = started();
  assertEquals(await start(0, "%24top=0"), 400);
  assertEquals(await start(0, "%24top=0"), 400);
  assertEquals(await start(0, "%24top=0"), 429);
  assertEquals(await start(1000), 200);
});

Deno.test("fetch() rejects no request and counts concurrent ones when there is no limit", async () => {
  const { fetch, url, stats } = createSandbox(unlimited);
  const get = () => fetch(`${url}/Metadata`, { headers: key });
  const answers = await Promise.all([get(), get(), get()]);
  assertEquals(answers.map(({ status }) => status), [200, 200, 200]);
  for (const answer of answers) await answer.text();
  assertEquals([stats.mostInFlight, stats.tooFast, stats.parallel], [3, 0, 0]);
});

for (const options of [{ records: -1 }, { records: 1.5 }, { locations: 0 }]) {
  Deno.test(`createSandbox() throws a ValidationError when the options are ${Deno.inspect(options)}`, () => {
    assertThrows(() => createSandbox(options), ValidationError, Object.keys(options)[0]);
  });
}

Deno.test("createSandbox() has the documented defaults when no option is given", async () => {
  const { sandbox, count } = sandboxRequests();
  assertEquals([sandbox.apiKey, sandbox.url], ["sandbox", "https://sandbox.invalid/v1/odata/v4"]);
  assertEquals([await count("Records"), await count("Locations")], [40_000, 60]);
});
