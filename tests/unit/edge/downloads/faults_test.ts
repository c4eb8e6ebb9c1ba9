import "../../../helpers/no_permission.ts";
import { assert, assertEquals, assertRejects, assertStringIncludes } from "@std/assert";
import { overSandbox, overUpstream, problemOf } from "../../../helpers/edge.ts";
import { page, type Reply, ROOT } from "../../../helpers/upstream.ts";

const PATHS = ["/Records.csv", "/Locations.geojson", "/Records?$count=true", "/Citations.txt"];

const statuses: [upstream: number, status: number][] = [
  [400, 400],
  [401, 502],
  [403, 502],
  [404, 502],
  [408, 504],
  [413, 413],
  [429, 503],
  [500, 502],
  [503, 502],
  [504, 504],
];
for (const [given, status] of statuses) {
  Deno.test(`status ${given} before the first page is told as ${status}`, async () => {
    for (const path of PATHS) {
      const { app, log } = overUpstream([Response.json({ message: "no" }, { status: given })]);
      const response = await app.request(path);
      assertEquals(response.status, status);
      assertEquals(response.headers.get("retry-after"), status === 503 ? "5" : null);
      const { hint, detail } = await problemOf(response);
      assert(hint && !detail.includes(hint));
      assertEquals(log.length, status >= 500 ? 1 : 0);
    }
  });
}

for (const [given, told] of [["17", "17"], ["0", "1"], ["600", "600"]] as const) {
  Deno.test(`a 429 with retry-after ${given} is told as 503 with ${told}`, async () => {
    const headers = { "retry-after": given };
    const { app } = overUpstream([Response.json({}, { status: 429, headers })]);
    const response = await app.request("/Records.csv");
    assertEquals([response.status, response.headers.get("retry-after")], [503, told]);
    await problemOf(response);
  });
}

Deno.test("a service that says nothing took too long: 504, and the log says how long", async () => {
  const { app, log } = overUpstream([() => new Promise<Response>(() => {})]);
  const response = await app.request("/Records.csv");
  assertEquals(response.status, 504);
  assertStringIncludes((await problemOf(response)).hint, "try again later");
  assertStringIncludes(log.join(), "no headers within 45 s");
});

Deno.test("a hint is of what a caller can do by a URL", async () => {
  for (const status of [408, 413, 504]) {
    const { app } = overUpstream([Response.json({}, { status })]);
    const { hint } = await problemOf(await app.request("/Records.csv"));
    assertStringIncludes(hint, "select fewer fields or narrow the filter");
  }
});

Deno.test("a key of the server that is refused is the server's matter, and said so", async () => {
  const { app, log } = overUpstream([Response.json({}, { status: 403 })]);
  const response = await app.request("/Records.csv");
  assertStringIncludes((await problemOf(response)).hint, "whoever runs this server");
  assertStringIncludes(log.join(), "check the API key");
});

Deno.test("a caller is told nothing of the server's inside", async () => {
  for (
    const reply of [
      () => new Error("getaddrinfo ENOTFOUND upstream.invalid"),
      () => Response.json({}, { status: 504 }),
    ]
  ) {
    const { app, log } = overUpstream([reply()]);
    const { detail, hint } = await problemOf(await app.request("/Records.csv"));
    assertEquals(/upstream|base URL|ENOTFOUND/.test(detail + hint), false, detail + hint);
    assertStringIncludes(log.join(), "upstream.invalid");
  }
});

Deno.test("a filter that the service refuses is 400 with what it said", async () => {
  const { app } = overSandbox();
  const response = await app.request("/Records.csv?$filter=LocationId eq 'x'");
  assertEquals(response.status, 400);
  assertStringIncludes((await problemOf(response)).detail, "compared with a number");
});

const faults: [name: string, reply: () => Reply][] = [
  ["a fault of the network", () => new Error("connection reset")],
  ["a broken page", () => Response.json({})],
  ["a page of HTML", () => new Response("<html>", { headers: { "content-type": "text/html" } })],
  ["a status", () => Response.json({}, { status: 500 })],
];
for (const [name, reply] of faults) {
  Deno.test(`${name} before the first page is 502`, async () => {
    const { app } = overUpstream([reply()]);
    const response = await app.request("/Records.csv");
    assertEquals(response.status, 502);
    await problemOf(response);
  });

  for (const format of ["csv", "ndjson", "json"]) {
    Deno.test(`${name} after the first page of ${format} breaks the transfer, and is logged`, async () => {
      const { app, log } = overUpstream([
        page([{ Id: 1 }], `${ROOT}/Records?$skiptoken=Id:1`),
        Response.json({ value: 2 }),
        reply(),
      ]);
      const response = await app.request(`/Records.${format}?$select=Id`);
      assertEquals(response.status, 200);
      await assertRejects(() => response.text());
      assertEquals(log.length, 1);
      assertStringIncludes(log[0]!, "A download of Records broke");
    });
  }
}

Deno.test("a field that comes late breaks the transfer, and is logged", async () => {
  const { app, log } = overUpstream([
    page([{ Id: 1 }], `${ROOT}/Records?$skiptoken=Id:1`),
    Response.json({ value: 2 }),
    page([{ Id: 2, Novel: 1 }]),
  ]);
  await assertRejects(async () => (await app.request("/Records.csv")).text());
  assertStringIncludes(log.join(), '"Novel"');
});

Deno.test("a next link to another place breaks the transfer, and is not followed", async () => {
  const { app, requests } = overUpstream([
    page([{ Id: 1 }]),
    page([{ Id: 1 }], "https://evil.example/v1/odata/v4/Records?$skiptoken=Id:1"),
  ]);
  await (await app.request("/Records.csv?$select=Id")).text();
  const response = await app.request("/Records.csv?$select=Id");
  assertEquals([response.status, requests.length], [502, 2]);
});

Deno.test("a download that is short of the count breaks the transfer, and the log has both numbers", async () => {
  const { app, log } = overUpstream([
    page([{ Id: 1 }], `${ROOT}/Records?$skiptoken=Id:1`),
    Response.json({ value: 5 }),
    page([{ Id: 2 }]),
    page([]),
  ]);
  const response = await app.request("/Records.csv?$select=Id");
  assertEquals(response.status, 200);
  await assertRejects(() => response.text());
  assertEquals(log.length, 1);
  assertStringIncludes(log[0]!, "Received 2 of 5 counted rows of Records");
});
