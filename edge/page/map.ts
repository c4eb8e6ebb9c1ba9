// The map of locations: an SVG of outlines that scales, under an SVG of points and labels that keep their sizes.
import { html } from "hono/html";
import {
  DRAWING_TEXT,
  fill,
  formatNumber,
  formatPlural,
  type Html,
  type Language,
} from "./drawing_text.ts";
import {
  drawPoints,
  formatPixel,
  isInside,
  type MapLocation,
  type PointsContent,
} from "./map_points.ts";
import { clampLatitude, formatView, MIN_VIEW_WIDTH } from "./map_view.ts";
import { drawLine, drawOutlines, formatPath } from "./outlines.ts";
import {
  type Bounds,
  CANADA,
  type Coordinates,
  createFrame,
  EARTH_RADIUS,
  type Frame,
  type MapView,
  sampleBox,
  type Size,
} from "./projection.ts";
import { roundUp } from "./scale.ts";
import { element, percent } from "./element.ts";

export interface MapContent extends PointsContent {
  /** Pixels for which the map is drawn. The browser scales outlines; points and text keep their size. */
  size: Size;
  /** Drawn as a rectangle with curved edges. */
  box?: Bounds | undefined;
  /** Number of locations that were not loaded. */
  missing?: number | undefined;
  /** Whether the locations have all those of the view that do not match. */
  hasOthers?: boolean;
  hrefOfOnly: (location: MapLocation) => string;
  /** URL of the form's four numbers. Default: no button. A script can draw a box with the mouse instead. */
  hrefOfBox?: string | undefined;
  /** URL of the page without the box. Default: no link. */
  hrefWithoutBox?: string | undefined;
  /** URL of the map with locations that do not match, or without them. Default: no link. */
  hrefOfOthers?: string | undefined;
}

/** Width (pixels) of the map on a phone, for which a wide map has a second layer of points. */
const NARROW_WIDTH = 343;

/** Returns `<div class="map">` with the drawing, buttons, legend and card. */
export function drawMap(content: MapContent): Html {
  const { view, size, language, box } = content;
  const { width, height } = size;
  const text = DRAWING_TEXT[language];
  const frame = createFrame(view, size);
  const narrow = { width: NARROW_WIDTH, height: NARROW_WIDTH * height / width };
  const isWide = width > NARROW_WIDTH * 1.3;
  const paths = [
    ["grid", drawGrid(frame, size, view)],
    ...drawOutlines(frame, size, view.width),
    ["box", box && formatPath(sampleBox(box).map(frame.toPixel), true)],
  ];
  return html`
    <div class="map" data-view="${formatView(view)}" data-width="${width}"
      data-height="${height}" role="group" aria-label="${text.map}">
        <a class="skip map-skip" href="#after-map">${text.skipMap}</a>
        ${element(
          "svg",
          {
            class: "map-land",
            viewBox: `0 0 ${width} ${height}`,
            "aria-hidden": "true",
          },
          paths.map(([layer, d]) => d && element("path", { class: `map-${layer}`, d })),
        )}
        ${element(
          "svg",
          { class: "map-points" },
          drawScale(frame, size, language),
          box && drawHandles(box, frame, size),
          drawPoints(content, size, isWide ? "map-wide" : ""),
          isWide && drawPoints(content, narrow, "map-narrow"),
        )}
        ${renderButtons(content, frame)}
        ${renderLegend(content, frame)}
        ${renderCard(content)}
        <span id="after-map" tabindex="-1"></span>
      </div>
  `;
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
  for (let x = west; x < view.longitude + reachX; x += step) path += line([[x, south], [x, north]]);
  const parts = Array.from({ length: 49 }, (_, i) => i / 48);
  for (let y = Math.ceil(south / step) * step; y < north; y += step) {
    path += line(parts.map((part) => [west + 2 * reachX * part, y]));
  }
  return path;
}

/** Minimum length (pixels) of the scale bar. */
const MIN_SCALE_LENGTH = 40;
const KILOMETRES_PER_DEGREE = EARTH_RADIUS * Math.PI / 180;

/** Draws a scale bar of a round length, which is right at the centre of the map. */
function drawScale(frame: Frame, { width, height }: Size, language: Language): Html {
  const [x, y] = [width / 2, height / 2];
  const [west, south] = frame.toPosition([x - 50, y]);
  const [east, north] = frame.toPosition([x + 50, y]);
  const degrees = Math.hypot(north - south, (east - west) * Math.cos(south * Math.PI / 180));
  const kilometres = degrees * KILOMETRES_PER_DEGREE / 100;
  const length = roundUp(MIN_SCALE_LENGTH * kilometres);
  const part = length / kilometres / width;
  const [start, end] = [percent(1 - part), "100%"];
  const label = { x: percent(1 - part / 2), y: end, dy: -6, "text-anchor": "middle" };
  return element(
    "g",
    { class: "map-scale", transform: "translate(-20 -16)" },
    element("line", { x1: start, x2: end, y1: end, y2: end }),
    element("rect", { x: start, y: end }),
    element("rect", { x: end, y: end }),
    element("text", label, `${formatNumber(length, language)} km`),
  );
}

