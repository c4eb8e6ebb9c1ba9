// A bounding box of Observations or Records gives each row in it once, although rows have no position.
import "../../helpers/no_permission.ts";
import { assert, assertEquals, assertRejects } from "@std/assert";
import { and, DataStream, DataStreamError, eq, type Filter, ne, type Row } from "../../../mod.ts";
import { sandboxAndClient, sandboxRequests } from "../../helpers/sandbox.ts";
import { page, ROOT, upstream } from "../../helpers/upstream.ts";

const maritimes = { west: -68, south: 44, east: -59, north: 48 };
const isInside = ({ Latitude, Longitude }: { Latitude: number; Longitude: number }) =>
  Longitude > maritimes.west && Longitude < maritimes.east && Latitude > maritimes.south &&
  Latitude < maritimes.north;
const locations = await sandboxRequests().rows("Locations") as unknown as Row<"Locations">[];
const inside = new Set(locations.filter(isInside).map(({ Id }) => Id));

type Field = "CharacteristicName" | "DOI" | "MonitoringLocationType";
const filters: [name: string, filter: Filter<Field> | undefined][] = [
  ["no filter", undefined],
  ["a filter that Locations would read in another way", ne("CharacteristicName", "pH")],
  [
    "filters of both levels",
    and(ne("MonitoringLocationType", "Lake/Pond"), eq("DOI", "10.25976/weir-bb00")),
  ],
];
for (const [name, filter] of filters) {
  Deno.test(`observations() returns each row in a bounding box once with ${name}`, async () => {
    const { sandbox, client } = sandboxAndClient({ records: 3_000 });
    const query = client.observations({ filter, within: maritimes });
    const all = await sandboxRequests({ records: 3_000 })
      .rows("Observations", filter && { $filter: String(filter) });
    const wanted = all.filter(({ LocationId }) => inside.has(Number(LocationId)));
    assert(wanted.length > 20 && wanted.length < all.length);
    assertEquals(await query.toArray() as unknown, wanted);
    assertEquals(sandbox.stats.requests, 2);
    assertEquals(await query.count(), wanted.length);
  });
}

Deno.test("records() takes one request when a bounding box has no location", async () => {
  const { sandbox, client } = sandboxAndClient();
  const query = client.records({ within: { west: 0, south: 0, east: 1, north: 1 } });
  assertEquals(await query.toArray(), []);
  assertEquals(await query.count(), 0);
  assertEquals((await new Response(query.csv()).text()).split("\r\n").length, 2);
  assertEquals(sandbox.stats.requests, 3);
});

Deno.test("observations() requests locations with the clauses that Locations takes when the filter is unchecked", () => {
  const client = new DataStream({ baseUrl: ROOT });
  const query = (filter: string) =>
    decodeURIComponent(client.records({ unchecked: true, filter, within: maritimes }).url);
  assert(query("New eq 5 and DOI eq 'x'").includes("$filter=DOI eq 'x' and Longitude gt '-68'"));
  assert(query("DOI eq 'x' or DOI eq 'y'").includes("$filter=Longitude gt '-68'"));
  // A location of "x" may have rows of others, too.
  assert(query("DOI ne 'x'").includes("$filter=Longitude gt '-68'"));
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
