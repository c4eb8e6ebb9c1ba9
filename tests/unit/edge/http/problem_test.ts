// Each fault of the service becomes the right status and text before the first row, and breaks the
// transfer after it.
import "../../../helpers/no_permission.ts";
import { assert, assertEquals, assertRejects, assertStringIncludes } from "@std/assert";
import { formatsOf } from "../../../helpers/resources.ts";
import { test } from "../../../helpers/deadline.ts";
import { overUpstream, problemOf } from "../../../helpers/edge.ts";
import { readParquet } from "../../../helpers/parquet.ts";
import { page, ROOT } from "../../../helpers/upstream.ts";

const PATHS = ["/Records.csv", "/Locations.geojson", "/Records?$count=true", "/Citations.txt"];

const statuses: [upstream: number, status: number][] = [
  [200, 502], // without rows, a count or citations
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
      const reply = () => Response.json({ message: "no" }, { status: given });
      const { app, log } = overUpstream([reply, reply]);
      const response = await app.request(path);
      assertEquals(response.status, status);
      const delays: Record<number, string> = { 401: "60", 403: "60", 429: "1", 500: "5", 503: "5" };
      assertEquals(response.headers.get("retry-after"), delays[given] ?? null);
      const { hint, detail } = await problemOf(response);
      assert(hint && !detail.includes(hint));
      const isTooLarge = [408, 413, 504].includes(given);
      assertEquals(hint.includes("select fewer fields or narrow the filter"), isTooLarge);
      const isOfService = given in delays;
      assertEquals(log.length, Number(status >= 500) + Number(isOfService));
    }
  });
}

test("EdgeApp.request() returns 503 with a retry-after of at least 1 s when the service responds 429", async () => {
  const headers = { "retry-after": "0" };
  const { app } = overUpstream([Response.json({}, { status: 429, headers })]);
  const response = await app.request("/Records.csv");
  assertEquals([response.status, response.headers.get("retry-after")], [503, "1"]);
  assertEquals((await problemOf(response)).hint, "try again after 1 s");
});

test("EdgeApp.request() shows no network error of the service, which is in the log", async () => {
  const { app, log } = overUpstream([new Error("getaddrinfo ENOTFOUND upstream.invalid")]);
  const { detail, hint } = await problemOf(await app.request("/Records.csv"));
  assertEquals(/upstream|base URL|ENOTFOUND/.test(detail + hint), false, detail + hint);
  assertStringIncludes(log.join(), "upstream.invalid");
});

const PROXY = "https://proxy.invalid/a-key-of-a-proxy/v1/odata/v4";
const addresses: [baseUrl: string, given: string, shown: string][] = [
  [ROOT, `see ${ROOT}/Records`, "see DataStream/v1/odata/v4/Records"],
  [PROXY, `see ${PROXY}/Records`, "see DataStream/v1/odata/v4/Records"],
  [
    PROXY,
    "not found: /a-key-of-a-proxy/v1/odata/v4/Records",
    "not found: [secret]v1/odata/v4/Records",
  ],
];
test("EdgeApp.request() shows no address of the service in a response, and no path of a proxy there or in the log, when the message of the service has it", async () => {
  for (const [baseUrl, message, shown] of addresses) {
    const responses = [400, 500].map((status) => Response.json({ message }, { status }));
    const { app, log } = overUpstream(responses, { baseUrl });
    const { detail } = await problemOf(await app.request("/Records.csv"));
    assertEquals(detail, `DataStream responded with status 400 (${shown})`);
    await problemOf(await app.request("/Records.csv")); // which is logged
    assertEquals([log.length, log.join().includes("a-key")], [2, false]);
  }
});

for (const format of formatsOf("Records")) {
  test(`EdgeApp.request() breaks the transfer of ${format} and logs the error when the second page is malformed`, async () => {
    const { app, log } = overUpstream([
      page([{ Id: 1 }], `${ROOT}/Records?$skiptoken=Id:1`),
      Response.json({ value: 2 }),
      Response.json({}),
    ]);
    const response = await app.request(`/Records.${format}?$select=Id`);
    assertEquals(response.status, 200);
    await assertRejects(() => response.text());
    assertEquals(log.length, 1);
    assertStringIncludes(log[0]!, "Download of Records failed after its first rows");
  });
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

test("EdgeApp.request() rejects a value that does not fit its column, and writes null when allowInvalid is true", async () => {
  const rows = () => page([{ Id: 1, ResultValue: "<0.05" }]);
  const { app } = overUpstream([rows(), rows()]);
  const path = "/Records.parquet?$select=Id,ResultValue";
  const refused = await app.request(path);
  assertEquals(refused.status, 502);
  const { detail, hint } = await problemOf(refused);
  assertEquals(detail, 'The row with Id 1 has ResultValue "<0.05", which is not a number');
  assertStringIncludes(hint, "allowInvalid=true");
  const response = await app.request(`${path}&allowInvalid=true`);
  const { rows: [row], metadata } = await readParquet(await response.arrayBuffer());
  assertEquals(row, { Id: 1n, ResultValue: null });
  assertEquals(JSON.parse(metadata.datapackage!).weir.notes.invalidValues, 1);
});
