import { oneLine } from "../errors.ts";

/**
 * Formats citations as text: one paragraph each, without control characters.
 *
 * @param citations Results of `DataStream.citations()`
 */
export function citationsText(
  citations: readonly { citation: string; licence: string; link: string }[],
): string {
  if (citations.length === 0) return "No dataset matches.\n";
  return citations
    .map(({ citation, licence, link }) =>
      [oneLine(citation), `Licence: ${oneLine(licence)}`, oneLine(link), ""].join("\n")
    )
    .join("\n");
}
