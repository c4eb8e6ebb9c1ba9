import type { Citation } from "../../src/client/citations.ts";
import { placeBox } from "../../src/odata/place_box.ts";
import type { Downloads } from "./downloads.ts";
import { understand } from "./downloads.ts";
import { readBox, readPairs } from "./options.ts";

/** The paths that say how to cite. */
export const CITATION_PATHS = ["/Citations.txt", "/Citations.json"] as const;

/**
 * Answers with the citation, licence and DOI link of every dataset that a filter touches.
 *
 * Source: water-quality-api, What the service does, 2.
 */
export async function answerCitations(
  request: Request,
  path: typeof CITATION_PATHS[number],
  downloads: Downloads,
): Promise<Response> {
  const { access } = downloads;
  const client = await access.admit(request);
  const isText = path.endsWith(".txt");
  const headers = {
    "content-type": `${isText ? "text/plain" : "application/json"}; charset=utf-8`,
    "cache-control": access.cacheControl,
    ...(access.vary && { vary: access.vary }),
  };
  const filter = understand(() => {
    const known = ["$filter", "bbox", ...access.urlOptions];
    const given = readPairs(new URL(request.url), known);
    const { filter } = placeBox("Metadata", given.get("$filter"), readBox(given.get("bbox")));
    client.metadata({ filter }); // refuses what it cannot take
    return filter;
  });
  if (request.method === "HEAD") return new Response(null, { headers });
  const citations = await downloads.hold(
    downloads.enter(),
    () => client.citations(filter, { signal: request.signal }),
  );
  const body = isText ? toText(citations) : `${JSON.stringify(citations, null, 2)}\n`;
  return new Response(body, { headers });
}

/** Citations as text, a paragraph each. */
function toText(citations: readonly Citation[]): string {
  if (citations.length === 0) return "No dataset meets the filter.\n";
  return citations
    .map(({ citation, licence, link }) => `${citation}\nLicence: ${licence}\n${link}\n`)
    .join("\n");
}
