import { ValidationError } from "../errors.ts";
import {
  emptyOption,
  firstRepeated,
  invalidValue,
  isListOfNames,
  requireOneOf,
  requireType,
  requireWholeNumber,
} from "../validation.ts";
import { type BoundingBox, toBoxClauses } from "./bounding_box.ts";
import { type Clause, formatClauses } from "./clause.ts";
import type { Filter } from "./filter.ts";
import { unknownSelectFieldHint } from "./name_hints.ts";
import { type ParsedClause, parseFilter, requireFilterFields } from "./parse_filter.ts";
import { fieldNames, MAXIMUM_TOP, type ResourceName, RESOURCES } from "./resources.ts";

/** How a large query is split; see the query option `partition`. */
export type Partition = "auto" | "never" | "location" | "year";

const PARTITIONS: readonly Partition[] = ["auto", "never", "location", "year"];

/** Options of a query of any resource. The public type `ResourceQuery` narrows them by resource. */
export interface UntypedQuery {
  select?: readonly string[] | string | undefined;
  filter?: Filter<string> | string | undefined;
  within?: BoundingBox | undefined;
  top?: number | undefined;
  limit?: number | undefined;
  skipToken?: string | undefined;
  partition?: Partition | undefined;
  unchecked?: boolean | undefined;
  incomplete?: "error" | "warn" | undefined;
  maxRows?: number | undefined;
}

/** A validated query with its defaults filled in. */
export interface CheckedQuery {
  resource: ResourceName;
  /** Fields to select, in order; `undefined` for all. */
  select: readonly string[] | undefined;
  /** The filter in OData's syntax. */
  filter: string | undefined;
  /** Clauses of the filter; `undefined` if the filter is unchecked and cannot be parsed. */
  clauses: readonly Clause[] | undefined;
  /** Clauses that match the locations inside `within`, if rows of the resource have no position. */
  box: readonly Clause[] | undefined;
  /** Page size. */
  top: number;
  /** Maximum number of rows to return. */
  limit: number;
  skipToken: string | undefined;
  partition: Partition;
  /** Whether a result with fewer rows than the service counted is accepted. */
  acceptsIncomplete: boolean;
  /** Maximum number of rows that the service may count. */
  maxRows: number;
}

/**
 * Checks a query before any request is sent, and fills in its defaults.
 *
 * @throws {ValidationError} If an option is not valid for the resource
 */
export function checkQuery(resource: ResourceName, query: UntypedQuery): CheckedQuery {
  const {
    select,
    filter,
    within,
    top = RESOURCES[resource].pageSize,
    limit = Infinity,
    skipToken,
    partition,
    unchecked = false,
    incomplete = "error",
    maxRows = Infinity,
  } = query;
  requireTypes(query);
  requireWholeNumber("top", top, 1, MAXIMUM_TOP);
  requireWholeNumber("limit", limit, 0);
  requireWholeNumber("maxRows", maxRows, 1);
  requireOneOf("incomplete", incomplete, ["error", "warn"]);
  if (partition !== undefined) {
    requireOneOf("partition", partition, PARTITIONS);
    if (!isMeasured(resource)) {
      throw new ValidationError("partition", `is not an option of ${resource}`, {
        received: partition,
        hint: "omit it: only Observations and Records are split",
      });
    }
  }
  const fields = select === undefined ? undefined : parseSelect(select);
  if (fields !== undefined) requireFields(resource, fields, unchecked);
  const parsed = filter === undefined
    ? { filter, clauses: [] }
    : parseFilterOf(resource, String(filter), unchecked);
  const box = within === undefined ? undefined : toBoxClauses(within, "within");
  // Metadata and Locations are filtered by position; the others by the locations in the box.
  const positions = isMeasured(resource) ? [] : box ?? [];
  return {
    resource,
    select: fields,
    filter: narrow(parsed, positions),
    clauses: parsed.clauses && [...parsed.clauses, ...positions],
    box: isMeasured(resource) ? box : undefined,
    top,
    limit,
    skipToken,
    partition: isMeasured(resource) ? partition ?? "auto" : "never",
    acceptsIncomplete: incomplete === "warn",
    maxRows,
  };
}

