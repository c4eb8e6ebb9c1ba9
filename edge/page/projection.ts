// Lambert conformal conic projection of a sphere, with the parallels 49 and 77 (Snyder, USGS Professional Paper
// 1395, pages 106 and 107), and the frame of a drawn map.
import type { BoundingBox } from "../../src/odata/bounding_box.ts";
import { rangeOf } from "./scale.ts";

/** Degrees. */
export interface Coordinates {
  longitude: number;
  latitude: number;
}

/** Part of the world that a map shows: its centre and its width on the ground. North is up. */
export interface MapView extends Coordinates {
  /** Kilometres. */
  width: number;
}

/** Pixels. */
export interface Size {
  width: number;
  height: number;
}

/** Pixels from the left and from the top of a map. */
export type Pixel = readonly [x: number, y: number];

/** Kilometres: radius of a sphere with the area of the Earth. */
const EARTH_RADIUS = 6371;
const DEGREE = Math.PI / 180;
const [SOUTH_PARALLEL, NORTH_PARALLEL] = [49 * DEGREE, 77 * DEGREE];

/** Snyder's n, the ratio between angles on the map and degrees of longitude. */
const CONE = Math.log(Math.cos(SOUTH_PARALLEL) / Math.cos(NORTH_PARALLEL)) /
  Math.log(stretch(NORTH_PARALLEL) / stretch(SOUTH_PARALLEL));
/** Kilometres from the pole to the equator on the map. */
const EQUATOR = EARTH_RADIUS * Math.cos(SOUTH_PARALLEL) * stretch(SOUTH_PARALLEL) ** CONE / CONE;

function stretch(latitude: number): number {
  return Math.tan(Math.PI / 4 + latitude / 2);
}

/** From -180 to 180. */
function wrap(longitude: number): number {
  return longitude - 360 * Math.round(longitude / 360);
}

/** Returns kilometres from the pole on the map, which has no south pole. */
function distanceToPole(latitude: number): number {
  return EQUATOR / stretch(Math.max(latitude, -80) * DEGREE) ** CONE;
}

/** Returns the ratio between a short distance on the map and on the ground (Snyder's k). */
export function scaleAt(latitude: number): number {
  return CONE * distanceToPole(latitude) / (EARTH_RADIUS * Math.cos(latitude * DEGREE));
}

/** Returns kilometres east of the central meridian, and from the pole towards the south. */
function project({ longitude, latitude }: Coordinates, meridian: number): Pixel {
  const angle = CONE * wrap(longitude - meridian) * DEGREE;
  const distance = distanceToPole(latitude);
  return [distance * Math.sin(angle), distance * Math.cos(angle)];
}

/** Returns the distance of two positions on a sphere, and the first direction, clockwise from the north. */
export function headingTo(
  from: Coordinates,
  to: Coordinates,
): { kilometres: number; degrees: number } {
  const [south, north] = [from.latitude * DEGREE, to.latitude * DEGREE];
  const angle = (to.longitude - from.longitude) * DEGREE;
  const x = Math.cos(north) * Math.sin(angle);
  const y = Math.cos(south) * Math.sin(north) -
    Math.sin(south) * Math.cos(north) * Math.cos(angle);
  const z = Math.sin(south) * Math.sin(north) +
    Math.cos(south) * Math.cos(north) * Math.cos(angle);
  return {
    kilometres: EARTH_RADIUS * Math.atan2(Math.hypot(x, y), z),
    degrees: (Math.atan2(x, y) / DEGREE + 360) % 360,
  };
}

/** Kilometres. From this width on, the central meridian is that of Canada. */
export const CANADA_WIDTH = 3500;
const CANADA_MERIDIAN = -95;

/** Canada without its far north, which has few locations. */
export const CANADA: MapView = { longitude: -89.6, latitude: 60, width: 5750 };

/** Converts between degrees and pixels of a map. */
export interface Frame {
  view: MapView;
  size: Size;
  toPixel: (position: Coordinates) => Pixel;
  toPosition: (pixel: Pixel) => Coordinates;
}

/** Returns the frame in which `view` fills a map of `size`. */
export function createFrame(view: MapView, size: Size): Frame {
  const meridian = view.width >= CANADA_WIDTH ? CANADA_MERIDIAN : view.longitude;
  const [centreX, centreY] = project(view, meridian);
  const scale = size.width / view.width;
  return {
    view,
    size,
    toPixel(position) {
      const [x, y] = project(position, meridian);
      return [size.width / 2 + (x - centreX) * scale, size.height / 2 + (y - centreY) * scale];
    },
    toPosition([left, top]) {
      const x = centreX + (left - size.width / 2) / scale;
      const y = centreY + (top - size.height / 2) / scale;
      const northing = (EQUATOR / Math.hypot(x, y)) ** (1 / CONE);
      return {
        longitude: wrap(meridian + Math.atan2(x, y) / CONE / DEGREE),
        latitude: 2 * Math.atan(northing) / DEGREE - 90,
      };
    },
  };
}

/** Returns the smallest box that contains a rectangle of pixels, whose edges are curved on the ground. */
export function boundsOfPixels(
  { toPosition }: Frame,
  [x1, y1]: Pixel,
  [x2, y2]: Pixel,
): BoundingBox {
  const edges = sampleBox({ west: x1, south: y1, east: x2, north: y2 })
    .map(({ longitude: x, latitude: y }) => toPosition([x, y]));
  const [west, east] = rangeOf(edges.map(({ longitude }) => longitude));
  const [south, north] = rangeOf(edges.map(({ latitude }) => latitude));
  return { west, south, east, north };
}

/** Returns the corners of a box: first the southwest one, then counterclockwise. */
export function cornersOf({ west, south, east, north }: BoundingBox): Coordinates[] {
  return [[west, south], [east, south], [east, north], [west, north]]
    .map(([longitude, latitude]) => ({ longitude: longitude!, latitude: latitude! }));
}

const EDGE_POINTS = 16;

/** Returns the points of a box, which has curved edges on the map. */
export function sampleBox(box: BoundingBox): Coordinates[] {
  const corners = cornersOf(box);
  return corners.flatMap(({ longitude, latitude }, corner) => {
    const next = corners[(corner + 1) % 4]!;
    return Array.from({ length: EDGE_POINTS }, (_, i) => ({
      longitude: longitude + (next.longitude - longitude) * i / EDGE_POINTS,
      latitude: latitude + (next.latitude - latitude) * i / EDGE_POINTS,
    }));
  });
}
