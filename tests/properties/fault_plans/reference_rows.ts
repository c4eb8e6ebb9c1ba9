import type { BoundingBox, ResourceName } from "../../../mod.ts";
import type { Sandbox } from "../../../src/sandbox/service.ts";
import { fieldsOf } from "../../helpers/resources.ts";
import { sandboxRequests } from "../../helpers/sandbox.ts";

/** A row as the service sends it. */
export type WireRow = Record<string, unknown>;

/** API key of all services; long enough that a search finds no other text. */
export const API_KEY = "k3y-0f-th3-fault-plans-4711";

/** Number of rows and locations in a sandbox. */
export interface SandboxSize {
  records: number;
  locations: number;
}

/** Sizes for most plans, which take milliseconds. */
export const SIZES: readonly SandboxSize[] = [
  { records: 500, locations: 12 },
  { records: 2_000, locations: 25 },
  { records: 3_000, locations: 40 },
];
export const MANY_LOCATIONS: SandboxSize = { records: 300, locations: 250 };

const sources = new Map<SandboxSize, ReturnType<typeof sandboxRequests>>();
const rowsOfQuery = new Map<string, Promise<WireRow[]>>();

function sourceOf(size: SandboxSize): ReturnType<typeof sandboxRequests> {
  const source = sources.get(size) ?? sandboxRequests({ ...size, apiKey: API_KEY });
  sources.set(size, source);
  return source;
}

/** Returns a sandbox of a size. It has no rate limit because `FaultyService` checks the rate. */
export function sandboxOf(size: SandboxSize): Sandbox {
  return sourceOf(size).sandbox;
}

/** Returns the rows that match a filter with all fields, ordered by Id. */
export function referenceRows(
  size: SandboxSize,
  resource: ResourceName,
  filter: string | undefined,
): Promise<WireRow[]> {
  const key = `${size.records} ${resource} ${filter}`;
  const $select = fieldsOf(resource).join(",");
  const query = { $select, ...(filter !== undefined && { $filter: filter }) };
  const rows = rowsOfQuery.get(key) ?? sourceOf(size).rows(resource, query);
  rowsOfQuery.set(key, rows);
  return rows;
}

/** Returns the rows at locations inside a box, excluding its border. */
export async function referenceRowsWithin(
  size: SandboxSize,
  resource: ResourceName,
  filter: string | undefined,
  { west, south, east, north }: BoundingBox,
): Promise<WireRow[]> {
  const locations = await referenceRows(size, "Locations", undefined);
  const ids = locations.filter((row) => {
    const [longitude, latitude] = [Number(row["Longitude"]), Number(row["Latitude"])];
    return longitude > west && longitude < east && latitude > south && latitude < north;
  }).map(({ Id }) => Id);
  if (ids.length === 0) return [];
  const clause = `LocationId in (${ids.join(",")})`;
  return referenceRows(size, resource, filter === undefined ? clause : `${filter} and ${clause}`);
}
