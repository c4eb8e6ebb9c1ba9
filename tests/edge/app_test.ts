import {
  assert,
  assertEquals,
  assertRejects,
  assertStringIncludes,
  assertThrows,
} from "@std/assert";
import { type AppOptions, createApp, type EdgeApp } from "../../edge/app.ts";
import { fieldNames } from "../../src/odata/resources.ts";
import {
  createSandbox,
  type SandboxOptions,
  type SandboxStats,
} from "../../src/sandbox/service.ts";
import { FakeClock } from "../helpers/fake_clock.ts";
import { readCsv } from "../helpers/rfc4180.ts";
import { ask } from "../helpers/sandbox.ts";
import { page, type Reply, ROOT, upstream } from "../helpers/upstream.ts";

function overSandbox(
  options: SandboxOptions = {},
  appOptions: Partial<AppOptions> = {},
): { app: EdgeApp; stats: SandboxStats; clock: FakeClock } {
  const clock = new FakeClock();
  const { apiKey, url, fetch, stats } = createSandbox({ now: () => clock.now(), ...options });
  const access = "public" as const;
  const app = createApp({ access, apiKey, baseUrl: url, fetch, clock, ...appOptions });
  return { app, stats, clock };
}

function overUpstream(...replies: Reply[]): { app: EdgeApp; requests: Request[]; log: string[] } {
  const { options, requests } = upstream(...replies);
  const log: string[] = [];
  const app = createApp({ ...options, access: "public", log: (line) => log.push(line) });
  return { app, requests, log };
}

async function problem(response: Response): Promise<Record<string, unknown>> {
  assertEquals(response.headers.get("content-type"), "application/problem+json");
  const body = await response.json();
  assertEquals([body.type, body.status], ["about:blank", response.status]);
  assertEquals(response.headers.get("cache-control"), "no-store");
  assert(body.title && body.detail);
  return body;
}

Deno.test("GET /Records.csv downloads every record with all columns", async () => {
  const { app, stats } = overSandbox({ records: 25_000 });
  const response = await app.request("/Records.csv");
  assertEquals(response.status, 200);
  assertEquals(response.headers.get("content-type"), "text/csv; charset=utf-8");
  assertEquals(response.headers.get("content-disposition"), 'attachment; filename="records.csv"');
  assertEquals(response.headers.get("cache-control"), "no-store, no-transform");
  assertEquals(response.headers.get("x-content-type-options"), "nosniff");
  assertEquals(response.headers.has("x-weir-data"), false);
  const [header, ...rows] = readCsv(await response.text());
  assertEquals(header, fieldNames("Records"));
  assertEquals(rows.length, 25_000);
  assertEquals(new Set(rows.map(([id]) => id)).size, 25_000);
  assertEquals([stats.requests, stats.tooFast, stats.parallel], [4, 0, 0]); // with a count
});

const spellings: [name: string, query: string][] = [
  ["raw", "$select=Id,ResultComment&$filter=CharacteristicName eq 'Temperature, water'&$top=100"],
  [
    "encoded",
    "%24select=Id%2CResultComment&%24filter=CharacteristicName%20eq%20%27Temperature%2C%20water%27&%24top=100",
  ],
  [
    "as a form",
    "$select=Id,ResultComment&$filter=CharacteristicName+eq+'Temperature%2C+water'&$top=100",
  ],
];
for (const [name, query] of spellings) {
  Deno.test(`GET /Records.csv takes $select, $filter and $top ${name}`, async () => {
    const { app, stats } = overSandbox({ records: 3_000 });
    const response = await app.request(`/Records.csv?${query}`);
    const [header, ...rows] = readCsv(await response.text());
    assertEquals(header, ["Id", "ResultComment"]);
    const filter = "CharacteristicName eq 'Temperature, water'";
    const wanted = await ask({ records: 3_000 }).rows("Records", { $filter: filter });
    assert(wanted.length > 250);
    assertEquals(rows, wanted.map((row) => [String(row.Id), String(row.ResultComment ?? "")]));
    assertEquals(stats.requests, Math.ceil(wanted.length / 100) + 1);
  });
}

