// The part of the world that a map shows: as text in a URL, or around locations and boxes.
import type { BoundingBox } from "../../src/odata/bounding_box.ts";
import {
  boundsOfPixels,
  CANADA,
  type Coordinates,
  createFrame,
  type MapView,
  sampleBox,
  type Size,
} from "./projection.ts";
import { rangeOf } from "./scale.ts";

/** Pixels of a map that leads the page, of one in the narrow column, and of one as wide as the page. */
export const MAP_SIZES = {
  lead: { width: 804, height: 588 },
  rail: { width: 402, height: 348 },
  page: { width: 1232, height: 700 },
} as const satisfies Record<string, Size>;

/** Width (km) up to which a view can be empty, because the outlines have few details. */
export const CLOSE_WIDTH = 150;

/** Kilometres. */
export const [MIN_VIEW_WIDTH, MAX_VIEW_WIDTH] = [2, 7000];

/** Formats a view for a URL, such as `-97.21,51.3,420`. */
export function formatView({ longitude, latitude, width }: MapView): string {
  return [+longitude.toFixed(3), +latitude.toFixed(3), +width.toPrecision(4)].join();
}

/** Parses a view of a URL. Returns `undefined` if it is malformed or outside the range of the map. */
export function parseView(text: string): MapView | undefined {
  const [longitude = NaN, latitude = NaN, width = NaN, ...rest] = text.split(",").map(Number);
  const isValid = Math.abs(longitude) <= 180 && latitude >= 20 && latitude <= 88 &&
    width >= MIN_VIEW_WIDTH && width <= MAX_VIEW_WIDTH && rest.length === 0;
  return isValid ? { longitude, latitude, width } : undefined;
}

/** Width (km) of the view of a single position. */
const MIN_FITTED_WIDTH = 120;
const [SOUTH_LIMIT, NORTH_LIMIT] = [38, 84];

/** Returns the view that shows all positions; all of Canada if they are spread over it. */
export function viewOf(positions: readonly Coordinates[], size: Size): MapView {
  const inCanada = positions.filter(({ longitude, latitude }) =>
    longitude >= -145 && longitude <= -48 && latitude === clampLatitude(latitude)
  );
  return fitView(inCanada, size, MIN_FITTED_WIDTH);
}

export function viewOfBox(box: BoundingBox, size: Size): MapView {
  const [south, north] = [clampLatitude(box.south), clampLatitude(box.north)];
  return fitView(sampleBox({ ...box, south, north }), size, MIN_VIEW_WIDTH);
}

/** Returns the view of the URL, or one that shows the box or the locations. */
export function viewOfMap(
  viewText: string,
  list: readonly { position: Coordinates | undefined }[],
  box: BoundingBox | undefined,
  size: Size,
): MapView {
  const positions = list.flatMap(({ position }) => position ?? []);
  return parseView(viewText) ??
    (box ? viewOfBox(box, size) : viewOf(positions, size));
}

export function clampLatitude(latitude: number): number {
  return Math.min(Math.max(latitude, SOUTH_LIMIT), NORTH_LIMIT);
}

/** Part of a map with the positions of a view, so that buttons, legend and scale do not cover them on a phone. */
const FITTED_PART = 0.68;
/** Part of the map's width above which all of Canada is shown. */
const CANADA_PART = 0.6;

function fitView(positions: readonly Coordinates[], size: Size, minWidth: number): MapView {
  if (positions.length === 0) return CANADA;
  let view = CANADA;
  // The central meridian depends on the view, so a second pass fits better.
  for (let turn = 0; turn < 2; turn++) {
    const frame = createFrame(view, size);
    const pixels = positions.map(frame.toPixel);
    const [west, east] = rangeOf(pixels.map(([x]) => x));
    const [north, south] = rangeOf(pixels.map(([, y]) => y));
    const isInCanada = west > 0 && east < size.width && north > 0 && south < size.height;
    if (turn === 0 && isInCanada && east - west > size.width * CANADA_PART) return CANADA;
    const part = Math.max((east - west) / size.width, (south - north) / size.height) / FITTED_PART;
    const width = Math.min(Math.max(view.width * part, minWidth), MAX_VIEW_WIDTH);
    view = { ...frame.toPosition([(west + east) / 2, (north + south) / 2]), width };
  }
  return view;
}

export function boundsOfView(view: MapView): BoundingBox {
  // The higher of both maps.
  const { rail } = MAP_SIZES;
  return boundsOfPixels(createFrame(view, rail), [0, 0], [rail.width, rail.height]);
}
