// The map has each location at its projected position, and links to the views and locations that it shows.
import "../../../helpers/no_permission.ts";
import { assert, assertEquals, assertStringIncludes } from "@std/assert";
import { readForm, toSelection } from "../../../../edge/page/form.ts";
import type { LocationInfo } from "../../../../edge/page/load.ts";
import { drawMap } from "../../../../edge/page/map.ts";
import {
  formatView,
  LEAD_SIZE,
  parseView,
  RAIL_SIZE,
  viewOf,
  viewOfBox,
} from "../../../../edge/page/map_view.ts";
import { CANADA, cornersOf, createFrame } from "../../../../edge/page/projection.ts";
import { Random } from "../../../properties/random.ts";

// Kilometres east of the meridian 95 W, and south of its latitude 60 N. Computed from the definition of the
// projection with another formula: the integral of the secant (Simpson's rule) in place of the tangent.
const PLACES: [name: string, longitude: number, latitude: number, x: number, y: number][] = [
  ["Vancouver", -123.12, 49.28, -1971.89, 728.76],
  ["Toronto", -79.42, 43.7, 1269.78, 1642.76],
  ["Resolute", -94.9, 74.68, 2.90, -1589.84],
];

Deno.test("createFrame() projects places to their kilometres in a Lambert conformal conic map", () => {
  // One pixel is one kilometre.
  const view = { longitude: -95, latitude: 60, width: 5000 };
  const { toPixel } = createFrame(view, { width: 5000, height: 5000 });
  for (const [name, longitude, latitude, x, y] of PLACES) {
    const [left, top] = toPixel({ longitude, latitude });
    const kilometres = [left - 2500, top - 2500];
    assertEquals(kilometres.map((km) => km.toFixed(1)), [x.toFixed(1), y.toFixed(1)], name);
  }
});

Deno.test("createFrame() returns the position of a pixel that it projected", () => {
  const random = new Random(32);
  for (let i = 0; i < 2000; i++) {
    const view = {
      longitude: random.int(-141, -52),
      latitude: random.int(42, 80),
      width: random.int(2, 7000),
    };
    const { toPixel, toPosition } = createFrame(view, LEAD_SIZE);
    const position = { longitude: -141 + 90 * random.next(), latitude: 40 + 45 * random.next() };
    const { longitude, latitude } = toPosition(toPixel(position));
    assertEquals(longitude.toFixed(6), position.longitude.toFixed(6));
    assertEquals(latitude.toFixed(6), position.latitude.toFixed(6));
  }
});

const location = (id: number, longitude: number, latitude: number): LocationInfo => ({
  id: String(id),
  doi: "10.25976/x",
  name: `Lake ${id}`,
  type: "Lake/Pond",
  position: { longitude, latitude },
});

interface Content {
  list?: readonly LocationInfo[];
  others?: readonly LocationInfo[];
  missing?: number;
  query?: string;
}

const draw = async ({ list = [], others, missing = 0, query = "" }: Content) => {
  const language = query.includes("lang=fr") ? "fr" : "en";
  const form = readForm(new URLSearchParams(query), language);
  const results = { locations: { list, missing }, others, selection: toSelection(form) };
  return String(await drawMap({ form, path: "/", results }, true)).replace(/\s+/g, " ");
};

const wideOf = (map: string) => /<g class="map-wide">.*?<\/g>/.exec(map)![0];

Deno.test("drawMap() merges points until none are closer than 20 pixels, and links to a closer view", async () => {
  // One pixel is a kilometre. The third location moves the first point to 19 pixels from the second one.
  const longitudes = [-97, -96.645, -96.83, -100];
  const list = longitudes.map((longitude, i) => location(i, longitude, 50));
  const layer = wideOf(await draw({ list, query: "view=-97,50,804" }));
  assertEquals(layer.match(/class="map-point"/g)?.length, 2);
  assertStringIncludes(layer, ">3</text>");
  assertEquals(layer.match(/ r="\d+"/g), [' r="12"', ' r="6"']);
  assertStringIncludes(layer, 'href="/?view=-97%2C50%2C804&amp;selected=3&amp;lang=en"');
  assertStringIncludes(layer, 'href="/?view=-96.823%2C50%2C120&amp;lang=en"');
});

