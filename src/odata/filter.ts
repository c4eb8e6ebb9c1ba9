import { invalidValue } from "../validation.ts";
import { type BoundingBox, toBoxClauses } from "./bounding_box.ts";
import {
  type Clause,
  type Comparison,
  filterTypeOf,
  formatClauses,
  normalizeClause,
  requireFieldName,
  toLiteral,
} from "./clause.ts";
import type { FILTER_FIELDS, FilterField, FilterFieldOf } from "./resources.ts";

/**
 * A filter expression: one or more clauses. A row must match all of them.
 *
 * @typeParam F Names of the fields in the clauses, so that a query accepts only names that its resource
 *   can be filtered by. Default: the names that are valid for every resource
 *
 * @example Add a clause to a filter
 * ```ts
 * import { and, eq, type Filter, gte } from "@weir/datastream";
 * import { assertEquals } from "@std/assert";
 *
 * let filter: Filter = eq("DOI", "10.25976/weir-aa00");
 * filter = and(filter, gte("ActivityStartYear", 2015));
 * assertEquals(String(filter), "DOI eq '10.25976/weir-aa00' and ActivityStartYear gte 2015");
 * ```
 */
export interface Filter<F extends string = FilterFieldOf<"Records">> {
  /** @internal The clauses. */
  readonly clauses: readonly Clause<F>[];
  /** Returns the filter in OData's syntax, not URL-encoded. Empty if it has no clauses. */
  toString(): string;
}

/** @internal `string & Record<never, never>` is any string, but editors offer the documented names. */
type FilterName = FilterField | (string & Record<never, never>);

/** @internal Type of the value that a field is compared with. A date is a string, `YYYY-MM-DD`. */
type FilterValue<F extends string> = F extends FilterField
  ? (typeof FILTER_FIELDS)[F] extends "number" | "degrees" ? number : string
  : string | number;

/** @internal A filter, or a value that `and()` ignores. */
type OptionalFilter<F extends string> = Filter<F> | undefined | null | false | 0 | "";

/**
 * Joins filters with `and`: a row must match all of them. The service has no `or`: send two queries.
 *
 * `undefined`, `null`, `false`, `0` and `""` are ignored, so that a condition can be written as
 * `name && eq("Name", name)`. If 0 is a valid value, write `west !== undefined && gt("Longitude", west)`.
 *
 * @param filters Filters. Without one, the result matches every row
 * @throws {ValidationError} If one of them was not made by a function such as {@linkcode eq}
 *
 * @example
 * ```ts
 * import { and, eq, gte } from "@weir/datastream";
 * import { assertEquals } from "@std/assert";
 *
 * const filter = and(eq("CharacteristicName", "pH"), gte("ActivityStartYear", 2015));
 * assertEquals(String(filter), "CharacteristicName eq 'pH' and ActivityStartYear gte 2015");
 * ```
 */
export function and<F extends string = never>(
  ...filters: readonly OptionalFilter<F>[]
): Filter<F> {
  return toFilter(filters.flatMap((filter) => {
    // NaN is an error: it is the result of a failed conversion, and ignoring it would match more rows.
    if (!filter && !Number.isNaN(filter)) return [];
    if (isFilter(filter)) return filter.clauses;
    throw invalidValue("filters", "filters such as eq() makes", filter);
  }));
}

/**
 * Matches the positions inside a box. Only Metadata and Locations can be filtered by `Latitude` and
 * `Longitude`; the query option `within` works for every resource.
 * Source: DataStream Public API, "URL Parameters", `$filter`.
 *
 * @param box Four sides in decimal degrees; a position on an edge is outside
 * @throws {ValidationError} If a side is not a number of degrees, or the box is empty. For a box
 *   across the 180th meridian, send two queries
 *
 * @example
 * ```ts
 * import { boundingBox } from "@weir/datastream";
 * import { assertEquals } from "@std/assert";
 *
 * assertEquals(
 *   String(boundingBox({ west: -64.5, south: 45.9, east: -62, north: 47.1 })),
 *   "Longitude gt '-64.5' and Longitude lt '-62' and Latitude gt '45.9' and Latitude lt '47.1'",
 * );
 * ```
 */
export function boundingBox(box: BoundingBox): Filter<"Latitude" | "Longitude"> {
  return toFilter(toBoxClauses(box, "box"));
}

/**
 * Matches rows whose field equals a value: `eq`.
 * Source: DataStream Public API, "URL Parameters", `$filter`.
 *
 * @param field Name of the field
 * @param value A string; a number for `LocationId`, the years, `Latitude` and `Longitude`. A DOI is accepted
 *   in any usual form: `10.25976/…`, `doi:10.25976/…` or `https://doi.org/10.25976/…`
 * @throws {ValidationError} If the value has another type, or is not a finite number
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
  return compareField("eq", field, value);
}

/**
 * Matches rows whose field differs from a value or is null: `ne`. Parameters as in {@linkcode eq}.
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
  return compareField("ne", field, value);
}

/**
 * Matches rows whose field is less than a value: `lt`. Parameters as in {@linkcode eq}.
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
  return compareField("lt", field, value);
}

/**
 * Matches rows whose field is at most a value: `lte` (`le` in standard OData). Parameters as in
 * {@linkcode eq}.
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
  return compareField("lte", field, value);
}

/**
 * Matches rows whose field is greater than a value: `gt`. Parameters as in {@linkcode eq}.
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
  return compareField("gt", field, value);
}

/**
 * Matches rows whose field is at least a value: `gte` (`ge` in standard OData). Parameters as in
 * {@linkcode eq}.
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
  return compareField("gte", field, value);
}

/**
 * Matches rows whose field equals one of several values: `in`. An empty list matches no row: a query with it
 * sends no request.
 *
 * @param field Name of the field
 * @param values Values with the type of the `value` of {@linkcode eq}; repeated ones count once
 * @throws {ValidationError} If a value has another type
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
  requireFieldName(field);
  if (!Array.isArray(values)) throw invalidValue("values", "an array", values);
  const literals = values.map((value) => toLiteral(field, value, "values"));
  return toFilter([{ field, operator: "in", values: literals }]);
}

/**
 * Matches rows whose field ends with a string: `endswith`. Useful for a DOI without its prefix.
 *
 * @param field Name of a field that holds strings
 * @param text End of the field's value
 * @throws {ValidationError} If the field does not hold strings, or `text` is not a string
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
  requireFieldName(field);
  if ((filterTypeOf(field) ?? "text") !== "text") {
    throw invalidValue("field", "a field that holds strings", field);
  }
  if (typeof text !== "string") {
    throw invalidValue("text", "a string", text);
  }
  return toFilter([{ field, operator: "endswith", values: [{ text, quoted: true }] }]);
}

function compareField<F extends string>(
  operator: Comparison,
  field: F,
  value: string | number,
): Filter<F> {
  return toFilter([{ field, operator, values: [toLiteral(field, value, "value")] }]);
}

function toFilter<F extends string>(given: readonly Clause<F>[]): Filter<F> {
  const clauses = given.map(normalizeClause);
  return { clauses, toString: () => formatClauses(clauses) };
}

/** Whether a function such as `eq` made the value. */
export function isFilter<F extends string>(value: OptionalFilter<F>): value is Filter<F> {
  try {
    return Array.isArray((value as Filter<F>).clauses);
  } catch {
    return false; // undefined, null, or a getter that throws
  }
}
