import { BadRequest } from "./bad_request.ts";
import type { Clause } from "../odata/clause.ts";
import {
  FILTER_FIELDS,
  type FilterField,
  type ResourceName,
  RESOURCES,
} from "../odata/resources.ts";

/** What a row holds under a name; a list where any of its items may match. */
export type Held = string | number | null | readonly string[];

/** One clause of a filter, ready to be held against rows. */
export interface Condition {
  field: FilterField;
  holds(value: Held): boolean;
}

type Comparable = string | number;

const COMPARE: Record<string, (a: Comparable, b: Comparable) => boolean> = {
  eq: (a, b) => a === b,
  lt: (a, b) => a < b,
  lte: (a, b) => a <= b,
  gt: (a, b) => a > b,
  gte: (a, b) => a >= b,
  endswith: (a, b) => String(a).endsWith(String(b)),
};

/**
 * Turns clauses into conditions, as strict as the service about names and literals.
 *
 * @throws {BadRequest} If the resource cannot be filtered by a name, or a literal does not fit it
 */
export function toConditions(resource: ResourceName, clauses: readonly Clause[]): Condition[] {
  return clauses.map((clause) => {
    const { field, operator } = clause;
    if (!isFilterOf(resource, field)) {
      throw new BadRequest(`${resource} cannot be filtered by '${field}'`);
    }
    if (operator === "endswith" && FILTER_FIELDS[field] !== "text") {
      throw new BadRequest(`endswith takes a text field, got '${field}'`);
    }
    const wanted = clause.values.map((literal) => toComparable(field, literal));
    return { field, holds: toTest(operator, wanted) };
  });
}

/** A null equals nothing and differs from everything (OData 4.01, Protocol, 11.2.6.1.1). */
function toTest(operator: Clause["operator"], wanted: Comparable[]): Condition["holds"] {
  if (operator === "ne") {
    const equals = toTest("eq", wanted);
    return (held) => !equals(held);
  }
  const compare = COMPARE[operator === "in" ? "eq" : operator]!;
  const one = (held: Comparable) => wanted.some((value) => compare(held, value));
  return (held) => {
    if (held === null) return false;
    return typeof held === "object" ? held.some(one) : one(held);
  };
}

function isFilterOf(resource: ResourceName, field: string): field is FilterField {
  return (RESOURCES[resource].filters as readonly string[]).includes(field);
}

function toComparable(field: FilterField, { text, quoted }: Clause["values"][number]): Comparable {
  const kind = FILTER_FIELDS[field];
  if (kind === "number" || kind === "degrees") {
    if (!/^-?\d+(\.\d+)?([eE][+-]?\d+)?$/.test(text)) {
      throw new BadRequest(`${field} is compared with a number, got '${text}'`);
    }
    return Number(text);
  }
  if (!quoted) throw new BadRequest(`${field} is compared with a quoted text, got ${text}`);
  if (kind === "text") return text;
  const instant =
    /^\d{4}-\d{2}-\d{2}(T\d{2}:\d{2}(:\d{2}(\.\d+)?)?(Z|[+-]\d{2}:\d{2}))?$/.test(text)
      ? Date.parse(text)
      : NaN;
  if (Number.isNaN(instant)) {
    throw new BadRequest(`${field} is compared with a date 'YYYY-MM-DD', got '${text}'`);
  }
  return instant;
}