Deno.test("drawMap() draws other locations apart and hollow, and counts all and those that are missing", async () => {
  const map = await draw({
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
  assertStringIncludes(await draw({ query, others: [] }), `${link}&amp;lang=en">hide others</a>`);
  assertStringIncludes(await draw({ query }), `${link}&amp;others=1&amp;lang=en">show others</a>`);
});

Deno.test("drawMap() omits the label of a place that a point covers", async () => {
  assertStringIncludes(wideOf(await draw({})), ">Churchill</text>");
  const around = Array.from({ length: 40 }, (_, i) => {
    const angle = i / 40 * 2 * Math.PI;
    return location(i, -94.17 + 5 * Math.cos(angle), 58.77 + 2.5 * Math.sin(angle));
  });
  assertEquals(wideOf(await draw({ list: around })).includes(">Churchill</text>"), false);
});

Deno.test("drawMap() has a card with name, type, position and link for the selected location and those at its place", async () => {
  const list = [location(1, -63.6, 44.93)];
  const others = [location(2, -63.6, 44.93)];
  const content = { list, others, query: "characteristic=pH&where=NS&selected=1" };
  const map = await draw(content);
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
  const french = await draw({ ...content, query: "selected=1&lang=fr" });
  assertStringIncludes(french, "Lac/Étang, 44,930° N, 63,600° O");
});

const pathOf = (map: string, layer: string) =>
  new RegExp(`class="map-${layer}" d="([^"]*)"`).exec(map)![1]!;

Deno.test("drawMap() draws a box with curved edges and four handles", async () => {
  const map = await draw({ query: "west=-120&south=50&east=-80&north=60" });
  assert(pathOf(map, "box").match(/-?\d+/g)!.length > 80);
  assertEquals(pathOf(map, "handles").match(/M/g)?.length, 4);
  assertStringIncludes(map, '<a href="/?lang=en">remove the box</a>');
});

Deno.test("drawMap() has a scale bar that is right at the centre of the map", async () => {
  // A degree of latitude is 111.19 km.
  const { toPixel } = createFrame({ longitude: -97, latitude: 60, width: 804 }, LEAD_SIZE);
  const [, south] = toPixel({ longitude: -97, latitude: 59.5 });
  const [, north] = toPixel({ longitude: -97, latitude: 60.5 });
  const map = await draw({ query: "view=-97,60,804" });
  const [, right, length] = /^M(\d+) .*v6h-(\d+)v-6$/.exec(pathOf(map, "scale"))!.map(Number);
  assert(right! < LEAD_SIZE.width);
  assertEquals(length, Math.round(50 * (south - north) / 111.19));
  assertStringIncludes(map, ">50 km</text>");
});

Deno.test("drawMap() has buttons for closer, wider and moved views", async () => {
  const map = await draw({ query: "view=-97,60,804" });
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
  const wide = await draw({ query: "view=-97,60,3000" });
  assertStringIncludes(wide, 'href="/?view=-89.6%2C60%2C5750&amp;lang=en" aria-label="Zoom out"');
});

Deno.test("viewOf() and viewOfBox() show all positions in the map", () => {
  const random = new Random(3);
  for (let i = 0; i < 600; i++) {
    const size = i % 2 === 0 ? LEAD_SIZE : RAIL_SIZE;
    const [west, south] = [-140 + 75 * random.next(), 42 + 30 * random.next()];
    const [east, north] = [west + 15 * random.next(), south + 8 * random.next()];
    const box = { west, south, east, north };
    const corners = cornersOf(box);
    for (const view of [viewOfBox(box, size), viewOf(corners, size)]) {
      for (const [x, y] of corners.map(createFrame(view, size).toPixel)) {
        const isInside = x > 0 && y > 0 && x < size.width && y < size.height;
        assert(isInside, JSON.stringify({ box, view }));
      }
    }
  }
});

Deno.test("viewOf() shows all of Canada without positions, and ignores positions far away", () => {
  assertEquals(viewOf([], LEAD_SIZE), CANADA);
  assertEquals(viewOf([{ longitude: 0, latitude: 0 }], LEAD_SIZE), CANADA);
});

Deno.test("parseView() returns the view that formatView() wrote, and undefined when the text is no view", () => {
  const view = { longitude: -97.213, latitude: 51.3, width: 420.5 };
  assertEquals(parseView(formatView(view)), view);
  for (const text of ["1,2", "-97,51,1e9", "-97,,400", "-97,51,400,1"]) {
    assertEquals(parseView(text), undefined, text);
  }
});
