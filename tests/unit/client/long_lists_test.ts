// Lists that are too long for one request are split, and each row is given once.
import "../../helpers/no_permission.ts";
import { assert, assertEquals, assertRejects } from "@std/assert";
import { and, type Cursor, DataStream, DataStreamError, eq, isIn } from "../../../mod.ts";
import { sandboxAndClient } from "../../helpers/sandbox.ts";
import { page, upstream } from "../../helpers/upstream.ts";

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
  assertEquals(
    await client.locations({ filter: and(provinces, hubs) }).count(),
    await client.locations({ filter: provinces }).count(),
  );
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

/** Creates a client of a service that responds to the groups of a list, which it numbers by their filters. */
function serveGroups(respond: (group: number, options: URLSearchParams) => Response) {
  const groups: (string | null)[] = [];
  const { options } = upstream();
  return new DataStream({
    ...options,
    fetch({ url }) {
      const { searchParams } = new URL(url);
      const filter = searchParams.get("$filter");
      if (!groups.includes(filter)) groups.push(filter);
      return Promise.resolve(respond(groups.indexOf(filter), searchParams));
    },
  });
}
const filter = isIn("LocationId", IDS);

Deno.test("observations() fail when a group of a long list lacks rows, though it has one page", async () => {
  const client = serveGroups((group, options) => {
    if (options.has("$count")) return Response.json({ value: 1 + group });
    return page(options.has("$skiptoken") ? [] : [{ Id: group }]);
  });
  const query = client.observations({ select: ["Id"], filter });
  const error = await assertRejects(() => query.toArray(), DataStreamError);
  // A position in the last group would be one without those before.
  const { kind, rows, expectedRows, skipToken } = error;
  assertEquals([kind, rows, expectedRows, skipToken], ["incomplete", 2, 2, undefined]);
});

Deno.test("batches() of a long list continue at the end of a group whose tokens are opaque", async () => {
  const counts: number[] = [];
  const client = serveGroups((group, options) => {
    const [first, second, third] = [1, 2, 3].map((id) => ({ Id: group * 10 + id }));
    if (options.has("$count")) {
      counts.push(group);
      return Response.json({ value: 3 });
    }
    if (options.get("$skiptoken") === "opaque") return page([third!]);
    return page([first!, second!], "?$skiptoken=opaque");
  });
  const query = client.records({ select: ["Id"], top: 2, filter });
  const ids: number[] = [];
  let after: Cursor | undefined;
  while (!after?.isComplete) {
    for await (const { data, cursor } of query.batches({ after })) {
      ids.push(...data.map(({ Id }) => Id));
      after = JSON.parse(JSON.stringify(cursor)) as Cursor;
      break;
    }
  }
  // Each group is counted, also if it has as many rows as the one before.
  const groups = [...new Set(counts)];
  assertEquals(groups.length, counts.length);
  assertEquals(ids, groups.flatMap((group) => [1, 2, 3].map((id) => group * 10 + id)));
});
