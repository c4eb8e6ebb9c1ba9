import { suggestUnchecked, ValidationError } from "../errors.ts";
import {
  firstRepeated,
  invalidOption,
  invalidValue,
  isListOfStrings,
  isObject,
  listNames,
  type OptionRule,
} from "../validation.ts";
import { type BoundingBox, toBoxClauses } from "./bounding_box.ts";
import { type Clause, formatClauses, normalizeClause, valueClause } from "./clause.ts";
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
   * Bounding box of the locations of the rows; positions on its edges are outside. For Observations
   * and Records, the locations in the box are requested first, with the clauses that Locations
   * supports. Default: none.
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
   * `DataStreamError` of kind `incomplete` if rows are missing, and `changed` if there are too many. `warn` accepts the
   * result. The difference is reported as `missingRows` or `surplusRows` to `onProgress`. Default `error`.
   */
  incomplete?: "error" | "warn" | undefined;
  /**
   * Whether all rows must be of one version of each dataset, as in files of the command line. The versions are requested
   * before the first page and, if the rows came in several responses, after the last one. The query fails with a
   * `DataStreamError` of kind `changed` if they differ, or if it needs a second response and a dataset was published less
   * than ten minutes before, because pages can then still have its old rows; `retryAfter` is the time until it is safe.
   * `count()` ignores it. Default false.
   */
  sameVersion?: boolean | undefined;
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
  /**
   * Whether to add the columns of {@linkcode TidyRow} to each row. Observations and Records only. The fields that they
   * need are requested, even if they are not selected. Default false.
   */
  tidy?: boolean | undefined;
  /**
   * First day, `YYYY-MM-DD`, of the rows of Observations or Records. It is compared with `ActivityStartDate` as reported.
   * Rows without a readable date are left out. The service filters by year, and counts whole years. Default: none.
   */
  from?: string | undefined;
  /** Last day, `YYYY-MM-DD`, as `from`. Default: none. */
  to?: string | undefined;
  /** Whether to leave out the rows of quality control of Observations or Records. Default false. */
  excludeQualityControl?: boolean | undefined;
  /**
   * Units to which the option `tidy` converts values, by characteristic, such as `{ Nitrate: "mg/L" }`. Only units of one
   * dimension are converted, with exact factors. Rows with other units keep theirs. Default: none.
   */
  units?: Readonly<Record<string, string>> | undefined;
}

/** {@linkcode checkQuery} checks what depends on the resource. */
export const QUERY_RULES: Readonly<Record<keyof QueryOptions, OptionRule>> = {
  select: {},
  filter: {},
  unchecked: { type: "boolean" },
  within: {},
  top: { min: 1, max: MAXIMUM_TOP },
  limit: { min: 0 },
  skipToken: { type: "string" },
  incomplete: { values: ["error", "warn"] },
  sameVersion: { type: "boolean" },
  tidy: { type: "boolean" },
  from: { check: requireDay },
  to: { check: requireDay },
  excludeQualityControl: { type: "boolean" },
  units: {
    check(option, value) {
      if (isObject(value)) return;
      throw invalidValue(option, "an object with a unit for each characteristic", value);
    },
  },
  maxRows: { min: 1 },
  partition: {
    check(option, value) {
      if (value === "never") return;
      throw invalidValue(option, '"never"', value, "omit it: Weir splits large queries by itself");
    },
  },
};

export interface CheckedQuery {
  resource: ResourceName;
  select: readonly string[] | undefined;
  unchecked: boolean;
  /** Clauses of the filter, of `from` and `to`, and of `within` if rows of the resource have a position. */
  clauses: readonly Clause[];
  /** A filter that is unchecked and cannot be parsed, in addition to the clauses. */
  unparsedFilter: string | undefined;
  /** Clauses of `within`, if rows of the resource have no position. */
  box: readonly Clause[] | undefined;
  top: number;
  limit: number;
  skipToken: string | undefined;
  partition: "never" | undefined;
  acceptsIncomplete: boolean;
  maxRows: number;
  /** What sets `maxRows`. Default: the option. */
  maxRowsOption?: "format" | undefined;
  rules: Pick<QueryOptions, typeof RULE_OPTIONS[number]> | undefined;
  leavesOutRows: boolean;
  /** Fields that are requested for their distinct values, even if they are not selected. Default: none. */
  distinct?: readonly string[] | undefined;
}

