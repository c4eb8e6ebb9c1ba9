import { html } from "hono/html";
import type { Language } from "./drawing_text.ts";
import { type Bounds, CANADA, type MapView, type Size } from "./projection.ts";

type Html = ReturnType<typeof html>;

export interface MapLocation {
  id: string;
  name: string;
  /** `MonitoringLocationType`. */
  type: string;
  longitude: number;
  latitude: number;
  /** Whether it matches the whole filter; others are hollow. */
  matches: boolean;
}

export interface MapContent {
  locations: readonly MapLocation[];
  view: MapView;
  /** Pixels at which points merge. The browser scales the map; points and text keep their size. */
  size: Size;
  language: Language;
  /** Drawn as a rectangle whose edges are curves. */
  box?: Bounds | undefined;
  /** Id of the location with a ring and a card (name, type, position, link). */
  selected?: string | undefined;
  /** Number of locations that were not loaded. */
  missing?: number | undefined;
  /** URL of the page with another view. */
  hrefOfView: (view: MapView) => string;
  /** URL of the page with the card of a location. */
  hrefOfLocation: (location: MapLocation) => string;
  /** URL of the results of one location only. */
  hrefOfOnly: (location: MapLocation) => string;
  /** URL of the form's four numbers; no button without it. A script draws a box with the mouse instead. */
  hrefOfBox?: string | undefined;
}

/** Sizes of the map when it leads the page, and when it is in the rail. */
export const LEAD_SIZE: Size = { width: 804, height: 588 };
export const RAIL_SIZE: Size = { width: 402, height: 348 };

/** Returns `<div class="map">` with an SVG, buttons, legend and card. */
export function drawMap(_content: MapContent): Html {
  return html`<div class="map"></div>`;
}

/** Returns the view that shows all positions, or all of Canada without positions. */
export function viewOf(
  _positions: readonly { longitude: number; latitude: number }[],
  _size: Size,
): MapView {
  return CANADA;
}

/** Returns the view that shows a whole box. */
export function viewOfBox(_box: Bounds, _size: Size): MapView {
  return CANADA;
}

/** Formats a view for a URL, such as `-97.21,51.3,420`. */
export function formatView({ longitude, latitude, width }: MapView): string {
  return [+longitude.toFixed(3), +latitude.toFixed(3), +width.toPrecision(4)].join();
}

/** Parses a view of a URL. Returns `undefined` if it is malformed or outside the map. */
export function parseView(_text: string): MapView | undefined {
  return undefined;
}
