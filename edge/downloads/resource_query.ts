import type { DataStream } from "../../src/client/datastream.ts";
import type { BoundingBox } from "../../src/odata/bounding_box.ts";
import { placeBox } from "../../src/odata/place_box.ts";
import { isMeasured } from "../../src/odata/query_options.ts";
import { type ResourceName, RESOURCES } from "../../src/odata/resources.ts";
import type { AnyQuery } from "./formats.ts";

/** What is asked of a resource, its name known only when a request comes. */
export interface Asked {
  select?: string | undefined;
  filter?: string | undefined;
  box?: BoundingBox | undefined;
  top?: number | undefined;
  limit?: number | undefined;
  skipToken?: string | undefined;
  partition?: "never" | undefined;
  maxRows?: number | undefined;
  signal?: AbortSignal | undefined;
}

const METHODS = {
  Metadata: "metadata",
  Locations: "locations",
  Observations: "observations",
  Records: "records",
} as const satisfies Record<ResourceName, keyof DataStream>;

type Methods = Record<typeof METHODS[ResourceName], (query: object) => AnyQuery>;

/**
 * A query of a resource; a box is a filter where the resource has positions, else `within`.
 *
 * @throws {TypeError} If a name is none of the resource's
 * @throws {SyntaxError} If the filter is not of the service's grammar
 * @throws {RangeError} If a number or a side of the box is out of range
 */
export function queryOf(client: DataStream, resource: ResourceName, asked: Asked): AnyQuery {
  const { filter, box, partition, ...query } = asked;
  const methods = client as unknown as Methods;
  return methods[METHODS[resource]]({
    ...query,
    ...placeBox(resource, filter, box),
    ...(isMeasured(resource) && { partition }),
  });
}

/** A page of fewer rows is asked for by nobody who wants many: a request is what costs. */
const SMALL_PAGE = 1_000;

/**
 * The page size to ask for: at least 1000 rows or all that are wanted, and at most what the server
 * allows.
 */
export function pageSize(
  resource: ResourceName,
  { top, limit = Infinity }: Pick<Asked, "top" | "limit">,
  pageRows: number,
): number {
  const wanted = top === undefined
    ? RESOURCES[resource].pageSize
    : Math.max(top, Math.min(SMALL_PAGE, limit));
  return Math.min(wanted, pageRows);
}
