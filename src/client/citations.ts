import { describe } from "../validation.ts";
import { oneLine } from "../errors.ts";
import { checkFilter } from "../odata/parse_filter.ts";
import { formatClauses } from "../odata/clause.ts";
import type { Filter } from "../odata/filter.ts";

/**
 * How a dataset is to be cited; use of the data requires it.
 *
 * @example A line for a list of references
 * ```ts
 * import type { Citation } from "@weir/datastream";
 * import { assertEquals } from "@std/assert";
 *
 * const toReference = ({ citation, link }: Citation) => `${citation} ${link}`;
 * const one: Citation = {
 *   doi: "10.25976/weir-aa00",
 *   link: "https://doi.org/10.25976/weir-aa00",
 *   name: "Synthetic Rivers",
 *   version: "1.0.0",
 *   citation: "Weir. 2019.",
 *   licence: "https://opendatacommons.org/licenses/by/1-0/",
 * };
 * assertEquals(toReference(one), "Weir. 2019. https://doi.org/10.25976/weir-aa00");
 * ```
 */
export interface Citation {
  /** Its DOI, as `10.25976/xxxx-xx00`. */
  doi: string;
  /** The link of the form `https://doi.org/<doi>` that a citation must hold. */
  link: string;
  /** Its name. */
  name: string;
  /** The version of the data, as `1.0.0`. */
  version: string;
  /** The text to cite, as its publisher words it. */
  citation: string;
  /** The address of the licence. */
  licence: string;
}

/** The fields of Metadata that a citation is made of. */
export const CITED_FIELDS = ["DOI", "DatasetName", "Version", "Citation", "Licence"] as const;

/** The citation of a dataset. */
export function toCitation(
  dataset: Record<(typeof CITED_FIELDS)[number], string>,
): Citation {
  const { DOI: doi, DatasetName: name, Version: version, Citation: citation, Licence: licence } =
    dataset;
  return { doi, link: `https://doi.org/${doi}`, name, version, citation, licence };
}

/** What a dataset itself has: of anything else, `ne` may be read as "has none". */
const OWN_NAMES = ["DOI", "DatasetName", "CreateTimestamp"];

/**
 * Returns the filter of the datasets that have a row which matches the filter given.
 *
 * @returns The filter; undefined for all datasets
 * @throws {TypeError} If it is not a filter, or Metadata cannot be filtered by a name
 * @throws {SyntaxError} If it is not in the service's grammar
 */
export function toCitedFilter(filter: Filter<string> | string): string | undefined {
  if (typeof filter !== "string" && !Array.isArray(filter?.clauses)) {
    throw new TypeError(
      `citations() takes a filter and then { signal }, got ${
        describe(filter)
      }: pass the filter itself, as in citations(filter)`,
    );
  }
  const clauses = checkFilter("Metadata", String(filter))
    .filter(({ field, operator }) => operator !== "ne" || OWN_NAMES.includes(field));
  return clauses.length === 0 ? undefined : formatClauses(clauses);
}

/** Citations as text, a paragraph each, without what would move a terminal. */
export function citationsText(citations: readonly Citation[]): string {
  if (citations.length === 0) return "No dataset meets the filter.\n";
  return citations
    .map(({ citation, licence, link }) =>
      [oneLine(citation), `Licence: ${oneLine(licence)}`, oneLine(link), ""].join("\n")
    )
    .join("\n");
}
