import { describe } from "../describe.ts";
import type { Literal } from "./clause.ts";
import { FILTER_FIELDS, type FilterField } from "./resources.ts";

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
