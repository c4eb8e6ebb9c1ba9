// Each row of a result is delivered once, or there is an error, whatever the service does. Few requests are sent.
import "../../helpers/no_permission.ts";
import { assert, assertEquals, assertRejects, assertStringIncludes } from "@std/assert";
import {
  type Cursor,
  DataStream,
  DataStreamError,
  isIn,
  type Progress,
  type Query,
} from "../../../mod.ts";
import { nextStep } from "../../../src/client/read_parts.ts";
import { valueClause } from "../../../src/odata/clause.ts";
import { page, ROOT, upstream } from "../../helpers/upstream.ts";
import {
  arrivingPage,
  pagedClient,
  type PagedRows,
  range,
  readIds,
  type ServiceOptions,
  splitBody,
} from "./paged_service.ts";

/** Facts after the third response: a page of 40 rows without a link. 100 rows of its group were delivered. */
const FACTS = {
  length: 40,
  isFull: false,
  tokens: "ids" as "ids" | "other",
  groupRows: 100,
  groupCount: undefined as number | undefined,
  /** What follows the shard: nothing, another shard of its group, or another group. */
  later: "nothing" as "nothing" | "shard" | "group",
  responses: 3,
  countsLeft: 2,
  isProbe: false,
};
type Step = ReturnType<typeof nextStep>;
const steps: [facts: Partial<typeof FACTS>, step: Step][] = [
  [{ later: "shard", groupCount: 500 }, "next shard"],
  [{ later: "shard", countsLeft: 0 }, "next page"],
  [{ later: "shard", isFull: true }, "next page"],
  [{ later: "shard", isFull: true, tokens: "other" }, "next shard"],
  [{ later: "shard", length: 0 }, "next page"],
  [{ later: "shard", length: 0, isProbe: true }, "next shard"],
  // The page is the first response.
  [{ responses: 1 }, "next shard"],
  [{ responses: 1, later: "group" }, "count"],
  [{ responses: 1, isFull: true }, "count"],
  [{ responses: 1, groupCount: 101 }, "next page"],
  // The group is not counted.
  [{}, "count"],
  [{ countsLeft: 0 }, "next page"],
  [{ countsLeft: 0, length: 0, isProbe: true }, "next shard"],
  [{ countsLeft: 0, tokens: "other" }, "next shard"],
  // The group is counted.
  [{ groupCount: 100 }, "next shard"],
  [{ groupCount: 101 }, "next page"],
  [{ groupCount: 101, isProbe: true }, "next page"],
  [{ groupCount: 101, tokens: "other" }, "count"],
  [{ groupCount: 101, length: 0, isProbe: true }, "count"],
  [{ groupCount: 101, length: 0, isProbe: true, countsLeft: 0 }, "fail"],
  [{ groupCount: 99 }, "count"],
  [{ groupCount: 99, length: 0 }, "next page"],
  [{ groupCount: 99, countsLeft: 0 }, "fail"],
  // Counts above 100,000 are estimates.
  [{ groupRows: 99_999, groupCount: 100_000, tokens: "other" }, "count"],
  [{ groupRows: 99_999, groupCount: 100_001, tokens: "other" }, "count"],
  [{ groupRows: 100_000, groupCount: 100_001 }, "next shard"],
  [{ groupRows: 1_000_005, groupCount: 1_000_000 }, "next shard"],
  [{ groupRows: 1_000_006, groupCount: 1_000_000 }, "count"],
];
for (const [changes, step] of steps) {
  Deno.test(`nextStep() returns "${step}" when a page without a link has the facts ${JSON.stringify(changes)}`, () => {
    const facts = { ...FACTS, ...changes };
    const { tokens, groupRows, groupCount } = facts;
    const later = {
      nothing: [],
      shard: [{ clauses: [valueClause("LocationId", "gte", 5)] }],
      group: [{ clauses: [valueClause("LocationId", "in", 2)] }],
    }[facts.later];
    const shards = [{ clauses: [] }, ...later];
    const position = { shards, rows: groupRows, groupRows, groupCount, tokens };
    assertEquals(nextStep(facts, position, facts), step);
  });
}

const HUNDRED = range(1, 100);
/** Pages have 40 of the 100 rows, and the query selects only Ids. */
const QUERY = { top: 40, select: ["Id"] } as const;
/** Skip tokens that do not show their Id. */
const opaque = {
  toToken: (id: number) => `+${btoa(`${id}`)}`,
  idOf: (token: string) => Number(atob(token.slice(1))),
};
const refused = () => Response.json({}, { status: 413 });

