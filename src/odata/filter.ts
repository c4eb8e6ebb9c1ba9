import { describe } from "../describe.ts";
import { type BoundingBox, toBoxClauses } from "./bounding_box.ts";
import { type Clause, formatClauses } from "./clause.ts";
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
export function toFilter<F extends string>(clauses: readonly Clause<F>[]): Filter<F> {
  return { clauses, toString: () => formatClauses(clauses) };
}
