import { endpoint } from "../endpoint/endpoint.ts";
import type { RequestOptions } from "../endpoint/types.ts";
import { ID_FIELD } from "../formats/row_reader.ts";
import { fieldsOfRules } from "../formats/tidy.ts";
import { type Clause, formatClauses } from "../odata/clause.ts";
import type { CheckedQuery, SystemQueryOptions } from "../odata/query_options.ts";
import { type ResourceName, RESOURCES } from "../odata/resources.ts";
import type { ClientSettings } from "./options.ts";

/** No row is in two shards. JSON-serialisable, because cursors contain shards. */
export interface Shard {
  /** Clauses in addition to the query's filter: first those of its group, then ranges. */
  readonly clauses: readonly Clause[];
  /** Skip token behind the last delivered row; at the start, that of the query. */
  readonly after?: string | undefined;
  /** Greatest Id before this position, if Ids are integers and the token does not contain it. */
  readonly lastId?: number | undefined;
}

export interface ServiceRequest {
  resource: ResourceName;
  options: SystemQueryOptions;
}

export interface PageRequest extends ServiceRequest {
  top: number;
  /** Fields that are not in the result. */
  drops: readonly string[];
  distinct: readonly string[];
  hasIds: boolean;
  /** Maximum number of rows to keep. */
  limit: number;
}

export function toPageRequest(
  query: CheckedQuery,
  { clauses, after }: Shard,
  top: number = query.top,
  rowsWanted = Infinity,
): PageRequest {
  const { resource, select, distinct = [], rules, leavesOutRows } = query;
  // Without Ids, a repeated row cannot be distinguished from a new one, and no row after the last one can be
  // requested. A page that is the whole result needs none.
  const isWholeResult = after === undefined && top >= rowsWanted && !leavesOutRows;
  const needed = [
    ...isWholeResult ? [] : [ID_FIELD],
    ...distinct,
    ...rules ? fieldsOfRules(rules) : [],
  ];
  const fields = select && [...new Set([...select, ...needed])];
  const options = {
    $select: fields?.join(","),
    $filter: filterOf(query, clauses),
    $top: top,
    $skiptoken: after,
  };
  const hasIds = fields?.includes(ID_FIELD) ?? true;
  return {
    resource,
    options,
    top,
    drops: fields?.slice(select!.length) ?? [],
    distinct,
    hasIds,
    limit: rowsWanted,
  };
}

/** The lists of a group replace the lists of the query that were split. */
export function filterOf(query: CheckedQuery, clauses: readonly Clause[]): string | undefined {
  const lists = clauses.filter(({ operator }) => operator === "in").map(({ field }) => field);
  const isReplaced = ({ field, operator }: Clause) => operator === "in" && lists.includes(field);
  const kept = query.clauses.filter((clause) => !isReplaced(clause));
  const text = formatClauses([...kept, ...clauses]);
  const { unparsedFilter } = query;
  if (unparsedFilter === undefined || text === "") return unparsedFilter ?? (text || undefined);
  return `(${unparsedFilter}) and ${text}`; // it may contain `or`, which has lower precedence
}

export function toRequestOptions(
  { baseUrl, headers }: Pick<ClientSettings, "baseUrl" | "headers">,
  { resource, options }: ServiceRequest,
): RequestOptions {
  return endpoint(`GET ${RESOURCES[resource].path}`, { baseUrl, headers, ...options });
}
