// The map of locations: an SVG of outlines that scales, under an SVG of points and labels that keep their sizes.
import { html } from "hono/html";
import {
  DRAWING_TEXT,
  type DrawingText,
  fill,
  formatNumber,
  formatPlural,
  type Html,
  type Language,
} from "./drawing_text.ts";
import { drawLine, drawOutlines, formatPath, PATH_SCALE, PLACES } from "./outlines.ts";
import {
  type Bounds,
  CANADA,
  CANADA_WIDTH,
  type Coordinates,
  createFrame,
  EARTH_RADIUS,
  type Frame,
  type MapView,
  type Pixel,
  sampleBox,
  type Size,
} from "./projection.ts";

/** Location of a map. */
export interface MapLocation {
  id: string;
  name: string;
  /** `MonitoringLocationType`. */
  type: string;
  longitude: number;
  latitude: number;
  /** Whether the location matches the whole filter. Others are drawn hollow. */
  matches: boolean;
}

/** Content of a map. */
export interface MapContent {
  locations: readonly MapLocation[];
  view: MapView;
  /** Pixels for which the map is drawn. The browser scales outlines; points and text keep their size. */
  size: Size;
  language: Language;
  /** Drawn as a rectangle with curved edges. */
  box?: Bounds | undefined;
  /** Id of the location with a ring and a card: name, type, position and link. */
  selected?: string | undefined;
  /** Number of locations that were not loaded. */
  missing?: number | undefined;
  /** URL of the page with another view. */
  hrefOfView: (view: MapView) => string;
  /** URL of the page with the card of a location. */
  hrefOfLocation: (location: MapLocation) => string;
  /** URL of the results of one location. */
  hrefOfOnly: (location: MapLocation) => string;
  /** URL of the form's four numbers. Default: no button. A script can draw a box with the mouse instead. */
  hrefOfBox?: string | undefined;
}

/** Pixels of a map that leads the page, and of one in the narrow column. */
export const LEAD_SIZE: Size = { width: 804, height: 588 };
export const RAIL_SIZE: Size = { width: 402, height: 348 };

/** Width (pixels) of the map on a phone, for which a wide map has a second layer of points. */
const NARROW_WIDTH = 343;
/** Distance (pixels) under which points merge. */
const MERGE_DISTANCE = 20;
const POINT_RADIUS = 6;

/** Returns `<div class="map">` with the drawing, buttons, legend and card. */
export function drawMap(content: MapContent): Html {
  const { view, size, language, locations, box } = content;
  const text = DRAWING_TEXT[language];
  const frame = createFrame(view, size);
  const narrow = { width: NARROW_WIDTH, height: NARROW_WIDTH * size.height / size.width };
  const isWide = size.width > NARROW_WIDTH * 1.3;
  const [width, height] = [size.width * PATH_SCALE, size.height * PATH_SCALE];
  return html`
    <div class="map" data-view="${formatView(view)}" data-width="${size.width}" data-height="${size
      .height}"
      role="group" aria-label="${text.map}">
        <a class="skip map-skip" href="#after-map">${text.skipMap}</a>
        <svg class="map-land" viewBox="0 0 ${width} ${height}" aria-hidden="true">
          <path class="map-grid" d="${drawGrid(frame, size, view)}"/>
          ${drawOutlines(frame, size, view.width).map(([layer, path]) =>
            path && html`
              <path class="map-${layer}" d="${path}" />
            `
          )}
          ${box && html`
            <path class="map-box" d="${formatPath(sampleBox(box).map(frame.toPixel), true)}" />
          `}
        </svg>
        <svg class="map-points">
          ${drawScale(frame, size, language)}
          ${box && drawHandles(box, frame, size)}
          ${drawLayer(content, size, isWide ? "map-wide" : "")}
          ${isWide && drawLayer(content, narrow, "map-narrow")}
        </svg>
        ${renderButtons(content, frame, text)}
        ${renderLegend(content, frame, text)}
        ${renderCard(content, locations, text)}
        <span id="after-map" tabindex="-1"></span>
      </div>
  `;
}

