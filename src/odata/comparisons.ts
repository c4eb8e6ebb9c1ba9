import { describe } from "../describe.ts";
import type { Comparison } from "./clause.ts";
import { type Filter, toFilter } from "./filter.ts";
import { type FilterName, type FilterValue, kindOf, requireName, toLiteral } from "./literal.ts";

/**
 * Rows whose field equals a value: `eq`.
 *
 * @param field The name to compare
 * @param value A text, or a number for `LocationId`, the years, `Latitude` and `Longitude`
 * @returns The filter
 * @throws {TypeError} If the value is not of that type, or no finite number
 *
 * Source: water-quality-api, Query options.
 *
 * @example
 * ```ts
 * import { eq } from "@weir/datastream";
 * import { assertEquals } from "@std/assert";
 *
 * assertEquals(String(eq("Name", "Captain's Bay")), "Name eq 'Captain''s Bay'");
 * assertEquals(String(eq("LocationId", 1001)), "LocationId eq 1001");
 * ```
 */
export function eq<const F extends FilterName>(field: F, value: FilterValue<F>): Filter<F> {
  return compare("eq", field, value);
}

/**
 * Rows whose field differs from a value, or is null: `ne`. Else as {@linkcode eq}.
 *
 * @example
 * ```ts
 * import { ne } from "@weir/datastream";
 * import { assertEquals } from "@std/assert";
 *
 * assertEquals(String(ne("ActivityMediaName", "Sediment")), "ActivityMediaName ne 'Sediment'");
 * ```
 */
export function ne<const F extends FilterName>(field: F, value: FilterValue<F>): Filter<F> {
  return compare("ne", field, value);
}

/**
 * Rows whose field is below a value: `lt`. Else as {@linkcode eq}.
 *
 * @example
 * ```ts
 * import { lt } from "@weir/datastream";
 * import { assertEquals } from "@std/assert";
 *
 * assertEquals(String(lt("CreateTimestamp", "2020-03-25")), "CreateTimestamp lt '2020-03-25'");
 * ```
 */
export function lt<const F extends FilterName>(field: F, value: FilterValue<F>): Filter<F> {
  return compare("lt", field, value);
}

/**
 * Rows whose field is at most a value: `lte`, where OData says `le`. Else as {@linkcode eq}.
 *
 * @example
 * ```ts
 * import { lte } from "@weir/datastream";
 * import { assertEquals } from "@std/assert";
 *
 * assertEquals(String(lte("ActivityStartYear", 2023)), "ActivityStartYear lte 2023");
 * ```
 */
export function lte<const F extends FilterName>(field: F, value: FilterValue<F>): Filter<F> {
  return compare("lte", field, value);
}

/**
 * Rows whose field is above a value: `gt`. Else as {@linkcode eq}.
 *
 * @example
 * ```ts
 * import { gt } from "@weir/datastream";
 * import { assertEquals } from "@std/assert";
 *
 * assertEquals(String(gt("Latitude", 49.5)), "Latitude gt '49.5'");
 * ```
 */
export function gt<const F extends FilterName>(field: F, value: FilterValue<F>): Filter<F> {
  return compare("gt", field, value);
}

/**
 * Rows whose field is at least a value: `gte`, where OData says `ge`. Else as {@linkcode eq}.
 *
 * @example
 * ```ts
 * import { gte } from "@weir/datastream";
 * import { assertEquals } from "@std/assert";
 *
 * assertEquals(String(gte("ActivityStartYear", 2015)), "ActivityStartYear gte 2015");
 * ```
 */
export function gte<const F extends FilterName>(field: F, value: FilterValue<F>): Filter<F> {
  return compare("gte", field, value);
}

/**
 * Rows whose field is one of a list of values: `in`.
 *
 * @param field The name to compare
 * @param values At least one value, of the type that {@linkcode eq} takes
 * @returns The filter
 * @throws {TypeError} If there is no value, or one is of another type
 *
 * @example
 * ```ts
 * import { isIn } from "@weir/datastream";
 * import { assertEquals } from "@std/assert";
 *
 * const filter = isIn("RegionId", ["hub.atlantic", "admin.4.ca.pe"]);
 * assertEquals(String(filter), "RegionId in ('hub.atlantic','admin.4.ca.pe')");
 * ```
 */
export function isIn<const F extends FilterName>(
  field: F,
  values: readonly FilterValue<F>[],
): Filter<F> {
  if (!Array.isArray(values) || values.length === 0) {
    throw new TypeError(
      `Cannot filter by "${field}" in ${
        Array.isArray(values) ? "an empty list" : describe(values)
      }: wanted a list of at least one value`,
    );
  }
  return toFilter([
    { field, operator: "in", values: values.map((value) => toLiteral(field, value)) },
  ]);
}

/**
 * Rows whose field ends with a text: `endswith`, for DOIs without their prefix.
 *
 * @param field The name of a text
 * @param text Its end
 * @returns The filter
 * @throws {TypeError} If the field is no text, or the end is none
 *
 * @example
 * ```ts
 * import { endsWith } from "@weir/datastream";
 * import { assertEquals } from "@std/assert";
 *
 * assertEquals(String(endsWith("DOI", "/weir-aa00")), "endswith(DOI, '/weir-aa00')");
 * ```
 */
export function endsWith<const F extends FilterName>(field: F, text: string): Filter<F> {
  requireName(field);
  if ((kindOf(field) ?? "text") !== "text" || typeof text !== "string") {
    throw new TypeError(
      `Cannot filter by the end of "${field}": wanted the name of a text and its end, got ${
        describe(text)
      }`,
    );
  }
  return toFilter([{ field, operator: "endswith", values: [{ text, quoted: true }] }]);
}

function compare<F extends string>(
  operator: Comparison,
  field: F,
  value: string | number,
): Filter<F> {
  return toFilter([{ field, operator, values: [toLiteral(field, value)] }]);
}
