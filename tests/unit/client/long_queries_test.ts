// A query string that a firewall refuses is made shorter, and the result is the same.
import "../../helpers/no_permission.ts";
import { assert, assertEquals, assertRejects, assertStringIncludes } from "@std/assert";
import {
  and,
  type Cursor,
  DataStream,
  DataStreamError,
  eq,
  type Filter,
  isIn,
} from "../../../mod.ts";
import { createSandbox, type SandboxOptions } from "../../../src/sandbox/service.ts";
import { FakeClock } from "../../helpers/fake_clock.ts";

const DATA = { records: 3_000, locations: 300, requestsPerSecond: Infinity };
/** About 2,900 bytes; every other location exists. */
const LIST = isIn("LocationId", Array.from({ length: 300 }, (_, index) => 1001 + 7 * index));
/** Names that no location has, in 3,600 bytes. A location can be in several regions, so the list cannot be split. */
const REGIONS = isIn(
  "RegionId",
  Array.from({ length: 150 }, (_, index) => `admin.4.ca.region${index}`),
);

function behindFirewall(options: SandboxOptions = { firewall: true }) {
  const sandbox = createSandbox({ ...DATA, ...options });
  const clientOptions = {
    apiKey: sandbox.apiKey,
    baseUrl: sandbox.url,
    fetch: sandbox.fetch,
    requestsPerSecond: Infinity,
    clock: new FakeClock(),
  };
  const newClient = (others = {}) => new DataStream({ ...clientOptions, ...others });
  return { sandbox, newClient, stats: sandbox.stats, client: newClient() };
}

async function idsOf(client: DataStream, filter: Filter, top = 10_000): Promise<unknown[]> {
  const rows = await client.observations({ filter, top, select: ["Id"] }).toArray();
  return rows.map(({ Id }) => Id).sort();
}

const open = behindFirewall({ firewall: false });
const wanted = await idsOf(open.client, LIST);

Deno.test("observations() send one request when the service accepts a long query string", () => {
  assert(wanted.length > 100);
  assertEquals([open.stats.requests, open.stats.refused], [1, 0]);
});

for (const top of [10_000, 100]) {
  Deno.test(`observations() give each row once, and are refused once, when a list is too long for a firewall and a page has ${top} rows`, async () => {
    const { client, stats } = behindFirewall();
    assertEquals(await idsOf(client, LIST, top), wanted);
    assertEquals(await client.observations({ filter: LIST }).count(), wanted.length);
    assertEquals(
      await idsOf(client, and(LIST, eq("CharacteristicName", "pH")), top),
      await idsOf(open.client, and(LIST, eq("CharacteristicName", "pH"))),
    );
    assertEquals(stats.refused, 1);
  });
}

Deno.test("count() counts each row once when the list is too long for a firewall", async () => {
  const { client, stats } = behindFirewall();
  assertEquals(await client.observations({ filter: LIST }).count(), wanted.length);
  assertEquals(stats.refused, 1);
});

Deno.test("batches() give the rest of the rows after a cursor when a firewall then refuses the list", async () => {
  const { sandbox, client } = behindFirewall({ firewall: false });
  const guarded = createSandbox({ ...DATA, firewall: true });
  const options = { filter: LIST, select: ["Id"], top: 100 } as const;
  const ids: unknown[] = [];
  let after: Cursor | undefined;
  for await (const { data, cursor } of client.observations(options).batches()) {
    ids.push(...data.map(({ Id }) => Id));
    after = cursor;
    if (ids.length >= 300) break;
  }
  const later = new DataStream({
    apiKey: sandbox.apiKey,
    baseUrl: sandbox.url,
    fetch: guarded.fetch,
    requestsPerSecond: Infinity,
  });
  const text = JSON.stringify(after);
  for await (
    const { data, expectedRows } of later.observations(options).batches({ after: JSON.parse(text) })
  ) {
    ids.push(...data.map(({ Id }) => Id));
    if (expectedRows !== undefined) assertEquals(expectedRows, wanted.length);
  }
  assertEquals(ids.sort(), wanted);
});

Deno.test("observations() shorten a list after each status that can mean a long query string", async () => {
  const answers = [[413, ""], [414, ""], [431, ""], [400, "<html>"], [403, "<html>"]] as const;
  for (const [status, body] of answers) {
    const { sandbox, newClient } = behindFirewall({ firewall: false });
    const client = newClient({
      fetch: (request: Request) =>
        new URL(request.url).search.length > 2_048
          ? Promise.resolve(new Response(body, { status }))
          : sandbox.fetch(request),
    });
    assertEquals([status, await idsOf(client, LIST)], [status, wanted]);
  }
});

Deno.test("observations() name the length and the option when a refused list cannot be shortened", async () => {
  const { client } = behindFirewall();
  const query = client.observations({ filter: REGIONS, unchecked: true });
  const error = await assertRejects(() => query.toArray(), DataStreamError);
  assertEquals([error.status, error.rule], [403, "length"]);
  assertStringIncludes(error.message, "shorten the filter: the query string has ");
});

Deno.test("observations() are not shortened when a 400 comes from the service", async () => {
  const { newClient } = behindFirewall();
  let requests = 0;
  const fetch = () => {
    requests++;
    return Promise.resolve(Response.json({ message: "no such value" }, { status: 400 }));
  };
  const query = newClient({ fetch }).observations({ filter: LIST });
  await assertRejects(() => query.toArray(), DataStreamError, "no such value");
  assertEquals(requests, 1);
});