/** Range of the width (km) of a view. */
const [MIN_VIEW_WIDTH, MAX_VIEW_WIDTH] = [2, 7000];

/** Formats a view for a URL, such as `-97.21,51.3,420`. */
export function formatView({ longitude, latitude, width }: MapView): string {
  return [+longitude.toFixed(3), +latitude.toFixed(3), +width.toPrecision(4)].join();
}

/** Parses a view of a URL. Returns `undefined` if it is malformed or outside the range of the map. */
export function parseView(text: string): MapView | undefined {
  const [longitude = NaN, latitude = NaN, width = NaN, ...rest] = text.split(",")
    .map((number) => number.trim() === "" ? NaN : Number(number));
  const isValid = Math.abs(longitude) <= 180 && latitude >= 20 && latitude <= 88 &&
    width >= MIN_VIEW_WIDTH && width <= MAX_VIEW_WIDTH && rest.length === 0;
  return isValid ? { longitude, latitude, width } : undefined;
}

/** Pixels around the positions of a view, so that buttons, legend and scale do not cover them. */
const INSETS = { left: 44, right: 64, top: 44, bottom: 56 };
/** Width (km) of the view of a single position. */
const MIN_FITTED_WIDTH = 120;
/** Part of the map's width above which all of Canada is shown. */
const CANADA_PART = 0.6;
const [SOUTH_LIMIT, NORTH_LIMIT] = [38, 84];

/** Returns the view that shows all positions; all of Canada if they are spread over it. */
export function viewOf(
  positions: readonly { longitude: number; latitude: number }[],
  size: Size,
): MapView {
  const inCanada = positions.filter(({ longitude, latitude }) =>
    longitude >= -145 && longitude <= -48 && latitude >= SOUTH_LIMIT && latitude <= NORTH_LIMIT
  );
  const pairs = inCanada.map(({ longitude, latitude }): Coordinates => [longitude, latitude]);
  return fitView(pairs, size, MIN_FITTED_WIDTH);
}

/** Returns the view that shows a whole box. */
export function viewOfBox(box: Bounds, size: Size): MapView {
  return fitView(sampleBox(box).map(([x, y]) => [x, clampLatitude(y)]), size, MIN_VIEW_WIDTH);
}

function clampLatitude(latitude: number): number {
  return Math.min(Math.max(latitude, SOUTH_LIMIT), NORTH_LIMIT);
}

function fitView(positions: readonly Coordinates[], size: Size, minWidth: number): MapView {
  if (positions.length === 0) return CANADA;
  const { left, right, top, bottom } = INSETS;
  const [freeWidth, freeHeight] = [size.width - left - right, size.height - top - bottom];
  let view = CANADA;
  // The central meridian depends on the view, so a second pass fits better.
  for (let turn = 0; turn < 2; turn++) {
    const frame = createFrame(view, size);
    const pixels = positions.map(frame.toPixel);
    const [west, east] = rangeOf(pixels.map(([x]) => x));
    const [north, south] = rangeOf(pixels.map(([, y]) => y));
    const isInCanada = west > 0 && east < size.width && north > 0 && south < size.height;
    if (turn === 0 && isInCanada && east - west > size.width * CANADA_PART) return CANADA;
    const part = Math.max((east - west) / freeWidth, (south - north) / freeHeight);
    const width = Math.min(Math.max(view.width * part, minWidth), MAX_VIEW_WIDTH);
    const zoom = width / view.width;
    const [longitude, latitude] = frame.toPosition([
      (west + east + (right - left) * zoom) / 2,
      (north + south + (bottom - top) * zoom) / 2,
    ]);
    view = { longitude, latitude, width };
  }
  return view;
}

