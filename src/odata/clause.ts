import { invalidValue } from "../validation.ts";
import { FILTER_FIELDS, type FilterField } from "./resources.ts";

/** The service has `lte` and `gte` instead of OData's `le` and `ge`. */
export type Comparison = "eq" | "ne" | "lt" | "lte" | "gt" | "gte";

/** A string in quotes such as `'pH'`, or a number such as `2015`. */
export interface Literal {
  /** Unescaped: `'O''Brien'` is stored as `O'Brien`. */
  text: string;
  /** Whether the value is in single quotes in the filter. */
  quoted: boolean;
}

export interface Clause<F extends string = string> {
  field: F;
  operator: Comparison | "in" | "endswith";
  /** An empty list for `in` matches no row. */
  values: readonly Literal[];
}

/** Writes DOIs as the service stores them, and each value of `in` once. `endswith` is kept. */
export function normalizeClause<C extends Clause>(clause: C): C {
  const { field, operator } = clause;
  if (operator === "endswith") return clause;
  const values = field === "DOI"
    ? clause.values.map(({ text, quoted }) => ({ text: normalizeDoi(text), quoted }))
    : clause.values;
  return { ...clause, values: operator === "in" ? uniqueLiterals(field, values) : values };
}

function uniqueLiterals(field: string, literals: readonly Literal[]): readonly Literal[] {
  const unique = new Map<string, Literal>();
  for (const literal of literals) {
    const key = comparedValue(field, literal);
    if (!unique.has(key)) unique.set(key, literal);
  }
  return [...unique.values()];
}

/** Two literals of a field are the same value if these texts are equal: 5, 5.0 and '5' are the same number. */
export function comparedValue(field: string, { text, quoted }: Literal): string {
  const type = filterTypeOf(field);
  return type === "number" || type === "degrees" ? String(Number(text)) : `${quoted} ${text}`;
}

/** Resolver or scheme, such as `https://doi.org/` or `doi:`. */
const DOI_PREFIX = /^(?:(?:https?:\/\/)?(?:dx\.|www\.)?doi\.org\/|doi:\s*)/i;

/**
 * Other texts do not change. Source: DataStream Public API, OpenAPI file, pattern of `DOI`; DOI
 * Handbook, "DOI name syntax": DOIs are case-insensitive.
 */
export function normalizeDoi(text: string): string {
  const doi = text.trim().replace(DOI_PREFIX, "").replace(/%2f/i, "/").replace(/\/$/, "");
  return /^10\.\d+\//.test(doi) ? doi.toLowerCase() : text;
}

export function matchesNothing(clauses: readonly Clause[]): boolean {
  return clauses.some(({ operator, values }) => operator === "in" && values.length === 0);
}

export function valueClause<F extends string>(
  field: F,
  operator: Clause["operator"],
  ...values: readonly (string | number)[]
): Clause<F> {
  const literals = values.map((value) => ({
    text: String(value),
    quoted: typeof value === "string",
  }));
  return normalizeClause({ field, operator, values: literals });
}

export function listClauses(field: string, values: readonly (string | number)[]): Clause[] {
  return values.length === 0
    ? []
    : [valueClause(field, values.length === 1 ? "eq" : "in", ...values)];
}

export function formatClauses(clauses: readonly Clause[]): string {
  return clauses.map(formatClause).join(" and ");
}

function formatClause({ field, operator, values }: Clause): string {
  const texts = values.map(({ text, quoted }) => quoted ? `'${text.replaceAll("'", "''")}'` : text);
  if (operator === "endswith") return `endswith(${field}, ${texts[0]})`;
  return `${field} ${operator} ${operator === "in" ? `(${texts.join(",")})` : texts[0]}`;
}

export function filterTypeOf(field: string): (typeof FILTER_FIELDS)[FilterField] | undefined {
  return Object.hasOwn(FILTER_FIELDS, field) ? FILTER_FIELDS[field as FilterField] : undefined;
}

export function toLiteral(field: string, value: string | number, option: string): Literal {
  requireFieldName(field);
  const type = filterTypeOf(field);
  const isNumber = type === undefined
    ? typeof value === "number"
    : type === "number" || type === "degrees";
  if (!(isNumber ? Number.isFinite(value) : typeof value === "string")) {
    const text = type === "date" ? "a date in the form YYYY-MM-DD" : "a string";
    const expected = isNumber ? "a finite number" : text;
    throw invalidValue(option, `${expected} to compare with ${field}`, value);
  }
  // Degrees are quoted numbers, because the service rejects coordinates without quotes.
  return { text: String(value), quoted: !isNumber || type === "degrees" };
}

/** A name must not smuggle in another condition. */
export function requireFieldName(field: string): void {
  if (typeof field === "string" && /^[A-Za-z_]\w*$/.test(field)) return;
  throw invalidValue("field", 'a name of letters, digits and "_"', field);
}
