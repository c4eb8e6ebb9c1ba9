import { messageFor, namesOf, ValidationError } from "../errors.ts";
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

/** Rows per page without `$top`. */
const DEFAULT_TOP = 10;

export interface SandboxQuery {
  select: string[];
  tests: FieldTest[];
  top: number;
  /** Id; empty for the first page. */
  after: string;
  count: boolean;
  /** As received, for the next link. */
  carried: [name: string, value: string][];
}

export interface FieldTest {
  field: string;
  matches(value: TestedValue): boolean;
}

/** An array matches if one of its items does. */
export type TestedValue = string | number | null | readonly string[];

export class BadRequest extends Error {
  override readonly name = "BadRequest";
}

/** As strictly as the service. */
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

function parseSkipToken(resource: ResourceName, text?: string): string {
  if (text === undefined) return "";
  const id = resource === "Metadata" ? "[\\da-f]{8}(?:-[\\da-f]{4}){3}-[\\da-f]{12}" : "\\d+";
  if (!new RegExp(`^Id:${id}$`).test(text)) {
    throw new BadRequest(`$skiptoken must be 'Id:' and the last Id, got '${text}'`);
  }
  return text.slice("Id:".length);
}

function parseCount(text = "false"): boolean {
  if (text === "true" || text === "false") return text === "true";
  throw new BadRequest(`$count must be true or false, got '${text}'`);
}

function parseTests(resource: ResourceName, filter?: string): FieldTest[] {
  if (filter === undefined) return [];
  try {
    return parseFilter(filter).map((clause) => toTest(resource, clause));
  } catch (error) {
    if (error instanceof ValidationError) {
      throw new BadRequest(messageFor(error, namesOf({ filter: "$filter" })));
    }
    throw error;
  }
}

/** With the service's rules for names and literals. */
function toTest(resource: ResourceName, { field, operator, values }: Clause): FieldTest {
  const names: readonly string[] = RESOURCES[resource].filters;
  if (!names.includes(field)) {
    throw new BadRequest(`${resource} cannot be filtered by '${field}'`);
  }
  const type = FILTER_FIELDS[field as FilterField];
  if (operator === "endswith" && type !== "text") {
    throw new BadRequest(`endswith requires a text field, got '${field}'`);
  }
  const expected = values.map((literal) => toComparable(field, type, literal));
  return { field, matches: toMatcher(operator, expected) };
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

function toComparable(
  field: string,
  type: typeof FILTER_FIELDS[FilterField],
  { text, quoted }: Literal,
): Comparable {
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
