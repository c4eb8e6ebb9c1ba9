// GET /Summary.csv: the number of results per group, before they are downloaded.
import "../../../helpers/no_permission.ts";
import { assertEquals, assertStringIncludes } from "@std/assert";
import { createApp } from "../../../../edge/app.ts";
import { createSandbox } from "../../../../src/sandbox/service.ts";

function appOver(records: number) {
  const { apiKey, url, fetch, stats } = createSandbox({ records, requestsPerSecond: Infinity });
  const service = { apiKey, baseUrl: url, fetch, requestsPerSecond: Infinity };
  return { app: createApp({ access: "public", ...service }), stats };
}

Deno.test("EdgeApp.request() returns a summary of the rows of a filter as CSV", async () => {
  const query = "$filter=CharacteristicName eq 'pH'&by=dataset&excludeQualityControl=true";
  const response = await appOver(1_000).app.request(`/Summary.csv?${query}`);
  assertEquals(response.headers.get("content-type"), "text/csv; charset=utf-8");
  const [header, first] = (await response.text()).split("\r\n");
  assertStringIncludes(header!, "dataset,dataset_name,results,first_year,last_year,units,");
  assertStringIncludes(first!, "10.25976/weir-");
});

Deno.test("EdgeApp.request() returns the header of a summary when no row matches", async () => {
  const response = await appOver(1_000).app.request("/Summary.csv?$filter=DOI eq '10.1/x'&by=year");
  assertEquals(
    await response.text(),
    "year,results,first_year,last_year,units,forms,fractions,none,left,right,unknown,missing\r\n",
  );
});

Deno.test("EdgeApp.request() returns 413 with a command when a summary has more than 100,000 rows", async () => {
  const { app, stats } = appOver(150_000);
  const responses = [1, 2, 3].map(() => app.request("/Summary.csv?by=year"));
  for (const response of await Promise.all(responses)) {
    const { detail, hint } = await response.json();
    assertEquals(response.status, 413);
    assertStringIncludes(detail, "more than 100000");
    assertStringIncludes(hint, "weir summary");
  }
  assertEquals(stats.requests, 2); // the first page and a count
});
