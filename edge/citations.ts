import { citationsText } from "../src/client/citations.ts";
import { citationsOfDois } from "../src/client/citations_of_dois.ts";
import { parseFilter } from "../src/odata/parse_filter.ts";
import { placeBox } from "../src/odata/query_options.ts";
import type { Downloads } from "./download.ts";
import { refusing, tellFault } from "./problem.ts";
import { readBox, readPairs } from "./search_params.ts";

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
  { access, gate, settings }: Downloads,
): Promise<Response> {
  const client = await access.admit(request);
  const isText = path.endsWith(".txt");
  const headers = {
    "content-type": `${isText ? "text/plain" : "application/json"}; charset=utf-8`,
    "cache-control": access.cacheControl,
    ...(access.vary && { vary: access.vary }),
  };
  const { signal } = request;
  const find = refusing(() => {
    const given = readPairs(new URL(request.url), ["$filter", "bbox", ...access.urlOptions]);
    const filter = given.get("$filter");
    const box = readBox(given.get("bbox"));
    // The name of a location is nothing that a dataset can be asked for by.
    const byLocation = filter !== undefined &&
      parseFilter(filter).some(({ field }) => field === "Name");
    const placed = placeBox(byLocation ? "Locations" : "Metadata", filter, box).filter;
    if (byLocation) {
      const locations = client.locations({ select: ["DOI"], filter: placed, signal });
      return async () =>
        await citationsOfDois(client, (await locations.toArray()).map(({ DOI }) => DOI), signal);
    }
    client.metadata({ filter: placed }); // refuses what it cannot take
    return () => client.citations(placed, { signal });
  });
  if (request.method === "HEAD") return new Response(null, { headers });
  const citations = await gate.hold(find).catch((error) => {
    throw tellFault(error, "A request for citations", settings);
  });
  const body = isText ? citationsText(citations) : `${JSON.stringify(citations, null, 2)}\n`;
  return new Response(body, { headers });
}