function rangeOf(numbers: readonly number[]): [low: number, high: number] {
  return numbers.reduce(([low, high], n) => [Math.min(low, n), Math.max(high, n)], [
    Infinity,
    -Infinity,
  ]);
}

/** Returns the path of meridians, which are straight, and parallels. */
function drawGrid(frame: Frame, size: Size, view: MapView): string {
  const step = view.width > 2000 ? 10 : view.width > 500 ? 5 : 1;
  // 40 km: a degree of longitude at the north of the map; 111 km: a degree of latitude.
  const [reachX, reachY] = [view.width / 40, view.width / 111];
  const west = Math.floor((view.longitude - reachX) / step) * step;
  const [south, north] = [view.latitude - reachY, Math.min(view.latitude + reachY, 85)];
  const line = (positions: readonly Coordinates[]) => drawLine(positions.map(frame.toPixel), size);
  let path = "";
  for (let x = west; x < view.longitude + reachX; x += step) {
    path += line([[x, south], [x, north]]);
  }
  const CURVE_POINTS = 49;
  for (let y = Math.ceil(south / step) * step; y < north; y += step) {
    path += line(Array.from({ length: CURVE_POINTS }, (_, i): Coordinates => [
      west + 2 * reachX * i / (CURVE_POINTS - 1),
      y,
    ]));
  }
  return path;
}

/** Locations that are drawn as one point. */
interface Cluster {
  x: number;
  y: number;
  members: MapLocation[];
}

/** Draws points and labels for a map of one size. Positions are percentages, so that the browser can scale the map. */
function drawLayer(content: MapContent, size: Size, className: string): Html {
  const { view, locations, language } = content;
  const frame = createFrame(view, size);
  const visible = locations.map((location) => {
    const [x, y] = frame.toPixel([location.longitude, location.latitude]);
    return { x, y, members: [location] };
  }).filter(({ x, y }) => x >= 0 && y >= 0 && x <= size.width && y <= size.height);
  const matchesOf = ({ members }: Cluster) => members[0]!.matches;
  const clusters = [
    ...mergePoints(visible.filter((point) => !matchesOf(point))),
    ...mergePoints(visible.filter(matchesOf)),
  ];
  const selected = clusters.find(({ members }) =>
    members.some(({ id }) => id === content.selected)
  );
  return html`<g class="${className}">
    ${
    placeLabels(clusters, frame, size, view).map(({ name, position, side }) => {
      const [x, y] = formatPixel(position, size);
      return html`
        <circle class="map-place" cx="${x}" cy="${y}" r="1.6" />
        <text class="map-label" x="${x}" y="${y}" dx="${side.dx}" dy="${side.dy}"
          text-anchor="${side.anchor}">${name}</text>
      `;
    })
  }
    ${clusters.map((cluster) => drawPoint(cluster, size, content, language))}
    ${selected && drawRing(selected, size)}
  </g>`;
}

function formatPixel({ x, y }: { x: number; y: number }, size: Size): [x: string, y: string] {
  const format = (part: number) => `${+(part * 100).toFixed(1)}%`;
  return [format(x / size.width), format(y / size.height)];
}

function drawRing(point: Cluster, size: Size): Html {
  const [x, y] = formatPixel(point, size);
  return html`
    <circle class="map-ring" cx="${x}" cy="${y}" r="${radiusOf(point) + 4}" />
  `;
}

/** Merges points until no two are closer than the distance, at the mean position of their locations. */
function mergePoints(points: readonly Cluster[]): Cluster[] {
  let merged: Cluster[] = [];
  let before = points;
  do {
    if (merged.length > 0) before = merged;
    merged = mergeOnce(before);
  } while (merged.length < before.length);
  return merged;
}

/** Points are indexed by square cells as wide as the distance. A row has more cells than a map is wide. */
const CELL_ROW = 1000;
const NEIGHBOURS = [-1, 0, 1].flatMap((row) => [-1, 0, 1].map((column) => row * CELL_ROW + column));

