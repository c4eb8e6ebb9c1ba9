// The map has each position at its place in a Lambert conformal conic projection.
import "../../../helpers/no_permission.ts";
import { assertEquals } from "@std/assert";
import { MAP_SIZES } from "../../../../edge/page/map_view.ts";
import { createFrame } from "../../../../edge/page/projection.ts";
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
    const { toPixel, toPosition } = createFrame(view, MAP_SIZES.lead);
    const position = { longitude: -141 + 90 * random.next(), latitude: 40 + 45 * random.next() };
    const { longitude, latitude } = toPosition(toPixel(position));
    assertEquals(longitude.toFixed(6), position.longitude.toFixed(6));
    assertEquals(latitude.toFixed(6), position.latitude.toFixed(6));
  }
});
