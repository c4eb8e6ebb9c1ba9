import type { DataStream } from "../src/client/datastream.ts";
import { type Citation, citationsText } from "../src/formats/citations.ts";
import type { BoundingBox } from "../src/odata/bounding_box.ts";
import { toMetadataFilter } from "../src/odata/dataset_filter.ts";
import { clausesOf } from "../src/odata/query_options.ts";
import { type AppContext, authorize, keyOf, valueSource } from "./download.ts";
import { sendFeed } from "./download_response.ts";
import type { Exchange } from "./exchange.ts";
import { loggedParameters, readBoundingBox, readParameters } from "./search_params.ts";

/** Paths of the citations. */
export const CITATION_PATHS = ["/Citations.txt", "/Citations.json"] as const;

/**
 * Responds with the citation, with the DOI link, and licence of every dataset that has a matching row.
 *
 * @throws {HttpProblem} If the request is not authorized, the server is at its limit, or the service
 *   fails
 * @throws {ValidationError} If a URL parameter is invalid
 */
export async function respondWithCitations(
  exchange: Exchange,
  path: typeof CITATION_PATHS[number],
  context: AppContext,
): Promise<Response> {
  const { accessControl: { parameters, cacheControl, vary }, feeds, settings } = context;
  const { request } = exchange;
  const dataStream = await authorize(exchange, context);
  const values = readParameters(new URL(request.url), ["$filter", "bbox", ...parameters]);
  const filter = values.get("$filter");
  const within = readBoundingBox(values.get("bbox"));
  const findCitations = prepareCitations(dataStream, filter, within);
  exchange.query = loggedParameters(values, parameters);
  const isText = path.endsWith(".txt");
  const headers = {
    "content-type": `${isText ? "text/plain" : "application/json"}; charset=utf-8`,
    "cache-control": cacheControl(settings.cacheTtl),
    ...(vary && { vary }),
  };
  if (request.method === "HEAD") return new Response(null, { headers });
  const source = valueSource(exchange, async (signal) => {
    const citations = await findCitations(signal);
    const text = isText ? citationsText(citations) : `${JSON.stringify(citations, null, 2)}\n`;
    return { text, rows: citations.length };
  });
  const key = await keyOf([path, filter, within], request, settings);
  const reader = feeds.open(key, source, exchange.client);
  return await sendFeed({
    reader,
    exchange,
    settings,
    task: "Request for citations",
    headers: () => ({ ...headers, "cache-control": cacheControl(reader.remainingTtl) }),
  });
}

/**
 * Prepares the requests for citations. Nothing is sent yet.
 *
 * @returns Function that sends the requests
 * @throws {ValidationError} If the filter or the box is invalid
 */
function prepareCitations(
  dataStream: DataStream,
  filter: string | undefined,
  within: BoundingBox | undefined,
): (signal: AbortSignal) => Promise<Citation[]> {
  // Datasets cannot be filtered by the name of a location, but locations can.
  if (clausesOf(filter).some(({ field }) => field === "Name")) {
    const query = { select: ["DOI"], filter, within } as const;
    dataStream.locations(query); // throws if the filter or the box is invalid
    return async (signal) => {
      const locations = dataStream.locations({ ...query, signal });
      const dois = (await locations.toArray()).map(({ DOI }) => DOI);
      return await dataStream.citations(undefined, { dois, signal });
    };
  }
  // Converted now, so that an invalid filter or box throws now.
  const cited = toMetadataFilter({ filter, within });
  return (signal) => dataStream.citations(cited, { signal });
}
