// Where a location is on a map in WGS 84, or that it is not. GeoJSON, GeoParquet and the page's map ask here.
import { JSON_NUMBER } from "../validation.ts";

/** Fields of Locations that describe a position, in the order of the parameters of {@linkcode mapPositionOf}. */
export const POSITION_FIELDS = [
  "Longitude",
  "Latitude",
  "HorizontalCoordinateReferenceSystem",
] as const;

/** Degrees. */
export const [MAX_LONGITUDE, MAX_LATITUDE] = [180, 90] as const;

/**
 * Reference systems whose positions a map in WGS 84 shows as they are. NAD83 is common in Canada, where the two differ
 * by about 2 m. NAD27 can differ by more than 100 m.
 * Source: DataStream's public schema 3.0.0, which also has WGS72, OTHER and UNKWN.
 */
const MAP_SYSTEMS = ["WGS84", "NAD83"] as const;

export interface MapPosition {
  /** Degrees. */
  longitude: number;
  latitude: number;
  system: typeof MAP_SYSTEMS[number];
}

/**
 * Returns the position of a row on a map in WGS 84 (RFC 7946, section 4).
 *
 * @param longitude Value of the row: a number, or the text of a number in JSON
 * @param latitude The same
 * @param system Name of the reference system; letter case, spaces, hyphens and underscores do not matter
 * @returns `undefined` if the system is another one or unknown, or the values are no degrees
 */
export function mapPositionOf(
  longitude: unknown,
  latitude: unknown,
  system: unknown,
): MapPosition | undefined {
  const known = findSystem(system);
  const [x, y] = [toNumber(longitude), toNumber(latitude)];
  // A comparison with NaN is false.
  const isOnEarth = Math.abs(x) <= MAX_LONGITUDE && Math.abs(y) <= MAX_LATITUDE;
  return known && isOnEarth ? { longitude: x, latitude: y, system: known } : undefined;
}

function findSystem(system: unknown): MapPosition["system"] | undefined {
  const isSame = (known: string) => known === system;
  if (typeof system !== "string" || MAP_SYSTEMS.some(isSame)) return MAP_SYSTEMS.find(isSame);
  const name = system.toUpperCase().replace(/[\s_-]/g, "");
  return MAP_SYSTEMS.find((known) => known === name);
}

function toNumber(value: unknown): number {
  if (typeof value === "number") return value;
  return typeof value === "string" && JSON_NUMBER.test(value) ? Number(value) : NaN;
}
