import type { DataStream } from "../../src/client/datastream.ts";
import { type Citation, CITATION_FORMATS } from "../../src/formats/citations.ts";
import type { BoundingBox } from "../../src/odata/bounding_box.ts";
import { clausesOf, toMetadataFilter } from "../../src/odata/query_options.ts";
import { type AppContext, respondWithText } from "./document.ts";
import type { Exchange } from "../http/exchange.ts";

const FORMATS_BY_PATH = new Map(
  Object.values(CITATION_FORMATS).map((format) => [`/Citations.${format.extension}`, format]),
);

export const CITATION_PATHS = [...FORMATS_BY_PATH.keys()];

export async function respondWithCitations(
  exchange: Exchange,
  path: string,
  context: AppContext,
): Promise<Response> {
  return await respondWithText(exchange, context, ["$filter", "bbox"], (dataStream, options) => {
    const { filter, within } = options;
    const findCitations = prepareCitations(dataStream, filter, within);
    const { mediaType, format } = FORMATS_BY_PATH.get(path)!;
    return {
      mediaType,
      id: [path, filter, within],
      task: "Request for citations",
      async request(signal) {
        const citations = await findCitations(signal);
        return { content: format(citations), rows: citations.length };
      },
    };
  });
}

/** Throws if the filter or the box is invalid; nothing is sent yet. */
function prepareCitations(
  dataStream: DataStream,
  filter: string | undefined,
  within: BoundingBox | undefined,
): (signal: AbortSignal) => Promise<Citation[]> {
  // Datasets cannot be filtered by the name of a location, but locations can.
  if (clausesOf(filter).some(({ field }) => field === "Name")) {
    const locations = dataStream.locations({ select: ["DOI"], filter, within }).batches();
    return async (signal) => {
      const pages = await Array.fromAsync(locations.with({ signal }));
      const dois = pages.flatMap(({ data }) => data.map(({ DOI }) => DOI));
      return await dataStream.citations(undefined, { dois, signal });
    };
  }
  // Converted now, so that an invalid filter or box throws now.
  const cited = toMetadataFilter({ filter, within });
  return (signal) => dataStream.citations(cited, { signal });
}
