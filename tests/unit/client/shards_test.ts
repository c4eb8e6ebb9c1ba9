// Splitting of queries into shards.
import "../../helpers/no_permission.ts";
import { assert, assertEquals, assertRejects } from "@std/assert";
import { DataStream, DataStreamError, type Progress, type Query } from "../../../mod.ts";
import { FakeClock } from "../../helpers/fake_clock.ts";
import { type LargeService, largeService } from "../../helpers/large_service.ts";

const baseUrl = "https://large.invalid/v1/odata/v4";
const clientOf = ({ fetch }: LargeService) =>
  new DataStream({ baseUrl, fetch, clock: new FakeClock() });

/** Counts rows by their Id, which must be a whole number up to the given one. */
async function timesSeen(query: Query<{ Id: number }>, rows: number): Promise<Uint8Array> {
  const seen = new Uint8Array(rows);
  for await (const page of query.pages()) for (const { Id } of page) seen[Id - 1]!++;
  return seen;
}
const isOnce = (times: number) => times === 1;

Deno.test("observations() takes 13 requests when there are 120,000 rows", async () => {
  const service = largeService(120_000, 300);
  const seen = await timesSeen(clientOf(service).observations(), 120_000);
  assert(seen.every(isOnce));
  assertEquals(service.requests.length, 13);
  assertEquals(service.counts, [120_000]);
});

Deno.test("observations() takes at most 1.1 x 500 + 30 requests in shards under a million rows when there are 5,000,000 rows", async () => {
  const rows = 5_000_000;
  const service = largeService(rows, 3_000);
  const seen = await timesSeen(clientOf(service).observations(), rows);
  assert(seen.every(isOnce));
  assert(service.requests.length <= 1.1 * 500 + 30, `${service.requests.length} requests`);
  // Each part but that of the largest location alone.
  const filters = new Set(
    service.requests.slice(1).filter((url) => url.includes("$skiptoken"))
      .map((url) => /\$filter=([^&]*)/.exec(url)?.[1]),
  );
  assert(filters.size >= 5 && filters.size < 15, `${filters.size} parts`);
  for (const filter of filters) {
    const count = new URLSearchParams({ $filter: filter!, $count: "true" });
    await service.fetch(new Request(`${baseUrl}/Observations?${count}`));
  }
  const [largest, ...others] = service.counts.slice(-filters.size).sort((a, b) => b - a);
  assertEquals([largest! > 1_600_000, others.every((count) => count <= 1_000_000)], [true, true]);
});

Deno.test("observations() is not split when there are at most a million rows, a limit, or partition is never", async () => {
  const whole = largeService(1_000_000, 30);
  await clientOf(whole).observations().pages().pipeTo(new WritableStream());
  assertEquals(whole.requests.length, 101);

  const service = largeService(1_100_000, 30);
  const client = clientOf(service);
  await client.observations({ limit: 1_000_000 }).pages().pipeTo(new WritableStream());
  assertEquals([service.requests.length, service.counts.length], [100, 0]);
  await client.observations({ partition: "never" }).pages().pipeTo(
    new WritableStream(),
  );
  // The last of the 110 pages is full: one more request shows the end.
  assertEquals([service.requests.length, service.counts.length], [211, 0]);
});

Deno.test("observations() keeps the meaning of an unchecked filter when it is split", async () => {
  const service = largeService(1_100_000, 30);
  const { fetch } = service;
  const parenthesized: string[] = [];
  const client = clientOf({
    ...service,
    fetch(request) {
      const url = new URL(request.url);
      const filter = url.searchParams.get("$filter") ?? "";
      if (filter.startsWith("(")) parenthesized.push(filter);
      url.searchParams.set(
        "$filter",
        filter.replace(/^\(?a or b\)?( and )?/, "") || "LocationId gt 0",
      );
      return fetch(new Request(url));
    },
  });
  const query = client.observations({ unchecked: true, filter: "a or b", select: ["Id"] });
  const seen = await timesSeen(query as Query<{ Id: number }>, 1_100_000);
  assert(seen.every(isOnce));
  assert(parenthesized.length > 100);
  assert(parenthesized.every((filter) => filter.startsWith("(a or b) and LocationId ")));
});

