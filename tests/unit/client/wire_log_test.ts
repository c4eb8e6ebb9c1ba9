// Recorded requests of every public call: their order, headers and times.
import "../../helpers/reads_fixtures.ts";
import { and, boundingBox, type DataStreamOptions, eq, ne } from "../../../mod.ts";
import type { SandboxOptions } from "../../../src/sandbox/service.ts";
import { assertGolden } from "../../helpers/golden.ts";
import { page } from "../../helpers/upstream.ts";
import {
  type AnyQuery,
  CONSUMPTIONS,
  HeaderSets,
  outcomeOf,
  type ResponseFault,
  wireLog,
  withoutRandomness,
} from "../../helpers/wire_log.ts";

type Resource = "metadata" | "locations" | "observations" | "records";

type Method = (query: object) => AnyQuery;

/** A query, the behaviour of the service, and the ways to consume the query. */
interface Case {
  query?: object;
  /** Names of the ways; default: all of them. */
  ways?: readonly string[];
  sandbox?: SandboxOptions;
  client?: DataStreamOptions;
  /** Description of the behaviour of the service. */
  service?: string;
  fault?: ResponseFault;
}

/** A way that parses rows, a way that copies bytes, and the count. */
const BOTH_PATHS = ["toArray()", "csv()", "count()"];

const MARITIMES = { west: -68, south: 44, east: -59, north: 48 };

/** Consumes queries of a resource, each with a separate client, sandbox and clock. */
async function record(resource: Resource, cases: readonly Case[]): Promise<string> {
  const headers = new HeaderSets();
  const queries: unknown[] = [];
  for (const { query = {}, service, sandbox, client, fault, ways } of cases) {
    const byRequests = new Map<string, Record<string, string>>();
    let url = "";
    for (const way of ways ?? Object.keys(CONSUMPTIONS)) {
      if (way === "geojson()" && resource !== "locations") continue;
      const log = wireLog(headers, sandbox, fault);
      const result = await outcomeOf(() => {
        const methods = log.createClient(client) as unknown as Record<Resource, Method>;
        const created = methods[resource](query);
        url = created.url;
        return CONSUMPTIONS[way]!(created);
      });
      const requests = JSON.stringify(log.requests);
      byRequests.set(requests, { ...byRequests.get(requests), [way]: result });
    }
    queries.push({
      call: `${resource}(${show(query)})`,
      client: client && show(client),
      service,
      url,
      logs: [...byRequests].map(([requests, results]) => ({
        requests: JSON.parse(requests),
        results,
      })),
    });
  }
  return `${JSON.stringify({ headers, queries }, null, 2)}\n`;
}

/** JSON of options, in which filters, `undefined` and `Infinity` are text. */
function show(options: object): string {
  return JSON.stringify(
    options,
    (_, value) => value === undefined || value === Infinity || value?.clauses ? `${value}` : value,
  );
}

/** Queries that every resource takes. */
function commonCases(top: number, ids: string, filters: readonly unknown[]): Case[] {
  return [
    {},
    { query: { top } },
    { query: { top, select: ids } },
    { query: { top, select: ["DOI"] }, ways: BOTH_PATHS },
    { query: { top, select: " Id , DOI " }, ways: BOTH_PATHS },
    ...filters.map((filter) => ({ query: { top, filter }, ways: BOTH_PATHS })),
    { query: { filter: "DOI eq 'none'" } },
    { query: { top, limit: top - 1 } },
    { query: { top, limit: top }, ways: BOTH_PATHS },
    { query: { top, limit: top + 1 }, ways: BOTH_PATHS },
    { query: { limit: 0 }, ways: BOTH_PATHS },
    {
      query: { unchecked: true, select: ["DOI", "NewField"], filter: "NewField eq 1" },
      ways: BOTH_PATHS,
    },
    { query: { top, maxRows: 1 }, ways: BOTH_PATHS },
    { query: { top, maxRows: 100_000, incomplete: "warn" }, ways: BOTH_PATHS },
    { client: { userAgent: "my-app/1.0" }, query: { top }, ways: ["csv()"] },
    { client: { requestsPerSecond: 0.5 }, query: { top }, ways: ["csv()"] },
    {
      client: { requestsPerSecond: Infinity },
      sandbox: { requestsPerSecond: Infinity },
      query: { top },
      ways: ["csv()"],
    },
    { client: { apiKey: undefined }, query: { top }, ways: ["csv()"] },
  ];
}

