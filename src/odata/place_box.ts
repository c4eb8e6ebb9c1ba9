import { type BoundingBox, toBoxClauses } from "./bounding_box.ts";
import { checkFilter } from "./check_filter.ts";
import { isMeasured, narrow, parseIfPossible } from "./query_options.ts";
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
 * @param unchecked Whether the filter may have names and a grammar that Weir does not know
 * @throws {TypeError} If the resource cannot be filtered by a name
 * @throws {SyntaxError} If the filter is not of the service's grammar
 * @throws {RangeError} If a side of the box is out of range
 */
export function placeBox(
  resource: ResourceName,
  filter: string | undefined,
  box: BoundingBox | undefined,
  unchecked = false,
): PlacedBox {
  if (box === undefined) return { filter };
  if (isMeasured(resource)) return { filter, within: box };
  const clauses = filter === undefined
    ? []
    : unchecked
    ? parseIfPossible(filter)
    : checkFilter(resource, filter);
  return { filter: narrow({ filter, clauses }, toBoxClauses(box)) };
}
