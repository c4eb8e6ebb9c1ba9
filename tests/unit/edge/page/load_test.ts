// A page needs few requests to the service, and says what it did not search.
import "../../../helpers/no_permission.ts";
import { assertEquals, assertMatch, assertStringIncludes } from "@std/assert";
import { overSandbox } from "../../../helpers/edge.ts";
import { get, headingOf, textOf } from "./pages.ts";

const PH = "characteristic=pH&where=Manitoba&from=2015&to=2020";

/** Number of requests to the service for a page with an empty cache. */
const requestCounts: [query: string, count: number][] = [
  ["", 3], // locations, count, datasets
  [PH, 3], // rows, locations, datasets
  ["characteristic=pH&west=-100&south=48&east=-94&north=55", 3],
  ["where=pigeon", 3],
  ["where=Synthetic%20Community%20Stream%20Watch", 3], // locations, datasets, rows
  ["characteristic=Metals&characteristic=pH&where=NS", 3], // rows, locations, datasets
  ["from=2000", 3], // rows, count, locations; the names of datasets would need a fourth
  [`${PH}&others=1&view=-97,51,500`, 3], // rows, locations, locations of the view
];
for (const [query, count] of requestCounts) {
  Deno.test(`GET / sends ${count} requests, and none the second time, when the form has "${query}"`, async () => {
    const { app, stats } = overSandbox({ hostileNames: false, records: 12_000 });
    const html = await get(app, `/?${query}`);
    assertMatch(headingOf(html), /^[\d,]+ measurements$/);
    assertEquals(stats.requests, count);
    await get(app, `/?${query}&lang=fr&tool=r`);
    assertEquals(stats.requests, count);
  });
}

Deno.test("GET / shows the other locations of the map's view", async () => {
  const { app } = overSandbox({ hostileNames: false, records: 300 });
  const html = await get(app, "/?where=Nova+Scotia&view=-64,46,900&others=1");
  assertMatch(html, /[1-9]\d* other locations?: not in this selection/);
  assertStringIncludes(html, 'class="map-point map-other"');
});

Deno.test("GET / shows the neighbours of a location without a request, if they are known", async () => {
  const { app, stats } = overSandbox({ hostileNames: false, records: 300 });
  const [path, ring] = ["/?location=1001&characteristic=pH", 'class="map-point map-other"'];
  assertEquals((await get(app, path)).includes(ring), false);
  await get(app, "/");
  const { requests } = stats;
  // A view of 600 km has other locations, but is not close.
  assertEquals((await get(app, `${path}&view=-97.1,50.1,600`)).includes(ring), false);
  assertStringIncludes(await get(app, `${path}&view=-97.1,50.1,150`), ring);
  assertEquals((await get(app, `${path}&view=-97.1,50.1,150&others=0`)).includes(ring), false);
  assertEquals(stats.requests, requests);
});

Deno.test("GET / searches the names of 20,000 locations, and states the limits of this search", async () => {
  const { app } = overSandbox({ hostileNames: false, locations: 20_010, records: 300 });
  const texts = {
    "Pigeon Lake (synthetic)": "The names of 10 locations were not searched.",
    Atlantis: "none of the first 20,000 of 20,010 locations, has “Atlantis”",
    Lake: "locations have “Lake” in their name: write more of it",
  };
  for (const [where, text] of Object.entries(texts)) {
    assertStringIncludes(textOf(await get(app, `/?where=${where}`)), text);
  }
});
