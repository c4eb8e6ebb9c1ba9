import type { BoundingBox } from "../odata/bounding_box.ts";
import type { Filter } from "../odata/filter.ts";
import type { Partition } from "../odata/query_options.ts";
import type { FilterFieldOf, MeasuredResource, ResourceName } from "../odata/resources.ts";
import type { FittingSelection, SelectedRow, Selection } from "../odata/selection.ts";
import type { Progress } from "./progress.ts";

/** What every query takes. */
export interface QueryInput {
  /** The page size, 1 to 10000, not the number of rows. Default 10000, of Metadata 100. */
  top?: number | undefined;
  /** The most rows to give; no page is fetched more than they need. Default: all. */
  limit?: number | undefined;
  /** Where to begin: the `$skiptoken` of a next link, `Id:<last id>`. Default: the start. */
  skipToken?: string | undefined;
  /**
   * What to do if fewer rows arrive than the service counted, by more than the inaccuracy of its
   * counts (the larger of 1 row and 0.0005 %): `error` fails the query with a `DataStreamError` of
   * kind `incomplete`; `warn` accepts the result and reports the number in `missingRows` of
   * `onProgress`. Default `error`.
   */
  incomplete?: "error" | "warn" | undefined;
  /**
   * Maximum number of rows that the service may count for the query. Past it, the query fails with a
   * `DataStreamError` of kind `too-many-rows` before its first row; a result of one page is not
   * counted. A `limit` up to this number needs no count. Default: no maximum.
   */
  maxRows?: number | undefined;
  /** Stops the query, the request in flight and every wait. */
  signal?: AbortSignal | undefined;
  /** Told how far the query has come; what it throws ends the query. */
  onProgress?: ((progress: Progress) => void) | undefined;
}

/** What only the large resources take. */
export interface MeasuredInput {
  /**
   * Gives the rows of the locations inside a box alone; its edges are outside. Locations is asked
   * for them first, with the box and what it can take of the filter.
   */
  within?: BoundingBox | undefined;
  /**
   * How a query is split; the rows of one part come after those of another.
   *
   * - `auto` (the default): past a million expected rows, into groups of locations that each stay
   *   under that. No row is lost or doubled.
   * - `never`: not at all, and no count is asked.
   * - `location`: location by location, at least a request for each. No row is lost or doubled.
   * - `year`: year by year of `ActivityStartYear`, at least a request for each. Rows without a start
   *   date are in no year: where the count shows that some are missing, the query fails.
   *
   * `auto` also splits a query by location that the service refuses (408, 413, 504) down to a small page.
   */
  partition?: Partition | undefined;
}

/**
 * What to ask a resource for.
 *
 * @typeParam R The resource
 * @typeParam S The fields to select, which the type of a row follows
 * @typeParam U Whether names and filter go unchecked
 */
export type ResourceQuery<
  R extends ResourceName,
  S extends Selection<R> | undefined = undefined,
  U extends boolean = false,
> =
  & QueryInput
  & {
    /** The fields to select, in order, as a list or with commas between them. Default: all. */
    select?: S & (U extends true ? unknown : FittingSelection<R, S>);
    /** An expression, or an OData filter as the service takes it, not encoded. Default: none. */
    filter?: Filter<U extends true ? string : FilterFieldOf<R>> | string | undefined;
    /**
     * `true` lets names and filters through that Weir does not know, for what the service has added.
     * Default false.
     */
    unchecked?: U | undefined;
  }
  & (R extends MeasuredResource ? MeasuredInput : unknown);

/** A row of a query: its fields where they are checked, else any. */
export type ResourceRow<R extends ResourceName, S, U extends boolean> = U extends true
  ? Record<string, unknown>
  : SelectedRow<R, S>;
