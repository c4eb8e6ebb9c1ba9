import { DataStream, type Query, type ResourceName } from "../../../mod.ts";
import { upstream } from "../../helpers/upstream.ts";
import type { TextFormat } from "../../helpers/resources.ts";

/** Creates a query whose only response is the given page, without retries. */
export function queryOver(resource: ResourceName, page: Uint8Array<ArrayBuffer>): Query<object> {
  const reply = new Response(page, { headers: { "content-type": "application/json" } });
  const { options } = upstream(reply);
  const baseUrl = "https://sandbox.invalid/v1/odata/v4"; // same origin as the page's next link
  const client = new DataStream({ ...options, baseUrl, requestsPerSecond: Infinity });
  return client.query(resource, { limit: 2 });
}

/** Reads a query to its end, as objects or in a format. */
export async function readWholeQuery(
  query: Query<object>,
  format: "rows" | TextFormat,
): Promise<void> {
  if (format === "rows") await query.toArray();
  else await new Response(query.bytes(format)).bytes();
}
