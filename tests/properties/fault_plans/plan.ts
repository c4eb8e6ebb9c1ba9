// Draws random plans: a query, a way to read it, and the faults of the service.
import type { BoundingBox, ResourceName } from "../../../mod.ts";
import { POSITION_FIELDS } from "../../../src/odata/map_position.ts";
import { fieldsOf, formatsOf, type TextFormat } from "../../helpers/resources.ts";
import { isAfter, LINK_FORMS, type TokenStyle } from "./links.ts";
import { LARGE_COUNTS } from "./count_faults.ts";
import { drawFaults, type Fault } from "./faults.ts";
import type { Random } from "../random.ts";
import {
  MANY_LOCATIONS,
  referenceRows,
  referenceRowsWithin,
  type SandboxSize,
  SIZES,
  type WireRow,
} from "./reference_rows.ts";

/** A method of the query, or a download from the server. */
export type Reader = "toArray" | "rows" | "pages" | "batches" | "bytes" | "server";

export interface Plan {
  seed: number;
  size: SandboxSize;
  resource: ResourceName;
  reader: Reader;
  /** Format of bytes; `undefined` for readers of rows. */
  format: TextFormat | undefined;
  /** Selected fields in order. */
  select: readonly string[];
  filter: string | undefined;
  within: BoundingBox | undefined;
  top: number;
  limit: number | undefined;
  skipToken: string | undefined;
  partition: "never" | undefined;
  incomplete: "error" | "warn";
  tokens: TokenStyle;
  linkForm: string;
  linkPlaces: readonly ("body" | "header")[];
  faults: Fault[];
  /** All rows of the query after the skip token; the limit is not applied. */
  matching: WireRow[];
  /** Number of locations of these rows. */
  locations: number;
}

const RESOURCES = weighted<ResourceName>({
  Records: 3,
  Observations: 3,
  Locations: 2,
  Metadata: 1,
});
const READERS = weighted<Reader>({
  toArray: 1,
  rows: 1,
  pages: 1,
  batches: 2,
  bytes: 3,
  server: 3,
});
const TOKENS = weighted<TokenStyle>({ id: 6, opaque: 2, quoted: 1, ignored: 1 });
const MEASUREMENT_FILTERS = [
  undefined,
  undefined,
  undefined,
  "CharacteristicName in ('Nitrate','Chloride','Turbidity')",
  "ActivityStartYear gte 2014 and ActivityStartYear lt 2019",
  "DOI eq '10.25976/weir-bb00'",
  "LocationId lt 1040",
  "CharacteristicName eq 'Ducks'",
];
const FILTERS: Record<ResourceName, readonly (string | undefined)[]> = {
  Records: MEASUREMENT_FILTERS,
  Observations: MEASUREMENT_FILTERS,
  Locations: [undefined, undefined, "RegionId in ('hub.atlantic','hub.mackenzie')"],
  Metadata: [undefined, undefined, "CreateTimestamp gt '2020-01-01'"],
};
const idsFrom = (count: number) => Array.from({ length: count }, (_, index) => 1001 + 7 * index);
/** Filters that are too long for a firewall, or have a text that it takes for an attack. */
const REFUSED_MEASUREMENTS = [
  `LocationId in (${idsFrom(400)})`,
  `LocationId in (${idsFrom(400)}) and ActivityStartYear gte 2014`,
  `CharacteristicName in ('Nitrate','Chloride',${
    Array.from({ length: 120 }, (_, index) => `'Name of a measurement ${index}'`)
  })`,
  "CharacteristicName in ('Nitrate','o,p''-DDT')",
  "CharacteristicName ne '<script>'",
  `LocationId in (${idsFrom(400)}) and CharacteristicName in ('Chloride','o,p''-DDT')`,
];
const REFUSED_FILTERS: Record<ResourceName, readonly string[]> = {
  Records: REFUSED_MEASUREMENTS,
  Observations: REFUSED_MEASUREMENTS,
  Locations: [`LocationId in (${idsFrom(400)})`, "RegionId ne '<b>'", "RegionId ne '--'"],
  Metadata: [
    `DOI in ('10.25976/weir-aa00',${
      Array.from({ length: 120 }, (_, index) => `'10.25976/weir-none-${index}'`)
    })`,
    "DatasetName ne '/*'",
  ],
};
const BOXES: readonly BoundingBox[] = [
  { west: -110, south: 40, east: -60, north: 60 },
  { west: -141, south: 41, east: -50, north: 84 },
  { west: 10, south: 10, east: 20, north: 20 },
];
const LINK_PLACES: readonly Plan["linkPlaces"][] = [["body", "header"], ["body"], ["header"]];

