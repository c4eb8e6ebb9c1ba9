// The list of locations answers where several characteristics were measured, and claims nothing about unread rows.
import "../../../helpers/no_permission.ts";
import { assert, assertEquals, assertMatch, assertStringIncludes } from "@std/assert";
import { listLocations } from "../../../../edge/page/locations.ts";
import { overSandbox } from "../../../helpers/edge.ts";
import { contentOf, row } from "./drawings.ts";
import { elementOf, get, headingOf, textOf } from "./pages.ts";

/** Returns the cells of the list. */
const listOf = (html: string): string[][] => {
  const [table = ""] = /<table class="measured">.*?<\/table>/s.exec(html) ?? [];
  return [...table.matchAll(/<tr><th scope="row">(.*?)<\/tr>/gs)].map(([, cells]) =>
    cells!.split("</th>").flatMap((part) => part.split("</td>")).map(textOf).filter(Boolean)
  );
};
const sum = (list: string[][]) => list.reduce((sum, [, n]) => sum + Number(n!.replace(",", "")), 0);

Deno.test("GET / has the map first, and beside it the locations with their results, when several characteristics are chosen", async () => {
  const { app } = overSandbox({ hostileNames: false });
  const path = "/?characteristic=Nutrients&where=Nova+Scotia";
  const html = await get(app, path);
  const [lead = "", rail = ""] = html.split('<div class="rail">');
  assert(lead.indexOf('class="map-frame"') < lead.indexOf("chart-card"));
  assertMatch(rail, /^\s*<section class="card places"/);
  const list = listOf(html);
  assert(list.length > 2);
  assertEquals(headingOf(html), `${sum(list).toLocaleString("en")} measurements`);
  const results = list.map(([, n]) => Number(n!.replace(",", "")));
  assertEquals(results, results.toSorted((a, b) => b - a));
  assertMatch(rail, /<a href="\/\?characteristic=Nutrients&amp;location=\d+&amp;lang=en">/);
  const names = listOf(await get(app, `${path}&sort=location`)).map(([name]) => name!);
  assertEquals(names, names.toSorted((a, b) => a.localeCompare(b)));
  const years = listOf(await get(app, `${path}&sort=years`)).map(([, , years]) => years!.slice(-4));
  assertEquals(years, years.toSorted().reverse());
  // The sort order is a part of the state: other links keep it.
  const french = await get(app, `${path}&sort=years&lang=fr`);
  assertMatch(french, /<th scope="col" aria-sort="descending"><a [^>]*>Années<\/a>/);
  assertStringIncludes(french, "&amp;sort=years&amp;lang=en");
  // One characteristic or a location has a chart first.
  for (const query of ["characteristic=pH", "characteristic=Nutrients&location=1001"]) {
    assertEquals((await get(app, `/?${query}`)).includes("card places"), false, query);
  }
});

Deno.test("listLocations() has the newest measurement of water at each location", async () => {
  const rows = [
    row("1", { ActivityStartDate: "2021-05-05", CharacteristicName: "pH", unit: "None" }),
    row("7.10", { ActivityStartDate: "2023-05-05", censoring: "left" }),
    row("9", { ActivityStartDate: "2024-05-05", is_quality_control: "true" }),
    row("", { LocationId: "2", censoring: "missing", ResultDetectionCondition: "Not Detected" }),
    row("2", { LocationId: "3", ActivityStartDate: "" }),
  ];
  const list = async (query: string) => listOf(String(await listLocations(contentOf(rows, query))));
  assertEquals(await list("sort=location"), [
    ["Lake 1 Nitrate &lt; 7.10 mg/L as N, 2023-05-05", "3", "2021–2024"],
    ["Lake 2 Nitrate not detected, 2020-06-01", "1", "2020"],
    ["Lake 3 Nitrate 2 mg/L as N", "1"],
  ]);
});

Deno.test("GET / has only the names of locations, and a link that counts their results, when not all rows were read", async () => {
  const { app, stats } = overSandbox({ hostileNames: false, records: 12_000 });
  const path = "/?from=2000";
  const html = await get(app, path);
  const list = listOf(html);
  assertEquals(list.map(({ length }) => length), list.map(() => 1));
  assertStringIncludes(html, '<a href="/located?from=2000&amp;lang=en">Count the results of each');
  const counted = listOf(await get(app, "/located?from=2000"));
  assertEquals(counted.length, list.length);
  assertEquals(headingOf(html), `${sum(counted).toLocaleString("en")} measurements`);
  const { requests } = stats;
  assertEquals(listOf(await get(app, path)), counted);
  assertEquals(stats.requests, requests);
  const { app: large } = overSandbox({ records: 120_000 });
  const card = elementOf(await get(large, path), 'class="card places"');
  assertMatch(card, /^60 locations 11\d,\d{3} results are too many to count at each location/);
});

Deno.test("GET / lists the first hundred locations, and says of how many", async () => {
  const { app } = overSandbox({ hostileNames: false, records: 300, locations: 150 });
  const html = await get(app, "/?from=2000");
  assertEquals(listOf(html).length, 100);
  assertMatch(textOf(html), /100 of 1\d\d are listed\./);
});
