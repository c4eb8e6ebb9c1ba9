import { ValidationError } from "../errors.ts";
import {
  emptyOption,
  firstRepeated,
  invalidValue,
  isListOfStrings,
  listNames,
  requireOneOf,
  requireType,
  requireWholeNumber,
} from "../validation.ts";
import { type BoundingBox, toBoxClauses } from "./bounding_box.ts";
import { type Clause, formatClauses, matchesNothing, normalizeClause } from "./clause.ts";
import { type Filter, isFilter } from "./filter.ts";
import { type ParsedClause, parseFilter } from "./parse_filter.ts";
import { fieldNames, isMeasured, MAXIMUM_TOP, type ResourceName, RESOURCES } from "./resources.ts";
import { unknownFilterFieldHint, unknownSelectFieldHint } from "./name_hints.ts";

/**
 * Options of a query that determine its rows. Names of fields are checked only when the program runs.
 *
 * @example Fields and filter from a configuration
 * ```ts
 * import { DataStream, type QueryOptions, type ResourceName, ValidationError } from "@weir/datastream";
 * import { assertThrows } from "@std/assert";
 *
 * const text = '["Records", {"select": "Id,ResultVal", "limit": 5}]';
 * const [resource, options]: [ResourceName, QueryOptions] = JSON.parse(text);
 * assertThrows(() => new DataStream().query(resource, options), ValidationError, "ResultValue");
 * ```
 */
export interface QueryOptions {
  /** Fields to select, in order, as an array or separated by commas. Default: all. */
  select?: readonly string[] | string | undefined;
  /** An expression, or an OData filter as text, not encoded. Default: none. */
  filter?: Filter<string> | string | undefined;
  /** Whether to accept names and filters that Weir does not know. Default false. */
  unchecked?: boolean | undefined;
  /**
   * Bounding box of the locations of the rows; positions on its edges are outside. Metadata and Locations
   * are filtered by it. Observations and Records cannot be filtered by position: the locations in the box
   * are requested first, with the clauses of the filter that Locations supports. Default: none.
   */
  within?: BoundingBox | undefined;
  /** Page size, 1 to 10000. It does not limit the number of rows. Default 10000; 100 for Metadata. */
  top?: number | undefined;
  /** Maximum number of rows. Only as many pages are requested as needed. Default: all rows. */
  limit?: number | undefined;
  /**
   * Position to begin after: the `$skiptoken` of a next link, `Id:<last id>`. If the query is unchecked,
   * any other text is accepted, too. Default: the start.
   */
  skipToken?: string | undefined;
  /**
   * Whether to fail if the service counted another number of rows. Results that took more than one response, and
   * results of one full page, are compared with its count; those that end with their `limit` or begin at a `skipToken`
   * are not. Counts above 100,000 are estimates: 0.0005 % is accepted. `error` fails the query with a
   * `DataStreamError` of kind `incomplete`. `warn` accepts the result and reports the number of missing rows as
   * `missingRows` to `onProgress`. Default `error`.
   */
  incomplete?: "error" | "warn" | undefined;
  /**
   * Maximum number of rows of the result. Above it, the query fails with a `DataStreamError` of kind `too-many-rows`:
   * before its first row, if the service counts more; with a bounding box or a long list, at the row after the maximum. A
   * result of one page is not counted. A `limit` up to this number needs no count. Default: no maximum.
   */
  maxRows?: number | undefined;
  /**
   * `never` does not split a query of Observations or Records. Without it, a result of more than 1,000,000 counted
   * rows is split by location, and so is a query that the service refuses three times (status 408, 413 or 504).
   * Default: none.
   */
  partition?: "never" | undefined;
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
  /** Whether the filter has an empty list, which no row matches. Then nothing is requested. */
  matchesNothing: boolean;
  /** Clauses that match the locations inside `within`, if rows of the resource have no position. */
  box: readonly Clause[] | undefined;
  /** Page size. */
  top: number;
  /** Maximum number of rows to return. */
  limit: number;
  skipToken: string | undefined;
  partition: "never" | undefined;
  /** Whether a result with fewer rows than the service counted is accepted. */
  acceptsIncomplete: boolean;
  /** Maximum number of rows that the service may count. */
  maxRows: number;
  /** Fields that are requested for their values, even if they are not selected. Default: none. */
  distinct?: readonly string[];
}

/**
 * Checks a query before any request is sent, and fills in its defaults.
 *
 * @param options `canBeUnchecked`: whether an error may suggest the option `unchecked`. `added`: clauses
 *   that the rows must match too; they are not checked
 * @throws {ValidationError} If an option is not valid for the resource
 */
