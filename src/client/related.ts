import { type Clause, formatClauses } from "../odata/clause.ts";
import { MAXIMUM_TOP, narrow, type QueryOptions } from "../odata/query_options.ts";
import { type ResourceName, RESOURCES } from "../odata/resources.ts";
import { DataStreamError } from "../errors.ts";
import { follow, type PageQuery } from "./follow.ts";
import { LONGEST_TARGET, requireShortTarget, targetLength, toRequestOptions } from "./requests.ts";
import type { Run, Service } from "./run.ts";

/** A list of locations takes at most so many bytes: half of what a gateway takes in all. */
const LONGEST_LIST = LONGEST_TARGET / 2;

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
    filter: all.length === 0 ? undefined : formatClauses(all),
    top: () => MAXIMUM_TOP,
  };
}

/** The ids of the locations that the rows of a query can have, rising. */
export async function locationIds(run: Run, query: QueryOptions): Promise<number[]> {
  const ids = new Set<number>();
  for await (const { rows } of follow<{ Id?: unknown }>(run, locationsOf(query))) {
    for (const { Id } of rows) {
      const id = typeof Id === "string" && /^\d+$/.test(Id) ? Number(Id) : Id;
      if (typeof id !== "number" || !Number.isSafeInteger(id)) {
        throw new DataStreamError("Wanted the Id of each location, got another value", {
          kind: "page",
          url: toRequestOptions(run.service, "Locations", {}).url,
          hint: "the rows of the box would not be whole; report this to the service",
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
  for await (const { rows } of follow<{ TemporalExtent?: unknown }>(run, datasetsOf(query))) {
    for (const { TemporalExtent: extent } of rows) {
      if (!Array.isArray(extent)) continue;
      const [first, last] = extent.map((date) => Number(/^\d{4}/.exec(date)?.[0] ?? NaN));
      for (let year = first!; year <= last!; year++) found.add(year);
    }
  }
  return [...found].sort((a, b) => a - b);
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

/** Refuses a query that has no room left for a list of locations. */
export function requireRoom(query: QueryOptions, service: Service): void {
  requireShortTarget(urlWith([Number.MAX_SAFE_INTEGER], query, service));
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
  return toRequestOptions(service, query.resource, {
    $select: query.select?.join(","),
    $filter: narrow(query, [inLocations(ids)]),
    $top: MAXIMUM_TOP,
  }).url;
}
