// Parquet of the server: the cells of CSV, also when row groups need more than the memory.
import "../../../helpers/no_permission.ts";
import { assertEquals, assertStringIncludes } from "@std/assert";
import { LONG_DEADLINE } from "../../../helpers/deadline.ts";
import { overSandbox, overUpstream } from "../../../helpers/edge.ts";
import { cellsOf, readParquet } from "../../../helpers/parquet.ts";
import { readCsv } from "../../../helpers/rfc4180.ts";
import { page } from "../../../helpers/upstream.ts";

Deno.test("EdgeApp.request() returns the cells of CSV for /Records.parquet", async () => {
  const { app } = overSandbox({ records: 220 }, { pageRows: 100 });
  const csv = await (await app.request("/Records.csv?filename=a.csv")).text();
  const response = await app.request("/Records.parquet?filename=a.csv");
  assertStringIncludes(response.headers.get("content-disposition")!, 'filename="a.parquet"');
  const { rows, metadata } = await readParquet(await response.arrayBuffer());
  assertEquals(cellsOf(rows, csv), readCsv(csv));
  const { resources: [file], weir } = JSON.parse(metadata.datapackage!);
  assertEquals([file.rows, file.schema.fields[0].name], [rows.length, "Id"]);
  assertStringIncludes(weir.url, "/Records");
});

Deno.test(
  "EdgeApp.request() completes downloads of Parquet whose row groups need more than the memory",
  LONG_DEADLINE,
  async () => {
    const { app } = overSandbox({ records: 1_000 }, { maxCachedBytes: 50_000, pageRows: 200 });
    const downloads = ["limit=300", "limit=301", "$top=1000"].map(async (query) => {
      const csv = Promise.resolve(app.request(`/Records.csv?${query}`)).then((r) => r.text());
      const response = await app.request(`/Records.parquet?${query}`);
      const { rows } = await readParquet(await response.arrayBuffer());
      return [rows.length, readCsv(await csv).length - 1];
    });
    assertEquals(await Promise.all(downloads), [[300, 300], [301, 301], [1_000, 1_000]]);
  },
);

Deno.test("EdgeApp.request() shows no own path of the base URL in Parquet and data packages", async () => {
  const baseUrl = "https://proxy.invalid/a-key-of-a-proxy/v1/odata/v4";
  const { app } = overUpstream([page([{ Id: 1 }]), page([])], { baseUrl });
  const file = await app.request("/Records.parquet?$select=Id");
  const { metadata } = await readParquet(await file.arrayBuffer());
  const response = await app.request("/Records.datapackage.json?$select=Id");
  const text = JSON.stringify(metadata) + await response.text();
  assertEquals([text.includes("a-key"), text.match(/proxy\.invalid/g)?.length], [false, 3]);
});
