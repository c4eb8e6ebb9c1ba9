// The map of locations: an SVG of outlines that scales, under an SVG of points and labels that keep their sizes.
import { html } from "hono/html";
import type { BoundingBox } from "../../src/odata/bounding_box.ts";
import { type Form, isFiltered, NO_SIDES, pageUrl, readForm } from "./form.ts";
import type { LocationInfo } from "./load.ts";
import { drawPoints, formatPixel, isInside, type MapDrawing, mappedOf } from "./map_points.ts";
import {
  clampLatitude,
  CLOSE_WIDTH,
  formatView,
  MAP_SIZES,
  MIN_VIEW_WIDTH,
  viewOfMap,
} from "./map_view.ts";
import { drawOutlines, drawPath, nearestPlace } from "./outlines.ts";
import {
  CANADA,
  type Coordinates,
  cornersOf,
  createFrame,
  type Frame,
  type MapView,
  sampleBox,
  scaleAt,
} from "./projection.ts";
import { roundUp } from "./scale.ts";
import type { Html, Locale } from "./text.ts";

/** Width (pixels) of the smallest map, in which points and names cover nothing. The wide map has two layers of them. */
const NARROW_WIDTH = 320;

/** Returns the drawing with buttons, legend and card, and the surroundings of a close view. */
export function drawMap(
  { form, results }: Omit<MapDrawing, "frame">,
  place: keyof typeof MAP_SIZES,
): Html {
  const size = MAP_SIZES[place];
  const { width, height } = size;
  const { locations: { list }, selection: { within: box } } = results;
  const view = viewOfMap(form.view, isFiltered(form) ? list : [], box, size);
  const frame = createFrame(view, size);
  const map = { form, results, frame };
  const narrow = { width: NARROW_WIDTH, height: NARROW_WIDTH * height / width };
  const small = { ...map, frame: createFrame(view, narrow) };
  const { text } = form.locale;
  const scale = createScaleBar(frame, form.locale);
  const [scaleX, scaleY] = formatPixel(scale.middle, size);
  const paths = [...drawOutlines(frame), ...box ? drawBox(box, frame) : [], ["scale", scale.path]];
  return html`
    <div
      class="map-frame"><div class="map" data-view="${formatView(
        view,
      )}" role="group" aria-label="${text.map}">
      <a class="skip" href="#after-map">${text.skipMap}</a>
      <svg class="map-land" viewBox="0 0 ${width} ${height}" aria-hidden="true">${paths.map((
        [layer, d],
      ) => html`<path class="map-${layer}" d="${d}"></path>`)}</svg>
      <svg class="map-points">
        <text class="map-distance" x="${scaleX}" y="${scaleY}" dy="-6">${scale.label}</text>
        ${place !== "rail" && drawPoints(map, "map-wide")}
        ${drawPoints(small, place === "rail" ? "" : "map-narrow")}
      </svg>
      ${renderButtons(map)}
    </div>${renderLegend(map)} ${renderCard(map)}
    ${view.width <= CLOSE_WIDTH && renderSurroundings(map)}
    <span id="after-map" tabindex="-1"></span></div>
  `;
}

/** Links to the point of a map that has few outlines, and names the nearest town. */
function renderSurroundings({ form, results, frame: { view } }: MapDrawing): Html {
  const { text, fill } = form.locale;
  const { locations: { list }, others = [] } = results;
  const chosen = [...list, ...others].find(({ id }) => id === form.selected) ??
    (list.length === 1 ? list[0] : undefined);
  const point = chosen?.position ?? view;
  const [latitude, longitude] = [point.latitude.toFixed(5), point.longitude.toFixed(5)];
  const marker = `mlat=${latitude}&mlon=${longitude}#map=12/${latitude}/${longitude}`;
  const { place, kilometres, direction } = nearestPlace(point);
  const compass = text.directions.split(" ");
  const near = { place, distance: Math.round(kilometres), direction: compass[direction]! };
  return html`<p class="note"><code>${latitude}, ${longitude}</code>
    <button type="button" class="copy">${text.copy}</button> ·
    ${fill(text.nearestPlace, near)} ·
    <a href="https://www.openstreetmap.org/?${marker}">${text.openStreetMap}</a></p>`;
}

/** Width (pixels) of a handle at a corner of a box. */
const HANDLE = 10;

function drawBox(box: BoundingBox, { toPixel }: Frame): [layer: string, path: string][] {
  const handles = cornersOf(box).map(toPixel)
    .map(([x, y]) =>
      `M${Math.round(x - HANDLE / 2)} ${Math.round(y - HANDLE / 2)}h${HANDLE}v${HANDLE}h-${HANDLE}z`
    );
  return [["box", drawPath(sampleBox(box).map(toPixel), true)], ["handles", handles.join("")]];
}

/** Minimum length (pixels) of the scale bar, and its distances from the right and from the bottom. */
const [MIN_SCALE_LENGTH, SCALE_RIGHT, SCALE_BOTTOM] = [40, 32, 16];

/** Returns a bar of a round length, which is exact at the centre of the map. */
function createScaleBar({ view, size: { width, height } }: Frame, { formatNumber }: Locale) {
  const kilometresPerPixel = view.width / width / scaleAt(view.latitude);
  const kilometres = roundUp(MIN_SCALE_LENGTH * kilometresPerPixel);
  const length = Math.round(kilometres / kilometresPerPixel);
  const [right, bottom] = [width - SCALE_RIGHT, height - SCALE_BOTTOM];
  return {
    path: `M${right} ${bottom - 6}v6h${-length}v-6`,
    middle: [right - length / 2, bottom] as const,
    label: `${formatNumber(kilometres)} km`,
  };
}