function onPage(
  number: number,
  change: (page: PagedRows) => Partial<PagedRows>,
): ServiceOptions["change"] {
  return (page, request) => request.number === number ? { ...page, ...change(page) } : page;
}
const linkTo = (token: string) => onPage(1, () => ({ token }));

const services: [name: string, options: Partial<ServiceOptions>, message?: string][] = [
  [
    "opaque tokens and the first page a second time",
    { ...opaque, change: onPage(2, () => ({ ids: range(1, 40) })) },
  ],
  [
    "opaque tokens and a link that skips a page",
    { ...opaque, change: linkTo(opaque.toToken(80)) },
    "Received 60 of 100 counted rows",
  ],
  [
    "opaque tokens and links to the same position",
    { ...opaque, change: ({ ids }) => ({ ids, token: opaque.toToken(40) }) },
    "a link to the same page, 6 times",
  ],
  [
    "empty pages whose links advance",
    { change: (_, { number }) => ({ ids: [], token: `Id:${number}` }) },
    "no rows, and a link to a next page, 6 times",
  ],
  [
    "a short page without a link",
    { change: onPage(2, ({ ids }) => ({ ids: ids.slice(0, 20), token: undefined })) },
  ],
  ["a link that skips rows", { change: linkTo("Id:80") }],
  ["a row twice on a page", { change: onPage(2, ({ ids }) => ({ ids: ids.with(7, ids[0]!) })) }],
  ["a row before the position", { change: onPage(2, ({ ids }) => ({ ids: ids.with(0, 3) })) }],
  ["too many rows on a page", { change: onPage(2, ({ ids }) => ({ ids: [...ids, 101] })) }],
];
for (const [name, options, message] of services) {
  Deno.test(`records() give ${message ? "an error" : "each row once"} when the service has ${name}`, async () => {
    // A limit above the result does not replace the comparison with a count.
    for (const limit of [undefined, 1_000]) {
      const { client, requests } = pagedClient({ ids: HUNDRED, ...options });
      const { ids, error } = await readIds(client.records({ ...QUERY, limit }));
      if (message === undefined) assertEquals([ids, error], [HUNDRED, undefined]);
      else {
        assertEquals(ids, [...new Set(ids)]);
        assert(error instanceof DataStreamError && error.message.includes(message), `${error}`);
      }
      assert(requests.length < 12, requests.join());
    }
  });
}

const counts: [counted: number, missing: number, surplus: number, message?: string][] = [
  [100, 0, 0],
  [
    101,
    1,
    0,
    "Received 100 of 101 counted rows of Records, and none come after the position Id:100: run the " +
    'query again later; if the count is wrong, accept the rows with incomplete: "warn"; 100 rows',
  ],
  [
    98,
    0,
    2,
    "Received 100 of 98 counted rows of Records: the data changed during the download: run the " +
    "query again; 100 rows were delivered",
  ],
];
for (const [counted, missing, surplus, message] of counts) {
  Deno.test(`records() ${message ? "fail" : "end"} when ${counted} rows are counted and 100 come`, async () => {
    for (const options of [QUERY, { ...QUERY, partition: "never" as const }]) {
      const { client } = pagedClient({ ids: HUNDRED, count: () => counted });
      const { ids, error } = await readIds(client.records(options));
      assertEquals([ids, error instanceof DataStreamError], [HUNDRED, message !== undefined]);
      if (message !== undefined) assertStringIncludes(String(error), message);
      let progress: Progress | undefined;
      const onProgress = (report: Progress) => void (progress = report);
      const accepted = client.records({ ...options, incomplete: "warn", onProgress }).batches();
      const { missingRows, surplusRows } = (await Array.fromAsync(accepted)).at(-1)!;
      assertEquals([missingRows, surplusRows], [missing, surplus]);
      const reported = [progress?.missingRows, progress?.surplusRows];
      assertEquals(reported, [missing || undefined, surplus || undefined]);
    }
  });
}

Deno.test("records() fail as changed when the rows are replaced by others with new Ids during the download", async () => {
  const { client } = pagedClient({
    ids: range(1, 140),
    count: () => 100, // of 100 rows, 40 were delivered before 100 new ones replaced them
  });
  const { ids, error } = await readIds(client.records(QUERY));
  assert(error instanceof DataStreamError);
  assertEquals([ids.length, error.kind, error.expectedRows], [140, "changed", 100]);
});

