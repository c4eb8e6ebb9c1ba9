import { parseFilter } from "../../src/odata/parse_filter.ts";

/**
 * A `link` header that says how to cite what a filter of one dataset gives.
 *
 * Source: RFC 8574.
 *
 * @param filter A filter that the client has taken
 * @returns The header's value; undefined where the filter names no DOI, or several
 */
export function citeAs(filter: string | undefined): string | undefined {
  if (filter === undefined) return undefined;
  const dois = parseFilter(filter)
    .filter(({ field, operator }) => field === "DOI" && (operator === "eq" || operator === "in"))
    .flatMap(({ values }) => values.map(({ text }) => text));
  const [doi = ""] = dois;
  if (new Set(dois).size !== 1 || !/^10\.\d{4,9}\/\S+$/.test(doi)) return undefined;
  const path = doi.split("/").map(encodeURIComponent).join("/");
  return `<https://doi.org/${path}>; rel="cite-as"`;
}