function renderButtons({ form, frame: { view, size, toPosition } }: MapDrawing): Html {
  const { text } = form.locale;
  const isWhole = formatView(view) === formatView(CANADA);
  const closer = { ...view, width: Math.max(view.width / 2, MIN_VIEW_WIDTH) };
  const wider = view.width * 2 < CANADA.width ? { ...view, width: view.width * 2 } : CANADA;
  const link = (sign: string, label: string, changes: Partial<Form>, className = "") =>
    html`
      <a class="${className}" href="${pageUrl(form, changes)}" aria-label="${label}"
        title="${label}">${sign}</a>
    `;
  const button = (sign: string, label: string, view: MapView) =>
    link(sign, label, { view: formatView(view) });
  const isEnlarged = form.map === "page";
  /** Centres the map on the position at a part of its width and of its height. */
  const move = (sign: string, label: string, x: number, y: number) => {
    const { longitude, latitude } = toPosition([size.width * x, size.height * y]);
    return button(sign, label, { ...view, longitude, latitude: clampLatitude(latitude) });
  };
  return html`<nav class="map-buttons" aria-label="${text.mapView}">
    ${button("+", text.zoomIn, closer)} ${!isWhole && button("−", text.zoomOut, wider)}
    ${
    form.path === "/" &&
    html`${
      isEnlarged
        ? link("⤡", text.reduceMap, { map: "" })
        : link("⤢", text.enlargeMap, { map: "page", view: formatView(view) })
    }
      <a class="map-draw" href="#box" title="${text.boxLabel}">${text.box}</a>`
  }
    ${
    !isWhole &&
    html`${
      link("Canada", text.allOfCanada, { view: formatView(CANADA) }, "map-word")
    }<span class="map-moves">${[
      move("▲", text.moveNorth, 0.5, 0),
      move("▼", text.moveSouth, 0.5, 1),
      move("◀", text.moveWest, 0, 0.5),
      move("▶", text.moveEast, 1, 0.5),
    ]}</span>`
  }
  </nav>`;
}

function renderLegend({ form, results, frame }: MapDrawing): Html {
  const { locations: { list, missing }, others, selection } = results;
  const { text, formatPlural } = form.locale;
  const mapped = mappedOf(list);
  const outside = mapped.filter(({ position }) => !isInside(frame, position));
  const all = [...list, ...others ?? []];
  const unmapped = all.length - mappedOf(all).length;
  const link = (changes: Partial<Form>, label: string) =>
    html`<a href="${pageUrl(form, changes)}">${label}</a>`;
  const toOthers = { others: others ? "0" : "1", view: formatView(frame.view) };
  return html`<p class="map-legend">
    <span class="map-key">${formatPlural("locations", list.length)}</span>
    ${outside.length > 0 && html`<span>${formatPlural("outside", outside.length)}</span>`}
    ${unmapped > 0 && html`<span>${formatPlural("unmapped", unmapped)}</span>`}
    ${
    others && (others.length > 0 || form.others !== "") &&
    html`<span class="map-key map-other">${formatPlural("others", others.length)}</span>`
  }
    ${
    isFiltered(form) && missing === 0 && link(toOthers, others ? text.hideOthers : text.showOthers)
  }
    ${selection.within && link({ ...NO_SIDES, view: "" }, text.removeBox)}
    ${missing > 0 && html`<span>${formatPlural("missing", missing)}</span>`}
  </p>`;
}

/** Returns the URL of the results of one location. */
export function onlyLocation(form: Form, id: unknown): string {
  const rest = { path: "/", where: "", selected: "", view: "", others: "" };
  return pageUrl(form, { ...rest, locations: [Number(id)] });
}

/** Maximum number of locations at one position in a card. */
const MAX_NAMES = 8;

/** Renders the card of the selected location, and of others at the same position. */
function renderCard({ form, results: { locations, others = [] } }: MapDrawing) {
  const { locale } = form;
  const { text, formatNumber, valueName } = locale;
  const all = [...locations.list, ...others];
  const chosen = all.find(({ id }) => id === form.selected);
  if (!chosen) return;
  const [north, south, east, west] = text.compass.split(" ");
  const digits = { minimumFractionDigits: 3, maximumFractionDigits: 3 };
  const degrees = (number: number) => `${formatNumber(Math.abs(number), digits)}°`;
  const formatPosition = ({ longitude, latitude }: Coordinates) =>
    `${degrees(latitude)} ${latitude < 0 ? south : north}, ` +
    `${degrees(longitude)} ${longitude < 0 ? west : east}`;
  const position = chosen.position && formatPosition(chosen.position);
  const here = mappedOf(all).filter((location) =>
    location.position.longitude === chosen.position?.longitude &&
    location.position.latitude === chosen.position.latitude && location !== chosen
  );
  const unfiltered = readForm(new URLSearchParams(), locale);
  const renderLocation = (location: LocationInfo) => {
    // With the filter, another location has no results.
    const href = onlyLocation(others.includes(location) ? unfiltered : form, location.id);
    return html`<p><strong>${location.name}</strong>
      <span>${[valueName(location.type), position].filter(Boolean).join(", ")}</span>
      <a href="${href}">${text.onlyLocation}</a></p>`;
  };
  return html`<div class="map-card">
    <a class="map-close" href="${
    pageUrl(form, { selected: "" })
  }" aria-label="${text.closeCard}">×</a>
    ${[chosen, ...here].slice(0, MAX_NAMES).map(renderLocation)}
  </div>`;
}