/** Parses a selection; in a string, fields are separated by commas. */
export function parseSelect(select: readonly string[] | string): string[] {
  return typeof select === "string" ? select.split(",").map((name) => name.trim()) : [...select];
}

/** Whether the rows of a resource are measurements, which have a location but no position. */
export function isMeasured(resource: ResourceName): boolean {
  return resource === "Observations" || resource === "Records";
}

/**
 * Checks that a filter is a string or an expression. `undefined` is valid.
 *
 * @throws {ValidationError} If it has another type
 */
export function requireFilterType(filter: Filter<string> | string | undefined, hint: string): void {
  if (filter === undefined || typeof filter === "string" || Array.isArray(filter?.clauses)) return;
  throw invalidValue("filter", "a string or one expression", filter, hint);
}

/** Checks the types of `select`, `filter`, `skipToken` and `unchecked`, and that none is empty. */
function requireTypes({ select, filter, skipToken, unchecked }: UntypedQuery): void {
  const isSelection = typeof select === "string" ||
    Array.isArray(select) && select.every((name) => typeof name === "string");
  if (select !== undefined && !isSelection) {
    throw invalidValue("select", "an array of fields or a string", select);
  }
  if (select?.length === 0) throw emptyOption("select", select, "omit it for all fields");
  requireFilterType(filter, "combine several expressions with and()");
  if (filter !== undefined && String(filter).trim() === "") {
    throw emptyOption("filter", filter, "omit it for all rows");
  }
  requireType("skipToken", skipToken, "string");
  if (skipToken === "") {
    throw emptyOption("skipToken", skipToken, "omit it to start at the first row");
  }
  requireType("unchecked", unchecked, "boolean");
}

function requireFields(
  resource: ResourceName,
  select: readonly string[],
  unchecked: boolean,
): void {
  if (select.includes("")) {
    throw new ValidationError("select", 'includes the empty name ""', {
      received: select,
      hint: "remove the extra comma",
    });
  }
  const known: readonly string[] = fieldNames(resource);
  const unknown = unchecked ? undefined : select.find((name) => !known.includes(name));
  if (unknown !== undefined) {
    const hint = unknownSelectFieldHint(resource, unknown);
    const problem = `includes "${unknown}", which is not a field of ${resource}`;
    const canBeUnchecked = isListOfNames(hint);
    throw new ValidationError("select", problem, { received: select, hint, canBeUnchecked });
  }
  const repeated = firstRepeated(select);
  if (repeated !== undefined) {
    throw new ValidationError("select", `includes "${repeated}" twice`, {
      received: select,
      hint: "list each field once",
    });
  }
}

/** A filter and its clauses; `clauses` is `undefined` if the filter cannot be parsed. */
type ParsedFilter = Pick<CheckedQuery, "filter" | "clauses">;

/** Parses a filter, and checks that the resource can be filtered by every field in it. */
function parseFilterOf(resource: ResourceName, filter: string, unchecked: boolean): ParsedFilter {
  let clauses: ParsedClause[];
  try {
    clauses = parseFilter(filter);
  } catch (error) {
    if (!(error instanceof ValidationError)) throw error;
    if (unchecked) return { filter, clauses: undefined };
    const { option, problem, received, hint } = error;
    // A hint corrects the filter. Without a hint, the service may support syntax that Weir does not.
    throw new ValidationError(option, problem, { received, hint, canBeUnchecked: hint === "" });
  }
  if (!unchecked) requireFilterFields(resource, filter, clauses, true);
  return { filter, clauses };
}

/** Appends clauses to a filter with `and`. */
export function narrow(
  { filter, clauses }: ParsedFilter,
  more: readonly Clause[],
): string | undefined {
  if (more.length === 0) return filter;
  if (filter === undefined) return formatClauses(more);
  // A filter that cannot be parsed may contain `or`, which has lower precedence than `and`.
  return `${clauses === undefined ? `(${filter})` : filter} and ${formatClauses(more)}`;
}

/** System query options of one request, by their OData names. */
export interface SystemQueryOptions {
  $select?: string | undefined;
  $filter?: string | undefined;
  $top?: number | undefined;
  $skiptoken?: string | undefined;
  $count?: "true";
}
