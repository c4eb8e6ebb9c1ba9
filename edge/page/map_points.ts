// The points and labels of a map. Positions are percentages, so that the browser can scale the map.
import { html } from "hono/html";
import { type Form, pageUrl } from "./form.ts";
import type { LocationInfo, Results } from "./load.ts";
import { formatView, viewOf } from "./map_view.ts";
import { PLACES } from "./outlines.ts";
import { CANADA_WIDTH, type Coordinates, type Frame, type Pixel, type Size } from "./projection.ts";
import { percent } from "./scale.ts";
import type { Html } from "./text.ts";

/** What a map shows, and where. */
export interface MapDrawing {
  form: Form;
  results: Pick<Results, "locations" | "others" | "selection">;
  /** The browser scales outlines; points and text keep their size. */
  frame: Frame;
}

interface MappedLocation extends LocationInfo {
  position: Coordinates;
}

/** Returns the locations that are on a map. */
export function mappedOf(locations: readonly LocationInfo[]): readonly MappedLocation[] {
  return locations.filter((location): location is MappedLocation =>
    location.position !== undefined
  );
}

export function isInside(
  { size: { width, height }, toPixel }: Frame,
  position: Coordinates,
): boolean {
  const [x, y] = toPixel(position);
  return x >= 0 && y >= 0 && x <= width && y <= height;
}

/** Locations that are drawn as one point. */
interface Cluster {
  x: number;
  y: number;
  members: MappedLocation[];
}

export function drawPoints(map: MapDrawing, className: string): Html {
  const { frame, results: { locations, others = [] } } = map;
  const toClusters = (locations: readonly LocationInfo[]) =>
    mergePoints(
      mappedOf(locations).filter(({ position }) => isInside(frame, position)).map((location) => {
        const [x, y] = frame.toPixel(location.position);
        return { x, y, members: [location] };
      }),
    );
  const [hollow, filled] = [toClusters(others), toClusters(locations.list)];
  return html`<g class="${className}">${drawLabels([...hollow, ...filled], frame)}${
    hollow.map((cluster) => drawPoint(cluster, map, "map-point map-other"))
  }${filled.map((cluster) => drawPoint(cluster, map, "map-point"))}</g>`;
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

/** Pixels: radius of a location, and of the smallest and largest cluster, which have room for a number. */
const [LOCATION_RADIUS, MIN_RADIUS, MAX_RADIUS] = [6, 10, 20];
/** Pixels: radius of a location that does not match. */
const OTHER_RADIUS = 4;

function radiusOf({ members: { length } }: Cluster): number {
  if (length === 1) return LOCATION_RADIUS;
  return Math.round(Math.min(MIN_RADIUS + 1.5 * Math.log2(length), MAX_RADIUS));
}

/** Part of the width of a view that a closer one must be below: otherwise a point selects its first location. */
const CLOSER_PART = 5 / 6;

function drawPoint(cluster: Cluster, { form, frame }: MapDrawing, className: string): Html {
  const { formatNumber, formatPlural } = form.locale;
  const { members } = cluster;
  const [first] = members as [MappedLocation];
  const count = members.length;
  const [x, y] = formatPixel([cluster.x, cluster.y], frame.size);
  const isSmall = count === 1 && className.includes("map-other");
  const radius = isSmall ? OTHER_RADIUS : radiusOf(cluster);
  const closer = viewOf(members.map(({ position }) => position), frame.size);
  const isCloser = count > 1 && closer.width < frame.view.width * CLOSER_PART;
  const changes = isCloser ? { view: formatView(closer) } : { selected: first.id };
  const title = count === 1 ? first.name : formatPlural("locations", count);
  const number = formatNumber(count, { notation: "compact" });
  const ring = members.some(({ id }) => id === form.selected) &&
    html`<circle class="map-ring" cx="${x}" cy="${y}" r="${radius + 4}"></circle>`;
  return html`
    <a class="${className}"
      href="${pageUrl(
        form,
        changes,
      )}"><title>${title}</title><circle cx="${x}" cy="${y}" r="${radius}"/>${ring}${count > 1 &&
        html`<text x="${x}" y="${y}" dy="4">${number}</text>`}</a>
  `;
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
function drawLabels(clusters: readonly Cluster[], { view, size, toPixel }: Frame): Html[] {
  const { width, height } = size;
  const around = ([x, y]: Pixel, r: number): Rectangle => [x - r, y - r, x + r, y + r];
  const taken: Rectangle[] = [
    // The buttons, also of a map that is drawn a fifth smaller; the arrows at the right and left, the legend and the scale.
    [width - 100, 0, width, 264],
    [width - 36, height * 0.66 - 14, width, height * 0.66 + 14],
    [0, height * 0.66 - 14, 36, height * 0.66 + 14],
    [0, height - 50, 170, height],
    [width - 120, height - 50, width, height],
    ...clusters.map((cluster) => around([cluster.x, cluster.y], radiusOf(cluster) + 2)),
  ];
  const isFree = ([left, top, right, bottom]: Rectangle) =>
    left > LABEL_MARGIN && top > LABEL_MARGIN && right < width - LABEL_MARGIN &&
    bottom < height - LABEL_MARGIN &&
    !taken.some(([otherLeft, otherTop, otherRight, otherBottom]) =>
      left < otherRight && right > otherLeft && top < otherBottom && bottom > otherTop
    );
  const maxRank = view.width >= CANADA_WIDTH ? 3 : 4;
  return PLACES.filter(({ rank }) => rank <= maxRank).map((place) => {
    const [x, y] = toPixel(place);
    const length = place.name.length * CHARACTER_WIDTH;
    const boxOf = ({ dx, dy, part }: typeof SIDES[number]): Rectangle => {
      const [left, bottom] = [x + dx - part * length, y + dy + 3];
      return [left, bottom - LABEL_HEIGHT, left + length, bottom];
    };
    const side = SIDES.find((side) => isFree(boxOf(side)));
    if (side === undefined) return html``;
    taken.push(boxOf(side), around([x, y], 3));
    const [cx, cy] = formatPixel([x, y], size);
    return html`
      <circle class="map-place" cx="${cx}" cy="${cy}" r="1.6"></circle>
      <text
        class="map-label" x="${cx}" y="${cy}" dx="${side.dx}" dy="${side.dy}"
        text-anchor="${side.anchor}">${place.name}</text>
    `;
  });
}