function mergeOnce(points: readonly Cluster[]): Cluster[] {
  const cells = new Map<number, Cluster[]>();
  const clusters: Cluster[] = [];
  for (const { x, y, members } of points) {
    const cell = Math.floor(x / MERGE_DISTANCE) + CELL_ROW * Math.floor(y / MERGE_DISTANCE);
    let near: Cluster | undefined;
    for (const neighbour of NEIGHBOURS) {
      near ??= cells.get(cell + neighbour)?.find((other) =>
        Math.hypot(other.x - x, other.y - y) < MERGE_DISTANCE
      );
    }
    if (near) {
      const total = near.members.length + members.length;
      // A cluster stays in the cell of its first point, because it moves by less than a cell.
      near.x += (x - near.x) * members.length / total;
      near.y += (y - near.y) * members.length / total;
      near.members.push(...members);
    } else {
      const cluster = { x, y, members: [...members] };
      clusters.push(cluster);
      const others = cells.get(cell);
      if (others) others.push(cluster);
      else cells.set(cell, [cluster]);
    }
  }
  return clusters;
}

function radiusOf({ members: { length } }: Cluster): number {
  return length === 1 ? POINT_RADIUS : Math.min(10 + 1.5 * Math.log2(length), 20);
}

function drawPoint(
  cluster: Cluster,
  size: Size,
  { view, hrefOfView, hrefOfLocation }: MapContent,
  language: Language,
): Html {
  const { members } = cluster;
  const [first] = members as [MapLocation];
  const [x, y] = formatPixel(cluster, size);
  const radius = +radiusOf(cluster).toFixed(1);
  const className = first.matches ? "map-point" : "map-point map-other";
  const circle = html`
    <circle cx="${x}" cy="${y}" r="${radius}" />
  `;
  if (members.length === 1) {
    return html`<a class="${className}" href="${
      hrefOfLocation(first)
    }"><title>${first.name}</title>${circle}</a>`;
  }
  const closer = viewOf(members, size);
  const isCloser = closer.width < view.width / 1.2;
  const href = isCloser ? hrefOfView(closer) : hrefOfLocation(first);
  const number = formatNumber(members.length, language, { notation: "compact" });
  const title = formatPlural(DRAWING_TEXT[language].locations, members.length, language);
  return html`
    <a class="${className}"
      href="${href}"><title>${title}</title>${circle}<text x="${x}" y="${y}" dy="4">${number}</text></a>
  `;
}

interface Rectangle {
  left: number;
  top: number;
  right: number;
  bottom: number;
}

interface Label {
  name: string;
  position: { x: number; y: number };
  side: typeof SIDES[number];
}

/** Positions of a label relative to its place, the best first. Pixels. */
const SIDES = [
  { dx: 7, dy: 4, anchor: "start", left: 0 },
  { dx: -7, dy: 4, anchor: "end", left: 1 },
  { dx: 0, dy: 17, anchor: "middle", left: 0.5 },
  { dx: 0, dy: -8, anchor: "middle", left: 0.5 },
] as const;

/** Pixels: mean width of a character, and height of a label. */
const [CHARACTER_WIDTH, LABEL_HEIGHT] = [6.6, 13];
/** Pixels of the corners that buttons, legend and scale cover. */
const CORNERS = { buttons: [60, 180], legend: [170, 50], scale: [120, 50] } as const;