const status = (status: number, headers: HeadersInit = {}) =>
  Response.json({ message: "no" }, { status, headers });

/** Responds with a fault to the requests of some numbers, from 1. */
const at =
  (numbers: readonly number[], fault: () => Response | Error): ResponseFault => ({ number }) =>
    numbers.includes(number) ? fault() : undefined;

/** Multiplies the counts of the service, so that few rows count as millions. */
const inflatedCounts: ResponseFault = async ({ url, answer }) => {
  if (!url.searchParams.has("$count")) return undefined;
  const { value } = await (await answer()).json();
  return Response.json({ value: String(Number(value) * 10_000) });
};

/** Refuses pages of records of more than one location. */
const refusesMany: ResponseFault = ({ url }) => {
  const { pathname, searchParams } = url;
  const isPage = /Records|Observations/.test(pathname) && !searchParams.has("$count");
  const bounds = searchParams.get("$filter")?.match(/LocationId/g) ?? [];
  return isPage && bounds.length < 2 ? status(504) : undefined;
};

/** Faults of the service, in queries of several pages. */
function faultCases(top: number): Case[] {
  const json = { "content-type": "application/json" };
  const faults: [service: string, fault: ResponseFault][] = [
    ["429 to request 2", at([2], () => status(429))],
    ["429 to requests 1 and 2", at([1, 2], () => status(429))],
    ["429, Retry-After 8 to request 2", at([2], () => status(429, { "retry-after": "8" }))],
    ["429, Retry-After 600 to request 2", at([2], () => status(429, { "retry-after": "600" }))],
    ["503 to request 2", at([2], () => status(503))],
    ["503, Retry-After 5 to request 2", at([2], () => status(503, { "retry-after": "5" }))],
    ["503 to every request", () => status(503)],
    ["413 to requests 1 and 2", at([1, 2], () => status(413))],
    ["413 to request 3", at([3], () => status(413))],
    ["504 to request 2", at([2], () => status(504))],
    ["504 to requests 2 and 3", at([2, 3], () => status(504))],
    ["408 to requests 2 and 3", at([2, 3], () => status(408))],
    ["400 to request 3", at([3], () => status(400))],
    ["connection reset at request 2", at([2], () => new TypeError("connection reset"))],
    ["half a page to request 2", at([2], () => new Response('{"value":[', { headers: json }))],
    ["an empty page without a link to request 2", at([2], () => page([]))],
    ["no response to request 2", ({ number }) => number === 2 ? new Promise(() => {}) : undefined],
  ];
  return faults.map(([service, fault]) => ({ query: { top }, service, fault, ways: BOTH_PATHS }));
}

/** Queries of the large resources: boxes, parts and positions. */
function measuredCases(top: number): Case[] {
  const narrow = "RegionId eq 'hub.atlantic' and CharacteristicName eq 'pH'";
  return [
    { query: { top, skipToken: "Id:500603" } },
    { query: { top, skipToken: "Id:500603", limit: 10 }, ways: BOTH_PATHS },
    { query: { top, within: MARITIMES } },
    { query: { top, within: MARITIMES, filter: "CharacteristicName ne 'pH'" }, ways: BOTH_PATHS },
    { query: { within: MARITIMES, limit: 5 }, ways: BOTH_PATHS },
    { query: { within: { west: 0, south: 0, east: 1, north: 1 } }, ways: BOTH_PATHS },
    { query: { top, partition: "never" } },
    { query: { top, partition: "never", limit: 30 }, ways: BOTH_PATHS },
    {
      query: { top, incomplete: "warn" },
      service: "counts 10,000 times the rows",
      fault: inflatedCounts,
      ways: BOTH_PATHS,
    },
    {
      query: { top },
      service: "counts 10,000 times the rows",
      fault: inflatedCounts,
      ways: BOTH_PATHS,
    },
    {
      query: { top: 1, select: "Id", limit: 60 },
      service: "504 to pages of more than one location",
      fault: refusesMany,
      ways: BOTH_PATHS,
    },
    {
      query: { top: 20, select: "Id", filter: narrow },
      sandbox: { locations: 40 },
      service: "504 to pages of more than one location",
      fault: refusesMany,
      ways: BOTH_PATHS,
    },
    {
      query: { top: 20, partition: "never" },
      service: "504 to pages of more than one location",
      fault: refusesMany,
      ways: BOTH_PATHS,
    },
  ];
}

