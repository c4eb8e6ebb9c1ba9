import { type BoundingBox, toBoxClauses } from "./bounding_box.ts";
import { checkFilter } from "./check_filter.ts";
import { isMeasured, narrow } from "./query_options.ts";
import type { ResourceName } from "./resources.ts";

/** Where a query of a resource has a box. */
export interface PlacedBox {
  filter: string | undefined;
  within?: BoundingBox | undefined;
}

/**
 * A filter and a box as a resource takes them: the box joined to the filter where it has positions of
 * its own, else beside it, as `within`.
 *
 * @throws {TypeError} If the resource cannot be filtered by a name
 * @throws {SyntaxError} If the filter is not of the service's grammar
 * @throws {RangeError} If a side of the box is out of range
 */
export function placeBox(
  resource: ResourceName,
  filter: string | undefined,
  box: BoundingBox | undefined,
): PlacedBox {
  if (box === undefined) return { filter };
  if (isMeasured(resource)) return { filter, within: box };
  const clauses = filter === undefined ? [] : checkFilter(resource, filter);
  return { filter: narrow({ filter, clauses }, toBoxClauses(box)) };
}
