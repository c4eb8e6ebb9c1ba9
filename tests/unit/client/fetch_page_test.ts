// Adaptive page size: it shrinks when pages are too large or too slow, and grows back.
import "../../helpers/no_permission.ts";
import { assert, assertEquals, assertRejects } from "@std/assert";
import { DataStream, DataStreamError } from "../../../mod.ts";
import { FakeClock } from "../../helpers/fake_clock.ts";
import { type LargeService, largeService } from "../../helpers/large_service.ts";

const baseUrl = "https://large.invalid/v1/odata/v4";

/** Creates a client of a service that refuses some requests, and records its page sizes. */
function refusing(
  service: LargeService,
  refuse: (
    asked: URLSearchParams,
    now: number,
    pages: number,
  ) => number | undefined,
) {
  const clock = new FakeClock();
  const tops: number[] = [];
  const client = new DataStream({
    baseUrl,
    clock,
    async fetch(request) {
      const { pathname, searchParams } = new URL(request.url);
      if (!pathname.endsWith("/Observations")) return await service.fetch(request);
      if (searchParams.has("$top")) tops.push(Number(searchParams.get("$top")));
      const status = refuse(searchParams, clock.now(), tops.length);
      return status === undefined ? await service.fetch(request) : new Response(null, { status });
    },
  });
  return { client, tops, clock };
}

async function countRows(pages: ReadableStream<unknown[]>): Promise<number> {
  let rows = 0;
  for await (const page of pages) rows += page.length;
  return rows;
}

Deno.test("observations() takes few extra requests when four pages time out twice", async () => {
  const service = largeService(2_000_000, 30);
  const slow = new Set([20, 21, 60, 61, 110, 111, 150, 151]);
  const { client, tops } = refusing(
    service,
    (asked, _, pages) => asked.has("$top") && slow.has(pages) ? 504 : undefined,
  );
  const rows = await countRows(
    client.observations({ partition: "never" }).pages(),
  );
  assertEquals(rows, 2_000_000);
  assert(tops.length <= 230, `${tops.length} requests`);
  assertEquals(tops.at(-1), 10_000);
});

Deno.test("observations() rarely requests large pages when the service never delivers them", async () => {
  const service = largeService(500_000, 30);
  const { client, tops } = refusing(
    service,
    (asked) => Number(asked.get("$top") ?? 0) > 2_500 ? 413 : undefined,
  );
  assertEquals(await countRows(client.observations().pages()), 500_000);
  const refused = tops.filter((top) => top > 2_500).length;
  assert(refused <= 12, `${refused} refused of ${tops.length}`);
});

for (const status of [408, 500, 503, 504]) {
  Deno.test(`observations() continues after an outage of 15 s when the status is ${status}`, async () => {
    for (let run = 0; run < 20; run++) {
      let begin: number | undefined;
      const { client } = refusing(largeService(30_000, 5), (_, now, pages) => {
        if (pages < 2) return undefined;
        begin ??= now;
        return now - begin < 15_000 ? status : undefined;
      });
      assertEquals(
        await countRows(client.observations({ limit: 30_000 }).pages()),
        30_000,
      );
    }
  });
}

for (const status of [408, 413, 504]) {
  Deno.test(`observations() is split by location when the service answers whole queries with ${status}`, async () => {
    const { client } = refusing(
      largeService(20_000, 12),
      (asked) => asked.get("$filter")?.includes("LocationId") ? undefined : status,
    );
    const ids = (await client.observations().toArray()).map(({ Id }) => Id);
    assertEquals([ids.length, new Set(ids).size], [20_000, 20_000]);
    assertEquals((await client.observations({ limit: 1 }).toArray()).length, 1);
  });

  Deno.test(`observations() continues by location when the service answers ${status} after some pages`, async () => {
    const { client } = refusing(
      largeService(20_000, 12),
      (asked, _, pages) =>
        pages < 4 || asked.get("$filter")?.includes("LocationId") ||
          !asked.has("$top")
          ? undefined
          : status,
    );
    const ids = (await client.observations({ top: 2_000 }).toArray()).map((
      { Id },
    ) => Id);
    assertEquals([ids.length, new Set(ids).size], [20_000, 20_000]);
  });
}

Deno.test("observations() fails with a hint about partition when a refused query cannot be split", async () => {
  for (const partition of ["never", "auto", "year"] as const) {
    const { client, tops } = refusing(
      largeService(20_000, 12),
      (asked) =>
        asked.get("$select") === "TemporalExtent" ||
          asked.get("$select") === "Id"
          ? undefined
          : 504,
    );
    const query = client.observations({ partition });
    const error = await assertRejects(
      () => query.toArray(),
      DataStreamError,
      "partition",
    );
    assertEquals(error.status, 504);
    assert(tops.length > 4);
  }
});

Deno.test("observations() is not split when only one attempt is allowed", async () => {
  const service = largeService(20_000, 12);
  const once = new DataStream({
    baseUrl,
    clock: new FakeClock(),
    retry: { attempts: 1 },
    fetch: async (request) => {
      const answer = await service.fetch(request);
      const isFiltered = request.url.includes("LocationId");
      return isFiltered || !request.url.includes("/Observations")
        ? answer
        : new Response(null, { status: 504 });
    },
  });
  const error = await assertRejects(() => once.observations().toArray(), DataStreamError, "504");
  assertEquals([error.hint.includes("partition"), service.requests.length], [false, 1]);
});

Deno.test("observations() is not split down to single locations after an outage", async () => {
  let begin: number | undefined;
  const { client, tops } = refusing(largeService(200_000, 1_000), (_, now, pages) => {
    if (pages < 3) return undefined;
    begin ??= now;
    return now - begin < 60_000 ? 504 : undefined;
  });
  const ids = (await client.observations().toArray()).map(({ Id }) => Id);
  assertEquals([ids.length, new Set(ids).size], [200_000, 200_000]);
  assert(tops.length < 200, `${tops.length} requests`);
});
