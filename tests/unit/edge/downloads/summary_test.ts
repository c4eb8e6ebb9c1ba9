// GET /Summary.csv refuses what would take too many requests; golden_test.ts has a response. Other formats have the same rows.
import "../../../helpers/no_permission.ts";
import { assertEquals, assertStringIncludes } from "@std/assert";
import { FORMATS } from "../../../../src/formats/formats.ts";
import { overSandbox, problemOf } from "../../../helpers/edge.ts";
import { readCsv } from "../../../helpers/rfc4180.ts";
import { readWorkbook, textsOf } from "../../../helpers/xlsx.ts";

Deno.test("EdgeApp.request() returns 413 with a command when a summary has more than 100,000 rows", async () => {
  const { app, stats } = overSandbox({ records: 150_000 });
  const responses = [1, 2, 3].map(() => app.request("/Summary.csv?by=year"));
  for (const response of await Promise.all(responses)) {
    assertEquals(response.status, 413);
    const { detail, hint } = await problemOf(response);
    assertStringIncludes(detail, "more than 100000");
    assertStringIncludes(hint, "weir summary");
  }
  assertEquals(stats.requests, 2); // the first page and a count
});

Deno.test("EdgeApp.request() returns a summary as a workbook, with citations, in French", async () => {
  const { app } = overSandbox({ records: 300 });
  const query = "by=year&$filter=CharacteristicName eq 'pH'";
  const csv = readCsv(await (await app.request(`/Summary.csv?${query}`)).text());
  const response = await app.request(`/Summary.xlsx?${query}&lang=fr`);
  assertEquals(response.headers.get("content-type"), FORMATS.xlsx.mediaType);
  const { sheets } = readWorkbook(await response.bytes());
  assertEquals(sheets.Data!.map((cells) => textsOf(cells, csv[0]!.length)), csv);
  assertEquals(Object.keys(sheets), ["Data", "Citations", "Colonnes"]);
  assertStringIncludes(sheets.Citations![1]![1]!.value, "10.25976/");
  assertEquals((await app.request("/Summary.csv?by=year&lang=fr")).status, 400);
});
