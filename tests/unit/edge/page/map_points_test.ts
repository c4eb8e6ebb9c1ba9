// Points and labels of the map do not cover each other, and other locations are hollow.
import "../../../helpers/no_permission.ts";
import { assertEquals, assertStringIncludes } from "@std/assert";
import { drawTestMap, location, wideOf } from "./drawings.ts";

Deno.test("drawMap() merges points until none are closer than 20 pixels, and links to a closer view", async () => {
  // One pixel is a kilometre. The third location moves the first point to 19 pixels from the second one.
  const longitudes = [-97, -96.645, -96.83, -100];
  const list = longitudes.map((longitude, i) => location(i, longitude, 50));
  const layer = wideOf(await drawTestMap({ list, query: "view=-97,50,804" }));
  assertEquals(layer.match(/class="map-point"/g)?.length, 2);
  assertStringIncludes(layer, ">3</text>");
  assertEquals(layer.match(/ r="\d+"/g), [' r="12"', ' r="6"']);
  assertStringIncludes(layer, 'href="/?view=-97%2C50%2C804&amp;selected=3&amp;lang=en"');
  assertStringIncludes(layer, 'href="/?view=-96.823%2C50%2C120&amp;lang=en"');
});

Deno.test("drawMap() draws other locations apart and hollow, and counts all and those that are missing", async () => {
  const map = await drawTestMap({
    list: [location(1, -97, 50), location(3, -60, 46)],
    others: [location(2, -97, 50)],
    missing: 5000,
    query: "view=-97,50,500",
  });
  assertEquals(wideOf(map).match(/class="map-point map-other"/g)?.length, 1);
  const legend = /<p class="map-legend">.*?<\/p>/.exec(map)![0].replace(/<[^>]*>|\s+/g, " ");
  assertStringIncludes(legend, "2 locations");
  assertStringIncludes(legend, "1 other location: not in this selection");
  assertStringIncludes(legend, "5,000 more are not shown");
  const query = "characteristic=pH&view=-97,50,500";
  const link = 'href="/?characteristic=pH&amp;view=-97%2C50%2C500';
  assertStringIncludes(
    await drawTestMap({ query, others: [] }),
    `${link}&amp;others=0&amp;lang=en">hide others</a>`,
  );
  assertStringIncludes(
    await drawTestMap({ query }),
    `${link}&amp;others=1&amp;lang=en">show others</a>`,
  );
});

Deno.test("drawMap() omits the label of a place that a point covers", async () => {
  assertStringIncludes(wideOf(await drawTestMap({})), ">Churchill</text>");
  const around = Array.from({ length: 40 }, (_, i) => {
    const angle = i / 40 * 2 * Math.PI;
    return location(i, -94.17 + 5 * Math.cos(angle), 58.77 + 2.5 * Math.sin(angle));
  });
  assertEquals(wideOf(await drawTestMap({ list: around })).includes(">Churchill</text>"), false);
});

Deno.test("drawMap() places names beside the buttons in a column as narrow as 320 pixels", async () => {
  const covered: string[] = [];
  for (let longitude = -125; longitude < -55; longitude += 2.5) {
    const map = await drawTestMap({ query: `view=${longitude},50,1500`, place: "rail" });
    const labels = map.matchAll(
      /class="map-label" x="([\d.]+)%" y="([\d.]+)%" dx="(-?\d+)"[^>]*="(\w+)">([^<]*)</g,
    );
    for (const [, x, y, dx, anchor, name] of labels) {
      // Characters have about 6.6 pixels, and the five buttons are at the upper right.
      const after = { start: 1, middle: 0.5, end: 0 }[anchor!]! * 6.6 * name!.length;
      const right = Number(x) / 100 * 320 + Number(dx) + after;
      if (right > 320 - 52 && Number(y) / 100 * 277 < 212) covered.push(name!);
    }
  }
  assertEquals(covered, []);
});