Deno.test("observations() returns each row once when a count is wrong", async () => {
  for (const lie of [(count: number) => Math.floor(count / 3), (count: number) => count * 2]) {
    const service = largeService(1_200_000, 40);
    let first = true;
    const client = clientOf({
      ...service,
      async fetch(request) {
        const response = await service.fetch(request);
        if (!request.url.includes("count")) return response;
        const { value } = await response.json();
        const reported = first ? Number(value) : lie(Number(value));
        first = false;
        return Response.json({ value: reported });
      },
    });
    const seen = await timesSeen(client.observations(), 1_200_000);
    assert(seen.every(isOnce));
  }
});

Deno.test("observations() returns each row once when Locations lacks a location", async () => {
  const service = largeService(1_200_000, 40);
  const client = clientOf({
    ...service,
    async fetch(request) {
      if (!request.url.includes("/Locations")) return await service.fetch(request);
      // In no order, either.
      return Response.json({ value: [1085, 1141, "1022", 1057, 1239, 1113].map((Id) => ({ Id })) });
    },
  });
  const seen = await timesSeen(client.observations(), 1_200_000);
  assert(seen.every(isOnce));
});

Deno.test("observations() returns each row once when partition is location", async () => {
  const service = largeService(40_000, 12);
  const client = clientOf(service);
  const query = client.observations({ partition: "location", top: 5_000 });
  assertEquals(query.url, `${baseUrl}/Locations?%24select=Id&%24top=10000`);
  const rows = await query.toArray();
  assertEquals(new Set(rows.map(({ Id }) => Id)).size, 40_000);
  assertEquals(rows.length, 40_000);
  const order = rows.map(({ LocationId }) => LocationId);
  assertEquals(order, order.toSorted((a, b) => a - b));
  assertEquals(service.counts, []);
});

Deno.test("observations() begins after the position in each shard when partition is location or year", async () => {
  for (const partition of ["location", "year"] as const) {
    const client = clientOf(largeService(10_000, 12));
    const query = client.observations({ partition, skipToken: "Id:4000" });
    const seen = await timesSeen(query, 10_000);
    const isAsked = (row: number) => row >= 4_000 && (partition === "location" || row % 100 !== 99);
    assert(seen.every((times, row) => times === (isAsked(row) ? 1 : 0)));
  }
});

Deno.test("observations() requests no year that the filter excludes when partition is year", async () => {
  const service = largeService(5_000, 12);
  const filter = "ActivityStartYear gte 2018 and ActivityStartYear lt 2020";
  const rows = await clientOf(service).observations({ partition: "year", filter }).toArray();
  const isAsked = (row: number) => row % 100 !== 99 && [18, 19].includes(row % 23);
  const ids = Array.from({ length: 5_000 }, (_, row) => row).filter(isAsked).map((row) => row + 1);
  assertEquals(rows.map(({ Id }) => Id).sort((a, b) => a - b), ids);
  assertEquals(service.requests.length, 1 + 2);
});

Deno.test("observations() is not split when the service refuses to count", async () => {
  const service = largeService(30_000, 12);
  const client = new DataStream({
    baseUrl,
    clock: new FakeClock(),
    fetch: async (request) =>
      request.url.includes("count")
        ? Response.json({}, { status: 504 })
        : await service.fetch(request),
  });
  const seen = await timesSeen(client.observations(), 30_000);
  assert(seen.every(isOnce));
});

Deno.test("observations() reports the number of rows without a year when partition is year and incomplete is warn", async () => {
  const service = largeService(30_000, 12);
  let last: Progress | undefined;
  const query = clientOf(service).observations({
    partition: "year",
    filter: "LocationId gt 0",
    incomplete: "warn",
    onProgress: (progress) => last = progress,
  });
  assertEquals(
    decodeURIComponent(query.url),
    `${baseUrl}/Metadata?$select=TemporalExtent&$filter=LocationId gt 0&$top=10000`,
  );
  const seen = await timesSeen(query, 30_000);
  // The years before and after those that the datasets tell of, too.
  assert(seen.every((times, row) => times === (row % 100 === 99 ? 0 : 1)));
  assertEquals([service.requests.length, service.counts], [1 + 18 + 1, [30_000]]);
  assertEquals(last?.missingRows, 300);
  assert(
    service.requests[2]!.includes(
      "ActivityStartYear gte 2004 and ActivityStartYear lt 2005",
    ),
  );
});

