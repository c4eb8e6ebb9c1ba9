import { invalidValue, requireOptions } from "../validation.ts";
import type { Clause } from "./clause.ts";

/**
 * A box of longitudes and latitudes, in decimal degrees (WGS 84). Positions on its edges are outside.
 *
 * @example The observations of the locations inside a box
 * ```ts
 * import { type BoundingBox, DataStream } from "@weir/datastream";
 * import { assert } from "@std/assert";
 *
 * const island: BoundingBox = { west: -64.5, south: 45.9, east: -62, north: 47.1 };
 * assert(new DataStream().observations({ within: island }).url.includes("Latitude"));
 * ```
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

/** Form of a box as text, for messages. */
export const BOX_FORM = "west,south,east,north in degrees";
/** Example of a box as text: Prince Edward Island. */
export const BOX_EXAMPLE = "-64.5,45.9,-62,47.1";

/**
 * Parses a box in the form `west,south,east,north`, in degrees.
 *
 * Source: OGC API - Features, Part 1, section 7.15.3.
 *
 * @returns The box, or `undefined` if the text is not four numbers
 */
export function parseBox(text: string): BoundingBox | undefined {
  const [west, south, east, north, ...more] = text.split(",").map(parseDegrees);
  if (west === undefined || south === undefined || east === undefined || north === undefined) {
    return undefined;
  }
  return more.length > 0 ? undefined : { west, south, east, north };
}

/** Parses a number of degrees; returns `undefined` if the text is not a number. */
export function parseDegrees(text: string): number | undefined {
  const trimmed = text.trim();
  return /^[-+]?(\d{1,3}(\.\d*)?|\.\d+)$/.test(trimmed) ? Number(trimmed) : undefined;
}

/**
 * Converts a box to clauses that match the positions inside it. The numbers are in single quotes, because
 * the service rejects coordinates without quotes.
 *
 * Source: DataStream Public API, "URL Parameters", `$filter`.
 *
 * @param option Name of the option that holds the box, for errors
 * @throws {ValidationError} If a side is not a number of degrees, or the box is empty
 */
export function toBoxClauses(
  box: BoundingBox,
  option: string,
): Clause<"Longitude" | "Latitude">[] {
  const { west, south, east, north } = requireOptions(
    "a bounding box",
    box,
    NO_SIDES,
    option,
  ) as BoundingBox;
  requireRange(option, ["west", west], ["east", east], 180);
  requireRange(option, ["south", south], ["north", north], 90);
  const side = <F extends string>(field: F, operator: "gt" | "lt", degrees: number): Clause<F> => ({
    field,
    operator,
    values: [{ text: String(degrees), quoted: true }],
  });
  return [
    side("Longitude", "gt", west),
    side("Longitude", "lt", east),
    side("Latitude", "gt", south),
    side("Latitude", "lt", north),
  ];
}

/** Names of the sides, none of which has a default. */
const NO_SIDES = { west: undefined, south: undefined, east: undefined, north: undefined };

/** A side of a box. */
type Side = readonly [name: string, degrees: number];

function requireRange(option: string, low: Side, high: Side, max: number): void {
  for (const [name, degrees] of [low, high]) {
    if (!(typeof degrees === "number" && Math.abs(degrees) <= max)) {
      const expected = `a number of degrees from -${max} to ${max}`;
      throw invalidValue(`${option}.${name}`, expected, degrees);
    }
  }
  if (low[1] >= high[1]) {
    throw invalidValue(`${option}.${low[0]}`, `below ${high[0]} (${high[1]})`, low[1]);
  }
}