/** Places the names of towns where they cover neither a point nor each other; the largest towns first. */
function placeLabels(
  clusters: readonly Cluster[],
  frame: Frame,
  size: Size,
  view: MapView,
): Label[] {
  const { width, height } = size;
  const corner = (x: number, y: number, [w, h]: readonly [number, number]) => ({
    left: x ? width - w : 0,
    right: x ? width : w,
    top: y ? height - h : 0,
    bottom: y ? height : h,
  });
  const taken: Rectangle[] = [
    corner(1, 0, CORNERS.buttons),
    corner(0, 1, CORNERS.legend),
    corner(1, 1, CORNERS.scale),
    ...clusters.map((cluster) => {
      const { x, y } = cluster;
      const radius = radiusOf(cluster) + 2;
      return { left: x - radius, right: x + radius, top: y - radius, bottom: y + radius };
    }),
  ];
  const isFree = (label: Rectangle) =>
    label.left > 4 && label.top > 4 && label.right < width - 4 && label.bottom < height - 4 &&
    !taken.some((other) =>
      label.left < other.right && label.right > other.left && label.top < other.bottom &&
      label.bottom > other.top
    );
  const maxRank = view.width >= CANADA_WIDTH ? 3 : 4;
  return PLACES.filter(({ rank }) => rank <= maxRank).flatMap(({ name, longitude, latitude }) => {
    const [x, y] = frame.toPixel([longitude, latitude]);
    const length = name.length * CHARACTER_WIDTH;
    for (const side of SIDES) {
      const left = x + side.dx - side.left * length;
      const bottom = y + side.dy + 3;
      const label = { left, right: left + length, top: bottom - LABEL_HEIGHT, bottom };
      if (!isFree(label)) continue;
      taken.push(label, { left: x - 3, right: x + 3, top: y - 3, bottom: y + 3 });
      return [{ name, position: { x, y }, side }];
    }
    return [];
  });
}

/** Maximum length (pixels) of the scale bar. */
const MAX_SCALE_LENGTH = 90;

/** Draws a scale bar of a round length, which is exact at the centre of the map. */
function drawScale(frame: Frame, size: Size, language: Language): Html {
  const [x, y] = [size.width / 2, size.height / 2];
  const kilometres = distanceOf(frame.toPosition([x - 50, y]), frame.toPosition([x + 50, y])) / 100;
  const length = roundDown(MAX_SCALE_LENGTH * kilometres);
  const percent = 100 * length / kilometres / size.width;
  const [start, middle] = [percent, percent / 2].map((part) => `${+(100 - part).toFixed(2)}%`);
  return html`
    <g class="map-scale" transform="translate(-20 -16)">
      <line x1="${start}" x2="100%" y1="100%" y2="100%" />
      <rect x="${start}" y="100%" />
      <rect x="100%" y="100%" />
      <text x="${middle}" y="100%" dy="-6" text-anchor="middle">${formatNumber(
        length,
        language,
      )} km</text>
    </g>
  `;
}

/** Great-circle distance in kilometres. */
function distanceOf([west, south]: Coordinates, [east, north]: Coordinates): number {
  const radians = Math.PI / 180;
  const half = (degrees: number) => Math.sin(degrees * radians / 2) ** 2;
  const part = half(north - south) +
    Math.cos(south * radians) * Math.cos(north * radians) * half(east - west);
  return 2 * EARTH_RADIUS * Math.asin(Math.sqrt(part));
}

/** Rounds down to 1, 2 or 5 times a power of ten. */
function roundDown(number: number): number {
  const power = 10 ** Math.floor(Math.log10(number));
  return (number >= 5 * power ? 5 : number >= 2 * power ? 2 : 1) * power;
}

function drawHandles({ west, south, east, north }: Bounds, frame: Frame, size: Size): Html {
  const corners: Coordinates[] = [[west, south], [east, south], [east, north], [west, north]];
  return html`<g class="map-handles" transform="translate(-5 -5)">${
    corners.map((corner) => {
      const [left, top] = frame.toPixel(corner);
      const [x, y] = formatPixel({ x: left, y: top }, size);
      return html`
        <rect x="${x}" y="${y}" width="10" height="10" />
      `;
    })
  }</g>`;
}

