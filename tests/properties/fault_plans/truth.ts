import { type BoundingBox, type ResourceName, RESOURCES } from "../../../mod.ts";
import { createSandbox, type Sandbox } from "../../../src/sandbox/service.ts";

/** A row as the service sends it. */
export type WireRow = Record<string, unknown>;

/** Key that every service of the plans expects; long, so that a search for it finds nothing else. */
export const API_KEY = "k3y-0f-th3-fault-plans-4711";

/** Size of a sandbox's data. */
export interface World {
  records: number;
  locations: number;
}

/** Worlds of the plans, small enough that a plan takes milliseconds. */
export const WORLDS: readonly World[] = [
  { records: 500, locations: 12 },
  { records: 2_000, locations: 25 },
  { records: 6_000, locations: 60 },
];
/** World with many locations, for queries of Locations. */
export const PLACES: World = { records: 300, locations: 250 };

const sandboxes = new Map<World, Sandbox>();
const rowsOfQuery = new Map<string, Promise<WireRow[]>>();

/** Returns the sandbox of a world; it has no rate limit, the faulty service checks the rate. */
export function sandboxOf(world: World): Sandbox {
  let sandbox = sandboxes.get(world);
  if (sandbox === undefined) {
    sandbox = createSandbox({
      ...world,
      apiKey: API_KEY,
      requestsPerSecond: Infinity,
    });
    sandboxes.set(world, sandbox);
  }
  return sandbox;
}

/** Returns all fields of all rows that match a filter, in the order of their Ids. */
export function trueRows(
  world: World,
  resource: ResourceName,
  filter: string | undefined,
): Promise<WireRow[]> {
  const key = `${world.records} ${resource} ${filter}`;
  let rows = rowsOfQuery.get(key);
  if (rows === undefined) {
    rows = readAll(world, resource, filter);
    rowsOfQuery.set(key, rows);
  }
  return rows;
}

/** Returns the rows of the locations strictly inside a box. */
export async function trueRowsWithin(
  world: World,
  resource: ResourceName,
  filter: string | undefined,
  { west, south, east, north }: BoundingBox,
): Promise<WireRow[]> {
  const inside = (await trueRows(world, "Locations", undefined)).filter(
    (row) => {
      const [longitude, latitude] = [
        Number(row["Longitude"]),
        Number(row["Latitude"]),
      ];
      return longitude > west && longitude < east && latitude > south &&
        latitude < north;
    },
  );
  if (inside.length === 0) return [];
  const clause = `LocationId in (${inside.map(({ Id }) => Id).join(",")})`;
  return trueRows(
    world,
    resource,
    filter === undefined ? clause : `${filter} and ${clause}`,
  );
}

/** Names of all fields of a resource, in documented order. */
export function allFields(resource: ResourceName): string[] {
  return Object.keys(RESOURCES[resource].fields);
}

async function readAll(
  world: World,
  resource: ResourceName,
  filter: string | undefined,
): Promise<WireRow[]> {
  const { url, fetch } = sandboxOf(world);
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
