// Each fault of the service becomes the right status and text before the first row, and breaks the
// transfer after it.
import "../../../helpers/no_permission.ts";
import { assert, assertEquals, assertRejects, assertStringIncludes } from "@std/assert";
import { formatsOf } from "../../../helpers/resources.ts";
import { DEADLINE } from "../../../helpers/deadline.ts";
import { overUpstream, problemOf } from "../../../helpers/edge.ts";
import { page, ROOT, type ScriptedResponse } from "../../../helpers/upstream.ts";

/** Registers a test that fails instead of hanging. */
const test = (name: string, run: () => Promise<void>): void => Deno.test(name, DEADLINE, run);

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
  test(`EdgeApp.request() returns ${status} when the service responds ${given} before the first page`, async () => {
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

for (const [given, expected] of [["17", "17"], ["0", "1"], ["600", "600"]] as const) {
  test(`EdgeApp.request() returns 503 with retry-after ${expected} when the service responds 429 with ${given}`, async () => {
    const headers = { "retry-after": given };
    const { app } = overUpstream([Response.json({}, { status: 429, headers })]);
    const response = await app.request("/Records.csv");
    assertEquals([response.status, response.headers.get("retry-after")], [503, expected]);
    assertEquals((await problemOf(response)).hint, `try again after ${expected} s`);
  });
}

test("EdgeApp.request() suggests a smaller query when the service times out or refuses its size", async () => {
  for (const status of [408, 413, 504]) {
    const { app } = overUpstream([Response.json({}, { status })]);
    const { hint } = await problemOf(await app.request("/Records.csv"));
    assertStringIncludes(hint, "select fewer fields or narrow the filter");
  }
});

test("EdgeApp.request() shows no address or network error of the service", async () => {
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

test("EdgeApp.request() writes DataStream when the message of the service has its address", async () => {
  for (const baseUrl of [ROOT, "https://proxy.invalid/a-key-of-a-proxy/v1/odata/v4"]) {
    const reply = Response.json({ message: `see ${baseUrl}/Records` }, { status: 400 });
    const { app } = overUpstream([reply], { baseUrl });
    assertEquals(
      (await problemOf(await app.request("/Records.csv"))).detail,
      "DataStream responded with status 400 (see DataStream/v1/odata/v4/Records)",
    );
  }
});

test("EdgeApp.request() shows no path of a proxy when the message of the service has it alone", async () => {
  const path = "/a-key-of-a-proxy/v1/odata/v4";
  const reply = Response.json({ message: `not found: ${path}/Records` }, { status: 400 });
  const { app } = overUpstream([reply], { baseUrl: `https://proxy.invalid${path}` });
  assertEquals(
    (await problemOf(await app.request("/Records.csv"))).detail,
    "DataStream responded with status 400 (not found: [secret]v1/odata/v4/Records)",
  );
});

const faults: [name: string, reply: () => ScriptedResponse][] = [
  ["a network error", () => new Error("connection reset")],
  ["a malformed page", () => Response.json({})],
  ["a page of HTML", () => new Response("<html>", { headers: { "content-type": "text/html" } })],
  ["a status of 500", () => Response.json({}, { status: 500 })],
];
for (const [name, reply] of faults) {
  test(`EdgeApp.request() returns 502 when the first response is ${name}`, async () => {
    const { app } = overUpstream([reply()]);
    const response = await app.request("/Records.csv");
    assertEquals(response.status, 502);
    await problemOf(response);
  });

  for (const format of formatsOf("Records")) {
    test(`EdgeApp.request() breaks the transfer of ${format} and logs the error when a later response is ${name}`, async () => {
      const { app, log } = overUpstream([
        page([{ Id: 1 }], `${ROOT}/Records?$skiptoken=Id:1`),
        Response.json({ value: 2 }),
        reply(),
      ]);
      const response = await app.request(`/Records.${format}?$select=Id`);
      assertEquals(response.status, 200);
      await assertRejects(() => response.text());
      assertEquals(log.length, 1);
      assertStringIncludes(log[0]!, "Download of Records failed after its first rows");
    });
  }
}

test("EdgeApp.request() breaks the transfer and logs both numbers when rows are missing", async () => {
  const { app, log } = overUpstream([
    page([{ Id: 1 }], `${ROOT}/Records?$skiptoken=Id:1`),
    Response.json({ value: 5 }),
    page([{ Id: 2 }]),
    page([]),
    Response.json({ value: 5 }),
  ]);
  const response = await app.request("/Records.csv?$select=Id");
  assertEquals(response.status, 200);
  await assertRejects(() => response.text());
  assertEquals(log.length, 1);
  assertStringIncludes(log[0]!, "Received 2 of 5 counted rows of Records");
});