Deno.test("records() report the difference when it is within the accuracy of large counts", async () => {
  for (const [counted, missing, surplus] of [[100_001, 1, 0], [100_002, 0, 1]] as const) {
    const rows = counted - missing + surplus;
    const { client } = pagedClient({ ids: range(1, rows), count: () => counted });
    const last = (await Array.fromAsync(client.records({ select: ["Id"] }).batches())).at(-1)!;
    const { totalRows, missingRows, surplusRows, cursor } = last;
    assertEquals([totalRows, missingRows, surplusRows], [rows, missing, surplus]);
    assertEquals([cursor.missingRows ?? 0, cursor.surplusRows ?? 0], [missing, surplus]);
  }
});

Deno.test("records() fail, even if they accept missing rows, when an announced page is empty and the count is too low", async () => {
  const change = onPage(3, () => ({ ids: [], token: undefined }));
  const { client } = pagedClient({ ids: HUNDRED, ...opaque, change, count: () => 79 });
  const { ids, error } = await readIds(client.records({ ...QUERY, incomplete: "warn" }));
  assertEquals(ids, range(1, 80));
  assert(String(error).includes("an empty page where a link announced more"), String(error));
});

/** Returns the cursor after a number of batches, as another process reads it. */
async function cursorAfter<R>(query: Query<R>, batches = 1): Promise<Cursor> {
  for await (const { cursor } of query.batches()) {
    if (--batches === 0) return JSON.parse(JSON.stringify(cursor));
  }
  throw new Error("too few batches");
}

Deno.test("batches() fail when the service sends a dataset twice, also after a cursor", async () => {
  const link = (token: string) => `${ROOT}/Metadata?$skiptoken=${token}`;
  const { options } = upstream(
    page([{ Id: "c" }, { Id: "b" }], link("Id:b")),
    page([{ Id: "a" }, { Id: "c" }], link("Id:a")),
  );
  const query = new DataStream(options).metadata({ select: ["Id"], top: 2 });
  const batches = query.batches({ after: await cursorAfter(query) });
  const message = "the row with Id c a second time";
  const error = await assertRejects(() => Array.fromAsync(batches), DataStreamError, message);
  assertEquals([error.kind, error.rows], ["page", 2]);
});

Deno.test("batches() end after the cursor of the last page when tokens are opaque and the count is refused", async () => {
  // The service ignores tokens that it does not know.
  const idOf = (token: string) => token.startsWith("+") ? opaque.idOf(token) : -1;
  const service = { ids: HUNDRED, ...opaque, idOf, count: refused };
  const query = () => pagedClient(service).client.records(QUERY);
  const after = await cursorAfter(query(), 3);
  const [last, ...others] = await Array.fromAsync(query().batches({ after }));
  assertEquals([last?.rows, last?.totalRows, last?.isLast, others.length], [0, 100, true, 0]);
});

/** A service that rejects the position after its only page, which is full and has no link. */
const rejectsToken = {
  ids: range(1, 40),
  change: (page: PagedRows, { token }: { token: string | null }) =>
    token === null ? page : Response.json({ message: "Invalid skiptoken" }, { status: 400 }),
};

Deno.test("records() request no position after a full page again, in any group of a list, when the service has rejected one", async () => {
  const { client, requests } = pagedClient({ ...rejectsToken, count: refused });
  const filter = isIn("LocationId", range(1_000_000, 1_001_500));
  const { ids, error } = await readIds(client.records({ ...QUERY, filter }));
  assertEquals([ids, error], [[...range(1, 40), ...range(1, 40)], undefined]);
  assertEquals(requests, ["null 40", "count", "Id:40 40", "null 40", "count"]);
});

Deno.test("records() fail when the service rejects the position after a full page and counts more rows", async () => {
  const { client, requests } = pagedClient({ ...rejectsToken, count: () => 41 });
  const { ids, error } = await readIds(client.records(QUERY));
  assertEquals(error instanceof DataStreamError && error.kind, "incomplete");
  assertEquals([ids, requests.at(-1)], [range(1, 40), "count"]);
});

Deno.test("records() fail when the service rejects a position of the form that its links have", async () => {
  const { client } = pagedClient({
    ids: range(1, 80),
    change: (page, { number }) => number < 3 ? page : Response.json({}, { status: 400 }),
    count: refused,
  });
  const { ids, error } = await readIds(client.records(QUERY));
  assert(error instanceof DataStreamError);
  assertEquals([ids.length, error.status], [80, 400]);
});

