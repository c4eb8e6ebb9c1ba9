// A page that ends too early, as a gateway leaves one when it drops the connection.
import "../../helpers/no_permission.ts";
import { assertEquals, assertRejects } from "@std/assert";
import { DataStream, DataStreamError, type Query, type ResourceName } from "../../../mod.ts";
import { assertLinear } from "../../helpers/doubling.ts";
import {
  FORMATS_OF,
  RESOURCE_NAMES,
  samplePage,
  truncatedPage,
} from "../../helpers/sample_pages.ts";
import { upstream } from "../../helpers/upstream.ts";

type AnyQuery = Query<object> & { geojson?(): ReadableStream<Uint8Array> };

/** Runs a query over one page, whose errors are final. */
function queryOver(resource: ResourceName, page: Uint8Array<ArrayBuffer>): AnyQuery {
  const reply = new Response(page, { headers: { "content-type": "application/json" } });
  const { options } = upstream(reply);
  const baseUrl = "https://sandbox.invalid/v1/odata/v4"; // that of the page's next link
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

/** Reads a whole stream; returns the number of its chunks. */
async function drain(stream: ReadableStream<unknown>): Promise<number> {
  let chunks = 0;
  for await (const _ of stream) chunks++;
  return chunks;
}

const READERS: Record<string, (query: AnyQuery) => Promise<unknown>> = {
  rows: (query) => query.toArray(),
  csv: (query) => drain(query.csv()),
  ndjson: (query) => drain(query.ndjson()),
  json: (query) => drain(query.json()),
  geojson: (query) => drain(query.geojson!()),
};

for (const resource of RESOURCE_NAMES) {
  for (const format of ["rows", ...FORMATS_OF[resource]]) {
    const symbol = format === "rows" ? "toArray" : format;
    Deno.test(`${symbol}() rejects when a page of ${resource} is truncated at any byte`, async () => {
      const page = new TextEncoder().encode(await samplePage(resource));
      await READERS[format]!(queryOver(resource, page));
      for (let length = 0; length < page.length; length++) {
        const query = queryOver(resource, page.slice(0, length));
        const error = await assertRejects(() => READERS[format]!(query), DataStreamError);
        assertEquals(error.kind, "page");
      }
    });

    Deno.test(`${symbol}() rejects in linear time when a page of ${resource} is truncated`, async () => {
      const sample = await samplePage(resource);
      await assertLinear(
        (copies) => truncatedPage(sample, copies),
        (page) => READERS[format]!(queryOver(resource, page.slice())),
      );
    });
  }
}
