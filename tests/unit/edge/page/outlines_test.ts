// The outlines of a map end at its edges, so that a close view is small.
import "../../../helpers/no_permission.ts";
import { assert } from "@std/assert";
import { MAP_SIZES } from "../../../../edge/page/map_view.ts";
import { drawOutlines } from "../../../../edge/page/outlines.ts";
import { createFrame } from "../../../../edge/page/projection.ts";

Deno.test("drawOutlines() has land, lakes and borders only where the map is", () => {
  for (const width of [5750, 800, 50]) {
    const frame = createFrame({ longitude: -95.2, latitude: 49.6, width }, MAP_SIZES.lead);
    for (const [layer, path] of drawOutlines(frame)) {
      if (width > 50) assert(path.startsWith("M"), layer);
      for (const subpath of path.split("M").slice(1)) {
        let [x, y] = [0, 0];
        for (const [, dx, dy] of subpath.matchAll(/(-?\d+)[ l]?(-?\d+)/g)) {
          [x, y] = [x + Number(dx), y + Number(dy)];
          const isInside = x >= -4 && x <= MAP_SIZES.lead.width + 4 && y >= -4 &&
            y <= MAP_SIZES.lead.height + 4;
          assert(isInside, `${layer}: ${x} ${y}`);
        }
      }
    }
  }
});