const plans: [
  name: string,
  rows: number,
  query: object,
  /** Skip token and page size of each page, or `count`. */
  requests: string[],
  count?: ServiceOptions["count"],
][] = [
  ["a result of one page", 39, {}, ["null 40"]],
  ["a result that fills one page", 40, {}, ["null 40", "count"]],
  ["no row", 0, {}, ["null 40"]],
  ["a limit at the end of a page", 100, { limit: 80 }, ["null 40", "Id:40 40"]],
  ["a limit within a page", 100, { limit: 50 }, ["null 40", "Id:40 10"]],
  ["a limit above the result", 50, { limit: 60 }, ["null 40", "Id:40 20", "count"]],
  ["a limit of 0", 100, { limit: 0 }, []],
  ["a skip token", 100, { skipToken: "Id:60" }, ["Id:60 40", "Id:100 40"]],
  ["maxRows", 50, { maxRows: 50 }, ["null 40", "count", "Id:40 40"]],
  [
    "a count that is wrong at first",
    50,
    { maxRows: 50 },
    ["null 40", "count", "Id:40 40", "count"],
    (number) => number === 1 ? 45 : 50,
  ],
  ["a refused count", 80, {}, ["null 40", "Id:40 40", "count", "Id:80 40"], refused],
];
for (const [name, rows, query, expected, count = () => rows] of plans) {
  Deno.test(`locations() send ${expected.length} requests when the query has ${name}`, async () => {
    const { client, requests } = pagedClient({ ids: range(1, rows), count });
    await client.locations({ top: 40, ...query }).toArray();
    assertEquals(requests, expected);
  });
}

Deno.test("observations() give each row once with at most 13 requests when there are 120,000 rows", async () => {
  const { client, requests } = pagedClient({ ids: range(1, 120_000) });
  const rows = await client.observations({ select: ["Id"] }).toArray();
  assert(rows.every(({ Id }, index) => Id === index + 1));
  assertEquals([rows.length, requests.length], [120_000, 13]);
});

Deno.test("records() continue after the last delivered Id when a page ends early", async () => {
  for (const end of ["reset", "close", "hang"] as const) {
    const { client, clock, requests } = pagedClient({
      ids: [2, 4, 6, 8],
      change: (page, { number }) =>
        number > 1 ? page : arrivingPage(clock, [splitBody(page.ids, 6)[0], 200, ",", 200], end),
    });
    const { ids, error } = await readIds(client.records({ top: 10 }));
    assertEquals([ids, error], [[2, 4, 6, 8], undefined]);
    assertEquals(requests, ["null 10", "count", "Id:4 10"]);
  }
});

Deno.test("records() start counting the attempts again when rows were delivered", async () => {
  const { client, requests, clock } = pagedClient({
    ids: HUNDRED,
    // Each response breaks after two rows.
    change: ({ ids, token }) =>
      ids.length < 3
        ? { ids, token }
        : arrivingPage(clock, [splitBody(ids, ids[1]!)[0], 200], "reset"),
  });
  const { ids, error } = await readIds(client.records({ top: 100, limit: 20 }));
  assertEquals([ids, error], [range(1, 20), undefined]);
  assert(requests.length > 15, requests.join());
});

Deno.test("records() fail after maxRows rows when the groups of a list have more together", async () => {
  const { client } = pagedClient({ ids: range(1, 40) });
  const filter = isIn("LocationId", range(1_000_000, 1_001_500));
  const query = client.records({ top: 100, select: ["Id"], filter, maxRows: 60 });
  const { ids, error } = await readIds(query);
  assert(error instanceof DataStreamError);
  assertEquals([ids.length, error.kind], [40, "too-many-rows"]);
});

Deno.test("records() fail before the first row when the service counts more than maxRows", async () => {
  const { client, clock, requests } = pagedClient({
    ids: [2, 4, 6, 8],
    change({ ids }) {
      const [start, rest] = splitBody(ids, 6);
      return arrivingPage(clock, [start, 200, rest]);
    },
  });
  const { ids, error } = await readIds(client.records({ maxRows: 3, top: 4 }));
  assert(error instanceof DataStreamError);
  assertEquals([error.kind, error.expectedRows, ids], ["too-many-rows", 4, []]);
  assertEquals(requests, ["null 4", "count"]);
});
