// Draws random plans: a query, a way to read it, and the faults of the service.
import type { TextFormat } from "../../helpers/resources.ts";
import type { BoundingBox, ResourceName } from "../../../mod.ts";
import { fieldsOf, formatsOf } from "../../helpers/resources.ts";
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

/** Ways to read a query; those that start with `edge-` are downloads from the server. */
export type Output =
  | "toArray"
  | "loop"
  | "rows"
  | "pages"
  | "batches"
  | TextFormat
  | `edge-${TextFormat}`;

/** Shape of the response to a count request; the service's documentation names all of them. */
export type CountShape = "number" | "digits" | "@odata.count" | "odata.count";

/**
 * Skip tokens of the service during the whole run: `Id:<Id>`, opaque ones, quoted ones, or quoted ones that the service
 * ignores in requests.
 */
export type TokenStyle = "id" | "opaque" | "quoted" | "ignored";

/** Form of the next link of a page, and its places. */
export interface LinkStyle {
  body: boolean;
  header: boolean;
  /** Whether it is percent-encoded. */
  encoded: boolean;
  /** Whether it has no origin, or no path either. */
  base: "absolute" | "path" | "query";
  /** Text after the link. */
  suffix: "" | "#x" | "&";
}

/** A query, the way to read it, and the faults of the service. */
export interface Plan {
  seed: number;
  size: SandboxSize;
  resource: ResourceName;
  output: Output;
  /** Selected fields in order; `undefined` selects all. */
  select: string[] | undefined;
  filter: string | undefined;
  within: BoundingBox | undefined;
  top: number;
  limit: number | undefined;
  skipToken: string | undefined;
  partition: "never" | undefined;
  incomplete: "error" | "warn" | undefined;
  maxRows: number | undefined;
  /** Maximum time (ms) for which the reader pauses. */
  readerDelay: number;
  countShape: CountShape;
  linkStyle: LinkStyle;
  tokens: TokenStyle;
  faults: Fault[];
  /** All rows of the query after the skip token; the limit is not applied. */
  matching: WireRow[];
  /** Number of rows that a count gives; it ignores the skip token. */
  counted: number;
  /** Number of locations of these rows. */
  locations: number;
}

const LARGE_RESOURCE_FILTERS = [
  undefined,
  undefined,
  undefined,
  "CharacteristicName eq 'pH'",
  "CharacteristicName in ('Nitrate','Chloride','Turbidity')",
  "ActivityStartYear gte 2016",
  "ActivityStartYear gte 2014 and ActivityStartYear lt 2019",
  "RegionId eq 'admin.4.ca.ab'",
  "DOI eq '10.25976/weir-bb00'",
  "endswith(DOI, 'cc00')",
  "LocationId lt 1040",
  "LocationId ne 1001",
  "CharacteristicName eq 'Ducks'",
];
const FILTERS: Record<ResourceName, readonly (string | undefined)[]> = {
  Records: LARGE_RESOURCE_FILTERS,
  Observations: LARGE_RESOURCE_FILTERS,
  Locations: [
    undefined,
    undefined,
    "DOI eq '10.25976/weir-bb00'",
    "MonitoringLocationType eq 'Lake'",
    "RegionId in ('hub.atlantic','hub.mackenzie')",
    "Longitude gt '-110' and Longitude lt '-60' and Latitude gt '40' and Latitude lt '60'",
  ],
  Metadata: [
    undefined,
    undefined,
    undefined,
    "CreateTimestamp gt '2020-01-01'",
    "RegionId eq 'admin.4.ca.pe'",
  ],
};
const BOXES: readonly BoundingBox[] = [
  { west: -110, south: 40, east: -60, north: 60 },
  { west: -141, south: 41, east: -50, north: 84 },
  { west: -70, south: 44, east: -60, north: 48 },
  { west: 10, south: 10, east: 20, north: 20 },
];

/** Resources; repeated ones have a higher probability. */
const RESOURCES: readonly ResourceName[] = [
  ...["Records", "Records", "Records", "Observations", "Observations", "Observations"] as const,
  ...["Locations", "Locations", "Metadata"] as const,
];
/** Formats of a resource; CSV has a higher probability. */
const formatsToDraw = (resource: ResourceName) => ["csv" as const, ...formatsOf(resource)];
const OUTPUTS: readonly Output[] = [
  ...["toArray", "loop", "rows", "pages", "batches", "batches"] as const,
  ...formatsToDraw("Records"),
  ...formatsToDraw("Records").map((format) => `edge-${format}` as const),
];
/** Outputs in the formats that only Locations has, each twice. */
const LOCATIONS_ONLY: readonly Output[] = formatsOf("Locations")
  .filter((format) => !formatsOf("Records").includes(format))
  .flatMap((format) => [format, format, `edge-${format}`, `edge-${format}`] as const);
/** Styles of skip tokens; repeated ones have a higher probability. */
const TOKENS: readonly TokenStyle[] = [
  ...["id", "id", "id", "id", "id", "id", "id"] as const,
  ...["opaque", "opaque", "quoted", "ignored"] as const,
];
const COUNT_SHAPES: readonly CountShape[] = ["number", "digits", "@odata.count", "odata.count"];

