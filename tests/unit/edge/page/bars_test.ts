// The bars show the results of each year.
import "../../../helpers/no_permission.ts";
import { assertEquals, assertStringIncludes } from "@std/assert";
import { drawBars } from "../../../../edge/page/bars.ts";
import { LOCALES } from "../../../../edge/page/text.ts";

Deno.test("drawBars() has one bar per year with results", async () => {
  const years = [{ year: 2018, results: 50 }, { year: 2021, results: 190 }];
  const html = String(await drawBars(years, LOCALES.en));
  const heights = [...html.matchAll(/<rect[^>]* height="([\d.]+)"/g)];
  assertEquals(heights.map(([, height]) => height), ["17", "63"]);
  assertStringIncludes(html, ">200</text>");
  assertStringIncludes(html, 'aria-label="2018: 50; 2021: 190"');
  assertEquals(String(await drawBars([], LOCALES.en)), "");
});
