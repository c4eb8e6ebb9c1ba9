import { messageFor, ValidationError } from "../errors.ts";
import type { Clause, Literal } from "../odata/clause.ts";
import { parseFilter } from "../odata/parse_filter.ts";
import {
  fieldNames,
  FILTER_FIELDS,
  type FilterField,
  MAXIMUM_TOP,
  type ResourceName,
  RESOURCES,
} from "../odata/resources.ts";
import { parseSelect } from "../odata/query_options.ts";

/** Number of rows on a page if a request has no `$top`. */
const DEFAULT_TOP = 10;

/** System query options of a request, checked. */
export interface SandboxQuery {
  /** Fields to return, in order. */
  select: string[];
  tests: FieldTest[];
  /** Page size. */
  top: number;
  /** Id after which the page starts; `null` for the first page. */
  after: string | null;
  count: boolean;
  /** `$select` and `$filter` as received, for the next link. */
  carried: [name: string, value: string][];
}

/** Test of one field that a row must pass. */
export interface FieldTest {
  field: FilterField;
  matches(value: TestedValue): boolean;
}

/** Value of a field of a row; an array matches if one of its items does. */
export type TestedValue = string | number | null | readonly string[];

/** A request that the service rejects with 400. */
export class BadRequest extends Error {
  override readonly name = "BadRequest";
}

/**
 * Parses the system query options of a request, as strictly as the service.
 *
 * @param query The query string, without its question mark
 * @throws {BadRequest} If an option, a field or the filter is not valid
 * @throws {URIError} If a percent sign is not followed by two hexadecimal digits
 */
export function parseQuery(resource: ResourceName, query: string): SandboxQuery {
  const options = new Map<string, string>();
  for (const pair of query.split("&").filter((pair) => pair !== "")) {
    const equals = pair.indexOf("=");
    const name = decodeURIComponent(equals < 0 ? pair : pair.slice(0, equals));
    if (!["$select", "$filter", "$top", "$skiptoken", "$count"].includes(name)) {
      throw new BadRequest(`Unknown query option '${name}'`);
    }
    if (options.has(name)) throw new BadRequest(`Query option '${name}' is given twice`);
    options.set(name, equals < 0 ? "" : decodeURIComponent(pair.slice(equals + 1)));
  }
  return {
    select: parseFields(resource, options.get("$select")),
    tests: parseTests(resource, options.get("$filter")),
    top: parseTop(options.get("$top")),
    after: parseSkipToken(resource, options.get("$skiptoken")),
    count: parseCount(options.get("$count")),
    carried: [...options].filter(([name]) => name === "$select" || name === "$filter"),
  };
}

function parseFields(resource: ResourceName, text?: string): string[] {
  const known: string[] = fieldNames(resource);
  if (text === undefined) return known;
  const names = [...new Set(parseSelect(text))];
  const unknown = names.find((name) => !known.includes(name));
  if (unknown !== undefined) throw new BadRequest(`${resource} has no field '${unknown}'`);
  return names;
}

function parseTop(text = String(DEFAULT_TOP)): number {
  const top = /^\d+$/.test(text) ? Number(text) : NaN;
  if (!(top >= 1 && top <= MAXIMUM_TOP)) {
    throw new BadRequest(`$top must be a whole number from 1 to ${MAXIMUM_TOP}, got '${text}'`);
  }
  return top;
}

function parseSkipToken(resource: ResourceName, text?: string): string | null {
  if (text === undefined) return null;
  const pattern = resource === "Metadata"
    ? /^Id:([\da-f]{8}(?:-[\da-f]{4}){3}-[\da-f]{12})$/
    : /^Id:(\d+)$/;
  const match = pattern.exec(text);
  if (!match) throw new BadRequest(`$skiptoken must be 'Id:' and the last Id, got '${text}'`);
  return match[1]!;
}

function parseCount(text = "false"): boolean {
  if (text !== "true" && text !== "false") {
    throw new BadRequest(`$count must be true or false, got '${text}'`);
  }
  return text === "true";
}

function parseTests(resource: ResourceName, filter?: string): FieldTest[] {
  if (filter === undefined) return [];
  try {
    return parseFilter(filter).map((clause) => toTest(resource, clause));
  } catch (error) {
    if (error instanceof ValidationError) {
      throw new BadRequest(messageFor(error, { filter: "$filter" }));
    }
    throw error;
  }
}

/** Converts a clause to a test, with the service's rules for names and literals. */
function toTest(resource: ResourceName, { field, operator, values }: Clause): FieldTest {
  if (!isFilterOf(resource, field)) {
    throw new BadRequest(`${resource} cannot be filtered by '${field}'`);
  }
  if (operator === "endswith" && FILTER_FIELDS[field] !== "text") {
    throw new BadRequest(`endswith requires a text field, got '${field}'`);
  }
  const expected = values.map((literal) => toComparable(field, literal));
  return { field, matches: toMatcher(operator, expected) };
}

function isFilterOf(resource: ResourceName, field: string): field is FilterField {
  return (RESOURCES[resource].filters as readonly string[]).includes(field);
}

type Comparable = string | number;

/** Null equals nothing and differs from everything (OData 4.01 Protocol, section 11.2.6.1.1). */
function toMatcher(operator: Clause["operator"], expected: Comparable[]): FieldTest["matches"] {
  if (operator === "ne") {
    const equals = toMatcher("eq", expected);
    return (value) => !equals(value);
  }
  const compare = COMPARATORS[operator === "in" ? "eq" : operator];
  const matchesOne = (item: Comparable) => expected.some((other) => compare(item, other));
  return (value) => {
    if (value === null) return false;
    return typeof value === "object" ? value.some(matchesOne) : matchesOne(value);
  };
}

const COMPARATORS: Record<
  Exclude<Clause["operator"], "ne" | "in">,
  (a: Comparable, b: Comparable) => boolean
> = {
  eq: (a, b) => a === b,
  lt: (a, b) => a < b,
  lte: (a, b) => a <= b,
  gt: (a, b) => a > b,
  gte: (a, b) => a >= b,
  endswith: (a, b) => String(a).endsWith(String(b)),
};

const DATE = /^\d{4}-\d{2}-\d{2}(T\d{2}:\d{2}(:\d{2}(\.\d+)?)?(Z|[+-]\d{2}:\d{2}))?$/;

function toComparable(field: FilterField, { text, quoted }: Literal): Comparable {
  const type = FILTER_FIELDS[field];
  if (type === "number" || type === "degrees") {
    if (!/^-?\d+(\.\d+)?([eE][+-]?\d+)?$/.test(text)) {
      throw new BadRequest(`${field} must be compared with a number, got '${text}'`);
    }
    return Number(text);
  }
  if (!quoted) throw new BadRequest(`${field} must be compared with a quoted string, got ${text}`);
  if (type === "text") return text;
  const time = DATE.test(text) ? Date.parse(text) : NaN;
  if (Number.isNaN(time)) {
    throw new BadRequest(`${field} must be compared with a date 'YYYY-MM-DD', got '${text}'`);
  }
  return time;
}
