// A query that is too large is split by location, and a location by year; each row is given once.
import "../../helpers/no_permission.ts";
import { assert, assertEquals, assertRejects } from "@std/assert";
import { DataStream, DataStreamError, isIn, type Progress, type Query } from "../../../mod.ts";
import { FakeClock } from "../../helpers/fake_clock.ts";
import { page, ROOT, upstream } from "../../helpers/upstream.ts";
import { useRandom } from "../../properties/random.ts";
import { largeService } from "./large_service.ts";
import { range } from "./paged_service.ts";

/** A service of observations with Ids from 1. */
interface Service {
  rows: number;
  /** Default 12 */
  locations?: number;
  /** Whether some rows have no year. Default true */
  hasUndated?: boolean;
  /** Number of rows without a location. Default 0 */
  unlocated?: number;
  /** Factor by which a count is too high, so that few rows look like many; `number` is 1 for the first count. Default 1 */
  factor?: (number: number) => number;
  /** Returns another response, only its status, or `undefined` for the response of the service. */
  respond?: (resource: string, options: URLSearchParams) => Response | number | undefined;
}

/** Creates a client of a service, and records the decoded requests. */
function serve({ rows, locations = 12, hasUndated, unlocated, factor, respond }: Service) {
  const service = largeService(rows, locations, hasUndated, unlocated);
  const clock = new FakeClock();
  const requests: string[] = [];
  let counts = 0;
  const client = new DataStream({
    baseUrl: ROOT,
    clock,
    async fetch(request) {
      const { pathname, searchParams } = new URL(request.url);
      requests.push(decodeURIComponent(request.url.slice(ROOT.length)));
      const other = respond?.(pathname.slice(pathname.lastIndexOf("/") + 1), searchParams);
      if (typeof other === "number") return new Response("", { status: other });
      const response = other ?? await service.fetch(request);
      if (factor === undefined || !searchParams.has("$count")) return response;
      const { value } = await response.json();
      return Response.json({ value: Math.floor(value * factor(++counts)) });
    },
  });
  return { client, clock, requests };
}

/** Whether a request is for the rows, or their count, without a condition on locations. */
function isWhole(resource: string, options: URLSearchParams): boolean {
  return resource === "Observations" && !options.get("$filter")?.includes("LocationId");
}

/** Refuses the pages of the query before it is split. */
function refusePages(status: number) {
  return (resource: string, options: URLSearchParams): number | undefined =>
    isWhole(resource, options) && !options.has("$count") ? status : undefined;
}

async function assertEachOnce(query: Query<{ Id: number }>, rows: number): Promise<void> {
  const ids = (await query.toArray()).map(({ Id }) => Id);
  assertEquals(ids.toSorted((a, b) => a - b), range(1, rows));
}

/** Whether a recorded request is for rows. */
const isPage = (url: string) => url.startsWith("/Observations") && !url.includes("$count");

/** Filters of the requests for rows, each once. */
function filtersOf(requests: readonly string[]): string[] {
  const pages = requests.filter(isPage);
  return [...new Set(pages.map((url) => /\$filter=([^&]*)/.exec(url)?.[1] ?? "all"))];
}

const DATASET_WITH_YEARS = {
  Id: "a",
  DOI: "10.1/a",
  Version: "1",
  PublishedTimestamp: "2020-01-01T00:00:00Z",
  TemporalExtent: ["2000-01-31", "2022-12-01"],
};

/** Counts each row as 1,000 rows. */
const THOUSAND = () => 1_000;
const large: [name: string, service: Service, query: object, filters: number, others: number][] = [
  ["1,000,000 rows", { rows: 1_000 }, {}, 1, 2],
  ["1,200,000 rows, and partition is never", { rows: 1_200 }, { partition: "never" }, 1, 2],
  ["1,200,000 rows, and the limit is 1,000,000", { rows: 1_200 }, { limit: 1_000_000 }, 1, 2],
  ["2,400,000 rows of 300 locations", { rows: 2_400, locations: 300 }, {}, 4, 7],
  ["1,300,000 rows of one location", { rows: 1_300, locations: 1, hasUndated: false }, {}, 3, 9],
  [
    "1,300,000 rows of one location with known years",
    {
      rows: 1_300,
      locations: 1,
      hasUndated: false,
      respond: (resource) => resource === "Metadata" ? page([DATASET_WITH_YEARS]) : undefined,
    },
    { sameVersion: true },
    3,
    8,
  ],
  ["1,300,000 rows of one location, some undated", { rows: 1_300, locations: 1 }, {}, 1, 5],
];
for (const [name, service, query, filters, others] of large) {
  Deno.test(`observations() request pages with ${filters} filters, and send ${others} other requests, when there are ${name}`, async () => {
    const { client, requests } = serve({ ...service, factor: THOUSAND });
    // The result is incomplete, because the counts are too high.
    const options = { select: ["Id"], top: 100, incomplete: "warn", ...query } as const;
    await assertEachOnce(client.observations(options), service.rows);
    const pages = requests.filter(isPage).length;
    assertEquals([filtersOf(requests).length, requests.length - pages], [filters, others]);
  });
}

