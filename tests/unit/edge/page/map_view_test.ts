// A view shows all positions, and a URL can have it.
import "../../../helpers/no_permission.ts";
import { assert, assertEquals } from "@std/assert";
import {
  formatView,
  MAP_SIZES,
  parseView,
  viewOf,
  viewOfBox,
} from "../../../../edge/page/map_view.ts";
import { CANADA, cornersOf, createFrame } from "../../../../edge/page/projection.ts";
import { Random } from "../../../properties/random.ts";

Deno.test("viewOf() and viewOfBox() show all positions in the middle of the map", () => {
  const random = new Random(3);
  for (let i = 0; i < 600; i++) {
    const size = i % 2 === 0 ? MAP_SIZES.lead : MAP_SIZES.rail;
    const [west, south] = [-140 + 75 * random.next(), 42 + 30 * random.next()];
    const [east, north] = [west + 15 * random.next(), south + 8 * random.next()];
    const box = { west, south, east, north };
    const corners = cornersOf(box);
    for (const view of [viewOfBox(box, size), viewOf(corners, size)]) {
      for (const [x, y] of corners.map(createFrame(view, size).toPixel)) {
        // The buttons are over the sides of a phone's map.
        const side = 0.12 * size.width;
        const isInside = x > side && y > 0 && x < size.width - side && y < size.height;
        assert(isInside, JSON.stringify({ box, view }));
      }
    }
  }
});

Deno.test("viewOf() shows all of Canada without positions, and ignores positions far away", () => {
  assertEquals(viewOf([], MAP_SIZES.lead), CANADA);
  assertEquals(viewOf([{ longitude: 0, latitude: 0 }], MAP_SIZES.lead), CANADA);
});

Deno.test("parseView() returns the view that formatView() wrote, and undefined when the text is no view", () => {
  const view = { longitude: -97.213, latitude: 51.3, width: 420.5 };
  assertEquals(parseView(formatView(view)), view);
  for (const text of ["1,2", "-97,51,1e9", "-97,,400", "-97,51,400,1"]) {
    assertEquals(parseView(text), undefined, text);
  }
});
