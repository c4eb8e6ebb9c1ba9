// Lists that are too long for one request are split, and each row is given once.
import "../../helpers/no_permission.ts";
import { assert, assertEquals, assertRejects } from "@std/assert";
import { and, type Cursor, DataStream, DataStreamError, eq, isIn } from "../../../mod.ts";
import { sandboxAndClient } from "../../helpers/sandbox.ts";
import { upstream } from "../../helpers/upstream.ts";

/** The locations have the Ids 1001, 1008, 1015 … */
const { client } = sandboxAndClient(
  { records: 2_000, locations: 300, requestsPerSecond: Infinity },
  { requestsPerSecond: Infinity },
);

/** Some locations twice, and numbers that no location has. */
const IDS = Array.from(
  { length: 1_100 },
  (_, index) => index % 4 === 0 ? 1001 + 7 * ((index * 13) % 270) : 100_000 + index,
);

Deno.test("observations() give each row once when a filter has two long lists", async () => {
  const select = ["Id", "LocationId", "CharacteristicName"] as const;
  const names = Array.from({ length: 220 }, (_, index) => `A name that no row has ${index}`);
  names[3] = "pH";
  names[217] = "Nitrate";
  const rows = await client.observations({ select }).toArray();
  const wanted = rows.filter(({ LocationId, CharacteristicName }) =>
    IDS.includes(LocationId) && ["pH", "Nitrate"].includes(CharacteristicName)
  );
  assert(wanted.length > 50 && wanted.length < rows.length);
  const filter = and(isIn("LocationId", IDS), isIn("CharacteristicName", names));
  const query = client.observations({ select, filter });
  assertEquals((await query.toArray()).toSorted((a, b) => a.Id - b.Id), wanted);
  assertEquals(await query.count(), wanted.length);
});

Deno.test("locations() keep two lists of regions, because a location can be in one of each", async () => {
  const provinces = isIn("RegionId", ["admin.4.ca.pe", "admin.4.ca.ns"]);
  const hubs = isIn("RegionId", ["hub.atlantic", "hub.pacific"]);
  const both = await client.locations({ select: ["Id"], filter: and(provinces, hubs) }).toArray();
  const all = await client.locations({ select: ["Id"], filter: provinces }).toArray();
  assert(all.length > 0);
  assertEquals(both, all);
});

Deno.test("observations() intersect two lists of numbers in any notation", async () => {
  const filter = "LocationId in (1001.0,1008,1015) and LocationId in (1001,1015.00,1022)";
  const count = (id: number) => client.observations({ filter: eq("LocationId", id) }).count();
  const rows = await client.observations({ select: ["LocationId"], filter }).toArray();
  assertEquals(rows.length, await count(1001) + await count(1015));
});

Deno.test("observations() intersect a long list with a bounding box", async () => {
  const within = { west: -68, south: 44, east: -59, north: 48 };
  const inBox = (await client.locations({ select: ["Id"], within }).toArray()).map(({ Id }) => Id);
  const wanted = inBox.filter((id) => IDS.includes(id));
  assert(wanted.length > 5 && wanted.length < inBox.length);
  const query = client.observations({ within, filter: isIn("LocationId", IDS), select: ["Id"] });
  const rows = await query.toArray();
  const count = await client.observations({ filter: isIn("LocationId", wanted) }).count();
  assertEquals(new Set(rows.map(({ Id }) => Id)).size, count);
});

Deno.test("observations() fail when a group of a long list lacks rows, though it has one page", async () => {
  const { options } = upstream();
  let next = 1;
  const fetch = ({ url }: Request) => {
    if (url.includes("count=true")) return Promise.resolve(Response.json({ value: 2 }));
    const rows = url.includes("skiptoken") ? [] : [{ Id: next++ }];
    return Promise.resolve(Response.json({ value: rows }));
  };
  const client = new DataStream({ ...options, fetch });
  const query = client.observations({ select: ["Id"], filter: isIn("LocationId", IDS) });
  const error = await assertRejects(() => query.toArray(), DataStreamError);
  assertEquals([error.kind, error.expectedRows], ["incomplete", 2]);
});

Deno.test("batches() of a long list continue at the end of a group whose tokens are opaque", async () => {
  const { options } = upstream();
  const groups: (string | null)[] = [];
  let requests: string[] = [];
  const fetch = ({ url }: Request) => {
    const { searchParams, href } = new URL(url);
    const filter = searchParams.get("$filter");
    if (!groups.includes(filter)) groups.push(filter);
    const first = groups.indexOf(filter) * 10 + 1;
    const token = searchParams.get("$skiptoken");
    const isCount = searchParams.has("$count");
    requests.push(`${first} ${isCount ? "count" : token}`);
    if (isCount) return Promise.resolve(Response.json({ value: 3 }));
    if (token?.startsWith("Id:")) return Promise.resolve(new Response("{}", { status: 400 }));
    const value = token === null ? [{ Id: first }, { Id: first + 1 }] : [{ Id: first + 2 }];
    const next = token === null ? `${href}&$skiptoken=opaque` : undefined;
    return Promise.resolve(Response.json({ value, "@odata.nextLink": next }));
  };
  const client = new DataStream({ ...options, fetch });
  const query = client.records({ select: ["Id"], top: 2, filter: isIn("LocationId", IDS) });
  const ids = (await query.toArray()).map(({ Id }) => Id);
  assertEquals(ids, groups.flatMap((_, index) => [1, 2, 3].map((id) => index * 10 + id)));
  const uninterrupted = requests;
  // Groups of equal size are counted, too.
  assertEquals(uninterrupted.filter((text) => text.endsWith("count")).length, groups.length);
  requests = [];
  const resumed: number[] = [];
  let after: Cursor | undefined;
  do {
    for await (const { data, cursor } of query.batches({ after })) {
      resumed.push(...data.map(({ Id }) => Id));
      after = JSON.parse(JSON.stringify(cursor)) as Cursor;
      break;
    }
  } while (!after?.isComplete);
  assertEquals(resumed, ids);
  assertEquals(requests.toSorted(), uninterrupted.toSorted());
});