export function checkQuery(
  resource: ResourceName,
  query: QueryOptions,
  { canBeUnchecked = true, added = [] }: { canBeUnchecked?: boolean; added?: readonly Clause[] } =
    {},
): CheckedQuery {
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
  requireType("unchecked", unchecked, "boolean");
  requireType("skipToken", skipToken, "string");
  if (skipToken !== undefined && !(unchecked ? /./ : /^Id:./).test(skipToken)) {
    throw invalidValue("skipToken", '"Id:" and an Id', skipToken);
  }
  requireWholeNumber("top", top, 1, MAXIMUM_TOP);
  requireWholeNumber("limit", limit, 0);
  requireWholeNumber("maxRows", maxRows, 1);
  requireOneOf("incomplete", incomplete, ["error", "warn"]);
  if (partition !== undefined) {
    if (partition !== "never") {
      const hint = "omit it: Weir splits large queries by itself";
      throw invalidValue("partition", '"never"', partition, hint);
    }
    if (!isMeasured(resource)) {
      throw new ValidationError("partition", `is not an option of ${resource}`, {
        received: partition,
        hint: "omit it: only Observations and Records are split",
      });
    }
  }
  const fields = select === undefined ? undefined : checkSelect(resource, select, unchecked);
  const parsed = filter === undefined
    ? NO_FILTER
    : checkFilter(resource, filter, unchecked, canBeUnchecked);
  const box = within === undefined ? undefined : toBoxClauses(within, "within");
  // Metadata and Locations are filtered by position; the others by the locations in the box.
  const more = isMeasured(resource) ? added : [...added, ...box ?? []];
  const clauses = parsed.clauses && [...parsed.clauses, ...more];
  return {
    resource,
    select: fields,
    filter: narrow(parsed, more),
    clauses,
    matchesNothing: matchesNothing(clauses ?? added),
    box: isMeasured(resource) ? box : undefined,
    top,
    limit,
    skipToken,
    partition,
    acceptsIncomplete: incomplete === "warn",
    maxRows,
  };
}

/** Parses a selection; in a string, fields are separated by commas. */
export function parseSelect(select: readonly string[] | string): string[] {
  return typeof select === "string" ? select.split(",").map((name) => name.trim()) : [...select];
}

/** Checks a selection, and returns its fields. */
function checkSelect(
  resource: ResourceName,
  select: readonly string[] | string,
  unchecked: boolean,
): readonly string[] {
  if (typeof select !== "string" && !isListOfStrings(select)) {
    throw invalidValue("select", "an array of fields or a string", select);
  }
  if (select.length === 0) throw emptyOption("select", select, "omit it for all fields");
  const fields = parseSelect(select);
  if (fields.includes("")) {
    throw new ValidationError("select", 'includes the empty name ""', {
      received: fields,
      hint: "remove the extra comma",
    });
  }
  const known: readonly string[] = fieldNames(resource);
  const unknown = unchecked ? undefined : fields.find((name) => !known.includes(name));
  if (unknown !== undefined) {
    const hint = unknownSelectFieldHint(resource, unknown);
    throw new ValidationError(
      "select",
      `includes "${unknown}", which is not a field of ${resource}`,
      {
        received: fields,
        hint: hint ?? listNames(known),
        canBeUnchecked: hint === undefined,
      },
    );
  }
  const repeated = firstRepeated(fields);
  if (repeated !== undefined) {
    throw new ValidationError("select", `includes "${repeated}" twice`, {
      received: fields,
      hint: "list each field once",
    });
  }
  return fields;
}

/** A filter and its clauses; `clauses` is `undefined` if the filter cannot be parsed. */
type ParsedFilter = Pick<CheckedQuery, "filter" | "clauses">;

/** The filter that every row matches. */
const NO_FILTER: ParsedFilter = { filter: undefined, clauses: [] };

/** Parses a filter, and checks that the resource can be filtered by every field in it. */
function checkFilter(
  resource: ResourceName,
  given: Filter<string> | string,
  unchecked: boolean,
  canBeUnchecked: boolean,
): ParsedFilter {
  if (typeof given !== "string" && !isFilter(given)) {
    const hint = "combine several expressions with and()";
    throw invalidValue("filter", "a string or one expression", given, hint);
  }
  // and() without an operand
  if (typeof given !== "string" && given.clauses.length === 0) return NO_FILTER;
  const text = String(given);
  if (text.trim() === "") throw emptyOption("filter", given, "omit it for all rows");
  let parsed: ParsedClause[];
  try {
    parsed = parseFilter(text, { canBeUnchecked, allowsEmptyLists: typeof given !== "string" });
  } catch (error) {
    if (unchecked && error instanceof ValidationError) return { filter: text, clauses: undefined };
    throw error;
  }
  if (!unchecked) requireFilterFields(resource, text, parsed, canBeUnchecked);
  const clauses = parsed.map(normalizeClause);
  return { filter: formatClauses(clauses), clauses };
}

/**
 * Checks that a resource can be filtered by each field of a filter.
 *
 * @param filter The filter, for the error
 * @param canBeUnchecked Whether the error may suggest the option `unchecked`. It does so only if no
 *   filter field is similar
 * @throws {ValidationError} If the filter names a field that the resource cannot be filtered by
 */
function requireFilterFields(
  resource: ResourceName,
  filter: string,
  clauses: readonly ParsedClause[],
  canBeUnchecked: boolean,
): void {
  const names: readonly string[] = RESOURCES[resource].filters;
  const unknown = clauses.find(({ field }) => !names.includes(field));
  if (unknown === undefined) return;
  const { field, index } = unknown;
  const hint = unknownFilterFieldHint(resource, field);
  throw new ValidationError(
    "filter",
    `uses "${field}" at character ${index + 1}, which is not a filter field of ${resource}`,
    {
      received: filter,
      hint: hint ?? listNames(names),
      canBeUnchecked: canBeUnchecked && hint === undefined,
    },
  );
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

/** Returns the clauses of a filter; an empty list without a filter, or if it cannot be parsed. */
export function clausesOf(filter: QueryOptions["filter"]): readonly Clause[] {
  try {
    return filter === undefined ? [] : parseFilter(String(filter)).map(normalizeClause);
  } catch (error) {
    if (error instanceof ValidationError) return [];
    throw error;
  }
}

/** System query options of one request, by their OData names. */
export interface SystemQueryOptions {
  $select?: string | undefined;
  $filter?: string | undefined;
  $top?: number | undefined;
  $skiptoken?: string | undefined;
  $count?: "true";
}
