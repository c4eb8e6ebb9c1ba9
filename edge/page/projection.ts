// Lambert conformal conic projection of a sphere (Snyder, USGS Professional Paper 1395, pages 106 to 107), and
// the frame of a drawn map. It imports nothing, so that the script of the page can use it.

/** Part of the map that is drawn: its centre in degrees, and its width on the ground. North is up at the centre. */
export interface MapView {
  longitude: number;
  latitude: number;
  /** Kilometres. */
  width: number;
}

/** Degrees. */
export interface Bounds {
  west: number;
  south: number;
  east: number;
  north: number;
}

/** Pixels. */
export interface Size {
  width: number;
  height: number;
}

/** Longitude and latitude in degrees. */
export type Position = readonly [longitude: number, latitude: number];
/** Pixels from the left and from the top. */
export type Pixel = readonly [x: number, y: number];

/** Kilometres: radius of a sphere with the surface of the Earth. */
const RADIUS = 6371;
const DEGREE = Math.PI / 180;
const SOUTH_PARALLEL = 49 * DEGREE;
const NORTH_PARALLEL = 77 * DEGREE;

const halfColatitude = (latitude: number) => Math.tan(Math.PI / 4 + latitude / 2);
const CONE = Math.log(Math.cos(SOUTH_PARALLEL) / Math.cos(NORTH_PARALLEL)) /
  Math.log(halfColatitude(NORTH_PARALLEL) / halfColatitude(SOUTH_PARALLEL));
const FACTOR = RADIUS * Math.cos(SOUTH_PARALLEL) * halfColatitude(SOUTH_PARALLEL) ** CONE / CONE;

/** Returns kilometres east of the central meridian, and north of the pole (so always negative). */
export function project([longitude, latitude]: Position, meridian: number): Pixel {
  const radius = FACTOR / halfColatitude(latitude * DEGREE) ** CONE;
  const angle = CONE * (wrap(longitude - meridian)) * DEGREE;
  return [radius * Math.sin(angle), -radius * Math.cos(angle)];
}

/** Inverse of {@linkcode project}. */
export function unproject([x, y]: Pixel, meridian: number): Position {
  const angle = Math.atan2(x, -y);
  const latitude = 2 * Math.atan((FACTOR / Math.hypot(x, y)) ** (1 / CONE)) - Math.PI / 2;
  return [wrap(meridian + angle / CONE / DEGREE), latitude / DEGREE];
}

/** Returns the same longitude from -180 to 180. */
function wrap(longitude: number): number {
  return longitude - 360 * Math.round(longitude / 360);
}

/** Converts between degrees and pixels of a drawn view. */
export interface Frame {
  toPixel: (position: Position) => Pixel;
  toPosition: (pixel: Pixel) => Position;
}

/** Width (km) from which on the central meridian is that of Canada. */
const CANADA_WIDTH = 3500;
const CANADA_MERIDIAN = -95;

/** All of Canada that has many locations; its far north is cut off. */
export const CANADA: MapView = { longitude: -94, latitude: 60.2, width: 5300 };

export function createFrame(view: MapView, { width, height }: Size): Frame {
  const meridian = view.width >= CANADA_WIDTH ? CANADA_MERIDIAN : view.longitude;
  const [centreX, centreY] = project([view.longitude, view.latitude], meridian);
  const scale = width / view.width;
  return {
    toPixel(position) {
      const [x, y] = project(position, meridian);
      return [width / 2 + (x - centreX) * scale, height / 2 - (y - centreY) * scale];
    },
    toPosition: ([x, y]) =>
      unproject([centreX + (x - width / 2) / scale, centreY - (y - height / 2) / scale], meridian),
  };
}

/**
 * Returns the box between two opposite corners in pixels, such as a box that the mouse drew.
 *
 * A browser can show the map larger or smaller than `size`: scale its pixels first.
 */
export function boundsOfPixels(view: MapView, size: Size, corner: Pixel, opposite: Pixel): Bounds {
  const { toPosition } = createFrame(view, size);
  const [[west, south], [east, north]] = [toPosition(corner), toPosition(opposite)];
  return {
    west: Math.min(west, east),
    south: Math.min(south, north),
    east: Math.max(west, east),
    north: Math.max(south, north),
  };
}

/** Returns points along the edges of a box, which are curves on the map. */
export function sampleBox({ west, south, east, north }: Bounds): Position[] {
  const STEPS = 16;
  const side = ([x0, y0]: Position, [x1, y1]: Position) =>
    Array.from({ length: STEPS }, (_, i): Position => {
      const part = i / STEPS;
      return [x0 + (x1 - x0) * part, y0 + (y1 - y0) * part];
    });
  const corners: Position[] = [[west, south], [east, south], [east, north], [west, north]];
  return corners.flatMap((corner, i) => side(corner, corners[(i + 1) % 4]!));
}