export async function drawPlan(seed: number, random: Random): Promise<Plan> {
  const resource = random.pick(RESOURCES);
  const isMeasured = resource === "Records" || resource === "Observations";
  const hasManyLocations = resource === "Locations" && random.chance(0.7);
  const size = hasManyLocations ? MANY_LOCATIONS : random.pick(SIZES);
  const reader = random.pick(READERS);
  const isServer = reader === "server";
  const format = isServer || reader === "bytes" ? random.pick(formatsOf(resource)) : undefined;
  const hasFirewall = random.chance(0.3);
  const isRefused = random.chance(hasFirewall ? 0.6 : 0.05);
  const filter = random.pick((isRefused ? REFUSED_FILTERS : FILTERS)[resource]);
  const within = isMeasured && random.chance(0.2) ? random.pick(BOXES) : undefined;
  const all = within === undefined
    ? await referenceRows(size, resource, filter)
    : await referenceRowsWithin(size, resource, filter, within);
  // The server rejects a skip token together with a box.
  const hasSkipToken = all.length > 3 && !(isServer && within) && random.chance(0.15);
  const last = hasSkipToken ? String(random.pick(all)["Id"]) : undefined;
  const matching = last === undefined ? all : all.filter(({ Id }) => isAfter(Id, last));
  const pages = random.int(1, random.pick([4, 12, 40]));
  const top = Math.max(1, Math.ceil(matching.length / pages));
  const faults = drawFaults(pages + 3, hasFirewall, random);
  const mustAccept = faults.some(({ kind }) => kind === LARGE_COUNTS);
  const locationIds = matching.map((row) => row["LocationId"] ?? row["MonitoringLocationID"]);
  return {
    seed,
    size,
    resource,
    reader,
    format,
    select: drawSelect(resource, format, random),
    filter,
    within,
    top,
    limit: random.chance(0.4) ? drawLimit(matching.length, top, random) : undefined,
    skipToken: last && `Id:${last}`,
    partition: isMeasured && !isServer && random.chance(0.5) ? "never" : undefined,
    incomplete: !isServer && (mustAccept || random.chance(0.4)) ? "warn" : "error",
    // The option `skipToken` accepts only the documented form.
    tokens: last === undefined ? random.pick(TOKENS) : "id",
    linkForm: random.pick(Object.keys(LINK_FORMS)),
    linkPlaces: random.pick(LINK_PLACES),
    faults,
    matching,
    locations: new Set(locationIds).size,
  };
}

/** Lists each name as often as its number says, so that a random one has this weight. */
function weighted<T extends string>(weights: Record<T, number>): T[] {
  const names = Object.keys(weights) as T[];
  return names.flatMap((name) => Array.from({ length: weights[name] }, () => name));
}

export function describePlan(plan: Plan): string {
  return JSON.stringify({
    ...plan,
    matching: plan.matching.length,
    faults: plan.faults.map(({ kind, at, times }) => `${kind.name} at ${at}, ${times} times`),
  });
}

/** Maximum number of requests of a run: for pages, shards and faults. */
export function requestBound({ matching, top, size, faults, reader }: Plan): number {
  const pages = Math.ceil(matching.length / top) + 1;
  const shards = faults.length > 0 ? size.locations : 14;
  const bound = 30 + 6 * pages + 6 * shards + 20 * faults.length;
  return reader === "batches" ? 2 * bound : bound;
}

function drawSelect(resource: ResourceName, format: Plan["format"], random: Random): string[] {
  const fields: string[] = fieldsOf(resource);
  if (random.chance(0.15)) return fields;
  const chosen = random.shuffle(fields).slice(0, random.int(1, 6));
  if (format === "geojson") chosen.push(...POSITION_FIELDS);
  if (random.chance(0.5)) chosen.push("Id");
  return random.shuffle([...new Set(chosen)]);
}

/** Draws a limit within the rows, at or beside the border of a page, or above the rows. */
function drawLimit(rows: number, top: number, random: Random): number {
  const border = top * random.int(1, Math.max(1, Math.floor(rows / top)));
  const limit = random.pick([
    random.int(1, 5),
    random.int(1, Math.max(1, rows)),
    border - 1,
    border,
    border + 1,
    rows,
    rows + random.int(1, 50),
    1_000_000,
    1_000_001,
  ]);
  return Math.max(1, limit);
}