Deno.test("observations() fails with a hint about partition location when rows have no year", async () => {
  const service = largeService(30_000, 12);
  const query = clientOf(service).observations({ partition: "year" });
  const error = await assertRejects(
    () => query.toArray(),
    DataStreamError,
    "29700 of 30000",
  );
  assertEquals([error.kind, error.expectedRows], ["incomplete", 30_000]);
  // The last page is not delivered: no later run can continue after it without the comparison.
  assert(error.rows < 29_700);
  assert(error.hint.includes('partition: "location"'));
});

Deno.test("observations() applies limit and skipToken across shards", async () => {
  const service = largeService(1_300_000, 30);
  const query = clientOf(service).observations({ limit: 1_150_000, skipToken: "Id:100000" });
  const seen = await timesSeen(query, 1_300_000);
  assertEquals(seen.reduce((sum, times) => sum + times, 0), 1_150_000);
  assert(seen.every((times, row) => times <= (row < 100_000 ? 0 : 1)));
});

Deno.test("observations() requests few counts and joins neighbouring locations that fit into one shard", async () => {
  const counts = [5, 1, 1, 90, 1, 1, 1, 4].map((count) => count * 100_000);
  const counted: (string | null)[] = [];
  const shards = new Set<string | null>();
  const client = clientOf({
    fetch(request: Request) {
      const { pathname, searchParams } = new URL(request.url);
      if (pathname.endsWith("/Locations")) {
        return Promise.resolve(
          Response.json({ value: counts.map((_, index) => ({ Id: 10 * index })) }),
        );
      }
      const filter = searchParams.get("$filter");
      if (!searchParams.has("$count")) {
        shards.add(filter);
        const first = {
          value: [{ Id: 1 }],
          "@odata.nextLink": `${baseUrl}/Observations?$skiptoken=Id:1`,
        };
        return Promise.resolve(Response.json(filter === null ? first : { value: [] }));
      }
      counted.push(filter);
      const [, from = -Infinity] = /LocationId gte (\d+)/.exec(filter ?? "") ?? [];
      const [, below = Infinity] = /LocationId lt (\d+)/.exec(filter ?? "") ?? [];
      const rows = counts.filter((_, index) => 10 * index >= +from && 10 * index < +below);
      return Promise.resolve(Response.json({ value: rows.reduce((sum, count) => sum + count, 0) }));
    },
  } as LargeService);
  await client.observations({ incomplete: "warn" }).toArray();
  assertEquals([...shards], [
    null,
    "LocationId lt 30",
    "LocationId gte 30 and LocationId lt 40",
    "LocationId gte 40",
  ]);
  assertEquals(counted, [
    null, // all rows, to decide whether to split
    "LocationId lt 40",
    "LocationId lt 20",
    "LocationId gte 20 and LocationId lt 30",
    null, // all rows, to compare with the received ones
  ]);
});

Deno.test("observations() splits a range of locations by its locations when the service refuses the range", async () => {
  const rows = 1_200_000;
  const service = largeService(rows, 60);
  let refused = 0;
  const fetch = (request: Request) => {
    const query = new URL(request.url).searchParams;
    const filter = query.get("$filter") ?? "";
    const isRange = filter !== "" && !filter.includes(" and ");
    if (!isRange || query.has("$count")) return service.fetch(request);
    refused++;
    return Promise.resolve(new Response("", { status: 413 }));
  };
  const client = new DataStream({ baseUrl, fetch, clock: new FakeClock() });
  const seen = await timesSeen(client.observations(), rows);
  assert(seen.every(isOnce));
  assert(refused > 0);
});
