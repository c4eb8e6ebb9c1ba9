// The map has a card, a box, a scale bar, and links to other views.
import "../../../helpers/no_permission.ts";
import { assert, assertEquals, assertMatch, assertStringIncludes } from "@std/assert";
import { MAP_SIZES } from "../../../../edge/page/map_view.ts";
import { createFrame } from "../../../../edge/page/projection.ts";
import { drawTestMap, location, pathOf, wideOf } from "./drawings.ts";

Deno.test("drawMap() has a card with name, type, position and link for the selected location and those at its place", async () => {
  const list = [location(1, -63.6, 44.93)];
  const others = [location(2, -63.6, 44.93)];
  const content = { list, others, query: "characteristic=pH&where=NS&selected=1" };
  const map = await drawTestMap(content);
  assertStringIncludes(map, "Lake/Pond, 44.930° N, 63.600° W");
  const links = [...map.matchAll(/href="([^"]*)">Only this location/g)].map(([, url]) => url);
  // The filter of the form excludes other locations.
  assertEquals(links, [
    "/?characteristic=pH&amp;location=1&amp;lang=en",
    "/?location=2&amp;lang=en",
  ]);
  assertEquals(wideOf(map).match(/class="map-ring"/g)?.length, 1);
  assertStringIncludes(
    map,
    'class="map-close" href="/?characteristic=pH&amp;where=NS&amp;lang=en"',
  );
  const french = await drawTestMap({ ...content, query: "selected=1&lang=fr" });
  assertStringIncludes(french, "Lac/Étang, 44,930° N, 63,600° O");
});

Deno.test("drawMap() draws a box with curved edges and four handles", async () => {
  const map = await drawTestMap({ query: "west=-120&south=50&east=-80&north=60" });
  assert(pathOf(map, "box").match(/-?\d+/g)!.length > 80);
  assertEquals(pathOf(map, "handles").match(/M/g)?.length, 4);
  assertStringIncludes(map, '<a href="/?lang=en">remove the box</a>');
});

Deno.test("drawMap() has a scale bar that is right at the centre of the map", async () => {
  // A degree of latitude is 111.19 km.
  const { toPixel } = createFrame({ longitude: -97, latitude: 60, width: 804 }, MAP_SIZES.lead);
  const [, south] = toPixel({ longitude: -97, latitude: 59.5 });
  const [, north] = toPixel({ longitude: -97, latitude: 60.5 });
  const map = await drawTestMap({ query: "view=-97,60,804" });
  const [, right, length] = /^M(\d+) .*v6h-(\d+)v-6$/.exec(pathOf(map, "scale"))!.map(Number);
  assert(right! < MAP_SIZES.lead.width);
  assertEquals(length, Math.round(50 * (south - north) / 111.19));
  assertStringIncludes(map, ">50 km</text>");
});

Deno.test("drawMap() says where a close view is: coordinates, the nearest town and a link", async () => {
  const content = { list: [location(1, -97.2, 50.4)], query: "location=1" };
  const map = await drawTestMap(content);
  assertMatch(map, /<code>50.40000, -97.20000<\/code> <button type="button" class="copy">Copy/);
  assertStringIncludes(map, "nearest town: Winnipeg, 58 km, direction south");
  const url =
    "https://www.openstreetmap.org/?mlat=50.40000&amp;mlon=-97.20000#map=12/50.40000/-97.20000";
  assertStringIncludes(map, `href="${url}">Open in OpenStreetMap</a>`);
  const french = await drawTestMap({ query: "view=-112.5,53.5,20&lang=fr" });
  assertStringIncludes(french, "ville la plus proche : Edmonton, 66 km, direction ouest");
  const wide = await drawTestMap({ ...content, query: "location=1&view=-97,50,200" });
  assertEquals(wide.includes("openstreetmap"), false);
});

Deno.test("drawMap() has buttons for closer, wider and moved views", async () => {
  const map = await drawTestMap({ query: "view=-97,60,804" });
  const buttons = [...map.matchAll(/href="\/\?view=([^&]*)&amp;lang=en" aria-label="([^"]*)"/g)]
    .map(([, view, label]) => [label, decodeURIComponent(view!)]);
  assertEquals(Object.fromEntries(buttons), {
    "Zoom in": "-97,60,402",
    "Zoom out": "-97,60,1608",
    "All of Canada": "-89.6,60,5750",
    "Move north": "-97,62.724,804",
    "Move south": "-97,57.285,804",
    "Move west": "-104.405,59.783,804",
    "Move east": "-89.595,59.783,804",
  });
  const wide = await drawTestMap({ query: "view=-97,60,3000" });
  assertStringIncludes(wide, 'href="/?view=-89.6%2C60%2C5750&amp;lang=en" aria-label="Zoom out"');
  // A link to the shown view would be useless, and cover points of a small map.
  const canada = [...(await drawTestMap({})).matchAll(/aria-label="([^"]*)" title/g)];
  assertEquals(canada.map(([, label]) => label), ["Zoom in", "Map as wide as the page"]);
});
