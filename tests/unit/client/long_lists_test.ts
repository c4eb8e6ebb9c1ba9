// Lists that are too long for one request are split, and each row is given once.
import "../../helpers/no_permission.ts";
import { assert, assertEquals, assertRejects } from "@std/assert";
import { and, type Cursor, DataStream, DataStreamError, eq, isIn } from "../../../mod.ts";
import { createSandbox } from "../../../src/sandbox/service.ts";
import { upstream } from "../../helpers/upstream.ts";

/** Creates a client of a sandbox with 3,000 locations, which have the Ids 1001, 1008, 1015 … */
function clientOfLocations() {
  const sandbox = createSandbox({ locations: 3_000, requestsPerSecond: Infinity });
  const { apiKey, url, fetch } = sandbox;
  const client = new DataStream({ apiKey, baseUrl: url, fetch, requestsPerSecond: Infinity });
  return { client, sandbox };
}

/** Every fourth location twice, and numbers that no location has. */
const IDS = Array.from(
  { length: 5_000 },
  (_, index) => index % 4 === 0 ? 1001 + 7 * ((index * 13) % 3_000) : 100_000 + index % 1_000,
);

Deno.test("observations() give each row once when a list has 5,000 values", async () => {
  const { client, sandbox } = clientOfLocations();
  const select = ["Id", "LocationId"] as const;
  const wanted = new Set(IDS);
  const all = await client.observations({ select }).toArray();
  const expected = all.filter(({ LocationId }) => wanted.has(LocationId)).map(({ Id }) => Id);
  const requestsBefore = sandbox.stats.requests;
  const query = client.observations({ select, filter: isIn("LocationId", IDS) });
  const ids = (await query.toArray()).map(({ Id }) => Id);
  assertEquals(ids.toSorted((a, b) => a - b), expected);
  assert(sandbox.stats.requests - requestsBefore > 2);
  assertEquals(await query.count(), expected.length);
});

Deno.test("observations() request every pair of groups when a filter has two long lists", async () => {
  const { client } = clientOfLocations();
  const select = ["Id", "LocationId", "CharacteristicName"] as const;
  const names = Array.from({ length: 500 }, (_, index) => `A name that no row has ${index}`);
  names[3] = "pH";
  names[497] = "Nitrate";
  const wanted = new Set(IDS);
  const all = await client.observations({ select }).toArray();
  const expected = all.filter(({ LocationId, CharacteristicName }) =>
    wanted.has(LocationId) && ["pH", "Nitrate"].includes(CharacteristicName)
  );
  const filter = and(isIn("LocationId", IDS), isIn("CharacteristicName", names));
  const rows = await client.observations({ select, filter }).toArray();
  assert(expected.length > 50);
  assertEquals(
    rows.map(({ Id }) => Id).toSorted((a, b) => a - b),
    expected.map(({ Id }) => Id),
  );
});

Deno.test("locations() keep two lists of regions, because a location can be in one of each", async () => {
  const { client } = clientOfLocations();
  const filter = and(
    isIn("RegionId", ["admin.4.ca.pe", "admin.4.ca.ns"]),
    isIn("RegionId", ["hub.atlantic", "hub.pacific"]),
  );
  const both = await client.locations({ select: ["Id"], filter }).toArray();
  const provinces = isIn("RegionId", ["admin.4.ca.pe", "admin.4.ca.ns"]);
  const all = await client.locations({ select: ["Id"], filter: provinces }).toArray();
  assert(all.length > 0);
  assertEquals(both, all);
});

Deno.test("observations() intersect two lists of numbers in any notation", async () => {
  const { client } = clientOfLocations();
  const filter = "LocationId in (1001.0,1008,1015) and LocationId in (1001,1015.00,1022)";
  const rows = await client.observations({ select: ["LocationId"], filter }).toArray();
  const [first, third] = [eq("LocationId", 1001), eq("LocationId", 1015)];
  const count = (one: typeof first) => client.observations({ filter: one }).count();
  assertEquals(rows.length, await count(first) + await count(third));
});

Deno.test("observations() intersect a long list with a bounding box", async () => {
  const { client } = clientOfLocations();
  const within = { west: -68, south: 44, east: -59, north: 48 };
  const inBox = (await client.locations({ select: ["Id"], within }).toArray()).map(({ Id }) => Id);
  const wanted = IDS.filter((id) => inBox.includes(id));
  assert(wanted.length > 10 && wanted.length < inBox.length);
  const select = ["Id", "LocationId"] as const;
  const rows = await client.observations({ select, within, filter: isIn("LocationId", IDS) })
    .toArray();
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
