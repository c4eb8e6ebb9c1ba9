// Citations of datasets: the filters for their rows of Metadata, and the conversion of these rows to text.
import { oneLine } from "../errors.ts";
import type { BoundingBox } from "../odata/bounding_box.ts";
import { type Clause, normalizeDoi, textClause } from "../odata/clause.ts";
import { datasetClauses } from "../odata/dataset_filter.ts";
import type { Filter } from "../odata/filter.ts";
import { invalidValue, isListOfStrings } from "../validation.ts";

/**
 * Citation of a dataset. The licence of the data requires it.
 *
 * @example One line for a list of references
 * ```ts
 * import type { Citation } from "@weir/datastream";
 * import { assertEquals } from "@std/assert";
 *
 * const toReference = ({ citation, version }: Citation) => `${citation} Version ${version}.`;
 * const one: Citation = {
 *   doi: "10.25976/weir-aa00",
 *   link: "https://doi.org/10.25976/weir-aa00",
 *   name: "Synthetic Rivers",
 *   version: "1.0.0",
 *   citation: "Weir. 2019. https://doi.org/10.25976/weir-aa00",
 *   licence: "https://opendatacommons.org/licenses/by/1-0/",
 * };
 * assertEquals(toReference(one), "Weir. 2019. https://doi.org/10.25976/weir-aa00 Version 1.0.0.");
 * ```
 */
export interface Citation {
  /** DOI of the dataset, such as `10.25976/xxxx-xx00`. */
  doi: string;
  /** Link `https://doi.org/<doi>`. */
  link: string;
  /** Name of the dataset. */
  name: string;
  /** Version of the data, such as `1.0.0`. */
  version: string;
  /**
   * Text of the citation, as the dataset states it. The link is appended if the text lacks the DOI,
   * because it must accompany the citation.
   */
  citation: string;
  /** URL of the licence. */
  licence: string;
}

/**
 * Options for {@linkcode DataStream.citations}.
 *
 * @example The citations of downloaded rows
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
   * DOIs of the datasets to cite, in any usual form; duplicates are ignored. There is one request per 100
   * DOIs. Default: every dataset that matches the filter.
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

/** Fields of Metadata that a citation contains. */
export const CITED_FIELDS = ["DOI", "DatasetName", "Version", "Citation", "Licence"] as const;

/** A row of Metadata with the fields in `CITED_FIELDS`. */
export type CitedDataset = Record<Exclude<(typeof CITED_FIELDS)[number], "Citation">, string> & {
  Citation?: string | null;
};

/** Converts a row of Metadata to a citation. */
export function toCitation(
  { DOI, DatasetName, Version, Citation, Licence }: CitedDataset,
): Citation {
  const link = `https://doi.org/${DOI}`;
  // A dataset that lacks a citation must not end a download with an error.
  const text = Citation ?? DatasetName;
  return {
    doi: DOI,
    link,
    name: DatasetName,
    version: Version,
    // DOIs are case-insensitive.
    citation: text?.toLowerCase().includes(DOI.toLowerCase())
      ? text
      : [text, link].filter(Boolean).join(" "),
    licence: Licence,
  };
}

/** Maximum number of DOIs in one filter. It keeps the URL short enough for common gateways. */
const MAX_DOIS_PER_REQUEST = 100;

/**
 * Returns the clauses for requests of Metadata that select the datasets to cite, one list per request.
 *
 * @param filter Filter of the cited rows. Default: none
 * @param options DOIs of the datasets, which may be repeated, and the bounding box of the cited rows
 * @throws {ValidationError} If Metadata does not accept the filter, or an option is invalid
 */
export function citationClauses(
  filter: Filter<string> | string | undefined,
  { dois, within }: CitationOptions,
): Clause[][] {
  const isFiltered = filter !== undefined || within !== undefined;
  const rowClauses = isFiltered ? datasetClauses({ filter, within }) : [];
  if (dois === undefined) return [rowClauses];
  if (!isListOfStrings(dois)) throw invalidValue("dois", "an array of strings", dois);
  const lists: Clause[][] = [];
  const remaining: string[] = [...new Set(dois.map(normalizeDoi))];
  while (remaining.length > 0) {
    lists.push([...rowClauses, textClause("DOI", remaining.splice(0, MAX_DOIS_PER_REQUEST))]);
  }
  return lists;
}

/**
 * Formats citations as text: for each dataset a line with the citation, which has the DOI, and one with
 * the licence, without control characters.
 *
 * @param citations Results of `DataStream.citations()`
 */
export function citationsText(
  citations: readonly Pick<Citation, "citation" | "licence">[],
): string {
  if (citations.length === 0) return "No dataset matches.\n";
  return citations
    .map(({ citation, licence }) => `${oneLine(citation)}\nLicence: ${oneLine(licence)}\n`)
    .join("\n");
}
