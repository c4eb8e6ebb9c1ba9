// The map of locations: an SVG of outlines that scales, under an SVG of points and labels that keep their sizes.
import { html } from "hono/html";
import { type Form, isFiltered, pageUrl, readForm } from "./form.ts";
import type { LocationInfo } from "./load.ts";
import { drawPoints, formatPixel, isInside, type MapDrawing } from "./map_points.ts";
import {
  clampLatitude,
  formatView,
  LEAD_SIZE,
  MIN_VIEW_WIDTH,
  parseView,
  RAIL_SIZE,
  viewOf,
  viewOfBox,
} from "./map_view.ts";
import { drawOutlines, drawPath } from "./outlines.ts";
import {
  type Bounds,
  CANADA,
  cornersOf,
  createFrame,
  EARTH_RADIUS,
  type Frame,
  type MapView,
  sampleBox,
  type Size,
} from "./projection.ts";
import { percent, roundUp } from "./scale.ts";
import {
  fill,
  formatNumber,
  formatPlural,
  type Html,
  type Language,
  TEXTS,
  valueName,
} from "./text.ts";

/** Width (pixels) of the map on a phone, for which a wide map has a second layer of points. */
const NARROW_WIDTH = 343;

/** Returns `<div class="map">` with the drawing, buttons, legend and card. */
export function drawMap(
  { form, path, results }: Pick<MapDrawing, "form" | "path" | "results">,
  isLead: boolean,
): Html {
  const size = isLead ? LEAD_SIZE : RAIL_SIZE;
  const { width, height } = size;
  const { locations: { list }, selection: { within: box } } = results;
  const view = parseView(form.view) ??
    (box ? viewOfBox(box, size) : isFiltered(form) ? viewOf(list, size) : CANADA);
  const frame = createFrame(view, size);
  const map = { form, path, results, view, size, frame };
  const text = TEXTS[form.language];
  const narrow = { width: NARROW_WIDTH, height: NARROW_WIDTH * height / width };
  const paths = [
    ...drawOutlines(frame, size, view.width),
    ["box", box && drawPath(sampleBox(box).map(frame.toPixel), true)],
  ];
  return html`
    <div class="map" data-view="${formatView(view)}" data-width="${width}"
      data-height="${height}" role="group" aria-label="${text.map}">
      <a class="skip map-skip" href="#after-map">${text.skipMap}</a>
      <svg class="map-land" viewBox="0 0 ${width} ${height}" aria-hidden="true">${paths.map((
        [layer, d],
      ) =>
        d && html`
          <path class="map-${layer}" d="${d}" />
        `
      )}</svg>
      <svg class="map-points">${drawScale(frame, size, form.language)}${box &&
        drawHandles(box, frame, size)}${drawPoints(map, isLead ? "map-wide" : "")}${isLead &&
        drawPoints({ ...map, size: narrow }, "map-narrow")}</svg>
      ${renderButtons(map)} ${renderLegend(map)} ${renderCard(map)}
      <span id="after-map" tabindex="-1"></span>
    </div>
  `;
}

/** Minimum length (pixels) of the scale bar. */
const MIN_SCALE_LENGTH = 40;
const KILOMETRES_PER_DEGREE = EARTH_RADIUS * Math.PI / 180;

/** Draws a scale bar of a round length, which is right at the centre of the map. */
function drawScale(frame: Frame, { width, height }: Size, language: Language): Html {
  const [x, y] = [width / 2, height / 2];
  const [from, to] = [frame.toPosition([x - 50, y]), frame.toPosition([x + 50, y])];
  const parallel = Math.cos(from.latitude * Math.PI / 180);
  const degrees = Math.hypot(
    to.latitude - from.latitude,
    (to.longitude - from.longitude) * parallel,
  );
  const kilometres = degrees * KILOMETRES_PER_DEGREE / 100;
  const length = roundUp(MIN_SCALE_LENGTH * kilometres);
  const part = length / kilometres / width;
  const [start, middle] = [percent(1 - part), percent(1 - part / 2)];
  return html`
    <g class="map-scale" transform="translate(-20 -16)">
      <line x1="${start}" x2="100%" y1="100%" y2="100%" />
      <rect x="${start}" y="100%" />
      <rect x="100%" y="100%" />
      <text x="${middle}" y="100%" dy="-6">${formatNumber(length, language)} km</text>
    </g>
  `;
}

function drawHandles(box: Bounds, frame: Frame, size: Size): Html {
  const handles = cornersOf(box).map((corner) => {
    const [x, y] = formatPixel(frame.toPixel(corner), size);
    return html`
      <rect x="${x}" y="${y}" width="10" height="10" />
    `;
  });
  return html`<g class="map-handles" transform="translate(-5 -5)">${handles}</g>`;
}

