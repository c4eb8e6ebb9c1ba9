// Outlines of Natural Earth as SVG paths. The data are paths in longitude and latitude, in whole units of 0.1 or 0.02
// degrees: an absolute start, then relative steps.
import coarse from "./data/outlines_coarse.json" with { type: "json" };
import fine from "./data/outlines_fine.json" with { type: "json" };
import {
  CANADA_WIDTH,
  type Coordinates,
  type Frame,
  headingTo,
  type Pixel,
  type Size,
} from "./projection.ts";

/** Towns, the largest first. Maps of all of Canada leave out those of rank 4. */
export const PLACES: readonly (Coordinates & { name: string; rank: number })[] = coarse.places;

/** Returns the nearest town, with its direction in eighths of a turn, clockwise from the north. */
export function nearestPlace(
  from: Coordinates,
): { place: string; kilometres: number; direction: number } {
  const [nearest] = PLACES.map((place) => ({ place: place.name, ...headingTo(from, place) }))
    .sort((a, b) => a.kilometres - b.kilometres);
  const { place, kilometres, degrees } = nearest!;
  return { place, kilometres, direction: Math.round(degrees / 45) % 8 };
}

/** Drawn in this order. */
const LAYERS = ["grid", "neighbours", "land", "lakes", "provinces"] as const;

interface Line {
  points: readonly Coordinates[];
  isClosed: boolean;
}

type Outlines = readonly (readonly Line[])[];

/** Parsed when first used. */
const parsed: { coarse?: Outlines; fine?: Outlines } = {};

export function drawOutlines({ view, size, toPixel }: Frame): [layer: string, path: string][] {
  const outlines = view.width >= CANADA_WIDTH
    ? parsed.coarse ??= parseOutlines(coarse)
    : parsed.fine ??= parseOutlines(fine);
  const draw = ({ points, isClosed }: Line) =>
    drawPath(clip(points.map(toPixel), isClosed, size), isClosed);
  return LAYERS.map((layer, i) => [layer, outlines[i]!.map(draw).join("")]);
}

function parseOutlines(data: { unit: number } & Record<typeof LAYERS[number], string>): Outlines {
  return LAYERS.map((layer) =>
    data[layer].split("M").slice(1).map((path): Line => {
      const numbers = path.match(/-?\d+/g)!.map(Number);
      let [x, y] = [0, 0];
      const points: Coordinates[] = [];
      for (let i = 0; i < numbers.length; i += 2) {
        x += numbers[i]!;
        y += numbers[i + 1]!;
        points.push({ longitude: x * data.unit, latitude: y * data.unit });
      }
      return { points, isClosed: path.endsWith("z") };
    })
  );
}

/** Pixels beside the map, where the edges of what was cut are hidden. */
const MARGIN = 4;

/** Cuts an area or a line at each side of the map in turn (Sutherland and Hodgman, 1974). */
function clip(pixels: readonly Pixel[], isClosed: boolean, { width, height }: Size) {
  // The axis, its limit, and 1 if points must be above it, else -1.
  const sides = [
    [0, -MARGIN, 1],
    [0, width + MARGIN, -1],
    [1, -MARGIN, 1],
    [1, height + MARGIN, -1],
  ] as const;
  for (const [axis, limit, sign] of sides) {
    const isInside = (pixel: Pixel) => (pixel[axis] - limit) * sign >= 0;
    let previous = pixels.at(isClosed ? -1 : 0)!;
    const cut: Pixel[] = [];
    for (const pixel of pixels) {
      if (isInside(pixel) !== isInside(previous)) {
        const part = (limit - previous[axis]) / (pixel[axis] - previous[axis]);
        cut.push([
          previous[0] + (pixel[0] - previous[0]) * part,
          previous[1] + (pixel[1] - previous[1]) * part,
        ]);
      }
      if (isInside(pixel)) cut.push(pixel);
      previous = pixel;
    }
    if (cut.length === 0) return cut;
    pixels = cut;
  }
  return pixels;
}

/** Pixels: shorter steps are left out. */
const MIN_STEP = 2;

/** Formats points as relative steps in whole pixels. */
export function drawPath(pixels: readonly Pixel[], isClosed: boolean): string {
  const steps: Pixel[] = [];
  let [lastX, lastY] = [0, 0];
  for (const pixel of pixels) {
    const [x, y] = [Math.round(pixel[0]), Math.round(pixel[1])];
    const step = [x - lastX, y - lastY] as const;
    if (steps.length > 0 && Math.abs(step[0]) + Math.abs(step[1]) < MIN_STEP) continue;
    steps.push(step);
    [lastX, lastY] = [x, y];
  }
  if (steps.length < (isClosed ? 3 : 2)) return "";
  // A minus sign separates numbers, too.
  const path = steps.slice(1).flat().join(" ").replaceAll(" -", "-");
  return `M${steps[0]!.join(" ")}l${path}${isClosed ? "z" : ""}`;
}
