// Lambert conformal conic projection of a sphere, with the parallels 49 and 77 (Snyder, USGS Professional Paper
// 1395, pages 106 and 107), and the frame of a drawn map.

/** Part of the world that a map shows: its centre in degrees and its width on the ground. North is up. */
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

/** Degrees. */
export type Coordinates = readonly [longitude: number, latitude: number];
/** Pixels from the left and from the top of a map. */
export type Pixel = readonly [x: number, y: number];

/** Kilometres: radius of a sphere with the area of the Earth. */
export const EARTH_RADIUS = 6371;
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

/** Returns kilometres east of the central meridian, and from the pole towards the south. */
function project([longitude, latitude]: Coordinates, meridian: number): Pixel {
  const angle = CONE * wrap(longitude - meridian) * DEGREE;
  // The map has no south pole.
  const distance = EQUATOR / stretch(Math.max(latitude, -80) * DEGREE) ** CONE;
  return [distance * Math.sin(angle), distance * Math.cos(angle)];
}

/** Kilometres. From this width on, the central meridian is that of Canada. */
export const CANADA_WIDTH = 3500;
const CANADA_MERIDIAN = -95;

/** Canada without its far north, which has few locations. */
export const CANADA: MapView = { longitude: -89.6, latitude: 60, width: 5750 };

/** Converts between degrees and pixels of a map. */
export interface Frame {
  toPixel: (position: Coordinates) => Pixel;
  toPosition: (pixel: Pixel) => Coordinates;
}

export function createFrame({ longitude, latitude, width }: MapView, size: Size): Frame {
  const meridian = width >= CANADA_WIDTH ? CANADA_MERIDIAN : longitude;
  const [centreX, centreY] = project([longitude, latitude], meridian);
  const scale = size.width / width;
  return {
    toPixel(position) {
      const [x, y] = project(position, meridian);
      return [size.width / 2 + (x - centreX) * scale, size.height / 2 + (y - centreY) * scale];
    },
    toPosition([left, top]) {
      const x = centreX + (left - size.width / 2) / scale;
      const y = centreY + (top - size.height / 2) / scale;
      const northing = (EQUATOR / Math.hypot(x, y)) ** (1 / CONE);
      return [
        wrap(meridian + Math.atan2(x, y) / CONE / DEGREE),
        2 * Math.atan(northing) / DEGREE - 90,
      ];
    },
  };
}

/** Returns the box between two opposite corners, such as those of a box that the mouse drew. */
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

const EDGE_POINTS = 16;

/** Returns the points of a box, which has curved edges on the map: first of the south edge, then counterclockwise. */
export function sampleBox({ west, south, east, north }: Bounds): Coordinates[] {
  const corners: Coordinates[] = [[west, south], [east, south], [east, north], [west, north]];
  return corners.flatMap(([longitude, latitude], corner) => {
    const [nextLongitude, nextLatitude] = corners[(corner + 1) % 4]!;
    return Array.from({ length: EDGE_POINTS }, (_, i): Coordinates => [
      longitude + (nextLongitude - longitude) * i / EDGE_POINTS,
      latitude + (nextLatitude - latitude) * i / EDGE_POINTS,
    ]);
  });
}