Deno.test("observations() give each row once when Locations lacks a location, and are split only when the counts add up", async () => {
  for (const [later, isSplit] of [[1_000, true], [300, false], [2_000, false]] as const) {
    const { client, requests } = serve({
      rows: 1_200,
      locations: 40,
      factor: (number) => number === 1 ? 1_000 : later,
      respond: (resource) =>
        resource === "Locations"
          ? page([1085, 1141, "1022", 1057, 1239].map((Id) => ({ Id })))
          : undefined,
    });
    await assertEachOnce(client.observations({ top: 100, incomplete: "warn" }), 1_200);
    assertEquals(filtersOf(requests).length > 1, isSplit, filtersOf(requests).join());
  }
});

Deno.test("observations() are not split, or report the missing rows, when rows have no location", async () => {
  // Of 1,200,000 rows, 6 are within the accuracy of the count.
  for (const [unlocated, missing] of [[4, 4], [12, 0]] as const) {
    const rows = 1_200_000;
    const { client, requests } = serve({ rows, unlocated });
    let last: Progress | undefined;
    const onProgress = (progress: Progress) => void (last = progress);
    let count = 0;
    for await (const ids of client.observations({ select: ["Id"], onProgress }).pages()) {
      count += ids.length;
    }
    assertEquals([count, last?.missingRows ?? 0], [rows - missing, missing]);
    assertEquals(filtersOf(requests).length > 1, missing > 0);
  }
});

Deno.test("batches() continue after each cursor of a split query", async () => {
  const { client } = serve({ rows: 2_400, locations: 30, factor: THOUSAND });
  const query = client.observations({ select: ["Id"], top: 200, incomplete: "warn" });
  const batches = await Array.fromAsync(query.batches());
  const idsOf = (of: typeof batches) => of.flatMap(({ data }) => data.map(({ Id }) => Id));
  assertEquals(new Set(idsOf(batches)).size, 2_400);
  for (const [index, { cursor }] of batches.entries()) {
    const after = JSON.parse(JSON.stringify(cursor));
    const others = await Array.fromAsync(query.batches({ after }));
    assertEquals(idsOf(others), idsOf(batches.slice(index + 1)), `after batch ${index}`);
  }
});

Deno.test("observations() keep the meaning of an unchecked filter when they are split", async () => {
  const { client, requests } = serve({
    rows: 0,
    respond(resource, options) {
      if (options.has("$count")) return Response.json({ value: 0 });
      const rows = resource === "Locations" ? [{ Id: 1 }, { Id: 2 }] : [];
      return refusePages(504)(resource, options) ?? page(rows);
    },
  });
  await client.observations({ unchecked: true, filter: "a or b" }).toArray();
  assertEquals(filtersOf(requests), [
    "a or b",
    "(a or b) and LocationId lt 2",
    "(a or b) and LocationId gte 2",
  ]);
});

Deno.test("observations() give each row once when groups of a long list are split", async () => {
  const { client, requests } = serve({
    rows: 6_000,
    locations: 4_000,
    factor: THOUSAND,
    // 4,000, by the factor
    respond: (resource, options) =>
      resource === "Locations" && options.has("$count") ? Response.json({ value: 4 }) : undefined,
  });
  const filter = isIn("LocationId", range(0, 3_999).map((location) => 1_001 + 7 * location));
  const query = { filter, select: ["Id"], top: 1_000, incomplete: "warn" } as const;
  const expected: (number | undefined)[] = [];
  const onProgress = ({ expectedRows }: Progress) => expected.push(expectedRows);
  await assertEachOnce(client.observations({ ...query, onProgress }), 6_000);
  assert(filtersOf(requests).some((filter) => /LocationId in .* and LocationId lt/.test(filter)));
  assertEquals(new Set(expected), new Set([undefined]), "the count of a group is not the query's");
});

const BOX = { west: -68, south: 44, east: -59, north: 48 };

Deno.test("observations() of a box over 2,000 locations take 8 requests", async () => {
  const { client, requests } = serve({ rows: 20_000, locations: 4_000 });
  const rows = await client.observations({ within: BOX, select: ["Id", "LocationId"] }).toArray();
  assertEquals(new Set(rows.map(({ Id }) => Id)).size, rows.length);
  assert(rows.length > 5_000 && rows.every(({ LocationId }) => LocationId % 2 === 1));
  assertEquals([requests.length, requests.filter((url) => url.includes("$count")).length], [8, 3]);
});

