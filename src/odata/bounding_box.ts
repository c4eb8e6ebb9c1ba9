import { describe } from "../validation.ts";
import type { Clause } from "./clause.ts";

/**
 * A box of longitudes and latitudes, in decimal degrees; what lies on its edge is outside.
 *
 * @example The rows of the locations inside
 * ```ts
 * import { type BoundingBox, DataStream } from "@weir/datastream";
 * import { assert } from "@std/assert";
 *
 * const island: BoundingBox = { west: -64.5, south: 45.9, east: -62, north: 47.1 };
 * assert(new DataStream().observations({ within: island }).url.includes("Latitude"));
 * ```
 */
export interface BoundingBox {
  /** The least longitude, -180 to 180. */
  west: number;
  /** The least latitude, -90 to 90. */
  south: number;
  /** The greatest longitude, above `west`. */
  east: number;
  /** The greatest latitude, above `south`. */
  north: number;
}

/** The number of degrees that a text is; undefined where it is none. */
export function parseDegrees(text: string): number | undefined {
  const trimmed = text.trim();
  return /^[-+]?(\d{1,3}(\.\d*)?|\.\d+)$/.test(trimmed) ? Number(trimmed) : undefined;
}

/**
 * The box that a text is: `west,south,east,north` in degrees.
 *
 * Source: OGC API Features, 7.15.3.
 *
 * @returns The box; undefined where the text is not four numbers
 */
export function parseBox(text: string): BoundingBox | undefined {
  const [west, south, east, north, ...more] = text.split(",").map(parseDegrees);
  if (west === undefined || south === undefined || east === undefined || north === undefined) {
    return undefined;
  }
  return more.length > 0 ? undefined : { west, south, east, north };
}

/**
 * The clauses that a position inside a box meets, in the documented form, numbers quoted.
 *
 * Source: water-quality-api, Filter forms, 4.
 *
 * @throws {RangeError} If a side is no number of degrees, or the box has no inside
 */
export function toBoxClauses(
  { west, south, east, north }: BoundingBox,
): Clause<"Longitude" | "Latitude">[] {
  requireSides("west", west, "east", east, 180);
  requireSides("south", south, "north", north, 90);
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

function requireSides(
  lowName: string,
  low: number,
  highName: string,
  high: number,
  most: number,
): void {
  for (const [name, degrees] of [[lowName, low], [highName, high]] as const) {
    if (!(typeof degrees === "number" && Math.abs(degrees) <= most)) {
      throw new RangeError(
        `The ${name} of a box must be a number of degrees from -${most} to ${most}, got ${
          describe(degrees)
        }`,
      );
    }
  }
  if (low >= high) {
    throw new RangeError(
      `The ${lowName} of a box must be below its ${highName}, got ${low} and ${high}`,
    );
  }
}