/** `added` is not checked. */
export function checkQuery(
  resource: ResourceName,
  query: QueryOptions,
  added: readonly Clause[] = [],
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
  if (skipToken !== undefined && !(unchecked ? /./ : /^Id:./).test(skipToken)) {
    throw invalidValue("skipToken", '"Id:" and an Id', skipToken);
  }
  if (partition !== undefined && !isMeasured(resource)) {
    const hint = "omit it: only Observations and Records are split";
    throw invalidOption("partition", `is not an option of ${resource}`, partition, hint);
  }
  const rules = checkRules(resource, query);
  const fields = select === undefined ? undefined : checkSelect(resource, select, unchecked);
  const parsed = filter === undefined ? NO_FILTER : checkFilter(resource, filter, unchecked);
  const box = within === undefined ? undefined : toBoxClauses(within, "within");
  // Metadata and Locations are filtered by position; the others by the locations in the box.
  const isGiven = (clause: Clause) =>
    parsed.clauses.some((other) => formatClauses([other]) === formatClauses([clause]));
  const years = yearClauses(query).filter((clause) => !isGiven(clause));
  return {
    resource,
    select: fields,
    unchecked,
    clauses: [...parsed.clauses, ...added, ...isMeasured(resource) ? years : box ?? []],
    unparsedFilter: parsed.unparsedFilter,
    box: isMeasured(resource) ? box : undefined,
    top,
    limit,
    skipToken,
    partition,
    acceptsIncomplete: incomplete === "warn",
    maxRows,
    rules,
    leavesOutRows: !!(query.from ?? query.to ?? query.excludeQualityControl),
  };
}

/** Option of Observations and Records only. */
export type MeasuredOption = typeof RULE_OPTIONS[number] | "partition";

const RULE_OPTIONS = ["tidy", "from", "to", "excludeQualityControl", "units"] as const;

function checkRules(resource: ResourceName, query: QueryOptions): CheckedQuery["rules"] {
  const given = RULE_OPTIONS.filter((name) => query[name] !== undefined && query[name] !== false);
  const [option] = given;
  if (option === undefined) return undefined;
  if (!isMeasured(resource)) {
    const isDay = option === "from" || option === "to";
    const problem = isDay ? `cannot be a day for ${resource}` : `is not an option of ${resource}`;
    throw new ValidationError(option, problem, {
      received: query[option],
      hint: `${
        isDay ? "filter by {ActivityStartYear}" : "omit it"
      }, or query Observations or Records`,
    });
  }
  const { from, to, tidy, units } = query;
  if (from !== undefined && to !== undefined && from > to) {
    throw invalidValue("to", `a day from ${from} on`, to);
  }
  if (units !== undefined && !tidy) {
    throw new ValidationError("units", "is only for tidy rows", {
      received: units,
      hint: "add {tidy}",
    });
  }
  // Sorted, because two queries that differ in the order of units are the same.
  const sorted = units && Object.fromEntries(Object.entries(units).sort());
  return Object.fromEntries(given.map((name) => [name, name === "units" ? sorted : query[name]]));
}

function requireDay(option: string, value: unknown): void {
  const date = typeof value === "string" && /^\d{4}-\d\d-\d\d$/.test(value)
    ? new Date(`${value}T00:00:00Z`)
    : undefined;
  if (date && !Number.isNaN(date.getTime()) && date.toISOString().startsWith(String(value))) return;
  throw invalidValue(option, "a day such as 2024-05-15", value);
}

/** The service filters by year only. */
function yearClauses({ from, to }: QueryOptions): Clause[] {
  const clause = (operator: "gte" | "lte", day: string | undefined) =>
    day === undefined ? [] : [valueClause("ActivityStartYear", operator, Number(day.slice(0, 4)))];
  return [...clause("gte", from), ...clause("lte", to)];
}

export function parseSelect(select: readonly string[] | string): string[] {
  return typeof select === "string" ? select.split(",").map((name) => name.trim()) : [...select];
}

function checkSelect(
  resource: ResourceName,
  select: readonly string[] | string,
  unchecked: boolean,
): readonly string[] {
  if (typeof select !== "string" && !isListOfStrings(select)) {
    throw invalidValue("select", "an array of fields or a string", select);
  }
  if (select.length === 0) {
    throw invalidOption("select", "must not be empty", select, "omit it for all fields");
  }
  const fields = parseSelect(select);
  if (fields.includes("")) {
    throw invalidOption("select", 'includes the empty name ""', fields, "remove the extra comma");
  }
  if (!unchecked) requireFields("select", resource, fields);
  const repeated = firstRepeated(fields);
  if (repeated !== undefined) {
    throw invalidOption("select", `includes "${repeated}" twice`, fields, "list each field once");
  }
  return fields;
}