Deno.test("records() of a box fail without a position when the service rejects the list of locations", async () => {
  const { options } = upstream(
    page([{ Id: 1 }], `${ROOT}/Locations?$skiptoken=Id:1`),
    Response.json({}, { status: 400 }),
  );
  const query = new DataStream(options).records({ within: BOX });
  const error = await assertRejects(() => query.toArray(), DataStreamError, "400");
  assertEquals(error.hint.includes("delivered"), false);
  assertEquals([error.rows, error.skipToken], [0, undefined]);
});

for (const [refusesCounts, latest] of [[false, 8_500], [true, 22_500]] as const) {
  const refused = refusesCounts ? "the pages and the count" : "the pages";
  Deno.test(`observations() are split by location when the service answers 504 for ${refused} of the whole query`, async () => {
    using _ = useRandom(() => 0.999);
    const { client, clock, requests } = serve({
      rows: 2_000,
      respond: (resource, options) =>
        isWhole(resource, options) && (refusesCounts || !options.has("$count")) ? 504 : undefined,
    });
    const reports: (Progress & { time: number })[] = [];
    const onProgress = (report: Progress) => reports.push({ ...report, time: clock.now() });
    await assertEachOnce(client.observations({ top: 100, onProgress }), 2_000);
    const { time } = reports.find(({ rows }) => rows > 0)!;
    assert(time <= latest, `the first rows after ${time} ms`);
    assert(reports.some(({ splitting, rows }) => splitting === "location" && rows === 0));
    assertEquals([reports.at(-1)?.expectedRows, reports.at(-1)?.splitting], [2_000, undefined]);
    // Three attempts at the count of the whole query, and one at that of each shard.
    const counted = requests.filter((url) => url.includes("$count"));
    assertEquals(counted.length, refusesCounts ? 3 + 12 : 1);
    assert(requests[3]!.startsWith("/Locations?"), "three attempts at the first page");
  });
}

Deno.test("observations() are split when the service answers 408 after some pages", async () => {
  const refuse = refusePages(408);
  let pages = 0;
  const respond: Service["respond"] = (resource, options) =>
    refuse(resource, options) && ++pages > 3 ? 408 : undefined;
  await assertEachOnce(serve({ rows: 200, respond }).client.observations({ top: 20 }), 200);
});

Deno.test("observations() are split when the service refuses pages with more than 700 locations", async () => {
  const refuse = refusePages(504);
  const respond: Service["respond"] = (resource, options) =>
    resource === "Locations" && Number(options.get("$top")) > 700 ? 413 : refuse(resource, options);
  await assertEachOnce(serve({ rows: 200, respond }).client.observations({ top: 40 }), 200);
});

Deno.test("observations() are split when the service refuses even pages of one row, and once the locations", async () => {
  const refuse = refusePages(413);
  let lists = 0;
  const respond: Service["respond"] = (resource, options) =>
    resource === "Locations" && ++lists === 1 ? 504 : refuse(resource, options);
  await assertEachOnce(serve({ rows: 200, respond }).client.observations({ top: 4 }), 200);
});

const unsplit: [name: string, locations: number, query: object, options: object][] = [
  ["partition is never", 12, { partition: "never" }, {}],
  ["only one attempt is allowed", 12, {}, { retry: { attempts: 1 } }],
  ["there is one location", 1, {}, {}],
];
for (const [name, locations, query, options] of unsplit) {
  Deno.test(`observations() fail when each page is refused and ${name}`, async () => {
    const { client, requests } = serve({ rows: 200, locations, respond: refusePages(504) });
    const rows = client.with(options).observations({ ...query, top: 20 }).toArray();
    const error = await assertRejects(() => rows, DataStreamError, "504");
    assertEquals(error.status, 504);
    assert(requests.length < 20, requests.join("\n"));
  });
}

const outages: [name: string, seconds: number, status: number][] = [
  ["an outage of 40 s with timeouts", 40, 504],
  ["429 without Retry-After for 10 minutes", 600, 429],
];
for (const [name, seconds, status] of outages) {
  Deno.test(`observations() survive ${name}, and are not split`, async () => {
    using _ = useRandom(() => 0.999);
    let begin: number | undefined;
    const { client, clock, requests } = serve({
      rows: 600,
      respond() {
        if (requests.length > 3) begin ??= clock.now();
        const isDown = begin !== undefined && clock.now() - begin < seconds * 1_000;
        return isDown ? status : undefined;
      },
    });
    await assertEachOnce(client.observations({ select: ["Id"], top: 100 }), 600);
    assertEquals(filtersOf(requests), ["all"]);
  });
}