function renderButtons(
  { view, size, hrefOfView, hrefOfBox }: MapContent,
  { toPosition }: Frame,
  text: DrawingText,
): Html {
  const { width, height } = size;
  const isWhole = view.width >= CANADA.width;
  const zoomOut = view.width * 2 < CANADA.width ? { ...view, width: view.width * 2 } : CANADA;
  const move = ([x, y]: Pixel) => {
    const [longitude, latitude] = toPosition([width / 2 + x * width, height / 2 + y * height]);
    return { longitude, latitude: clampLatitude(latitude), width: view.width };
  };
  const button = (sign: string, label: string, view?: MapView) =>
    view
      ? html`<a href="${hrefOfView(view)}" aria-label="${label}" title="${label}">${sign}</a>`
      : html`<a role="link" aria-disabled="true" aria-label="${label}">${sign}</a>`;
  const closer = { ...view, width: view.width / 2 };
  return html`<nav class="map-buttons" aria-label="${text.mapView}">
    ${button("+", text.zoomIn, closer.width < MIN_VIEW_WIDTH ? undefined : closer)}
    ${button("−", text.zoomOut, isWhole ? undefined : zoomOut)}
    ${button("⤢", text.wholeMap, CANADA)}
    ${
    hrefOfBox &&
    html`<a class="map-draw" href="${hrefOfBox}" title="${text.boxLabel}">${text.box}</a>`
  }
    ${
    !isWhole && html`<span class="map-moves">
      ${button("▲", text.north, move([0, -0.5]))}${button("▼", text.south, move([0, 0.5]))}
      ${button("◀", text.west, move([-0.5, 0]))}${button("▶", text.east, move([0.5, 0]))}
    </span>`
  }
  </nav>`;
}

function renderLegend(
  { locations, missing = 0, size, language }: MapContent,
  { toPixel }: Frame,
  text: DrawingText,
): Html {
  const matching = locations.filter(({ matches }) => matches);
  const shown = matching.filter(({ longitude, latitude }) => {
    const [x, y] = toPixel([longitude, latitude]);
    return x >= 0 && y >= 0 && x <= size.width && y <= size.height;
  }).length;
  const others = locations.length - matching.length;
  return html`<p class="map-legend">
    <span class="map-key">${
    shown < matching.length
      ? fill(text.locationsInView, { shown, all: matching.length }, language)
      : formatPlural(text.locations, shown, language)
  }</span>
    ${
    others > 0 &&
    html`<span class="map-key map-other">${formatPlural(text.others, others, language)}</span>`
  }
    ${missing > 0 && html`<span>${formatPlural(text.missing, missing, language)}</span>`}
  </p>`;
}

/** Maximum number of locations at one position in a card. */
const MAX_NAMES = 8;

/** Renders the card of the selected location, and of others at the same position. */
function renderCard(
  { selected, language, hrefOfOnly, view, hrefOfView }: MapContent,
  locations: readonly MapLocation[],
  text: DrawingText,
): Html | undefined {
  const chosen = locations.find(({ id }) => id === selected);
  if (!chosen) return;
  const { longitude, latitude } = chosen;
  const degrees = (number: number, [positive, negative]: readonly [string, string]) =>
    `${
      formatNumber(Math.abs(number), language, {
        minimumFractionDigits: 3,
        maximumFractionDigits: 3,
      })
    }° ${number < 0 ? negative : positive}`;
  const { north, south, east, west } = text.directions;
  const position = `${degrees(latitude, [north, south])}, ${degrees(longitude, [east, west])}`;
  const here = locations.filter((location) =>
    location.longitude === longitude && location.latitude === latitude && location !== chosen
  );
  return html`<div class="map-card">
    <a class="map-close" href="${hrefOfView(view)}" aria-label="${text.closeCard}">×</a>
    ${
    [chosen, ...here].slice(0, MAX_NAMES).map((location) =>
      html`<p><strong>${location.name}</strong>
      <span>${[location.type, position].filter(Boolean).join(", ")}</span>
      <a href="${hrefOfOnly(location)}">${text.onlyLocation}</a></p>`
    )
  }
  </div>`;
}
