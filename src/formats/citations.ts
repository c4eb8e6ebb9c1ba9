import { oneLine } from "../errors.ts";
import type { BoundingBox } from "../odata/bounding_box.ts";
import { type Clause, listClauses, normalizeDoi } from "../odata/clause.ts";
import { datasetClauses } from "../odata/query_options.ts";
import type { Filter } from "../odata/filter.ts";
import { invalidValue, isListOfStrings } from "../validation.ts";

/**
 * Citation of a dataset. The licence of the data requires it.
 *
 * @example One line for a list of references
 * ```ts
 * import type { Citation } from "@weir/datastream";
 *
 * const toReference = ({ citation, version }: Citation) => `${citation} Version ${version}.`;
 * ```
 */
export interface Citation {
  /** DOI of the dataset, such as `10.25976/xxxx-xx00`. */
  doi: string;
  /** Link `https://doi.org/<doi>`. */
  link: string;
  /** Name of the dataset. */
  name: string;
  /** Organization that collected the data; empty if the dataset does not name it. */
  organization: string;
  /** Version of the data, such as `1.0.0`. */
  version: string;
  /** Time of publication of this version, in ISO 8601; empty if it is unknown. */
  published: string;
  /**
   * Text of the citation, as the dataset states it. A DOI without its link becomes the link, and the link is
   * appended if the text lacks the DOI, because it must accompany the citation.
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
 * import type { CitationOptions } from "@weir/datastream";
 *
 * const rows = [{ DOI: "10.25976/weir-aa00" }, { DOI: "10.25976/weir-aa00" }];
 * const options: CitationOptions = { dois: rows.map(({ DOI }) => DOI) };
 * // await client.citations(undefined, options) returns one citation
 * ```
 */
export interface CitationOptions {
  /**
   * DOIs of the datasets to cite, in any usual form; duplicates are ignored. There is one request per 100
   * DOIs. Default: every dataset that matches the filter.
   */
  dois?: readonly string[] | undefined;
  /** Bounding box of the query: a dataset must have a location in it. Default: none. */
  within?: BoundingBox | undefined;
  /** Signal that stops the requests. Default: none. */
  signal?: AbortSignal | undefined;
}

export const CITED_FIELDS = [
  ...["DOI", "DatasetName", "DataCollectionOrganization", "Version"] as const,
  ...["PublishedTimestamp", "Citation", "Licence"] as const,
];

export type CitedDataset = Partial<Record<(typeof CITED_FIELDS)[number], string | null>> & {
  DOI: string;
};

/** What `--update` and the server compare. */
export type DatasetVersion = readonly [doi: string, version: string, published: string];

export function versionsOf(citations: readonly Citation[]): DatasetVersion[] {
  return citations.map(({ doi, version, published }) => [doi, version, published]);
}

/** A field that a dataset lacks must not end a download. */
export function toCitation(row: CitedDataset): Citation {
  const { DatasetName, Version, Licence } = row;
  const doi = String(row.DOI);
  const link = `https://doi.org/${doi}`;
  const text = row.Citation ?? DatasetName ?? "";
  // DOIs are case-insensitive. One without its link becomes the link, which must accompany the citation.
  const at = text.toLowerCase().indexOf(doi.toLowerCase());
  const before = text.slice(0, at).replace(/\bdoi:\s?$/i, "");
  const isLinked = /doi\.org\/$/i.test(before);
  return {
    doi,
    link,
    name: DatasetName ?? doi,
    organization: row.DataCollectionOrganization ?? "",
    version: Version ?? "",
    published: row.PublishedTimestamp ?? "",
    citation: at < 0
      ? [text, link].filter(Boolean).join(" ")
      : isLinked
      ? text
      : before + link + text.slice(at + doi.length),
    licence: Licence ?? "",
  };
}

const MAX_DOIS_PER_REQUEST = 100;

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
    lists.push([...rowClauses, ...listClauses("DOI", remaining.splice(0, MAX_DOIS_PER_REQUEST))]);
  }
  return lists;
}

interface CitationFormat {
  extension: string;
  mediaType: string;
  format(citations: readonly Citation[]): string;
}

export const CITATION_FORMATS = {
  text: { extension: "txt", mediaType: "text/plain", format: citationsText },
  bibtex: { extension: "bib", mediaType: "application/x-bibtex", format: toBibtex },
  ris: { extension: "ris", mediaType: "application/x-research-info-systems", format: toRis },
  "csl-json": {
    extension: "csl.json",
    mediaType: "application/vnd.citationstyles.csl+json",
    format: (citations) => formatJson(citations.map(toCslItem)),
  },
  json: { extension: "json", mediaType: "application/json", format: formatJson },
} as const satisfies Record<string, CitationFormat>;

