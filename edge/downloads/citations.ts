import { type Citation, citationsText } from "../../src/client/citations.ts";
import type { DataStream } from "../../src/client/datastream.ts";
import { parseFilter } from "../../src/odata/parse_filter.ts";
import { commonFilter } from "../../src/odata/common_filter.ts";
import { placeBox } from "../../src/odata/place_box.ts";
import type { Downloads } from "./downloads.ts";
import { readBox, readPairs } from "./options.ts";
import { refusing, tellFault } from "./problem.ts";

/** The paths that say how to cite. */
export const CITATION_PATHS = ["/Citations.txt", "/Citations.json"] as const;

/** So many DOIs stand in one filter: it must not be longer than a gateway takes. */
const MOST_DOIS = 100;

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
        await citationsOf(client, (await locations.toArray()).map(({ DOI }) => DOI), signal);
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

/** How to cite datasets by their DOIs, which may come more than once. */
async function citationsOf(
  client: DataStream,
  dois: readonly string[],
  signal: AbortSignal,
): Promise<Citation[]> {
  const left = [...new Set(dois)];
  const citations: Citation[] = [];
  while (left.length > 0) {
    const filter = commonFilter({ dois: left.splice(0, MOST_DOIS) });
    citations.push(...await client.citations(filter, { signal }));
  }
  return citations;
}
