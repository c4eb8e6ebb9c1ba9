import { describe, firstRepeated } from "../validation.ts";
import { type BoundingBox, toBoxClauses } from "./bounding_box.ts";
import { type Clause, formatClauses } from "./clause.ts";
import type { Filter } from "./filter.ts";
import { fieldHint } from "./name_hints.ts";
import { checkFilter, parseFilter } from "./parse_filter.ts";
import { fieldNames, type ResourceName, RESOURCES } from "./resources.ts";
import { parseSelect } from "./selection.ts";

/** The most rows that the service puts on a page (water-quality-api, Limits). */
export const MAXIMUM_TOP = 10_000;

/** How a large query is split; see the query's own options. */
export type Partition = "auto" | "never" | "location" | "year";

const PARTITIONS: readonly Partition[] = ["auto", "never", "location", "year"];

/** What a query asks for, as it was given. */
export interface GivenOptions {
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

/** What a query asks for, checked. */
export interface QueryOptions {
  resource: ResourceName;
  /** The fields to select, in order; all where there is none. */
  select: readonly string[] | undefined;
  /** The filter, as the service takes it. */
  filter: string | undefined;
  /** The filter's clauses; undefined where it is of another grammar, and was not checked. */
  clauses: readonly Clause[] | undefined;
  /** Bounding box of the locations of the rows, as a filter of Locations. */
  box: readonly Clause[] | undefined;
  /** The page size. */
  top: number;
  /** The most rows to give. */
  limit: number;
  skipToken: string | undefined;
  partition: Partition;
  /** Whether a result that is short of the service's count is accepted. */
  acceptsIncomplete: boolean;
  /** The number of counted rows past which the query fails before its first page. */
  maxRows: number;
}

/**
 * Checks what a query asks for, before any request is spent on it.
 *
 * @throws {TypeError} If a name is not one of the resource, or given twice, or an option is empty
 *   or not for this resource
 * @throws {SyntaxError} If the filter is not of the service's grammar
 * @throws {RangeError} If a number is out of range
 */
export function checkOptions(resource: ResourceName, given: GivenOptions): QueryOptions {
  const {
    within,
    top = RESOURCES[resource].pageSize,
    limit = Infinity,
    skipToken,
    partition = "auto",
    unchecked = false,
    incomplete = "error",
    maxRows = Infinity,
  } = given;
  requireTexts(given);
  const filter = given.filter === undefined ? undefined : String(given.filter);
  if (filter?.trim() === "" || given.select?.length === 0 || skipToken === "") {
    const empty = filter?.trim() === "" ? "filter" : skipToken === "" ? "skipToken" : "select";
    throw new TypeError(
      `Cannot ask ${resource} with an empty ${empty}: leave it out for all there is`,
    );
  }
  if (!Number.isInteger(top) || top < 1 || top > MAXIMUM_TOP) {
    throw new RangeError(
      `Cannot ask for pages of ${
        describe(top)
      } rows: wanted a whole number from 1 to ${MAXIMUM_TOP}`,
    );
  }
  if (limit !== Infinity && !(Number.isInteger(limit) && limit >= 0)) {
    throw new RangeError(
      `Cannot stop after ${describe(limit)} rows: wanted a whole number from 0, or no limit`,
    );
  }
  if (maxRows !== Infinity && !(Number.isInteger(maxRows) && maxRows >= 1)) {
    throw new RangeError(
      `maxRows must be a whole number from 1, or Infinity for any number, got ${describe(maxRows)}`,
    );
  }
  if (incomplete !== "error" && incomplete !== "warn") {
    throw new TypeError(
      `incomplete must be "error" or "warn", got ${describe(incomplete)}`,
    );
  }
  if (!PARTITIONS.includes(partition)) {
    throw new TypeError(
      `Cannot split by ${describe(partition)}: wanted one of ${PARTITIONS.join(", ")}`,
    );
  }
  if (!isMeasured(resource) && given.partition !== undefined) {
    throw new TypeError(
      `Cannot split ${resource}: leave partition out, it is for Observations and Records`,
    );
  }
  const clauses = filter === undefined
    ? []
    : unchecked
    ? parseIfPossible(filter)
    : checkFilter(resource, filter, true);
  const box = within && toBoxClauses(within);
  // Metadata and Locations have positions of their own to filter by.
  const positions = isMeasured(resource) ? [] : box ?? [];
  return {
    resource,
    select: given.select === undefined
      ? undefined
      : checkSelect(resource, parseSelect(given.select), unchecked),
    filter: narrow({ filter, clauses }, positions),
    clauses: clauses && [...clauses, ...positions],
    box: isMeasured(resource) ? box : undefined,
    top,
    limit,
    skipToken,
    partition: isMeasured(resource) ? partition : "never",
    acceptsIncomplete: incomplete === "warn",
    maxRows,
  };
}

/** The system query options of one request, under the names of OData. */
export interface SystemQueryOptions {
  $select?: string | undefined;
  $filter?: string | undefined;
  $top?: number | undefined;
  $skiptoken?: string | undefined;
  $count?: "true";
}

/** The filter and more clauses, all of which a row meets. */
export function narrow(
  { filter, clauses }: Pick<QueryOptions, "filter" | "clauses">,
  more: readonly Clause[],
): string | undefined {
  if (more.length === 0 || filter === undefined) {
    return more.length === 0 ? filter : formatClauses(more);
  }
  // One of another grammar may hold an "or", which binds less than the "and" that is added.
  return `${clauses === undefined ? `(${filter})` : filter} and ${formatClauses(more)}`;
}

/** Refuses what is no text where text is wanted, as it can come from plain JavaScript. */
function requireTexts({ select, filter, skipToken, unchecked }: GivenOptions): void {
  const isText = (value: unknown) => value === undefined || typeof value === "string";
  const isList = Array.isArray(select) && select.every((name) => typeof name === "string");
  const isFilter = typeof filter === "object" && Array.isArray(filter?.clauses);
  const wrong: [name: string, wanted: string, value: unknown][] = [];
  if (!isText(select) && !isList) wrong.push(["select", "a list of fields or a text", select]);
  if (!isText(filter) && !isFilter) {
    wrong.push(["filter", "a text or one expression (join several with and())", filter]);
  }
  if (!isText(skipToken)) wrong.push(["skipToken", "a text", skipToken]);
  if (unchecked !== undefined && typeof unchecked !== "boolean") {
    wrong.push(["unchecked", "true or false", unchecked]);
  }
  for (const [name, wanted, value] of wrong) {
    throw new TypeError(`${name} must be ${wanted}, got ${describe(value)}`);
  }
}

/** The large resources, which are measured at a location and split by it. */
export function isMeasured(resource: ResourceName): boolean {
  return resource === "Observations" || resource === "Records";
}

function checkSelect(resource: ResourceName, select: string[], unchecked: boolean): string[] {
  const fields: string[] = fieldNames(resource);
  const unknown = select.find((name) => name === "" || !(unchecked || fields.includes(name)));
  if (unknown !== undefined) {
    throw new TypeError(
      `Cannot select "${unknown}" from ${resource}: ${fieldHint(resource, unknown)}`,
    );
  }
  const twice = firstRepeated(select);
  if (twice !== undefined) {
    throw new TypeError(`Cannot select "${twice}" twice: wanted each field once`);
  }
  return select;
}

/** Returns the clauses of a filter, or `undefined` if it is not in the grammar that Weir knows. */
function parseIfPossible(filter: string): Clause[] | undefined {
  try {
    return parseFilter(filter);
  } catch {
    return undefined;
  }
}

/** Where a query of a resource has a box. */
interface PlacedBox {
  filter: string | undefined;
  within?: BoundingBox | undefined;
}

/**
 * A filter and a box as a resource takes them: the box joined to the filter where it has positions of
 * its own, else beside it, as `within`.
 *
 * @param unchecked Whether the filter may have names and a grammar that Weir does not know
 * @throws {TypeError} If the resource cannot be filtered by a name
 * @throws {SyntaxError} If the filter is not of the service's grammar
 * @throws {RangeError} If a side of the box is out of range
 */
export function placeBox(
  resource: ResourceName,
  filter: string | undefined,
  box: BoundingBox | undefined,
  unchecked = false,
): PlacedBox {
  if (box === undefined) return { filter };
  if (isMeasured(resource)) return { filter, within: box };
  const clauses = filter === undefined
    ? []
    : unchecked
    ? parseIfPossible(filter)
    : checkFilter(resource, filter);
  return { filter: narrow({ filter, clauses }, toBoxClauses(box)) };
}
