import { invalidValue, readOptions } from "../validation.ts";
import { type Clause, valueClause } from "./clause.ts";
import { MAX_LATITUDE, MAX_LONGITUDE } from "./map_position.ts";

/**
 * A box of longitudes and latitudes, in decimal degrees (WGS 84). Positions on its edges are outside.
 *
 * @example Prince Edward Island: `{ west: -64.5, south: 45.9, east: -62, north: 47.1 }`
 */
export interface BoundingBox {
  /** Lowest longitude, from -180 to 180. */
  west: number;
  /** Lowest latitude, from -90 to 90. */
  south: number;
  /** Highest longitude, above `west`. */
  east: number;
  /** Highest latitude, above `south`. */
  north: number;
}

export const BOX_FORM = "west,south,east,north in degrees";
export const BOX_EXAMPLE = "-64.5,45.9,-62,47.1";

/** Source: OGC API - Features, Part 1, section 7.15.3. */
export function parseBox(text: string): BoundingBox | undefined {
  const sides = text.split(",").map(parseDegrees);
  if (sides.length !== 4 || sides.includes(undefined)) return undefined;
  const [west, south, east, north] = sides as [number, number, number, number];
  return { west, south, east, north };
}

export function parseDegrees(text: string): number | undefined {
  const trimmed = text.trim();
  return /^[-+]?(\d{1,3}(\.\d*)?|\.\d+)$/.test(trimmed) ? Number(trimmed) : undefined;
}

/** Coordinates need quotes (DataStream Public API, "URL Parameters", `$filter`). */
export function toBoxClauses(
  box: BoundingBox,
  option: string,
): Clause<"Longitude" | "Latitude">[] {
  const sides = readOptions("a bounding box", box, BOX_SIDES, option) as BoundingBox;
  return AXES.flatMap(([field, low, high, max]) => {
    for (const side of [low, high]) {
      const degrees = sides[side];
      if (!(typeof degrees === "number" && Math.abs(degrees) <= max)) {
        const expected = `a number of degrees from -${max} to ${max}`;
        throw invalidValue(`${option}.${side}`, expected, degrees);
      }
    }
    if (sides[low] >= sides[high]) {
      throw invalidValue(`${option}.${low}`, `below ${high} (${sides[high]})`, sides[low]);
    }
    return [
      valueClause(field, "gt", String(sides[low])),
      valueClause(field, "lt", String(sides[high])),
    ];
  });
}

const BOX_SIDES = { west: {}, south: {}, east: {}, north: {} };
const AXES = [
  ["Longitude", "west", "east", MAX_LONGITUDE],
  ["Latitude", "south", "north", MAX_LATITUDE],
] as const;
