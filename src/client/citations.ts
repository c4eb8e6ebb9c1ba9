import type { BoundingBox } from "../odata/bounding_box.ts";
import { eq, type Filter, isIn } from "../odata/filter.ts";
import { toMetadataFilter } from "../odata/query_options.ts";
import { invalidValue, isListOfStrings } from "../validation.ts";

/**
 * Citation of a dataset. The licence of the data requires it.
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
  /** Link `https://doi.org/<doi>`, which must accompany the citation. */
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

/**
 * Options for {@linkcode DataStream.citations}.
 *
 * @example The citations of rows that were downloaded before
 * ```ts
 * import { type CitationOptions, DataStream } from "@weir/datastream";
 * import { createSandbox } from "@weir/datastream/sandbox";
 * import { assertEquals } from "@std/assert";
 *
 * const rows = [{ DOI: "10.25976/weir-aa00" }, { DOI: "10.25976/weir-aa00" }];
 * const options: CitationOptions = { dois: rows.map(({ DOI }) => DOI) };
 * const { apiKey, url, fetch } = createSandbox();
 * const client = new DataStream({ apiKey, baseUrl: url, fetch });
 * assertEquals((await client.citations(undefined, options)).length, 1);
 * ```
 */
export interface CitationOptions {
  /**
   * DOIs of the datasets to cite; repeated ones count once. There is one request per 100 DOIs.
   * Default: every dataset that matches the filter.
   */
  dois?: readonly string[] | undefined;
  /**
   * Bounding box of the query that returned the data: a dataset must have a location in it. Default:
   * none.
   */
  within?: BoundingBox | undefined;
  /** Signal that stops the requests. Default: none. */
  signal?: AbortSignal | undefined;
}

/** Fields of Metadata that citations are made of. */
export const CITED_FIELDS = ["DOI", "DatasetName", "Version", "Citation", "Licence"] as const;

/** Converts a row of Metadata to a citation. */
export function toCitation(
  { DOI, DatasetName, Version, Citation, Licence }: Record<(typeof CITED_FIELDS)[number], string>,
): Citation {
  return {
    doi: DOI,
    link: `https://doi.org/${DOI}`,
    name: DatasetName,
    version: Version,
    citation: Citation,
    licence: Licence,
  };
}

/** Maximum number of DOIs in one filter, so that common gateways accept the length of the request. */
const MAX_DOIS_PER_REQUEST = 100;

/**
 * Returns the filters of Metadata for the datasets to cite, one for each request.
 *
 * @param filter Filter of the cited rows. Default: none
 * @param options DOIs of the datasets, which may be repeated, and the bounding box of the cited rows
 * @returns The filters; `undefined` for a request of all datasets
 * @throws {ValidationError} If Metadata does not accept the filter, or an option is invalid
 */
export function citationFilters(
  filter: Filter<string> | string | undefined,
  { dois, within }: CitationOptions,
): (string | undefined)[] {
  const rowFilter = toMetadataFilter({ filter, within });
  if (dois === undefined) return [rowFilter];
  if (!isListOfStrings(dois)) throw invalidValue("dois", "an array of strings", dois);
  const filters: string[] = [];
  const remaining: string[] = [...new Set(dois)];
  const start = rowFilter ? `${rowFilter} and ` : "";
  while (remaining.length > 0) {
    const some = remaining.splice(0, MAX_DOIS_PER_REQUEST);
    const doiFilter = some.length > 1 ? isIn("DOI", some) : eq("DOI", some[0]!);
    filters.push(start + doiFilter);
  }
  return filters;
}