function renderButtons({ form, path, view, size: { width, height }, frame }: MapDrawing): Html {
  const text = TEXTS[form.language];
  const isWhole = view.width >= CANADA.width;
  const button = (sign: string, label: string, view: MapView | undefined) =>
    view
      ? html`<a href="${
        pageUrl(form, { view: formatView(view) }, path)
      }" aria-label="${label}" title="${label}">${sign}</a>`
      : html`<a role="link" aria-disabled="true" aria-label="${label}">${sign}</a>`;
  const move = (sign: string, label: string, x: number, y: number) => {
    const centre = frame.toPosition([width * (1 + x) / 2, height * (1 + y) / 2]);
    return button(sign, label, { ...view, ...centre, latitude: clampLatitude(centre.latitude) });
  };
  const closer = { ...view, width: view.width / 2 };
  const wider = view.width * 2 < CANADA.width ? { ...view, width: view.width * 2 } : CANADA;
  return html`<nav class="map-buttons" aria-label="${text.mapView}">
    ${button("+", text.zoomIn, closer.width < MIN_VIEW_WIDTH ? undefined : closer)}
    ${button("−", text.zoomOut, isWhole ? undefined : wider)}
    ${button("⤢", text.allOfCanada, CANADA)}
    ${
    path === "/" && html`<a class="map-draw" href="#box" title="${text.boxLabel}">${text.box}</a>`
  }
    ${
    !isWhole && html`<span class="map-moves">${[
      move("▲", text.moveNorth, 0, -1),
      move("▼", text.moveSouth, 0, 1),
      move("◀", text.moveWest, -1, 0),
      move("▶", text.moveEast, 1, 0),
    ]}</span>`
  }
  </nav>`;
}

const NO_BOX = { west: "", south: "", east: "", north: "", view: "" };

function renderLegend({ form, path, results, view, size, frame }: MapDrawing): Html {
  const { locations: { list, missing }, others, selection } = results;
  const { language } = form;
  const text = TEXTS[language];
  const countInView = (locations: readonly LocationInfo[]) =>
    locations.filter((location) => isInside(frame.toPixel(location), size)).length;
  const shown = countInView(list);
  const label = shown < list.length
    ? fill(text.locationsInView, { shown, all: list.length }, language)
    : formatPlural("locations", shown, language);
  const link = (changes: Partial<Form>, label: string) =>
    html`<a href="${pageUrl(form, changes, path)}">${label}</a>`;
  const toOthers = { others: others ? "" : "1", view: formatView(view) };
  return html`<p class="map-legend">
    <span class="map-key">${label}</span>
    ${
    others &&
    html`<span class="map-key map-other">${
      formatPlural("others", countInView(others), language)
    }</span>`
  }
    ${
    isFiltered(form) && missing === 0 && link(toOthers, others ? text.hideOthers : text.showOthers)
  }
    ${selection.within && link(NO_BOX, text.removeBox)}
    ${missing > 0 && html`<span>${formatPlural("missing", missing, language)}</span>`}
  </p>`;
}

/** Maximum number of locations at one position in a card. */
const MAX_NAMES = 8;

/** Renders the card of the selected location, and of others at the same position. */
function renderCard({ form, path, results: { locations, others = [] } }: MapDrawing) {
  const { language } = form;
  const text = TEXTS[language];
  const all = [...locations.list, ...others];
  const chosen = all.find(({ id }) => id === form.selected);
  if (!chosen) return;
  const { longitude, latitude } = chosen;
  const [north, south, east, west] = text.compass.split(" ");
  const digits = { minimumFractionDigits: 3, maximumFractionDigits: 3 };
  const degrees = (number: number) => `${formatNumber(Math.abs(number), language, digits)}°`;
  const position = `${degrees(latitude)} ${latitude < 0 ? south : north}, ${degrees(longitude)} ${
    longitude < 0 ? west : east
  }`;
  const here = all.filter((location) =>
    location.longitude === longitude && location.latitude === latitude && location !== chosen
  );
  // The filter excludes other locations.
  const hrefOfOnly = (location: LocationInfo) => {
    const filter = others.includes(location) ? readForm(new URLSearchParams(), language) : form;
    const only = {
      locations: [Number(location.id)],
      where: "",
      selected: "",
      view: "",
      others: "",
    };
    return pageUrl(filter, only);
  };
  return html`<div class="map-card">
    <a class="map-close" href="${
    pageUrl(form, { selected: "" }, path)
  }" aria-label="${text.closeCard}">×</a>
    ${
    [chosen, ...here].slice(0, MAX_NAMES).map((location) =>
      html`<p><strong>${location.name}</strong>
      <span>${[valueName(location.type, language), position].filter(Boolean).join(", ")}</span>
      <a href="${hrefOfOnly(location)}">${text.onlyLocation}</a></p>`
    )
  }
  </div>`;
}
