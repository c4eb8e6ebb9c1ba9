import { describe } from "../validation.ts";
import { FILTER_FIELDS, type FilterField } from "./resources.ts";

/** A comparison of a field with one literal. */
export type Comparison = "eq" | "ne" | "lt" | "lte" | "gt" | "gte";

/** A literal as it stands in a filter: `'pH'` is quoted, `2015` is not. */
export interface Literal {
  /** The text without its quotes, a quote inside it once. */
  text: string;
  /** Whether it stands in quotes. */
  quoted: boolean;
}

/**
 * One condition of a filter.
 *
 * @typeParam F The name that it compares
 */
export interface Clause<F extends string = string> {
  /** The name that is compared. */
  field: F;
  /** How it is compared. */
  operator: Comparison | "in" | "endswith";
  /** One literal, or the list of an `in`. */
  values: readonly Literal[];
}

/** The text of a filter that rows meet which meet every clause, as the service takes it. */
export function formatClauses(clauses: readonly Clause[]): string {
  return clauses.map(formatClause).join(" and ");
}

function formatClause({ field, operator, values }: Clause): string {
  const texts = values.map(({ text, quoted }) => quoted ? `'${text.replaceAll("'", "''")}'` : text);
  if (operator === "endswith") return `endswith(${field}, ${texts[0]})`;
  return `${field} ${operator} ${operator === "in" ? `(${texts.join(",")})` : texts[0]}`;
}

/** What a name is compared with: a number, or text; a date is text, `YYYY-MM-DD`. */
export type FilterValue<F extends string> = F extends FilterField
  ? (typeof FILTER_FIELDS)[F] extends "number" | "degrees" ? number : string
  : string | number;

/** A name to filter by: a documented one, or any other where a query is unchecked. */
export type FilterName = FilterField | (string & Record<never, never>);

/** What a name is compared as; undefined where nobody documents it. */
export function kindOf(field: string): (typeof FILTER_FIELDS)[FilterField] | undefined {
  return Object.hasOwn(FILTER_FIELDS, field) ? FILTER_FIELDS[field as FilterField] : undefined;
}

/** The literal of a value, quoted as the field's type asks, or the value's own. */
export function toLiteral(field: string, value: string | number): Literal {
  requireName(field);
  const kind = kindOf(field);
  const isNumber = kind === undefined ? typeof value === "number" : /^(number|degrees)$/.test(kind);
  const fits = isNumber ? Number.isFinite(value) : typeof value === "string";
  if (!fits) {
    throw new TypeError(
      `Cannot compare "${field}" with ${describe(value)}: wanted ${
        isNumber ? "a finite number" : kind === "date" ? "a date as text, YYYY-MM-DD" : "a text"
      }`,
    );
  }
  return { text: String(value), quoted: !isNumber || kind === "degrees" };
}

/**
 * Refuses what can be no name.
 *
 * @throws {TypeError} If it holds other than letters, digits and "_"
 */
export function requireName(field: string): void {
  if (/^[A-Za-z_]\w*$/.test(field)) return;
  throw new TypeError(`Cannot filter by "${field}": wanted a name of letters, digits and "_"`);
}
