import { describe } from "../validation.ts";
import { type BoundingBox, toBoxClauses } from "./bounding_box.ts";
import {
  type Clause,
  type Comparison,
  type FilterName,
  type FilterValue,
  formatClauses,
  kindOf,
  requireName,
  toLiteral,
} from "./clause.ts";
import type { FilterFieldOf } from "./resources.ts";

/**
 * A filter as an expression: conditions, all of which a row meets.
 *
 * @typeParam F The names that it compares, so that a query takes only those of its resource. Default:
 *   the names that every resource can be filtered by
 *
 * @example A filter that grows
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
  /** The conditions. */
  readonly clauses: readonly Clause<F>[];
  /** The filter as the service takes it, not encoded. */
  toString(): string;
}

/**
 * Rows that meet every one of some filters: `and`. The service has no `or`: send two queries.
 *
 * @param filters At least one filter
 * @returns The filter
 * @throws {TypeError} If there is none
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
export function and<F extends string>(...filters: readonly Filter<F>[]): Filter<F> {
  const wrong = filters.findIndex((filter) => !Array.isArray(filter?.clauses));
  if (filters.length === 0 || wrong >= 0) {
    throw new TypeError(
      `Cannot join ${
        wrong < 0 ? "no filters" : describe(filters[wrong])
      }: wanted at least one filter, each made by eq(), isIn() and the like`,
    );
  }
  return toFilter(filters.flatMap(({ clauses }) => clauses));
}

/**
 * Locations, or datasets with a location, inside a box: for Metadata and Locations, which alone can
 * be filtered by `Latitude` and `Longitude`. Observations and Records take `within` in the query.
 *
 * @param box Its four sides in decimal degrees; a position on the edge is outside
 * @returns The filter
 * @throws {RangeError} If a side is no number of degrees, or the box has no inside; for one across
 *   the 180th meridian, send two queries
 *
 * Source: water-quality-api, Filter forms, 4.
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
  return toFilter(toBoxClauses(box));
}

/** The expression of some conditions. */
function toFilter<F extends string>(clauses: readonly Clause<F>[]): Filter<F> {
  return { clauses, toString: () => formatClauses(clauses) };
}

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

/** What people filter by most; empty lists and what is undefined are left out. */
export interface CommonConditions {
  dois?: readonly string[];
  regions?: readonly string[];
  characteristics?: readonly string[];
  /** The first year of `ActivityStartYear`. */
  from?: number | undefined;
  /** The last year of `ActivityStartYear`. */
  to?: number | undefined;
}

/** The filter that rows meet which meet all conditions; undefined where there are none. */
export function commonFilter(
  { dois = [], regions = [], characteristics = [], from, to }: CommonConditions,
): string | undefined {
  const clauses = [
    ...oneOf("DOI", dois),
    ...oneOf("RegionId", regions),
    ...oneOf("CharacteristicName", characteristics),
    ...year("gte", from),
    ...year("lte", to),
  ];
  return clauses.length === 0 ? undefined : formatClauses(clauses);
}

function oneOf(field: string, texts: readonly string[]): Clause[] {
  if (texts.length === 0) return [];
  const operator = texts.length === 1 ? "eq" : "in";
  return [{ field, operator, values: texts.map((text) => ({ text, quoted: true })) }];
}

function year(operator: "gte" | "lte", bound: number | undefined): Clause[] {
  if (bound === undefined) return [];
  const values = [{ text: String(bound), quoted: false }];
  return [{ field: "ActivityStartYear", operator, values }];
}