Deno.test("GET /Records.csv gives the header where no record meets the filter", async () => {
  const { app } = overSandbox();
  const response = await app.request("/Records.csv?$select=Id,DOI&$filter=DOI eq 'none'");
  assertEquals([response.status, await response.text()], [200, "Id,DOI\r\n"]);
});

Deno.test("GET /Records.csv streams each page as it comes, and none before it is wanted", async () => {
  const { app, stats, clock } = overSandbox({ records: 100 });
  const response = await app.request("/Records.csv?$select=Id&$top=10");
  assertEquals(stats.requests, 1);
  const reader = response.body!.getReader();
  const { value } = await reader.read();
  assertEquals(new TextDecoder().decode(value).split("\r\n").length, 1 + 10 + 1);
  await clock.sleep(10_000);
  assertEquals(stats.requests, 1);
  await reader.read();
  assertEquals(stats.requests, 3); // with a count
  await reader.cancel();
});

Deno.test("a reader that leaves stops the request in flight", async () => {
  const { promise: sent, resolve: tell } = Promise.withResolvers<Request>();
  const { app, log } = overUpstream(
    page([{ Id: 1 }], `${ROOT}/Records?$skiptoken=Id:1`),
    (request) => {
      tell(request);
      return new Promise((_, reject) =>
        request.signal.addEventListener("abort", () => reject(request.signal.reason))
      );
    },
  );
  const reader = (await app.request("/Records.csv")).body!.getReader();
  await reader.read();
  const waiting = reader.read();
  const request = await sent;
  await reader.cancel();
  assertEquals([request.signal.aborted, (await waiting).done, log], [true, true, []]);
});

Deno.test("HEAD /Records.csv has the headers and asks nothing", async () => {
  const { app, stats } = overSandbox();
  const response = await app.request("/Records.csv", { method: "HEAD" });
  assertEquals([response.status, stats.requests], [200, 0]);
  assertEquals(response.headers.get("content-type"), "text/csv; charset=utf-8");
  assertEquals((await app.request("/Records.csv?$top=x", { method: "HEAD" })).status, 400);
});

Deno.test("GET /Records negotiates CSV", async () => {
  const { app } = overSandbox({ records: 1 });
  for (const accept of ["text/csv", "text/html, */*;q=0.1", "text/*"]) {
    const response = await app.request("/Records", { headers: { accept } });
    assertEquals(response.headers.get("content-type"), "text/csv; charset=utf-8");
    assertEquals(response.headers.get("vary"), "accept");
    await response.body?.cancel();
  }
  const other = await app.request("/Records", { headers: { accept: "application/json" } });
  assertEquals((await problem(other)).status, 406);
});

const badOptions: [query: string, detail: string][] = [
  ["$orderby=Id", '"$orderby"'],
  ["select=Id", '"select"'],
  ["$select=Id&$select=DOI", '"$select" is given twice'],
  ["$top=10&%24top=10", '"$top" is given twice'],
  ["$top=all", '"all"'],
  ["$top=1e3", '"1e3"'],
  ["$skiptoken=Id:5", '"$skiptoken"'],
  ["$top=0", "1 to 10000"],
  ["$top=10001", "1 to 10000"],
  ["$select=Id,LocationId", '"LocationId"'],
  ["$select=Id,DOI,Id", '"Id" twice'],
  ["$filter=", "empty filter"],
  ["$select=", "empty select"],
  ["$top=", '""'],
];
for (const [query, detail] of badOptions) {
  Deno.test(`GET /Records.csv?${query} is 400 before anything is asked`, async () => {
    const { app, stats } = overSandbox();
    const response = await app.request(`/Records.csv?${query}`);
    assertEquals(response.status, 400);
    assertStringIncludes(String((await problem(response)).detail), detail);
    assertEquals(stats.requests, 0);
  });
}

Deno.test("a filter that is none is 400 before anything is asked", async () => {
  const { app, stats } = overSandbox();
  const response = await app.request("/Records.csv?$filter=DOI ge 'x'");
  assertEquals([response.status, stats.requests], [400, 0]);
  assertStringIncludes(String((await problem(response)).detail), 'use "gte"');
});

Deno.test("a filter that the service refuses is 400 with what it said", async () => {
  const { app } = overSandbox();
  const response = await app.request("/Records.csv?$filter=LocationId eq 'x'");
  assertEquals(response.status, 400);
  const { detail, hint } = await problem(response);
  assertStringIncludes(String(detail), "compared with a number");
  assert(hint);
});

