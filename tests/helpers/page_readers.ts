import { DataStream, type FormatName, type Query, type ResourceName } from "../../mod.ts";
import { upstream } from "./upstream.ts";

type AnyQuery = Query<object> & { geojson?(): ReadableStream<Uint8Array> };

/** Creates a query whose only response is the given page, without retries. */
export function queryOver(resource: ResourceName, page: Uint8Array<ArrayBuffer>): AnyQuery {
  const reply = new Response(page, { headers: { "content-type": "application/json" } });
  const { options } = upstream(reply);
  const baseUrl = "https://sandbox.invalid/v1/odata/v4"; // same origin as the page's next link
  const client = new DataStream({ ...options, baseUrl, requestsPerSecond: Infinity });
  const query = { limit: 2 };
  return resource === "Metadata"
    ? client.metadata(query)
    : resource === "Locations"
    ? client.locations(query)
    : resource === "Observations"
    ? client.observations(query)
    : client.records(query);
}

/** Reads a stream to its end and returns the number of chunks. */
async function drain(stream: ReadableStream<unknown>): Promise<number> {
  let chunks = 0;
  for await (const _ of stream) chunks++;
  return chunks;
}

/** Functions that read a query to its end, by format. */
export const READERS: Record<"rows" | FormatName, (query: AnyQuery) => Promise<unknown>> = {
  rows: (query) => query.toArray(),
  csv: (query) => drain(query.csv()),
  ndjson: (query) => drain(query.ndjson()),
  json: (query) => drain(query.json()),
  geojson: (query) => drain(query.geojson!()),
};
