import type { DataStream } from "../src/client/datastream.ts";
import { type Citation, citationsText } from "../src/formats/citations.ts";
import type { BoundingBox } from "../src/odata/bounding_box.ts";
import { toMetadataFilter } from "../src/odata/dataset_filter.ts";
import { clausesOf } from "../src/odata/query_options.ts";
import type { AppContext } from "./download.ts";
import type { Exchange } from "./exchange.ts";
import { toServiceProblem } from "./problem.ts";
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
  const { accessControl, serviceLimit, identifyClient, sharedCitations, settings } = context;
  const { request } = exchange;
  const dataStream = exchange.countRequests(await accessControl.authorize(request));
  const url = new URL(request.url);
  const values = readParameters(url, ["$filter", "bbox", ...accessControl.parameters]);
  const filter = values.get("$filter");
  const within = readBoundingBox(values.get("bbox"));
  const findCitations = prepareCitations(dataStream, filter, within, exchange.signal);
  exchange.query = loggedParameters(values, accessControl.parameters);
  const isText = path.endsWith(".txt");
  const headers = {
    "content-type": `${isText ? "text/plain" : "application/json"}; charset=utf-8`,
    "cache-control": accessControl.cacheControl,
    ...(accessControl.vary && { vary: accessControl.vary }),
  };
  if (request.method === "HEAD") return new Response(null, { headers });
  const client = await identifyClient(exchange);
  // Also limits the wait for the requests of another response.
  exchange.deadline.onRequest();
  const find = () => serviceLimit.run(findCitations, { client });
  const key = JSON.stringify([filter, within]);
  const finding = sharedCitations?.run(key, find, exchange.signal) ?? find();
  const citations = await finding.catch((error) => {
    throw toServiceProblem(error, "Request for citations", settings, exchange);
  });
  exchange.rows = citations.length;
  const body = isText ? citationsText(citations) : `${JSON.stringify(citations, null, 2)}\n`;
  return new Response(body, { headers });
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
  signal: AbortSignal,
): () => Promise<Citation[]> {
  // Datasets cannot be filtered by the name of a location, but locations can.
  if (clausesOf(filter).some(({ field }) => field === "Name")) {
    const locations = dataStream.locations({ select: ["DOI"], filter, within, signal });
    return async () => {
      const dois = (await locations.toArray()).map(({ DOI }) => DOI);
      return await dataStream.citations(undefined, { dois, signal });
    };
  }
  // Converted now, so that an invalid filter or box throws now.
  const cited = toMetadataFilter({ filter, within });
  return () => dataStream.citations(cited, { signal });
}
