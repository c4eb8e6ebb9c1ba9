// A filter with an empty list matches no row, and sends no request.
import "../../helpers/no_permission.ts";
import { assertEquals } from "@std/assert";
import { and, DataStream, eq, type Filter, isIn } from "../../../mod.ts";
import { upstream } from "../../helpers/upstream.ts";

const within = { west: -64, south: 46, east: -62, north: 47 };
const filters: [name: string, filter: Filter][] = [
  ["is an empty list", isIn("DOI", [])],
  ["contains an empty list", and(eq("CharacteristicName", "pH"), isIn("LocationId", []))],
];

for (const [name, filter] of filters) {
  Deno.test(`a query returns no rows and sends no request when its filter ${name}`, async () => {
    const { options, requests } = upstream();
    const client = new DataStream(options);
    const resources = ["Metadata", "Locations", "Observations", "Records"] as const;
    for (const resource of resources) {
      for (const more of [{}, { within }, { limit: 5, maxRows: 1 }, { skipToken: "Id:5" }]) {
        const query = client.query(resource, { select: ["Id"], filter, ...more });
        assertEquals(await query.count(), 0);
        assertEquals(await query.toArray(), []);
        assertEquals(await Array.fromAsync(query.pages()), []);
        assertEquals(await new Response(query.csv()).text(), "Id\r\n");
        assertEquals(await new Response(query.ndjson()).text(), "");
        assertEquals(await new Response(query.json()).json(), { value: [] });
        const batches = await Array.fromAsync(query.batches());
        assertEquals(batches.map(({ rows, isLast }) => [rows, isLast]), [[0, true]]);
      }
    }
    assertEquals(requests.length, 0);
  });

  Deno.test(`citations() returns none and sends no request when its filter ${name}`, async () => {
    const { options, requests } = upstream();
    const client = new DataStream(options);
    assertEquals(await client.citations(filter), []);
    assertEquals(await client.citations(filter, { within, dois: ["10.25976/weir-aa00"] }), []);
    assertEquals(requests.length, 0);
  });
}
