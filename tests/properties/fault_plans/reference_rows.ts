import { type BoundingBox, type ResourceName, RESOURCES } from "../../../mod.ts";
import { createSandbox, type Sandbox } from "../../../src/sandbox/service.ts";

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
  { records: 6_000, locations: 60 },
];
export const MANY_LOCATIONS: SandboxSize = { records: 300, locations: 250 };

const sandboxes = new Map<SandboxSize, Sandbox>();
const rowsOfQuery = new Map<string, Promise<WireRow[]>>();

/** Returns a sandbox of a size. It has no rate limit because `FaultyService` checks the rate. */
export function sandboxOf(size: SandboxSize): Sandbox {
  let sandbox = sandboxes.get(size);
  if (sandbox === undefined) {
    sandbox = createSandbox({
      hostileNames: true,
      ...size,
      apiKey: API_KEY,
      requestsPerSecond: Infinity,
    });
    sandboxes.set(size, sandbox);
  }
  return sandbox;
}

/** Returns the rows that match a filter with all fields, ordered by Id. */
export function referenceRows(
  size: SandboxSize,
  resource: ResourceName,
  filter: string | undefined,
): Promise<WireRow[]> {
  const key = `${size.records} ${resource} ${filter}`;
  let rows = rowsOfQuery.get(key);
  if (rows === undefined) {
    rows = readAll(size, resource, filter);
    rowsOfQuery.set(key, rows);
  }
  return rows;
}

/** Returns the rows at locations inside a box, excluding its border. */
export async function referenceRowsWithin(
  size: SandboxSize,
  resource: ResourceName,
  filter: string | undefined,
  { west, south, east, north }: BoundingBox,
): Promise<WireRow[]> {
  const inside = (await referenceRows(size, "Locations", undefined)).filter(
    (row) => {
      const [longitude, latitude] = [Number(row["Longitude"]), Number(row["Latitude"])];
      return longitude > west && longitude < east && latitude > south &&
        latitude < north;
    },
  );
  if (inside.length === 0) return [];
  const clause = `LocationId in (${inside.map(({ Id }) => Id).join(",")})`;
  return referenceRows(size, resource, filter === undefined ? clause : `${filter} and ${clause}`);
}

/** Returns the names of all fields of a resource in the documented order. */
export function allFields(resource: ResourceName): string[] {
  return Object.keys(RESOURCES[resource].fields);
}

async function readAll(
  size: SandboxSize,
  resource: ResourceName,
  filter: string | undefined,
): Promise<WireRow[]> {
  const { url, fetch } = sandboxOf(size);
  const rows: WireRow[] = [];
  for (;;) {
    const search = [
      `%24select=${allFields(resource).join(",")}`,
      "%24top=10000",
      ...(filter === undefined ? [] : [`%24filter=${encodeURIComponent(filter)}`]),
      ...(rows.length === 0 ? [] : [`%24skiptoken=Id:${rows.at(-1)!["Id"]}`]),
    ];
    const response = await fetch(`${url}/${resource}?${search.join("&")}`, {
      headers: { "x-api-key": API_KEY },
    });
    const text = await response.text();
    if (response.status !== 200) {
      throw new Error(`${resource} ${filter}: ${text}`);
    }
    const page = JSON.parse(text);
    rows.push(...page.value);
    if (page["@odata.nextLink"] === undefined) return rows;
  }
}