export function citationsText(
  citations: readonly Pick<Citation, "citation" | "licence">[],
): string {
  if (citations.length === 0) return "No dataset matches.\n";
  return citations
    .map(({ citation, licence }) => `${oneLine(citation)}\nLicence: ${oneLine(licence)}\n`)
    .join("\n");
}

function formatJson(value: unknown): string {
  return `${JSON.stringify(value, null, 2)}\n`;
}

const PUBLISHER = "DataStream";

function toReference(citation: Citation) {
  const { doi, name, organization, version, licence } = citation;
  const [published = ""] = /^\d{4}-\d{2}-\d{2}/.exec(citation.published) ?? [];
  const year = citedYear(citation) ?? "";
  return {
    doi: oneLine(doi),
    title: oneLine(name),
    author: oneLine(organization),
    version: oneLine(version),
    /** Only a year if the version was published in another one. */
    date: published.startsWith(year) ? published : year,
    note: licence && `Licence: ${oneLine(licence)}`,
  };
}

const LINKS_AND_TITLES = /https?:\S+|\b10\.\d{4,}\/\S+|"[^"]*"|“[^”]*”|«[^»]*»/g;
/** Not a part of a word, a number such as 2019.1, or a range of years. */
const YEAR = /(?<!\w|\d\.|\d{4}\s*[-–]\s*)(?:19|20)\d\d(?!\w|\.\d|\s*[-–]\s*\d{4})/;

/** The year in the text of the citation, as in `Lake Alliance. 2019. "Lakes" (dataset).`, so that all formats have one. */
function citedYear({ citation, name, organization }: Citation): string | undefined {
  const withoutNames = [name, organization].filter((text) => text !== "")
    .reduce((text, part) => text.replaceAll(part, " "), citation);
  return YEAR.exec(withoutNames.replace(LINKS_AND_TITLES, " "))?.[0];
}

/** Commands of LaTeX for its special characters. Escaped braces would count as braces in BibTeX. */
const LATEX: Readonly<Record<string, string>> = {
  "\\": "\\textbackslash{}",
  "{": "\\textbraceleft{}",
  "}": "\\textbraceright{}",
  "~": "\\textasciitilde{}",
  "^": "\\textasciicircum{}",
  "<": "\\textless{}",
  ">": "\\textgreater{}",
};

const MONTHS = "jan feb mar apr may jun jul aug sep oct nov dec".split(" ");

function escapeLatex(text: string): string {
  return text.replace(/[\\{}~^<>]|[#$%&_]/g, (character) => LATEX[character] ?? `\\${character}`);
}

/** The DOI is not repeated as a URL, because styles would print both. */
function toBibtex(citations: readonly Citation[]): string {
  return citations.map((citation) => {
    const { doi, title, author, version, date, note } = toReference(citation);
    const [year = "", month = ""] = date.split("-");
    const fields = {
      // The second pair of braces keeps the case of a title, and an organization in one piece.
      author: author && `{${escapeLatex(author)}}`,
      title: `{${escapeLatex(title)}}`,
      year,
      month: MONTHS[Number(month) - 1] ?? "",
      publisher: PUBLISHER,
      howpublished: "Dataset",
      version: escapeLatex(version),
      // Reference managers read a DOI without LaTeX's commands.
      doi: doi.replace(/[\\{}%#]/g, encodeURIComponent),
      note: escapeLatex(note),
    };
    const lines = Object.entries(fields).filter(([, value]) => value !== "")
      .map(([name, value]) => `  ${name} = ${name === "month" ? value : `{${value}}`}`);
    return `@misc{${doi.replace(/[^\w.-]+/g, "_")},\n${lines.join(",\n")}\n}\n`;
  }).join("\n");
}

/** Research Information Systems format: lines end in CRLF. */
function toRis(citations: readonly Citation[]): string {
  return citations.map((citation) => {
    const { doi, title, author, version, date, note } = toReference(citation);
    const fields = [
      ["AU", author],
      ["TI", title],
      ["PY", date.slice(0, 4)],
      ["DA", date.includes("-") ? `${date.replaceAll("-", "/")}/` : ""],
      ["PB", PUBLISHER],
      ["ET", version],
      ["DO", doi],
      ["N1", note],
    ].filter(([, value]) => value !== "");
    return [["TY", "DATA"], ...fields, ["ER", ""]]
      .map(([tag, value]) => `${tag}  - ${value}\r\n`).join("");
  }).join("\r\n");
}

/** Source: csl-data.json in the schema of the CSL project. */
function toCslItem(citation: Citation): Record<string, unknown> {
  const { doi, title, author, version, date, note } = toReference(citation);
  return {
    id: doi,
    type: "dataset",
    title,
    author: author ? [{ literal: author }] : undefined,
    issued: date ? { "date-parts": [date.split("-").map(Number)] } : undefined,
    publisher: PUBLISHER,
    version: version || undefined,
    DOI: doi,
    note: note || undefined,
  };
}