function drawHandles({ west, south, east, north }: Bounds, frame: Frame, size: Size): Html {
  const corners: Coordinates[] = [[west, south], [east, south], [east, north], [west, north]];
  const handles = corners.map((corner) => {
    const [x, y] = formatPixel(frame.toPixel(corner), size);
    return element("rect", { x, y, width: 10, height: 10 });
  });
  return element("g", { class: "map-handles", transform: "translate(-5 -5)" }, handles);
}

function renderButtons(content: MapContent, { toPosition }: Frame): Html {
  const { view, size: { width, height }, language, hrefOfView, hrefOfBox } = content;
  const text = DRAWING_TEXT[language];
  const isWhole = view.width >= CANADA.width;
  const button = (sign: string, label: string, view: MapView | undefined) =>
    view
      ? html`<a href="${hrefOfView(view)}" aria-label="${label}" title="${label}">${sign}</a>`
      : html`<a role="link" aria-disabled="true" aria-label="${label}">${sign}</a>`;
  const move = (sign: string, label: string, x: number, y: number) => {
    const [longitude, latitude] = toPosition([width * (1 + x) / 2, height * (1 + y) / 2]);
    return button(sign, label, { ...view, longitude, latitude: clampLatitude(latitude) });
  };
  const closer = { ...view, width: view.width / 2 };
  const wider = view.width * 2 < CANADA.width ? { ...view, width: view.width * 2 } : CANADA;
  const moves = [
    move("▲", text.north, 0, -1),
    move("▼", text.south, 0, 1),
    move("◀", text.west, -1, 0),
    move("▶", text.east, 1, 0),
  ];
  return html`<nav class="map-buttons" aria-label="${text.mapView}">
    ${button("+", text.zoomIn, closer.width < MIN_VIEW_WIDTH ? undefined : closer)}
    ${button("−", text.zoomOut, isWhole ? undefined : wider)}
    ${button("⤢", text.wholeMap, CANADA)}
    ${
    hrefOfBox &&
    html`<a class="map-draw" href="${hrefOfBox}" title="${text.boxLabel}">${text.box}</a>`
  }
    ${!isWhole && html`<span class="map-moves">${moves}</span>`}
  </nav>`;
}

function renderLegend(content: MapContent, { toPixel }: Frame): Html {
  const { locations, missing = 0, hasOthers = false, size, language } = content;
  const { hrefOfOthers, hrefWithoutBox } = content;
  const text = DRAWING_TEXT[language];
  const shown = locations.filter(({ longitude, latitude }) =>
    isInside(toPixel([longitude, latitude]), size)
  );
  const countMatching = (list: readonly MapLocation[]) =>
    list.filter(({ matches }) => matches).length;
  const [matching, all] = [countMatching(shown), countMatching(locations)];
  const others = shown.length - matching;
  const label = matching < all
    ? fill(text.locationsInView, { shown: matching, all }, language)
    : formatPlural(text.locations, matching, language);
  const key = (className: string, label: string) => element("span", { class: className }, label);
  const link = (href: string, label: string) => element("a", { href }, label);
  return element(
    "p",
    { class: "map-legend" },
    key("map-key", label),
    hasOthers && key("map-key map-other", formatPlural(text.others, others, language)),
    hrefOfOthers && link(hrefOfOthers, hasOthers ? text.hideOthers : text.showOthers),
    hrefWithoutBox && link(hrefWithoutBox, text.removeBox),
    missing > 0 && element("span", {}, formatPlural(text.missing, missing, language)),
  );
}

/** Maximum number of locations at one position in a card. */
const MAX_NAMES = 8;

/** Renders the card of the selected location, and of others at the same position. */
function renderCard(content: MapContent): Html | undefined {
  const { locations, selected, language, hrefOfOnly, hrefOfLocation } = content;
  const text = DRAWING_TEXT[language];
  const chosen = locations.find(({ id }) => id === selected);
  if (!chosen) return;
  const { longitude, latitude } = chosen;
  const { north, south, east, west } = text.directions;
  const digits = { minimumFractionDigits: 3, maximumFractionDigits: 3 };
  const degrees = (number: number) => `${formatNumber(Math.abs(number), language, digits)}°`;
  const position = `${degrees(latitude)} ${latitude < 0 ? south : north}, ${degrees(longitude)} ${
    longitude < 0 ? west : east
  }`;
  const here = locations.filter((location) =>
    location.longitude === longitude && location.latitude === latitude && location !== chosen
  );
  return html`<div class="map-card">
    <a class="map-close" href="${hrefOfLocation()}" aria-label="${text.closeCard}">×</a>
    ${
    [chosen, ...here].slice(0, MAX_NAMES).map((location) =>
      html`<p><strong>${location.name}</strong>
      <span>${[location.type, position].filter(Boolean).join(", ")}</span>
      <a href="${hrefOfOnly(location)}">${text.onlyLocation}</a></p>`
    )
  }
  </div>`;
}