export async function drawPlan(seed: number, random: Random): Promise<Plan> {
  const resource = random.pick(RESOURCES);
  const isLargeResource = resource === "Records" || resource === "Observations";
  const isManyLocations = resource === "Locations" && random.chance(0.7);
  const size = isManyLocations ? MANY_LOCATIONS : random.pick(SIZES);
  const output = random.pick(resource === "Locations" ? [...OUTPUTS, ...LOCATIONS_ONLY] : OUTPUTS);
  const isEdge = output.startsWith("edge-");
  const filter = random.pick(FILTERS[resource]);
  const within = isLargeResource && random.chance(0.2) ? random.pick(BOXES) : undefined;
  const partition = isLargeResource && !isEdge && random.chance(0.5) ? "never" as const : undefined;
  const all =
    await (within === undefined
      ? referenceRows(size, resource, filter)
      : referenceRowsWithin(size, resource, filter, within));
  // The server rejects a skip token together with a box.
  const hasSkipToken = all.length > 3 && !(isEdge && within) && random.chance(0.15);
  const last = hasSkipToken ? String(random.pick(all)["Id"]) : undefined;
  const matching = last === undefined ? all : all.filter(({ Id }) => isAfter(Id, last));
  const top = drawTop(matching.length, random);
  const faults = drawFaults(Math.ceil(matching.length / top) + 3, random);
  // The option `skipToken` accepts only the documented form.
  const tokens = last === undefined ? random.pick(TOKENS) : "id";
  const locationIds = matching.map((row) => row["LocationId"] ?? row["MonitoringLocationID"]);
  return {
    seed,
    size,
    resource,
    output,
    select: drawSelect(resource, output, random),
    filter,
    within,
    top,
    limit: drawLimit(matching.length, top, random),
    skipToken: last && `Id:${last}`,
    partition,
    incomplete: isEdge ? undefined : drawIncomplete(faults, random),
    maxRows: random.chance(0.05) ? random.int(1, matching.length + 10) : undefined,
    readerDelay: random.chance(0.1) ? random.int(1, 40_000) : 0,
    countShape: random.pick(COUNT_SHAPES),
    linkStyle: {
      ...random.pick([
        { body: true, header: true },
        { body: true, header: true },
        { body: true, header: false },
        { body: false, header: true },
      ]),
      encoded: random.chance(0.3),
      base: random.pick(["absolute", "absolute", "absolute", "path", "query"]),
      suffix: random.pick(["", "", "", "", "#x", "&"]),
    },
    tokens,
    faults,
    matching,
    counted: all.length,
    locations: new Set(locationIds).size,
  };
}

/** Draws the option `incomplete`: `warn` if all counts are too high. */
function drawIncomplete(faults: readonly Fault[], random: Random): Plan["incomplete"] {
  if (faults.some(({ kind }) => kind === LARGE_COUNTS)) return "warn";
  return random.pick(["error", "warn", "warn", undefined, undefined]);
}

export function describePlan(plan: Plan): string {
  const { matching, faults, ...rest } = plan;
  return JSON.stringify({
    ...rest,
    matching: matching.length,
    faults: faults.map(({ kind, at, times }) => `${kind.name} at ${at}, ${times} times`),
  });
}

/** Maximum number of requests of a run: for pages, shards and faults. */
export function requestBound({ matching, top, size, faults, output }: Plan): number {
  const pages = Math.ceil(matching.length / top) + 1;
  const shards = faults.length > 0 ? size.locations : 14;
  const bound = 30 + 6 * pages + 6 * shards + 20 * faults.length;
  return output === "batches" ? 2 * bound : bound;
}

export function toToken(id: string, tokens: TokenStyle): string {
  if (tokens === "id") return `Id:${id}`;
  return tokens === "opaque" ? `+${btoa(id)}` : `'Id:${id}'`;
}

export function idOf(token: string): string {
  return token.startsWith("+") ? atob(token.slice(1)) : token.replace(/^'?Id:|'$/g, "");
}

/** Whether an Id follows another one in the order of the rows: by number, or by text for UUIDs. */
export function isAfter(id: unknown, other: string): boolean {
  return typeof id === "number" ? id > Number(other) : String(id) > other;
}

function drawSelect(resource: ResourceName, output: Output, random: Random): string[] | undefined {
  if (random.chance(0.15)) return undefined;
  const fields: string[] = fieldsOf(resource);
  const chosen = random.shuffle(fields.filter((name) => name !== "Id")).slice(0, random.int(1, 6));
  if (output.endsWith("geojson")) chosen.push("Longitude", "Latitude");
  if (random.chance(0.5)) chosen.push("Id");
  return random.shuffle([...new Set(chosen)]);
}

/** Draws a page size for up to about 40 pages, in some cases one that makes the last page full. */
function drawTop(rows: number, random: Random): number {
  const least = Math.max(1, Math.ceil(rows / 40));
  if (random.chance(0.3)) {
    const divisors = Array.from({ length: 40 }, (_, index) => index + 1)
      .filter((pages) => rows > 0 && rows % pages === 0)
      .map((pages) => rows / pages);
    if (divisors.length > 0) return Math.min(10_000, random.pick(divisors));
  }
  return Math.min(10_000, random.int(least, Math.max(least, Math.ceil(rows / random.int(1, 20)))));
}

function drawLimit(rows: number, top: number, random: Random): number | undefined {
  if (random.chance(0.6)) return undefined;
  const pages = Math.max(1, Math.floor(rows / top));
  const border = top * random.int(1, pages);
  return Math.max(
    1,
    random.pick([
      random.int(1, Math.max(1, rows)),
      border,
      border - 1,
      border + 1,
      rows,
      rows + random.int(1, 50),
      random.pick([2 * rows, 999_999, 1_000_000, 1_000_001]),
      random.int(1, 5),
    ]),
  );
}
