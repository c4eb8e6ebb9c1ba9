import { DataStreamError } from "../errors.ts";
import { type Clause, formatClauses } from "../odata/clause.ts";
import { MAXIMUM_TOP, narrow, type QueryOptions } from "../odata/query_options.ts";
import { type ResourceName, RESOURCES } from "../odata/resources.ts";
import { follow, type PageQuery, toWireSelect } from "./follow.ts";
import { readRows } from "./page.ts";
import { LONGEST_TARGET, requireShortTarget, targetLength, toRequestOptions } from "./requests.ts";
import type { Run, Service } from "./run.ts";

/** A list of locations takes at most so many bytes: half of what a gateway takes in all. */
const LONGEST_LIST = LONGEST_TARGET / 2;

/** Fifty locations, some 500 bytes: a list of fewer is not worth its request. */
const SOME_LOCATIONS = Array.from({ length: 50 }, () => 1_000_000);

/** Asks for the locations that the rows of a query can have. */
export function locationsOf(query: QueryOptions): PageQuery {
  return related("Locations", "Id", query);
}

/** Asks for the first and last dates of the datasets that the rows of a query can be of. */
export function datasetsOf(query: QueryOptions): PageQuery {
  return related("Metadata", "TemporalExtent", query);
}

/**
 * What a resource can take of a query's filter without leaving out anything that has a row: `ne`
 * stays behind, for there it may be read as "has none" where the query means "has one that differs".
 */
function related(resource: ResourceName, field: string, { clauses, box }: QueryOptions): PageQuery {
  const names: readonly string[] = RESOURCES[resource].filters;
  const taken = (clauses ?? []).filter(({ field, operator }) =>
    operator !== "ne" && names.includes(field)
  );
  const all = [...taken, ...(box ?? [])];
  return {
    resource,
    select: [field],
    hasIds: false,
    filter: all.length === 0 ? undefined : formatClauses(all),
    top: MAXIMUM_TOP,
  };
}

/** The locations of each query that runs: its parts and its counts need one list, requested once. */
const idsOfRun = new WeakMap<Run, Promise<number[]>>();

/** The ids of the locations that the rows of a query can have, rising. */
export function locationIds(run: Run, query: QueryOptions): Promise<readonly number[]> {
  const ids = idsOfRun.get(run) ?? requestLocationIds(run, query);
  idsOfRun.set(run, ids);
  return ids;
}

async function requestLocationIds(run: Run, query: QueryOptions): Promise<number[]> {
  const ids = new Set<number>();
  const pages = follow(run, locationsOf(query), readRows<{ Id?: unknown }>);
  for await (const { content } of pages) {
    for (const { Id } of content) {
      const id = typeof Id === "string" && /^\d+$/.test(Id) ? Number(Id) : Id;
      if (typeof id !== "number" || !Number.isSafeInteger(id)) {
        throw new DataStreamError("Wanted the Id of each location, got another value", {
          kind: "page",
          url: toRequestOptions(run.service, "Locations", {}).url,
          hint: "the rows would not be whole; report this to the service",
        });
      }
      ids.add(id);
    }
  }
  return [...ids].sort((a, b) => a - b);
}

/** The years in which the rows of a query can begin, as far as the datasets say, rising. */
export async function years(run: Run, query: QueryOptions): Promise<number[]> {
  const found = new Set<number>();
  const pages = follow(run, datasetsOf(query), readRows<{ TemporalExtent?: unknown }>);
  for await (const { content } of pages) {
    for (const { TemporalExtent: extent } of content) {
      if (!Array.isArray(extent)) continue;
      const [first, last] = extent.map((date) => Number(/^\d{4}/.exec(date)?.[0] ?? NaN));
      for (let year = first!; year <= last!; year++) found.add(year);
    }
  }
  // What the filter leaves out needs no part of its own.
  const wanted = [...found].filter((year) => query.clauses?.every(mayHoldIn(year)) ?? true);
  return wanted.sort((a, b) => a - b);
}

/** Whether a clause can be met by a row of that year. */
function mayHoldIn(year: number): (clause: Clause) => boolean {
  return ({ field, operator, values }) => {
    if (!/^ActivityStart(?:Date)?Year$/.test(field)) return true;
    const bounds = values.map(({ text }) => Number(text));
    const [bound = NaN] = bounds;
    const isOutside: Partial<Record<Clause["operator"], boolean>> = {
      eq: year !== bound,
      lt: year >= bound,
      lte: year > bound,
      gt: year <= bound,
      gte: year < bound,
      in: !bounds.includes(year),
    };
    return !isOutside[operator];
  };
}

/** Lists of locations that each fit into a request of the query. */
export function groupsOf(
  ids: readonly number[],
  query: QueryOptions,
  service: Service,
): number[][] {
  const groups: number[][] = [];
  let left = 0;
  for (const id of ids) {
    const bytes = String(id).length + "%2C".length;
    if (left < bytes) {
      left = Math.min(LONGEST_LIST, LONGEST_TARGET - lengthWith([], query, service));
      groups.push([]);
    }
    groups.at(-1)!.push(id);
    left -= bytes;
  }
  return groups;
}

/** The URL of a page of the query itself, whole. */
export function ownUrl(query: QueryOptions, service: Service): string {
  return toUrl(query.filter, query, service);
}

/** Refuses a query that has no room left for a list of some locations: it would take very many. */
export function requireRoom(query: QueryOptions, service: Service): void {
  requireShortTarget(urlWith(SOME_LOCATIONS, query, service));
}

/** The clause that rows of some locations meet. */
export function inLocations(ids: readonly number[]): Clause {
  return {
    field: "LocationId",
    operator: "in",
    values: ids.map((id) => ({ text: String(id), quoted: false })),
  };
}

function lengthWith(ids: readonly number[], query: QueryOptions, service: Service): number {
  return targetLength(urlWith(ids, query, service));
}

function urlWith(ids: readonly number[], query: QueryOptions, service: Service): string {
  return toUrl(narrow(query, [inLocations(ids)]), query, service);
}

function toUrl(
  filter: string | undefined,
  { resource, select, top }: QueryOptions,
  service: Service,
): string {
  const fields = toWireSelect({ select, hasIds: true }, false);
  const options = { $select: fields?.join(","), $filter: filter, $top: top };
  return toRequestOptions(service, resource, options).url;
}
