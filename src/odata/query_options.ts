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
import { type Clause, formatClauses } from "./clause.ts";
import { type Filter, isFilter } from "./filter.ts";
import { type ParsedClause, parseFilter } from "./parse_filter.ts";
import { fieldNames, isMeasured, MAXIMUM_TOP, type ResourceName, RESOURCES } from "./resources.ts";
import { unknownFilterFieldHint, unknownSelectFieldHint } from "./name_hints.ts";

/** How a large query is split; see the query option `partition`. */
export type Partition = "auto" | "never" | "location" | "year";

const PARTITIONS: readonly Partition[] = ["auto", "never", "location", "year"];

/**
 * Query options whose values have the same type for each resource.
 *
 * @example The rows in a bounding box, and an error if there are more than 100,000
 * ```ts
 * import { DataStream, type RowOptions } from "@weir/datastream";
 * import { assert } from "@std/assert";
 *
 * const options: RowOptions = {
 *   within: { west: -64.5, south: 45.9, east: -62, north: 47.1 },
 *   maxRows: 100_000,
 * };
 * assert(new DataStream().locations(options).url.includes("Longitude"));
 * ```
 */
export interface RowOptions {
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
   * Whether to fail if fewer rows are received than the service counted, by more than the inaccuracy of
   * its counts: the larger of 1 row and 0.0005 %. If a page broke and was continued, it is 0.0005 %. `error`
   * fails the query with a `DataStreamError` of kind `incomplete`. `warn` accepts the result and reports the
   * number as `missingRows` to `onProgress`. Default `error`.
   */
  incomplete?: "error" | "warn" | undefined;
  /**
   * Maximum number of rows that the service may count for the query. Above it, the query fails with a
   * `DataStreamError` of kind `too-many-rows` before its first row; a result of one page is not
   * counted. A `limit` up to this number needs no count. Default: no maximum.
   */
  maxRows?: number | undefined;
}

/**
 * Options of a query of Observations or Records.
 *
 * @example One shard per location, so that rows arrive location by location
 * ```ts
 * import { DataStream, type MeasuredInput } from "@weir/datastream";
 * import { createSandbox } from "@weir/datastream/sandbox";
 * import { assertEquals } from "@std/assert";
 *
 * const options: MeasuredInput = { partition: "location" };
 * const { apiKey, url, fetch } = createSandbox({ locations: 3, requestsPerSecond: Infinity });
 * const client = new DataStream({ apiKey, baseUrl: url, fetch, requestsPerSecond: Infinity });
 * const rows = await client.observations({ ...options, select: ["LocationId"] }).toArray();
 * assertEquals([...new Set(rows.map(({ LocationId }) => LocationId))].length, 3);
 * ```
 */
export interface MeasuredInput {
  /**
   * How to split the query into shards, which are requested one after the other. Default `auto`.
   *
   * - `auto`: above 1,000,000 counted rows, into groups of locations with at most that many rows. Each
   *   row is returned once. If the service refuses small pages too (status 408, 413 or 504), the query
   *   is also split by location.
   * - `never`: one shard, and no count.
   * - `location`: one shard per location, with at least one request each. Each row is returned once.
   * - `year`: one shard per `ActivityStartYear`, with at least one request each. Rows without a start
   *   date are in no year: the query fails if the count shows that rows are missing.
   */
  partition?: Partition | undefined;
}

/**
 * Query options that contain names of fields, which are checked only when the program runs.
 *
 * @example Fields and filter from a command line
 * ```ts
 * import { DataStream, type FieldOptions, type ResourceName, ValidationError } from "@weir/datastream";
 * import { assertThrows } from "@std/assert";
 *
 * const resource = "Records" as ResourceName;
 * const options: FieldOptions = { select: "Id,ResultVal", filter: "CharacteristicName eq 'pH'" };
 * assertThrows(() => new DataStream().query(resource, options), ValidationError, "ResultValue");
 * ```
 */
export interface FieldOptions {
  /** Fields to select, in order, as an array or separated by commas. Default: all. */
  select?: readonly string[] | string | undefined;
  /** An expression, or an OData filter as text, not encoded. Default: none. */
  filter?: Filter<string> | string | undefined;
  /** Whether to accept names and filters that Weir does not know. Default false. */
  unchecked?: boolean | undefined;
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
 * @param options `canBeUnchecked`: whether an error may suggest the option `unchecked`. `added`: clauses
 *   that the rows must match too; they are not checked
 * @throws {ValidationError} If an option is not valid for the resource
 */
export function checkQuery(
  resource: ResourceName,
  query: FieldOptions & RowOptions & MeasuredInput,
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
    requireOneOf("partition", partition, PARTITIONS);
    if (!isMeasured(resource)) {
      throw new ValidationError("partition", `is not an option of ${resource}`, {
        received: partition,
        hint: "omit it: only Observations and Records are split",
      });
    }
  }
  const fields = select === undefined ? undefined : checkSelect(resource, select, unchecked);
  const parsed = filter === undefined
    ? { filter, clauses: [] }
    : checkFilter(resource, filter, unchecked, canBeUnchecked);
  const box = within === undefined ? undefined : toBoxClauses(within, "within");
  // Metadata and Locations are filtered by position; the others by the locations in the box.
  const clauses = isMeasured(resource) ? added : [...added, ...box ?? []];
  return {
    resource,
    select: fields,
    filter: narrow(parsed, clauses),
    clauses: parsed.clauses && [...parsed.clauses, ...clauses],
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
  const filter = String(given);
  if (filter.trim() === "") throw emptyOption("filter", given, "omit it for all rows");
  let clauses: ParsedClause[];
  try {
    clauses = parseFilter(filter, canBeUnchecked);
  } catch (error) {
    if (unchecked && error instanceof ValidationError) return { filter, clauses: undefined };
    throw error;
  }
  if (!unchecked) requireFilterFields(resource, filter, clauses, canBeUnchecked);
  return { filter, clauses };
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
export function clausesOf(filter: FieldOptions["filter"]): readonly Clause[] {
  try {
    return filter === undefined ? [] : parseFilter(String(filter));
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
