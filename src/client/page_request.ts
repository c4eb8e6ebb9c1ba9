// The URL of a request for one page or one count.
import { endpoint } from "../endpoint/endpoint.ts";
import type { RequestOptions } from "../endpoint/types.ts";
import { ValidationError } from "../errors.ts";
import { ID_FIELD } from "../formats/row_reader.ts";
import { type Clause, formatClauses } from "../odata/clause.ts";
import { type CheckedQuery, narrow, type SystemQueryOptions } from "../odata/query_options.ts";
import { type ResourceName, RESOURCES } from "../odata/resources.ts";
import type { ClientSettings } from "./options.ts";

/** A part of the rows of a query. No row is in two shards. JSON-serialisable, because cursors contain shards. */
export interface Shard {
  /** Clauses that the rows match, in addition to the query's filter: first those of its unit, then ranges. */
  readonly clauses: readonly Clause[];
  /** Skip token behind the last delivered row. At the start, the skip token of the query or `undefined`. */
  readonly after?: string | undefined;
}

/** One HTTP request for one page. */
export interface PageRequest {
  resource: ResourceName;
  /** Fields of the rows; `undefined` for all. */
  select: readonly string[] | undefined;
  /** Fields that are requested although they are not selected. */
  adds: readonly string[];
  filter: string | undefined;
  /** Maximum number of rows on the page. */
  top: number;
  /** Skip token after which the page begins; `undefined` for the start. */
  after: string | undefined;
}

/** One HTTP request for a number of rows. */
export interface CountRequest extends Pick<PageRequest, "resource" | "filter"> {
  top?: undefined;
}

/**
 * Returns the request for the first page of a shard.
 *
 * @param top Maximum number of rows on the page. Default: the page size of the query
 * @param rowsWanted Number of rows still wanted. Default: no limit
 */
export function toPageRequest(
  query: CheckedQuery,
  { clauses, after }: Shard,
  top: number = query.top,
  rowsWanted = Infinity,
): PageRequest {
  const { resource, select } = query;
  // Without Ids, a repeated row cannot be distinguished from a new one, and no row after the last one can be
  // requested. A page that is the whole result needs none.
  const isWholeResult = after === undefined && top >= rowsWanted;
  const fields = [...new Set([...isWholeResult ? [] : [ID_FIELD], ...query.distinct ?? []])];
  return {
    resource,
    select,
    adds: select === undefined ? [] : fields.filter((field) => !select.includes(field)),
    filter: filterOf(query, clauses),
    top,
    after,
  };
}

/** Returns the filter of a shard. The lists of its unit replace the lists of the query that were split. */
export function filterOf(query: CheckedQuery, clauses: readonly Clause[]): string | undefined {
  const lists = clauses.filter(({ operator }) => operator === "in").map(({ field }) => field);
  const isReplaced = ({ field, operator }: Clause) => operator === "in" && lists.includes(field);
  if (!query.clauses?.some(isReplaced)) return narrow(query, clauses);
  return formatClauses([...query.clauses.filter((clause) => !isReplaced(clause)), ...clauses]);
}

/** Builds the request for a page or a count. */
export function toRequestOptions(
  { baseUrl, headers }: Pick<ClientSettings, "baseUrl" | "headers">,
  request: PageRequest | CountRequest,
): RequestOptions {
  const route = `GET ${RESOURCES[request.resource].path}`;
  return endpoint(route, { baseUrl, headers, ...toSystemQueryOptions(request) });
}

/** Returns the system query options of a request. */
export function toSystemQueryOptions(request: PageRequest | CountRequest): SystemQueryOptions {
  if (request.top === undefined) return { $filter: request.filter, $count: "true" };
  const { select, adds, filter, top, after } = request;
  return {
    $select: select && [...select, ...adds].join(","),
    $filter: filter,
    $top: top,
    $skiptoken: after,
  };
}

/** Maximum length (bytes) of a request target: common gateways reject longer ones than 8 KB. */
export const MAX_TARGET_LENGTH = 8_000;

/** Returns the length (bytes) of the path and query of a URL. They are ASCII: one byte per character. */
export function targetLength(url: string): number {
  return url.length - new URL(url).origin.length;
}

/**
 * Checks the length of a request target. It leaves room: a skip token and a range of locations may still be
 * added to a URL of the maximum length.
 *
 * @throws {ValidationError} If the request target is longer than `MAX_TARGET_LENGTH`
 */
export function requireShortTarget(url: string): void {
  const length = targetLength(url);
  if (length <= MAX_TARGET_LENGTH) return;
  const option = new URL(url).searchParams.has("$filter") ? "filter" : "select";
  const problem = `makes a request of ${length} bytes, more than ${MAX_TARGET_LENGTH}`;
  throw new ValidationError(option, problem, {
    hint:
      "split a long list of the {filter} over several queries, or reduce the fields of {select}",
  });
}
