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

function assertNear(actual: number, expected: number, tolerance: number, what = ""): void {
  assert(Math.abs(actual - expected) <= tolerance, `${actual} is not near ${expected} ${what}`);
}

// Kilometres east of the meridian 95 W, and south of its latitude 60 N. Computed from the definition of the
// projection with another formula: the integral of the secant (Simpson's rule) in place of the tangent.
const PLACES: [name: string, longitude: number, latitude: number, x: number, y: number][] = [
  ["Vancouver", -123.12, 49.28, -1971.89, 728.76],
  ["Yellowknife", -114.4, 62.44, -953.08, -409.86],
  ["Toronto", -79.42, 43.7, 1269.78, 1642.76],
  ["Halifax", -63.6, 44.65, 2430.04, 1078.86],
  ["St. John's", -52.68, 47.58, 2962.24, 337.88],
  ["Resolute", -94.9, 74.68, 2.90, -1589.84],
];

Deno.test("createFrame() projects places to their kilometres in a Lambert conformal conic map", () => {
  // One pixel is one kilometre.
  const view = { longitude: -95, latitude: 60, width: 5000 };
  const { toPixel } = createFrame(view, { width: 5000, height: 5000 });
  for (const [name, longitude, latitude, x, y] of PLACES) {
    const [left, top] = toPixel({ longitude, latitude });
    assertNear(left - 2500, x, 0.01, name);
    assertNear(top - 2500, y, 0.01, name);
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
    assertNear(longitude, position.longitude, 1e-8);
    assertNear(latitude, position.latitude, 1e-8);
  }
});

const location = (id: number, longitude: number, latitude: number): LocationInfo => ({
  id: String(id),
  doi: "10.25976/x",
  name: `Lake ${id}`,
  type: "Lake/Pond",
  longitude,
  latitude,
});

interface Content {
  list?: readonly LocationInfo[];
  others?: readonly LocationInfo[];
  missing?: number;
  query?: string;
  isLead?: boolean;
}

const draw = async ({ list = [], others, missing = 0, query = "", isLead = true }: Content) => {
  const language = query.includes("lang=fr") ? "fr" : "en";
  const form = readForm(new URLSearchParams(query), language);
  const results = { locations: { list, missing }, others, selection: toSelection(form) };
  return String(await drawMap({ form, path: "/", results }, isLead)).replace(/\s+/g, " ");
};

const scatter = (count: number) => {
  const random = new Random(7);
  const positions = Array.from({ length: count }, () => [random.next(), random.next()] as const);
  return positions.map(([x, y], id) => location(id, -125 + 60 * x, 45 + 20 * y));
};

const wideOf = (map: string) => /<g class="map-wide">.*?<\/g>/.exec(map)![0];

Deno.test("drawMap() merges close points into one with their number, which links to a closer view", async () => {
  const list = [location(1, -97, 50), location(2, -97.1, 50.1), location(3, -110, 60)];
  const layer = wideOf(await draw({ list }));
  assertEquals(layer.match(/class="map-point"/g)?.length, 2);
  assertStringIncludes(layer, ">2</text>");
  assertStringIncludes(layer, 'href="/?selected=3&amp;lang=en"');
  const [, view] = /href="\/\?view=([^"&]*)/.exec(layer)!;
  assert(parseView(decodeURIComponent(view!))!.width < 500);
});

Deno.test("drawMap() keeps points of a distance of 20 pixels or more when there are many", async () => {
  const layer = wideOf(await draw({ list: scatter(3000) }));
  const points = [...layer.matchAll(/<circle cx="([\d.]+)%" cy="([\d.]+)%" r=/g)]
    .map(([, x, y]) => [Number(x) * LEAD_SIZE.width / 100, Number(y) * LEAD_SIZE.height / 100]);
  assert(points.length > 100);
  for (const [i, [x, y]] of points.entries()) {
    for (const [otherX, otherY] of points.slice(i + 1)) {
      // One decimal of a percentage is 0.8 pixels.
      assert(Math.hypot(x! - otherX!, y! - otherY!) > 18.5);
    }
  }
  const numbers = [...layer.matchAll(/(\d+)<\/text>/g)].map(([, number]) => Number(number));
  const single = points.length - numbers.length;
  assertEquals(numbers.reduce((sum, number) => sum + number, single), 3000);
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
  const list = [location(1, -63.6, 44.93), location(2, -63.6, 44.93)];
  const content = { list, query: "where=NS&selected=1", isLead: false };
  const map = await draw(content);
  assertStringIncludes(map, "Lake/Pond, 44.930° N, 63.600° W");
  const links = [...map.matchAll(/href="\/\?location=(\d)&amp;lang=en"/g)].map(([, id]) => id);
  assertEquals(links, ["1", "2"]);
  assertEquals(map.match(/class="map-ring"/g)?.length, 1);
  assertStringIncludes(map, '<a class="map-close" href="/?where=NS&amp;lang=en"');
  const french = await draw({ ...content, query: "where=NS&selected=1&lang=fr" });
  assertStringIncludes(french, "Lac/Étang, 44,930° N, 63,600° O");
  // The filter of the form excludes other locations.
  const other = await draw({ others: list, query: "where=NS&selected=1" });
  assertStringIncludes(other, 'href="/?location=1&amp;lang=en">Only this location');
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
  const length = Number(/v6h-(\d+)v-6/.exec(pathOf(map, "scale"))![1]);
  assertNear(length, 50 * (south - north) / 111.19, 0.6);
  assertStringIncludes(map, ">50 km</text>");
});

for (const [name, size] of Object.entries({ lead: LEAD_SIZE, rail: RAIL_SIZE })) {
  Deno.test(`viewOf() and viewOfBox() show all positions in the ${name} map`, () => {
    const random = new Random(3);
    for (let i = 0; i < 300; i++) {
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
}

Deno.test("viewOf() shows all of Canada without positions, and ignores positions far away", () => {
  assertEquals(viewOf([], LEAD_SIZE), CANADA);
  assertEquals(viewOf([{ longitude: 0, latitude: 0 }], LEAD_SIZE), CANADA);
});

Deno.test("parseView() returns the view that formatView() wrote, and undefined when the text is no view", () => {
  const view = { longitude: -97.213, latitude: 51.3, width: 420.5 };
  assertEquals(parseView(formatView(view)), view);
  for (
    const text of ["", "1,2", "-97,51,1e9", "-97,NaN,400", "-97,51,400,1", "-97,,400", "a,b,c"]
  ) {
    assertEquals(parseView(text), undefined, text);
  }
});
