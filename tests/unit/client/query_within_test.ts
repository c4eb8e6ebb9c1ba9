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

for (const options of [{ maxRows: 4_000 }, { partition: "never" }] as const) {
  Deno.test(`records() requests the locations of a bounding box once with ${JSON.stringify(options)}`, async () => {
    const { sandbox } = sandboxAndClient({ records: 1_000, requestsPerSecond: Infinity });
    const paths: string[] = [];
    const { client } = sandboxAndClient({}, {
      apiKey: sandbox.apiKey,
      requestsPerSecond: Infinity,
      fetch: (request) => {
        paths.push(new URL(request.url).pathname);
        return sandbox.fetch(request);
      },
    });
    const query = { within: maritimes, top: 25, select: ["Id"] as const };
    const rows = await client.records({ ...query, ...options }).toArray();
    assert(rows.length > 75);
    assertEquals(paths.filter((path) => path.endsWith("/Locations")).length, 1);
  });
}

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

Deno.test("observations() puts as many locations into a request as fit when it has a bounding box", async () => {
  const ids = Array.from({ length: 1_000 }, (_, index) => 1_000_001 + index);
  const lists: number[] = [];
  const { options } = upstream();
  const fetch = (request: Request) => {
    const { pathname, searchParams } = new URL(request.url);
    if (pathname.endsWith("/Locations")) return Promise.resolve(page(ids.map((Id) => ({ Id }))));
    if (searchParams.has("$count")) return Promise.resolve(Response.json({ value: 0 }));
    lists.push(/in \((.*)\)/.exec(searchParams.get("$filter")!)![1]!.split(",").length);
    return Promise.resolve(page([]));
  };
  const client = new DataStream({ ...options, fetch });
  await client.observations({ within: maritimes, partition: "never" }).toArray();
  // Seven digits and an encoded comma are ten bytes.
  assert(lists.slice(0, -1).every((length) => length > 750 && length <= 780), lists.join());
  assertEquals(lists.reduce((sum, length) => sum + length), 1_000);
});