const CASES: Record<Resource, readonly Case[]> = {
  metadata: [
    ...commonCases(2, "Id", ["DOI ne '10.25976/weir-aa00'", boundingBox(MARITIMES)]),
    { query: { top: 2, skipToken: "Id:00000002-5eed-4000-8000-000000000020" } },
    ...faultCases(2),
  ],
  locations: [
    { query: { top: 5 } },
    { query: { top: 5, filter: boundingBox(MARITIMES) }, ways: BOTH_PATHS },
    { query: { top: 5, skipToken: "Id:1008" }, ways: BOTH_PATHS },
  ],
  observations: [
    { query: { top: 100 } },
    { query: { top: 100, within: MARITIMES }, ways: BOTH_PATHS },
  ],
  records: [
    ...commonCases(100, "Id", [and(ne("DOI", "x"), eq("RegionId", "hub.atlantic"))]),
    ...measuredCases(100),
    ...faultCases(100),
  ],
};

for (const resource of Object.keys(CASES) as Resource[]) {
  Deno.test(
    `${resource}() sends the recorded requests`,
    { timeout: 60_000 },
    () =>
      withoutRandomness(async () =>
        await assertGolden(await record(resource, CASES[resource]), `wire_log/${resource}.json`)
      ),
  );
}

Deno.test(
  "citations() sends the recorded requests",
  { timeout: 60_000 },
  () =>
    withoutRandomness(async () => {
      const headers = new HeaderSets();
      const filters = [
        undefined,
        "DOI eq '10.25976/weir-aa00'",
        "CharacteristicName ne 'pH' and RegionId eq 'hub.atlantic'",
        "RegionId ne 'hub.atlantic'",
        and(eq("CharacteristicName", "pH"), boundingBox(MARITIMES)),
        "NewField eq 1",
      ];
      const calls: unknown[] = [];
      for (const filter of filters) {
        for (const fault of [undefined, at([1], () => status(503))]) {
          const log = wireLog(headers, {}, fault);
          const result = await outcomeOf(async () =>
            JSON.stringify(await log.createClient().citations(filter))
          );
          calls.push({
            call: `citations(${filter ?? ""})`,
            service: fault && "503 to request 1",
            requests: log.requests,
            result,
          });
        }
      }
      await assertGolden(
        `${JSON.stringify({ headers, calls }, null, 2)}\n`,
        "wire_log/citations.json",
      );
    }),
);

Deno.test(
  "clients send the recorded requests when they run at the same time",
  { timeout: 60_000 },
  () =>
    withoutRandomness(async () => {
      const headers = new HeaderSets();
      const { createClient, requests } = wireLog(headers);
      const [one, two] = [createClient(), createClient({ requestsPerSecond: 1 })];
      await Promise.all([
        one.records({ top: 100 }).toArray(),
        two.locations({ top: 5, limit: 15 }).toArray(),
        one.observations({ within: MARITIMES }).count(),
        one.citations(),
      ]);
      await one.metadata().toArray();
      await assertGolden(
        `${JSON.stringify({ headers, requests }, null, 2)}\n`,
        "wire_log/concurrent_clients.json",
      );
    }),
);

Deno.test("clients with two keys send the recorded requests when one key is held back for 8 s", {
  timeout: 60_000,
}, () =>
  withoutRandomness(async () => {
    const headers = new HeaderSets();
    const { createClient, requests, clock } = wireLog(
      headers,
      {},
      at([2], () => status(429, { "retry-after": "8" })),
    );
    const [held, other] = ["held-back", "other"].map((apiKey) => createClient({ apiKey }));
    const late = async () => {
      // Request 2 is answered at 610 ms. The event loop is late when the penalty ends, so that
      // this query starts before the timer of the client that waits.
      await clock.sleep(8_609);
      clock.advance(2);
      return await other!.metadata({ top: 1, limit: 1 }).toArray();
    };
    await Promise.all([
      held!.records({ top: 100 }).toArray(),
      held!.locations({ top: 6 }).toArray(),
      other!.observations({ top: 100 }).toArray(),
      late(),
    ]);
    await other!.locations({ top: 6, filter: "DOI ne 'x'" }).toArray();
    await assertGolden(
      `${JSON.stringify({ headers, requests }, null, 2)}\n`,
      "wire_log/two_keys.json",
    );
  }));
