import { invalidValue } from "../validation.ts";
import { FILTER_FIELDS, type FilterField } from "./resources.ts";

/**
 * An operator that compares a field with one value. The service deviates from OData in two: `lte` and
 * `gte` instead of `le` and `ge`.
 */
export type Comparison = "eq" | "ne" | "lt" | "lte" | "gt" | "gte";

/** A value in a filter: a string in quotes such as `'pH'`, or a number such as `2015`. */
export interface Literal {
  /** The value, unescaped: `'O''Brien'` is stored as `O'Brien`. */
  text: string;
  /** Whether the value is in single quotes in the filter; `text` has no such quotes. */
  quoted: boolean;
}

/**
 * One comparison of a filter.
 *
 * @typeParam F Name of the field
 */
export interface Clause<F extends string = string> {
  /** Name of the field that is compared. */
  field: F;
  /** The operator. */
  operator: Comparison | "in" | "endswith";
  /** The value that the field is compared with. A list for `in`; an empty list matches no row. */
  values: readonly Literal[];
}

/**
 * Normalizes the values of a clause: DOIs are written as the service stores them, and `in` has each value
 * once. `endswith` is not changed.
 */
export function normalizeClause<C extends Clause>(clause: C): C {
  const { field, operator } = clause;
  if (operator === "endswith") return clause;
  const values = field === "DOI"
    ? clause.values.map(({ text, quoted }) => ({ text: normalizeDoi(text), quoted }))
    : clause.values;
  return { ...clause, values: operator === "in" ? uniqueLiterals(field, values) : values };
}

/** Returns the first literal of each value. */
function uniqueLiterals(field: string, literals: readonly Literal[]): readonly Literal[] {
  const type = filterTypeOf(field);
  const isNumber = type === "number" || type === "degrees";
  const unique = new Map<string, Literal>();
  for (const literal of literals) {
    const { text, quoted } = literal;
    // 5, 5.0 and '5' are the same number.
    const key = isNumber ? String(Number(text)) : `${quoted} ${text}`;
    if (!unique.has(key)) unique.set(key, literal);
  }
  return [...unique.values()];
}

/** Resolver or scheme before a DOI, such as `https://doi.org/` or `doi:`. */
const DOI_PREFIX = /^(?:(?:https?:\/\/)?(?:dx\.|www\.)?doi\.org\/|doi:\s*)/i;

/**
 * Converts a DOI to the form in which the service stores it: `10.25976/xxxx-xx00`, in lower case. Returns any
 * other text unchanged.
 *
 * Source: DataStream Public API, OpenAPI file, pattern of `DOI`; DOI Handbook, "DOI name syntax": DOIs are
 * case-insensitive.
 */
export function normalizeDoi(text: string): string {
  const doi = text.trim().replace(DOI_PREFIX, "").replace(/%2f/i, "/").replace(/\/$/, "");
  return /^10\.\d+\//.test(doi) ? doi.toLowerCase() : text;
}

/** Whether no row can match all clauses, because one of them is an `in` with an empty list. */
export function matchesNothing(clauses: readonly Clause[]): boolean {
  return clauses.some(({ operator, values }) => operator === "in" && values.length === 0);
}

/** Creates a clause that compares a field with numbers. */
export function numberClause<F extends string>(
  field: F,
  operator: Clause["operator"],
  ...numbers: readonly number[]
): Clause<F> {
  return { field, operator, values: numbers.map((n) => ({ text: String(n), quoted: false })) };
}

/** Creates a clause that compares a field with one text, or with a list of texts. */
export function textClause(field: string, texts: readonly string[]): Clause {
  const operator = texts.length === 1 ? "eq" : "in";
  return normalizeClause({
    field,
    operator,
    values: texts.map((text) => ({ text, quoted: true })),
  });
}

/** Formats clauses as an OData filter, joined with `and`. */
export function formatClauses(clauses: readonly Clause[]): string {
  return clauses.map(formatClause).join(" and ");
}

function formatClause({ field, operator, values }: Clause): string {
  const texts = values.map(({ text, quoted }) => quoted ? `'${text.replaceAll("'", "''")}'` : text);
  if (operator === "endswith") return `endswith(${field}, ${texts[0]})`;
  return `${field} ${operator} ${operator === "in" ? `(${texts.join(",")})` : texts[0]}`;
}

/** Returns the type by which a filter field is compared, or `undefined` if it is not documented. */
export function filterTypeOf(field: string): (typeof FILTER_FIELDS)[FilterField] | undefined {
  return Object.hasOwn(FILTER_FIELDS, field) ? FILTER_FIELDS[field as FilterField] : undefined;
}

/**
 * Converts a value to a literal, with quotes if the field's type requires them.
 *
 * @param option Name of the option that holds the value, for errors
 * @throws {ValidationError} If the value does not have the field's type, or is not a finite number
 */
export function toLiteral(field: string, value: string | number, option: string): Literal {
  requireFieldName(field);
  const type = filterTypeOf(field);
  const isNumber = type === undefined
    ? typeof value === "number"
    : type === "number" || type === "degrees";
  const isValid = isNumber ? Number.isFinite(value) : typeof value === "string";
  if (!isValid) {
    const expected = isNumber
      ? "a finite number"
      : type === "date"
      ? "a date in the form YYYY-MM-DD"
      : "a string";
    throw invalidValue(option, `${expected} to compare with ${field}`, value);
  }
  // Degrees are quoted numbers, because the service rejects coordinates without quotes.
  return { text: String(value), quoted: !isNumber || type === "degrees" };
}

/**
 * Checks the name of a field, so that a name cannot smuggle in another condition.
 *
 * @throws {ValidationError} If it has characters other than letters, digits and `_`
 */
export function requireFieldName(field: string): void {
  if (typeof field === "string" && /^[A-Za-z_]\w*$/.test(field)) return;
  throw invalidValue("field", 'a name of letters, digits and "_"', field);
}
