// A bounding box of Observations or Records gives each row in it once, although rows have no position.
import "../../helpers/no_permission.ts";
import { assert, assertEquals, assertRejects } from "@std/assert";
import { and, DataStream, DataStreamError, ne } from "../../../mod.ts";
import { sandboxAndClient, sandboxRequests } from "../../helpers/sandbox.ts";
import { page, upstream } from "../../helpers/upstream.ts";

const maritimes = { west: -68, south: 44, east: -59, north: 48 };
Deno.test("observations() returns each row in a bounding box once, whatever its filter means in Locations", async () => {
  // In Locations, the first clause could mean "has no row with pH".
  const filter = and(ne("CharacteristicName", "pH"), ne("MonitoringLocationType", "Lake/Pond"));
  const { sandbox, client } = sandboxAndClient({ records: 3_000 });
  const query = client.observations({ filter, within: maritimes });
  const { rows } = sandboxRequests({ records: 3_000 });
  const { url } = client.locations({ within: maritimes });
  const $filter = new URL(url).searchParams.get("$filter")!;
  const inside = new Set((await rows("Locations", { $filter })).map(({ Id }) => Id));
  const all = await rows("Observations", { $filter: String(filter) });
  const wanted = all.filter(({ LocationId }) => inside.has(LocationId));
  assert(wanted.length > 20 && wanted.length < all.length);
  assertEquals(await query.toArray() as unknown, wanted);
  assertEquals(sandbox.stats.requests, 2);
  assertEquals(await query.count(), wanted.length);
});

Deno.test("records() takes one request when a bounding box has no location", async () => {
  const { sandbox, client } = sandboxAndClient();
  const query = client.records({ within: { west: 0, south: 0, east: 1, north: 1 } });
  assertEquals(await query.toArray(), []);
  assertEquals(await query.count(), 0);
  assertEquals((await new Response(query.csv()).text()).split("\r\n").length, 2);
  assertEquals(sandbox.stats.requests, 3);
});

Deno.test("records() requests locations with the clauses that mean the same in Locations when the filter is unchecked", () => {
  const filterOf = (filter: string) => {
    const { url } = new DataStream().records({ unchecked: true, filter, within: maritimes });
    return new URL(url).searchParams.get("$filter")!;
  };
  assert(filterOf("New eq 5 and DOI eq 'x'").startsWith("DOI eq 'x' and Longitude gt '-68'"));
  assert(filterOf("DOI eq 'x' or DOI eq 'y'").startsWith("Longitude gt '-68'"));
  assert(filterOf("DOI ne 'x'").startsWith("Longitude gt '-68'"));
});

Deno.test("observations() fails when a location has no Id to filter by", async () => {
  const { options } = upstream(page([{ Id: 5 }, { Id: null }]));
  const query = new DataStream(options).records({ within: maritimes });
  const error = await assertRejects(
    () => query.toArray(),
    DataStreamError,
    "/v1/odata/v4/Locations, got a row without an integer Id",
  );
  assertEquals(error.kind, "page");
});