const statuses: [upstream: number, status: number][] = [
  [400, 400],
  [401, 502],
  [403, 502],
  [408, 504],
  [413, 413],
  [429, 503],
  [500, 502],
  [504, 504],
];
for (const [given, status] of statuses) {
  Deno.test(`status ${given} before the first page is told as ${status}`, async () => {
    const { app, log } = overUpstream(Response.json({ message: "no" }, { status: given }));
    const response = await app.request("/Records.csv");
    assertEquals(response.status, status);
    assertEquals(response.headers.get("retry-after"), status === 503 ? "5" : null);
    const { hint, detail } = await problem(response);
    assert(hint && !String(detail).includes(String(hint)));
    assertEquals(log.length, status >= 500 ? 1 : 0);
  });
}

const faults: [name: string, reply: Reply][] = [
  ["a fault of the network", new Error("connection reset")],
  ["a broken page", Response.json({})],
];
for (const [name, reply] of faults) {
  Deno.test(`${name} before the first page is 502`, async () => {
    const { app } = overUpstream(reply);
    const response = await app.request("/Records.csv");
    assertEquals(response.status, 502);
    await problem(response);
  });

  Deno.test(`${name} after the first page breaks the transfer, and is logged`, async () => {
    const again = reply instanceof Error ? reply : Response.json({});
    const { app, log } = overUpstream(
      page([{ Id: 1 }], `${ROOT}/Records?$skiptoken=Id:1`),
      Response.json({ value: 2 }),
      again,
    );
    const response = await app.request("/Records.csv?$select=Id");
    assertEquals(response.status, 200);
    await assertRejects(() => response.text());
    assertEquals(log.length, 1);
    assertStringIncludes(log[0]!, "broke");
  });
}

Deno.test("a field that comes late breaks the transfer, and is logged", async () => {
  const { app, log } = overUpstream(
    page([{ Id: 1 }], `${ROOT}/Records?$skiptoken=Id:1`),
    Response.json({ value: 2 }),
    page([{ Id: 2, Novel: 1 }]),
  );
  const response = await app.request("/Records.csv");
  await assertRejects(() => response.text());
  assertStringIncludes(log.join(), '"Novel"');
});

Deno.test("another path is 404 with what there is", async () => {
  const { app } = overSandbox();
  for (const path of ["/", "/records.csv", "/Records.csv/"]) {
    const response = await app.request(path);
    assertEquals(response.status, 404);
    assertStringIncludes(String((await problem(response)).hint), "/Records.csv");
  }
});

Deno.test("another method is 405 with those that there are", async () => {
  const { app } = overSandbox();
  for (const [method, path] of [["POST", "/Records.csv"], ["DELETE", "/Records"]] as const) {
    const response = await app.request(path, { method });
    assertEquals([response.status, response.headers.get("allow")], [405, "GET, HEAD"]);
    await problem(response);
  }
});

Deno.test("a fault of the server itself is 500, logged, and not told", async () => {
  const log: string[] = [];
  const clock = { now: () => 0, sleep: () => Promise.resolve() };
  const { app } = overSandbox({}, {
    clock,
    log: (line) => log.push(line),
    fetch: () => {
      throw new Error("unreachable");
    },
  });
  clock.now = () => {
    throw new TypeError("inner detail");
  };
  const response = await app.request("/Records.csv");
  assertEquals(response.status, 500);
  assertEquals(JSON.stringify(await problem(response)).includes("inner detail"), false);
  assertStringIncludes(log.join(), "inner detail");
});

Deno.test("a reader that leaves before the first page ends its request", async () => {
  const { promise: sent, resolve: tell } = Promise.withResolvers<Request>();
  const { app, log } = overUpstream((request) => {
    tell(request);
    return new Promise((_, reject) =>
      request.signal.addEventListener("abort", () => reject(request.signal.reason))
    );
  });
  const reader = new AbortController();
  const answer = app.request("/Records.csv", { signal: reader.signal });
  const request = await sent;
  reader.abort();
  await answer;
  assertEquals([request.signal.aborted, log], [true, []]);
});

