// A filter with an empty list matches no row, and sends no request.
import "../../helpers/no_permission.ts";
import { assertEquals } from "@std/assert";
import { and, DataStream, eq, isIn } from "../../../mod.ts";
import { upstream } from "../../helpers/upstream.ts";

const within = { west: -64, south: 46, east: -62, north: 47 };
Deno.test("a query returns no rows and sends no request when its filter contains an empty list", async () => {
  const { options, requests } = upstream();
  const client = new DataStream(options);
  const filter = and(eq("CharacteristicName", "pH"), isIn("LocationId", []));
  for (const more of [{}, { within }, { limit: 5, maxRows: 1 }, { skipToken: "Id:5" }]) {
    const query = client.records({ select: ["Id"], filter, ...more });
    assertEquals(await query.count(), 0);
    assertEquals(await query.toArray(), []);
    assertEquals(await new Response(query.csv()).text(), '"Id"\r\n');
    const batches = await Array.fromAsync(query.batches());
    assertEquals(batches.map(({ rows, isLast }) => [rows, isLast]), [[0, true]]);
  }
  assertEquals(await client.citations(filter, { within, dois: ["10.25976/weir-aa00"] }), []);
  assertEquals(requests.length, 0);
});
