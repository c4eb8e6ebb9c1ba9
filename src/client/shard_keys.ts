// The numbers by which a query is split: the Ids of the locations, or the years, that its rows can have.
import { DataStreamError } from "../errors.ts";
import { toRowId } from "../formats/page_writer.ts";
import { type Clause, formatClauses } from "../odata/clause.ts";
import type { CheckedQuery } from "../odata/query_options.ts";
import { MAXIMUM_TOP, type ResourceName, RESOURCES } from "../odata/resources.ts";
import { type Execution, type PageRequest, toRequestOptions } from "./fetch_page.ts";
import { paginate } from "./paginate.ts";
import { startRowConversion } from "./convert_page.ts";

/** Returns the first request for the locations that rows of a query can have. */
export function locationsRequest(query: CheckedQuery): PageRequest {
  return requestOfField("Locations", "Id", query);
}

/** Returns the first request for the temporal extents of the datasets that can contain rows of a query. */
export function datasetsRequest(query: CheckedQuery): PageRequest {
  return requestOfField("Metadata", "TemporalExtent", query);
}

/**
 * Returns a request for a field of another resource, with the clauses of the query that this resource can
 * be filtered by.
 *
 * Clauses with `ne` are left out, so that no location or dataset is missing. Example: `CharacteristicName ne
 * 'pH'` can mean "has no row with pH" in Locations, but the query needs "has a row other than pH".
 */
function requestOfField(
  resource: ResourceName,
  selected: string,
  { clauses, box }: CheckedQuery,
): PageRequest {
  const names: readonly string[] = RESOURCES[resource].filters;
  const supported = (clauses ?? []).filter(({ field, operator }) =>
    operator !== "ne" && names.includes(field)
  );
  const all = [...supported, ...(box ?? [])];
  return {
    resource,
    select: [selected],
    checksIds: false,
    filter: all.length === 0 ? undefined : formatClauses(all),
    top: MAXIMUM_TOP,
    position: undefined,
    rowsWanted: Infinity,
  };
}

/** Ids of locations by execution. The list is requested once, for all shards and counts. */
const idsOfExecution = new WeakMap<Execution, Promise<number[]>>();

/** Returns the Ids of the locations that rows of a query can have, ascending. */
export function locationIds(execution: Execution, query: CheckedQuery): Promise<readonly number[]> {
  const ids = idsOfExecution.get(execution) ?? requestLocationIds(execution, query);
  idsOfExecution.set(execution, ids);
  return ids;
}

async function requestLocationIds(execution: Execution, query: CheckedQuery): Promise<number[]> {
  const ids = new Set<number>();
  const request = locationsRequest(query);
  const pages = paginate(
    execution,
    request,
    (options) => startRowConversion<{ Id?: unknown }>(options),
  );
  for await (const { content } of pages) {
    for (const { Id } of content) {
      const id = toRowId(Id);
      if (typeof id !== "number") {
        throw new DataStreamError("Expected the Id of each location, got another value", {
          kind: "page",
          url: toRequestOptions(execution.settings, request).url.split("?")[0]!,
          hint: "the result is incomplete. Report it to DataStream",
        });
      }
      ids.add(id);
    }
  }
  return [...ids].sort((a, b) => a - b);
}

/** Requests the datasets of a query, and returns the years in their temporal extents, ascending. */
export async function requestYears(execution: Execution, query: CheckedQuery): Promise<number[]> {
  const found = new Set<number>();
  const pages = paginate(
    execution,
    datasetsRequest(query),
    (options) => startRowConversion<{ TemporalExtent?: unknown }>(options),
  );
  for await (const { content } of pages) {
    for (const { TemporalExtent: extent } of content) {
      if (!Array.isArray(extent)) continue;
      const [first, last] = extent.map((date) => Number(/^\d{4}/.exec(date)?.[0] ?? NaN));
      for (let year = first!; year <= last!; year++) found.add(year);
    }
  }
  // Years that the filter excludes need no shard.
  const wanted = [...found].filter((year) => query.clauses?.every(mayMatchIn(year)) ?? true);
  return wanted.sort((a, b) => a - b);
}

/** Pattern of the names of fields that contain the year in which an activity started. */
export const YEAR_FIELD = /^ActivityStart(?:Date)?Year$/;

/** Creates a function that tests whether a row of a year can match a clause. */
function mayMatchIn(year: number): (clause: Clause) => boolean {
  return ({ field, operator, values }) => {
    if (!YEAR_FIELD.test(field)) return true;
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