export function requireFields(
  option: string,
  resource: ResourceName,
  fields: readonly string[],
): void {
  const known: readonly string[] = fieldNames(resource);
  const unknown = fields.find((name) => !known.includes(name));
  if (unknown === undefined) return;
  const hint = unknownSelectFieldHint(resource, unknown);
  const problem = `includes "${unknown}", which is not a field of ${resource}`;
  const error = invalidOption(option, problem, fields, hint ?? listNames(known));
  throw suggestUnchecked(error, option === "select" && hint === undefined);
}

type ParsedFilter = Pick<CheckedQuery, "clauses" | "unparsedFilter">;

const NO_FILTER: ParsedFilter = { clauses: [], unparsedFilter: undefined };

function checkFilter(
  resource: ResourceName,
  given: Filter<string> | string,
  unchecked: boolean,
): ParsedFilter {
  if (typeof given !== "string" && !isFilter(given)) {
    const hint = "combine several expressions with and()";
    throw invalidValue("filter", "a string or one expression", given, hint);
  }
  // and() without an operand
  if (typeof given !== "string" && given.clauses.length === 0) return NO_FILTER;
  const text = String(given);
  if (text.trim() === "") {
    throw invalidOption("filter", "must not be empty", given, "omit it for all rows");
  }
  let parsed: ParsedClause[];
  try {
    parsed = parseFilter(text, typeof given !== "string");
  } catch (error) {
    if (unchecked && error instanceof ValidationError) return { clauses: [], unparsedFilter: text };
    throw error;
  }
  if (!unchecked) requireFilterFields(resource, text, parsed);
  return { clauses: parsed.map(normalizeClause), unparsedFilter: undefined };
}

function requireFilterFields(
  resource: ResourceName,
  filter: string,
  clauses: readonly ParsedClause[],
): void {
  const names: readonly string[] = RESOURCES[resource].filters;
  const unknown = clauses.find(({ field }) => !names.includes(field));
  if (unknown === undefined) return;
  const { field, index } = unknown;
  const hint = unknownFilterFieldHint(resource, field);
  const place = `uses "${field}" at character ${index + 1}`;
  const problem = `${place}, which is not a filter field of ${resource}`;
  const error = invalidOption("filter", problem, filter, hint ?? listNames(names));
  throw suggestUnchecked(error, hint === undefined);
}

/** Empty if the filter cannot be parsed. */
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

type RowFilter = Pick<QueryOptions, "filter" | "within">;

/** Clauses with `ne` on a property of rows are left out, so that no dataset is missing. */
export function datasetClauses({ filter, within }: RowFilter): Clause[] {
  try {
    return omitRowExclusions(checkQuery("Metadata", { filter, within }).clauses);
  } catch (error) {
    if (!(error instanceof ValidationError)) throw error;
    // Without the suggestion of `unchecked`, which citations do not have.
    throw new ValidationError(error.option, error.problem, error);
  }
}

/** Returns `undefined` for all datasets. */
export function toMetadataFilter(query: RowFilter): string | undefined {
  return formatClauses(datasetClauses(query)) || undefined;
}

/** Leaves out clauses that Metadata does not support: matches more datasets, never fewer. */
export function toWiderMetadataFilter({ filter, within }: RowFilter): string | undefined {
  const names: readonly string[] = RESOURCES.Metadata.filters;
  const clauses = [...clausesOf(filter), ...(within ? toBoxClauses(within, "within") : [])];
  // Other resources have other Ids.
  const supported = clauses.filter(({ field }) => names.includes(field) && field !== "Id");
  return formatClauses(omitRowExclusions(supported)) || undefined;
}

/** For other names, `ne` may mean "has no such row" instead of "has a row that differs". */
const DATASET_NAMES = ["Id", "DOI", "DatasetName", "CreateTimestamp"];

function omitRowExclusions(clauses: readonly Clause[]): Clause[] {
  return clauses.filter(({ field, operator }) =>
    operator !== "ne" || DATASET_NAMES.includes(field)
  );
}
