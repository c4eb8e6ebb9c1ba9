// URL parameters mean what their names say. golden_test.ts has the problems of those that are refused.
import "../../../helpers/no_permission.ts";
import { assert, assertEquals } from "@std/assert";
import { overSandbox, overUpstream, problemOf } from "../../../helpers/edge.ts";
import { readCsv } from "../../../helpers/rfc4180.ts";
import { page, ROOT } from "../../../helpers/upstream.ts";

Deno.test("EdgeApp.request() accepts parameters that are not encoded, percent-encoded, or encoded as by a form", async () => {
  const plain = "$select=Id,ResultComment&$filter=CharacteristicName eq 'Temperature, water'";
  const queries = [
    plain,
    "%24select=Id%2CResultComment&%24filter=CharacteristicName%20eq%20%27Temperature%2C%20water%27",
    plain.replaceAll(" ", "+"),
  ];
  const texts = await Promise.all(queries.map(async (query) => {
    const { app } = overSandbox({ records: 3_000 });
    return await (await app.request(`/Records.csv?${query}`)).text();
  }));
  const [header, ...rows] = readCsv(texts[0]!);
  assertEquals(header, ["Id", "ResultComment"]);
  assert(rows.length > 200 && rows.length < 3_000);
  assertEquals(new Set(texts).size, 1);
});

const sizes: [query: string, top: string, pageRows?: number, maxCachedBytes?: number][] = [
  ["", "2500", 2_500],
  ["", "10000"],
  ["", "2000", undefined, 800_000],
  ["", "1000", undefined, 1],
  ["$top=5000", "5000"],
  ["$top=1", "1000"],
  ["$top=1", "500", 500],
  ["$top=1&limit=20", "20"],
  ["$top=2000&limit=5000", "2000"],
  ["limit=7", "7"],
];
Deno.test("EdgeApp.request() requests pages of the size that $top, limit, pageRows and the memory allow", async () => {
  for (const [query, top, pageRows, maxCachedBytes] of sizes) {
    const { app, requests } = overUpstream([page([{ Id: 1 }])], { pageRows, maxCachedBytes });
    await (await app.request(`/Records.csv?$select=Id&${query}`)).text();
    assertEquals(new URL(requests[0]!.url).searchParams.get("$top"), top, `${query} ${pageRows}`);
  }
});

Deno.test("EdgeApp.request() returns the rows of the locations inside bbox", async () => {
  const { app, stats } = overSandbox();
  const response = await app.request("/Records?bbox=-64,46,-62,47&$count=true");
  const { count } = await response.json();
  const rows = await (await app.request("/Records.ndjson?bbox=-64, 46, -62, 47")).text();
  assertEquals(rows.trim().split("\n").length, count);
  assert(count > 0 && count < 40_000);
  assertEquals(stats.requests, 4);
});

Deno.test("EdgeApp.request() returns the number of rows as JSON when $count is true, whatever the format", async () => {
  const { app, stats } = overSandbox({ records: 1_234 });
  for (const path of ["/Records?$count=true", "/Records.csv?$count=true"]) {
    assertEquals(await (await app.request(path)).text(), '{"count":1234}\n');
  }
  assertEquals(stats.requests, 1);
  const rows = await app.request("/Records.csv?$count=false&$select=Id&limit=1");
  assertEquals((await rows.text()).split("\r\n").length, 3);
});

Deno.test("EdgeApp.request() sends no request when a parameter is refused", async () => {
  const { app, stats } = overSandbox();
  for (const query of ["$top=0", "$select=Idd", "bbox=1,2,3", "$filter=Name eq 'x'", "x=1"]) {
    const response = await app.request(`/Records.csv?${query}`);
    await problemOf(response);
    assertEquals([response.status, stats.requests], [400, 0], query);
  }
});

Deno.test("EdgeApp.request() never splits a query with $skiptoken", async () => {
  const next = page([{ Id: 6 }], `${ROOT}/Records?$skiptoken=Id:6`);
  const { app, requests } = overUpstream([next, page([{ Id: 7 }]), page([])]);
  const response = await app.request("/Records.csv?$select=Id&$skiptoken=Id:5");
  assertEquals(await response.text(), '"Id"\r\n6\r\n7\r\n');
  assertEquals(requests.some(({ url }) => url.includes("count")), false);
});
