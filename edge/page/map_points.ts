// The points and labels of a map. Positions are percentages, so that the browser can scale the map.
import { html } from "hono/html";
import { type Form, pageUrl } from "./form.ts";
import type { LocationInfo, Results } from "./load.ts";
import { formatView, viewOf } from "./map_view.ts";
import { PLACES } from "./outlines.ts";
import {
  CANADA_WIDTH,
  createFrame,
  type Frame,
  type MapView,
  type Pixel,
  type Size,
} from "./projection.ts";
import { percent } from "./scale.ts";
import { formatNumber, formatPlural, type Html } from "./text.ts";

/** What a map shows, and where. */
export interface MapDrawing {
  form: Form;
  path: string;
  results: Pick<Results, "locations" | "others" | "selection">;
  view: MapView;
  /** Pixels for which the map is drawn. The browser scales outlines; points and text keep their size. */
  size: Size;
  frame: Frame;
}

/** Locations that are drawn as one point. */
interface Cluster {
  x: number;
  y: number;
  members: LocationInfo[];
}

export function drawPoints(map: MapDrawing, className: string): Html {
  const { form, size, view, results: { locations, others = [] } } = map;
  const frame = createFrame(view, size);
  const toClusters = (locations: readonly LocationInfo[]) =>
    mergePoints(
      locations.map((location): Cluster => {
        const [x, y] = frame.toPixel(location);
        return { x, y, members: [location] };
      }).filter(({ x, y }) => isInside([x, y], size)),
    );
  const [hollow, filled] = [toClusters(others), toClusters(locations.list)];
  const clusters = [...hollow, ...filled];
  const selected = clusters.filter(({ members }) => members.some(({ id }) => id === form.selected));
  const rings = selected.map((cluster) => {
    const [cx, cy] = formatPixel([cluster.x, cluster.y], size);
    return html`
      <circle class="map-ring" cx="${cx}" cy="${cy}" r="${radiusOf(cluster) + 4}" />
    `;
  });
  return html`<g class="${className}">${drawLabels(clusters, frame, size, view.width)}${
    hollow.map((cluster) => drawPoint(cluster, map, "map-point map-other"))
  }${filled.map((cluster) => drawPoint(cluster, map, "map-point"))}${rings}</g>`;
}

export function isInside([x, y]: Pixel, { width, height }: Size): boolean {
  return x >= 0 && y >= 0 && x <= width && y <= height;
}

export function formatPixel([x, y]: Pixel, { width, height }: Size): [x: string, y: string] {
  return [percent(x / width, 1), percent(y / height, 1)];
}

/** Pixels. */
const MERGE_DISTANCE = 20;

/** Merges points until no two are closer than the distance, at the mean position of their locations. */
function mergePoints(points: readonly Cluster[]): readonly Cluster[] {
  const clusters: Cluster[] = [];
  for (const { x, y, members } of points) {
    const near = clusters.find((other) =>
      (other.x - x) ** 2 + (other.y - y) ** 2 < MERGE_DISTANCE ** 2
    );
    if (near) {
      const part = members.length / (near.members.length + members.length);
      near.x += (x - near.x) * part;
      near.y += (y - near.y) * part;
      near.members.push(...members);
    } else {
      clusters.push({ x, y, members: [...members] });
    }
  }
  return clusters.length < points.length ? mergePoints(clusters) : clusters;
}

const POINT_RADIUS = 6;

function radiusOf({ members: { length } }: Cluster): number {
  return length === 1 ? POINT_RADIUS : Math.round(Math.min(10 + 1.5 * Math.log2(length), 20));
}

function drawPoint(cluster: Cluster, { form, path, view, size }: MapDrawing, className: string) {
  const { members } = cluster;
  const [first] = members as [LocationInfo];
  const [x, y] = formatPixel([cluster.x, cluster.y], size);
  const isSingle = members.length === 1;
  const closer = viewOf(members, size);
  const isCloser = !isSingle && closer.width < view.width / 1.2;
  const changes = isCloser ? { view: formatView(closer) } : { selected: first.id };
  const title = isSingle ? first.name : formatPlural("locations", members.length, form.language);
  const number = formatNumber(members.length, form.language, { notation: "compact" });
  return html`<a class="${className}" href="${
    pageUrl(form, changes, path)
  }"><title>${title}</title><circle
    cx="${x}" cy="${y}" r="${radiusOf(cluster)}"/>${
    !isSingle && html`<text x="${x}" y="${y}" dy="4">${number}</text>`
  }</a>`;
}

/** Pixels from the left and from the top. */
type Rectangle = readonly [left: number, top: number, right: number, bottom: number];

/** Positions of a label relative to its place, the best first. Pixels; `part` is that of its width left of the place. */
const SIDES = [
  { dx: 7, dy: 4, anchor: "start", part: 0 },
  { dx: -7, dy: 4, anchor: "end", part: 1 },
  { dx: 0, dy: 17, anchor: "middle", part: 0.5 },
  { dx: 0, dy: -8, anchor: "middle", part: 0.5 },
];

/** Pixels: mean width of a character, height of a label, and distance from the edges of the map. */
const [CHARACTER_WIDTH, LABEL_HEIGHT, LABEL_MARGIN] = [6.6, 13, 4];

/** Draws the names of towns where they cover neither a point nor each other; the largest towns first. */
function drawLabels(
  clusters: readonly Cluster[],
  frame: Frame,
  { width, height }: Size,
  viewWidth: number,
): readonly Html[] {
  const around = (x: number, y: number, radius: number): Rectangle => [
    x - radius,
    y - radius,
    x + radius,
    y + radius,
  ];
  const taken = [
    // The buttons, the legend and the scale.
    [width - 60, 0, width, 180],
    [0, height - 50, 170, height],
    [width - 120, height - 50, width, height],
    ...clusters.map((cluster) => around(cluster.x, cluster.y, radiusOf(cluster) + 2)),
  ];
  const isFree = ([left, top, right, bottom]: Rectangle) =>
    left > LABEL_MARGIN && top > LABEL_MARGIN && right < width - LABEL_MARGIN &&
    bottom < height - LABEL_MARGIN &&
    !taken.some(([otherLeft, otherTop, otherRight, otherBottom]) =>
      left < otherRight! && right > otherLeft! && top < otherBottom! && bottom > otherTop!
    );
  const maxRank = viewWidth >= CANADA_WIDTH ? 3 : 4;
  return PLACES.filter(({ rank }) => rank <= maxRank).map((place) => {
    const [x, y] = frame.toPixel(place);
    const length = place.name.length * CHARACTER_WIDTH;
    for (const { dx, dy, anchor, part } of SIDES) {
      const left = x + dx - part * length;
      const bottom = y + dy + 3;
      const label: Rectangle = [left, bottom - LABEL_HEIGHT, left + length, bottom];
      if (!isFree(label)) continue;
      taken.push(label, around(x, y, 3));
      const [cx, cy] = formatPixel([x, y], { width, height });
      return html`
        <circle class="map-place" cx="${cx}" cy="${cy}" r="1.6" />
        <text
          class="map-label" x="${cx}" y="${cy}" dx="${dx}" dy="${dy}"
          text-anchor="${anchor}">${place.name}</text>
      `;
    }
    return html``;
  });
}