Deno.test("a signal that aborts after the first page, as Deno's do, breaks no download", async () => {
  const { app } = overSandbox({ records: 30 });
  const served = new AbortController();
  const response = await app.request("/Records.csv?$top=10", { signal: served.signal });
  served.abort();
  assertEquals(readCsv(await response.text()).length, 1 + 30);
});

Deno.test("GET /healthz is 200 and asks nothing", async () => {
  const { app, stats } = overSandbox();
  const response = await app.request("/healthz");
  assertEquals([response.status, await response.text(), stats.requests], [200, "ok\n", 0]);
});

Deno.test("caller access uses each request's own key, for that request alone", async () => {
  const { options, requests } = upstream(page([]), page([]));
  const app = createApp({ ...options, apiKey: "the-server's-own", access: "caller" });
  const get = async (key?: string) => {
    const response = await app.request("/Records.csv", {
      headers: key ? { "x-api-key": key } : {},
    });
    await response.text();
    return response.status;
  };
  assertEquals([await get("first"), await get(), await get("second")], [200, 401, 200]);
  assertEquals(requests.map(({ headers }) => headers.get("x-api-key")), ["first", "second"]);
});

Deno.test("caller access tells the caller that the key was refused", async () => {
  const { app } = overSandbox({}, { access: "caller" });
  for (const [key, status] of [["wrong", 403], ["not a key", 400]] as const) {
    const response = await app.request("/Records.csv", { headers: { "x-api-key": key } });
    assertEquals(response.status, status);
    assertEquals(JSON.stringify(await problem(response)).includes(key), false);
  }
});

Deno.test("caller access passes the service's refusal on, and nothing else as it is", async () => {
  const given = [401, 403, 500, 404];
  const { options } = upstream(...given.map((status) => Response.json({}, { status })));
  const app = createApp({ ...options, access: "caller" });
  const statuses: number[] = [];
  for (const _ of given) {
    const response = await app.request("/Records.csv", { headers: { "x-api-key": "k" } });
    statuses.push(response.status);
    await problem(response);
  }
  assertEquals(statuses, [401, 403, 502, 502]);
});

Deno.test("public access uses the server's key, whatever a caller sends", async () => {
  const { app, requests } = overUpstream(page([]));
  const response = await app.request("/Records.csv", { headers: { "x-api-key": "callers" } });
  await response.text();
  assertEquals(requests.map(({ headers }) => headers.get("x-api-key")), ["k3y-of-a-test"]);
});

Deno.test("a select may have spaces after its commas", async () => {
  const { app } = overSandbox();
  const response = await app.request("/Records.csv?$select=Id,%20DOI&$filter=DOI eq 'none'");
  assertEquals(await response.text(), "Id,DOI\r\n");
});

Deno.test("no answer shows the server's key", async () => {
  const apiKey = "k3y-of-a-test";
  const { app } = overUpstream(
    Response.json({ message: `wrong key ${apiKey}` }, { status: 403 }),
    new Error(`sent ${apiKey}`),
  );
  for (let request = 0; request < 2; request++) {
    const response = await app.request("/Records.csv");
    const shown = JSON.stringify([await response.text(), [...response.headers]]);
    assertEquals(shown.includes(apiKey), false);
  }
});

Deno.test("synthetic data says so in its header and its file name", async () => {
  const { app } = overSandbox({ records: 1 }, { synthetic: true });
  const { headers, body } = await app.request("/Records.csv");
  assertEquals(headers.get("x-weir-data"), "synthetic");
  assertStringIncludes(headers.get("content-disposition")!, 'filename="synthetic-records.csv"');
  await body?.cancel();
});

Deno.test("createApp() refuses to serve without a word on access, or public without a key", () => {
  assertThrows(() => createApp({} as AppOptions), TypeError, "access must be");
  assertThrows(() => createApp({ access: "all" as "public" }), TypeError, '"all"');
  assertThrows(() => createApp({ access: "public" }), TypeError, "must have a key");
  assertThrows(() => createApp({ access: "public", apiKey: "" }), TypeError, "must have a key");
  assertThrows(() => createApp({ access: "caller", baseUrl: "x" }), TypeError, "baseUrl");
  const unencrypted = "http://example.org/v1";
  assertThrows(() => createApp({ access: "caller", baseUrl: unencrypted }), TypeError, "https://");
});
