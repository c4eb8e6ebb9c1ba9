import { invalidValue } from "../validation.ts";
import { oneLine } from "../errors.ts";
import { parseFilter, requireFilterFields } from "../odata/parse_filter.ts";
import { formatClauses } from "../odata/clause.ts";
import { commonFilter, type Filter } from "../odata/filter.ts";

/**
 * Citation of a dataset. Use of the data requires it.
 *
 * @example One line for a list of references
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
  /** DOI of the dataset, such as `10.25976/xxxx-xx00`. */
  doi: string;
  /** Link `https://doi.org/<doi>`, which a citation must contain. */
  link: string;
  /** Name of the dataset. */
  name: string;
  /** Version of the data, such as `1.0.0`. */
  version: string;
  /** Text of the citation, by the publisher. */
  citation: string;
  /** URL of the licence. */
  licence: string;
}

/** Fields of Metadata that citations are made of. */
export const CITED_FIELDS = ["DOI", "DatasetName", "Version", "Citation", "Licence"] as const;

/** Converts a row of Metadata to a citation. */
export function toCitation(
  dataset: Record<(typeof CITED_FIELDS)[number], string>,
): Citation {
  const { DOI: doi, DatasetName: name, Version: version, Citation: citation, Licence: licence } =
    dataset;
  return { doi, link: `https://doi.org/${doi}`, name, version, citation, licence };
}

/**
 * Names in filters that are properties of a dataset. For all other names, `ne` of Metadata may mean "has
 * no such row" instead of "has a row that differs".
 */
const DATASET_NAMES = ["DOI", "DatasetName", "CreateTimestamp"];

/**
 * Returns the filter of Metadata for the datasets that have a row which matches a filter.
 *
 * @returns The filter; `undefined` for all datasets
 * @throws {ValidationError} If it is not a filter that Metadata takes
 */
export function toCitedFilter(filter: Filter<string> | string): string | undefined {
  if (typeof filter !== "string" && !Array.isArray(filter?.clauses)) {
    const hint = "pass the signal as the second argument, as in citations(filter, { signal })";
    throw invalidValue("filter", "a string or one expression", filter, hint);
  }
  const text = String(filter);
  const parsed = parseFilter(text);
  requireFilterFields("Metadata", text, parsed, false);
  const clauses = parsed.filter(({ field, operator }) =>
    operator !== "ne" || DATASET_NAMES.includes(field)
  );
  return clauses.length === 0 ? undefined : formatClauses(clauses);
}

/** Maximum number of DOIs in one filter, so that common gateways accept the request. */
const MAX_DOIS = 100;

/**
 * Returns the citations of datasets by their DOIs, which may be repeated.
 *
 * @param client A `DataStream` client
 * @throws {DataStreamError} If a request fails
 */
export async function citationsOfDois(
  client: {
    citations(
      filter: string | undefined,
      options: { signal: AbortSignal },
    ): Promise<Citation[]>;
  },
  dois: readonly string[],
  signal: AbortSignal,
): Promise<Citation[]> {
  const remaining = [...new Set(dois)];
  const citations: Citation[] = [];
  while (remaining.length > 0) {
    const filter = commonFilter({ dois: remaining.splice(0, MAX_DOIS) });
    citations.push(...await client.citations(filter, { signal }));
  }
  return citations;
}

/** Formats citations as text: one paragraph each, without control characters. */
export function citationsText(citations: readonly Citation[]): string {
  if (citations.length === 0) return "No dataset meets the filter.\n";
  return citations
    .map(({ citation, licence, link }) =>
      [oneLine(citation), `Licence: ${oneLine(licence)}`, oneLine(link), ""].join("\n")
    )
    .join("\n");
}
