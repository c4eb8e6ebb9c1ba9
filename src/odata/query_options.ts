import { fieldNames, type ResourceName, RESOURCES } from "./resources.ts";

/** The most rows that the service puts on a page (water-quality-api, Limits). */
export const MAXIMUM_TOP = 10_000;

/** What a query asks for, before it is encoded. */
export interface QueryOptions {
  /** The fields to select, in order; all where there is none. */
  select?: readonly string[];
  /** The filter, as the service takes it. */
  filter?: string;
  /** The page size, 1 to 10000. */
  top?: number;
}

/** The system query options of one request, under the names of OData. */
export interface SystemQueryOptions {
  $select: string | undefined;
  $filter: string | undefined;
  $top: number;
  $skiptoken: string | undefined;
}

/** The fields of a `$select` as text: names, separated by commas. */
export function parseSelect(text: string): string[] {
  return text.split(",").map((name) => name.trim());
}

/**
 * The system query options of a request for one page.
 *
 * @param resource The resource that is asked
 * @param options What the query asks for
 * @param skipToken Where the page begins; undefined is the first one
 * @returns Options by their OData names; an absent one is undefined
 * @throws {TypeError} If a field is not one of the resource, or is given twice, or `select` or
 *   `filter` is empty
 * @throws {RangeError} If `top` is not a whole number from 1 to 10000
 */
export function toSystemQueryOptions(
  resource: ResourceName,
  options: QueryOptions,
  skipToken?: string,
): SystemQueryOptions {
  const { select, filter, top = RESOURCES[resource].pageSize } = options;
  const fields: string[] = fieldNames(resource);
  if (select?.length === 0 || filter?.trim() === "") {
    throw new TypeError(
      `Cannot ask with an empty ${
        filter === undefined ? "select" : "filter"
      }: leave it out for all ${resource}`,
    );
  }
  const twice = select?.find((name, index) => select.indexOf(name) < index);
  if (twice !== undefined) {
    throw new TypeError(`Cannot select "${twice}" twice: wanted each field once`);
  }
  const unknown = select?.find((name) => !fields.includes(name));
  if (unknown !== undefined) {
    throw new TypeError(
      `Cannot select "${unknown}" from ${resource}: wanted one of ${fields.join(", ")}`,
    );
  }
  if (!Number.isInteger(top) || top < 1 || top > MAXIMUM_TOP) {
    throw new RangeError(
      `Cannot ask for pages of ${top} rows: wanted a whole number from 1 to ${MAXIMUM_TOP}`,
    );
  }
  return {
    $select: select?.join(","),
    $filter: filter,
    $top: top,
    $skiptoken: skipToken,
  };
}
