// Reading a result gives each row once, or an error, whatever the service does, and sends few requests.
import "../../helpers/no_permission.ts";
import { assert, assertEquals, assertRejects } from "@std/assert";
import {
  type Batch,
  type Cursor,
  DataStream,
  DataStreamError,
  type Progress,
  type Query,
} from "../../../mod.ts";
import { nextStep } from "../../../src/client/read_parts.ts";
import { valueClause } from "../../../src/odata/clause.ts";
import { FakeClock } from "../../helpers/fake_clock.ts";
import { useRandom } from "../../properties/random.ts";
import { type LargeService, largeService } from "./large_service.ts";
import {
  arrivingPage,
  pagedClient,
  type PagedRows,
  range,
  rowsOf,
  type ServiceOptions,
} from "./paged_service.ts";
import { page, ROOT, upstream } from "../../helpers/upstream.ts";

/** The third page of a result, after which 100 rows were delivered: 40 rows, and no link. */
const FACTS = {
  ...{ length: 40, isFull: false },
  ...{
    groupRows: 100,
    groupCount: undefined as number | undefined,
    isGroupEnd: true,
    isLast: true,
  },
  ...{ responses: 3, countsLeft: 2, isProbe: false, tokens: undefined as "other" | undefined },
};
const REFUSED = { countsLeft: 0 };
const EMPTY = { length: 0 };
/** Nothing announced the page, and it is empty. */
const END = { length: 0, isProbe: true };
const steps: [name: string, facts: Partial<typeof FACTS>, step: ReturnType<typeof nextStep>][] = [
  ["it is not the last shard of the group", { isGroupEnd: false, groupCount: 500 }, "next shard"],
  [
    "it is not the last shard, and the page is full",
    { isGroupEnd: false, isFull: true },
    "next page",
  ],
  ["it is not the last shard, and an announced page is empty", {
    ...{ ...EMPTY, isGroupEnd: false },
  }, "next page"],
  ["it is not the last shard, and the last page is empty", {
    ...{ ...END, isGroupEnd: false },
  }, "next shard"],
  ["it is not the last shard, and no page can follow", {
    ...{ isGroupEnd: false, isFull: true, tokens: "other" },
  }, "next shard"],
  ["it is the only page and not full", { responses: 1 }, "next shard"],
  ["it is the only page of one of several groups", { responses: 1, isLast: false }, "count"],
  ["it is the only page and full", { isFull: true, responses: 1 }, "count"],
  ["it is the only page of a counted group", { responses: 1, groupCount: 101 }, "next page"],
  ["the group took several responses", {}, "count"],
  ["it is the only page of an uncountable query", { ...REFUSED, responses: 1 }, "next shard"],
  ["it is the only page of an uncountable query and full", {
    ...{ ...REFUSED, responses: 1, isFull: true },
  }, "next page"],
  ["the count was refused", REFUSED, "next page"],
  ["the count was refused, and an announced page is empty", { ...REFUSED, ...EMPTY }, "next page"],
  ["the count was refused, and the last page is empty", { ...REFUSED, ...END }, "next shard"],
  ["the count was refused in a split group", { ...REFUSED, isGroupEnd: false }, "next page"],
  ["the count was refused, and no page can follow", {
    ...{ ...REFUSED, tokens: "other" },
  }, "next shard"],
  ["all counted rows came", { groupCount: 100 }, "next shard"],
  ["a row is missing", { groupCount: 101 }, "next page"],
  ["a row is missing, and the page is empty", { ...EMPTY, groupCount: 101 }, "next page"],
  ["a row is missing, and no page can follow", { groupCount: 101, tokens: "other" }, "count"],
  ["a row is missing after a page that nothing announced", {
    ...{ isProbe: true, groupCount: 101 },
  }, "next page"],
  ["a row is missing behind the end", { ...END, groupCount: 101 }, "count"],
  ["a row is missing by two counts", { ...END, ...REFUSED, groupCount: 101 }, "fail"],
  ["there is a row too many", { groupCount: 99 }, "count"],
  [
    "there is a row too many, and an announced page is empty",
    { ...EMPTY, groupCount: 99 },
    "next page",
  ],
  ["there is a row too many by two counts", { ...REFUSED, groupCount: 99 }, "fail"],
  ["100,000 counted rows lack one", { ...END, groupRows: 99_999, groupCount: 100_000 }, "count"],
  ["100,001 counted rows lack one", { groupRows: 100_000, groupCount: 100_001 }, "next shard"],
  ["100,001 counted rows lack two", { ...END, groupRows: 99_999, groupCount: 100_001 }, "count"],
  ["1,000,000 counted rows are five more", {
    ...{ groupRows: 1_000_005, groupCount: 1_000_000 },
  }, "next shard"],
  ["1,000,000 counted rows are six more", { groupRows: 1_000_006, groupCount: 1_000_000 }, "count"],
];
for (const [name, changes, step] of steps) {
  Deno.test(`nextStep() is "${step}" when ${name}`, () => {
    const facts = { ...FACTS, ...changes };
    const later = facts.isGroupEnd
      ? facts.isLast ? [] : [{ clauses: [valueClause("LocationId", "in", 2)] }]
      : [{ clauses: [valueClause("LocationId", "gte", 5)] }];
    const position = { ...facts, rows: facts.groupRows, shards: [{ clauses: [] }, ...later] };
    assertEquals(nextStep(facts, position, facts), step);
  });
}

const refused = () => Response.json({}, { status: 413 });
const HUNDRED = range(1, 100);
const opaque = {
  toToken: (id: number) => `+${btoa(`${id}`)}`,
  idOf: (token: string) => Number(atob(token.slice(1))),
};
const quoted = { toToken: (id: number) => `'Id:${id}'` };
const onPage =
  (number: number, change: (page: PagedRows) => PagedRows): ServiceOptions["change"] =>
  (page, request) => request.number === number ? change(page) : page;

/** Reads the Ids of a query, in the order in which they are delivered, and the error that ends it. */
async function readIds(query: Query<{ Id: number }>): Promise<{ ids: number[]; error: unknown }> {
  const ids: number[] = [];
  try {
    for await (const chunk of query.ndjson()) {
      const lines = new TextDecoder().decode(chunk).trimEnd().split("\n");
      ids.push(...lines.map((line) => JSON.parse(line).Id));
    }
    return { ids, error: undefined };
  } catch (error) {
    return { ids, error };
  }
}

const NO_PAGE = { ids: [], token: undefined };
const noPage = onPage(2, () => NO_PAGE);
const firstPage = () => ({ ids: range(1, 40), token: opaque.toToken(40) });
const services: [name: string, options: Partial<ServiceOptions>, message?: string][] = [
  ["opaque tokens and #x after each link", { ...opaque, suffix: "#x" }],
  ["& after each link", { suffix: "&" }],
  [
    "opaque tokens and the first page a second time",
    { ...opaque, change: (page, { number }) => number === 1 ? page : firstPage() },
    "the row with Id 1 after the position",
  ],
  [
    "opaque tokens and a link that skips a page",
    { ...opaque, change: onPage(1, (page) => ({ ...page, token: opaque.toToken(80) })) },
    "Received 60 of 100 counted rows",
  ],
  ["opaque tokens and links to the same position", {
    ...opaque,
    change: (page) => ({ ...page, token: page.token && opaque.toToken(40) }),
  }, "a link to the same page, 6 times"],
  [
    "opaque tokens and an empty page without a link",
    { ...opaque, change: noPage },
    "Received 40 of 100 counted rows",
  ],
  [
    "quoted tokens that it ignores",
    { ...quoted, idOf: () => -1 },
    "the row with Id 1 after the position",
  ],
  [
    "empty pages whose links advance",
    { change: (_, { number }) => ({ ids: [], token: `Id:${number}` }) },
    "no rows, and a link to a next page, 6 times",
  ],
  ["a short page without a link", {
    change: onPage(2, ({ ids }) => ({ ids: ids.slice(0, 20), token: undefined })),
  }],
  ["an empty page without a link", { change: noPage }],
  ["an empty page, and the first one after it", {
    change: (page, { number }) =>
      number === 3 ? { ids: range(1, 40), token: "Id:40" } : number === 2 ? NO_PAGE : page,
  }],
  ["a full page without a link", { change: onPage(1, ({ ids }) => ({ ids, token: undefined })) }],
  ["a link that skips rows", { change: onPage(1, ({ ids }) => ({ ids, token: "Id:80" })) }],
  ["a link that goes back", { change: onPage(2, ({ ids }) => ({ ids, token: "Id:7" })) }],
  ["a row twice on a page", {
    change: onPage(2, ({ ids, token }) => ({ ids: ids.with(7, ids[0]!), token })),
  }],
  ["a row before the position of its page", {
    change: onPage(2, ({ ids, token }) => ({ ids: ids.with(0, 3), token })),
  }],
  ["an error beside the rows of a page", {
    change: (page, { number }) =>
      number === 2 ? Response.json({ value: rowsOf(page.ids), errors: [{ message: "x" }] }) : page,
  }],
  ["too many rows on a page", {
    change: onPage(2, ({ ids, token }) => ({ ids: [...ids, 101], token })),
  }],
];
for (const [name, options, message] of services) {
  Deno.test(`records() give ${message ? "an error" : "each row once"} when the service has ${name}`, async () => {
    for (const limit of [undefined, 99, 1_000]) {
      const { client, requests } = pagedClient({ ids: HUNDRED, ...options });
      const { ids, error } = await readIds(client.records({ select: ["Id"], top: 40, limit }));
      if (message === undefined) assertEquals([ids, error], [HUNDRED.slice(0, limit), undefined]);
      else {
        assertEquals(ids, [...new Set(ids)]);
        assert(error instanceof DataStreamError && error.message.includes(message), `${error}`);
      }
      assert(requests.length < 12, requests.join());
    }
  });
}

const counts: [rows: number, count: number, message?: string][] = [
  [100, 100],
  [
    100,
    101,
    "Received 100 of 101 counted rows of Records, and none come after the position Id:100",
  ],
  [100, 99, "Received 100 of 99 counted rows of Records"],
];
for (const [rows, counted, message] of counts) {
  Deno.test(`records() ${message ? "fail" : "end"} when ${counted} rows are counted and ${rows} come`, async () => {
    for (const query of [{}, { limit: 5_000 }, { partition: "never" as const }]) {
      const service = { ids: range(1, rows), count: () => counted };
      const { client } = pagedClient(service);
      const { ids, error } = await readIds(client.records({ top: 40, ...query }));
      assertEquals(ids.length, rows);
      assertEquals(error instanceof DataStreamError && error.kind, message ? "incomplete" : false);
      assert(message === undefined || String(error).includes(message), String(error));
      let missing: number | undefined;
      const accepted = pagedClient(service).client.records({
        ...query,
        top: 40,
        incomplete: "warn",
        onProgress: ({ missingRows }) => missing = missingRows,
      });
      assertEquals((await accepted.toArray()).length, rows);
      assertEquals(missing, counted > rows ? counted - rows : undefined);
    }
  });
}

for (
  const [name, options, isComplete] of [
    ["Id tokens", {}, true],
    ["opaque tokens", opaque, false],
  ] as const
) {
  Deno.test(`records() ${isComplete ? "look for" : "fail at"} an empty last page with ${name} when the count is too low`, async () => {
    for (const incomplete of [undefined, "warn"] as const) {
      const change = onPage(3, () => ({ ids: [], token: undefined }));
      const { client, requests } = pagedClient({
        ids: HUNDRED,
        change,
        count: () => 79,
        ...options,
      });
      const { ids, error } = await readIds(client.records({ top: 40, incomplete }));
      assertEquals(ids, isComplete ? HUNDRED : range(1, 80));
      assertEquals(error === undefined, isComplete && incomplete === "warn");
      const isNamed = String(error).includes("an empty page where a link announced more");
      assertEquals(isNamed, !isComplete, String(error));
      assert(requests.length < 9, requests.join());
    }
  });
}

/** Returns the cursor after a number of batches, as another process reads it. */
async function cursorAfter<R>(query: Query<R>, batches = 1): Promise<Cursor> {
  for await (const { cursor } of query.batches()) {
    if (--batches === 0) return JSON.parse(JSON.stringify(cursor));
  }
  throw new Error("too few batches");
}

Deno.test("batches() reject a repeated row after a cursor when tokens are opaque", async () => {
  const change: ServiceOptions["change"] = (page, { number }) =>
    number === 2 ? { ...page, ids: [40, ...page.ids.slice(0, -1)] } : page;
  const { client, requests } = pagedClient({ ids: HUNDRED, ...opaque, change });
  const query = client.records({ top: 40 });
  const later = await Array.fromAsync(query.batches({ after: await cursorAfter(query) }));
  assertEquals(later.flatMap(({ data }) => data.map(({ Id }) => Id)), range(41, 100));
  assertEquals(requests.filter((request) => request.startsWith(opaque.toToken(40))).length, 2);
});

Deno.test("batches() reject a dataset that comes a second time after a cursor", async () => {
  const link = (token: string) => `${ROOT}/Metadata?$skiptoken=${token}`;
  const { options } = upstream(
    page([{ Id: "a" }, { Id: "b" }], link("Id:b")),
    page([{ Id: "a" }], link("Id:a")), // the service ignores its token
  );
  const query = new DataStream(options).metadata({ select: ["Id"], top: 2, limit: 3 });
  const after = await cursorAfter(query);
  const message = "the row with Id a a second time";
  await assertRejects(() => Array.fromAsync(query.batches({ after })), DataStreamError, message);
});

for (const name of ["refused", "first wrong"]) {
  Deno.test(`batches() end after the cursor of the last page when tokens are opaque and the count is ${name}`, async () => {
    const options: ServiceOptions = {
      ids: HUNDRED,
      toToken: opaque.toToken,
      // The service ignores tokens that it does not know.
      idOf: (token) => token.startsWith("+") ? opaque.idOf(token) : -1,
      count: (number) => name === "refused" ? refused() : number === 1 ? 101 : 100,
    };
    const queryOf = () => pagedClient(options).client.records({ top: 40 });
    const after = await cursorAfter(queryOf(), 3);
    const later = await Array.fromAsync(queryOf().batches({ after }));
    assertEquals(later.map(({ rows, totalRows, isLast }) => [rows, totalRows, isLast]), [
      [0, 100, true],
    ]);
  });
}

Deno.test("batches() continue after each part of a split query when tokens are opaque", async () => {
  const service = largeService(2_000, 12);
  const client = new DataStream({
    baseUrl: LARGE,
    clock: new FakeClock(),
    async fetch({ url }) {
      const { pathname, searchParams } = new URL(url);
      const filter = searchParams.get("$filter") ?? "";
      if (pathname.endsWith("/Observations") && !filter.includes("LocationId")) {
        return new Response("", { status: searchParams.has("$count") ? 413 : 504 });
      }
      if (searchParams.get("$skiptoken")?.startsWith("Id:")) {
        return new Response("", { status: 400 });
      }
      const response = await service.fetch(new Request(url.replace("token=%2B", "token=Id:")));
      return new Response((await response.text()).replace("token=Id:", "token=%2B"), response);
    },
  });
  const query = client.observations({ select: ["Id"], top: 90 });
  const parts: Batch<{ Id: number }[]>[] = [];
  for await (const part of query.batches()) parts.push(part);
  const idsOf = (of: typeof parts) => of.flatMap(({ data }) => data.map(({ Id }) => Id));
  assertEquals(new Set(idsOf(parts)).size, 2_000);
  for (const [index, { cursor, hasMore }] of parts.entries()) {
    if (!hasMore) break;
    const later: typeof parts = [];
    const after = JSON.parse(JSON.stringify(cursor));
    for await (const part of query.batches({ after })) later.push(part);
    assertEquals(idsOf(later), idsOf(parts.slice(index + 1)), `after part ${index}`);
  }
});

for (const counted of [undefined, 40, 41]) {
  const isComplete = counted !== 41;
  Deno.test(`records() ${isComplete ? "end" : "fail"} after a full page without a link when tokens are opaque and the count is ${counted ?? "refused"}`, async () => {
    const { client, requests } = pagedClient({
      ids: range(1, 40),
      change: (page, { token }) =>
        token === null ? page : Response.json({ message: "Invalid skiptoken" }, { status: 400 }),
      count: () => counted ?? refused(),
    });
    const { ids, error } = await readIds(client.records({ top: 40 }));
    assertEquals(ids, range(1, 40));
    if (isComplete) assertEquals(error, undefined);
    else {
      assert(error instanceof DataStreamError);
      assertEquals([error.kind, requests.at(-1)], ["incomplete", "count"]);
    }
  });
}

Deno.test("records() fail when the service rejects the position that its link has shown", async () => {
  const { client } = pagedClient({
    ids: range(1, 80),
    change: (page, { number }) => number < 3 ? page : Response.json({}, { status: 400 }),
    count: refused,
  });
  const { ids, error } = await readIds(client.records({ top: 40 }));
  assert(error instanceof DataStreamError);
  assertEquals([ids.length, error.status], [80, 400]);
});

const plans: [
  name: string,
  rows: number,
  query: object,
  requests: string[],
  count?: ServiceOptions["count"],
][] = [
  ["a result of one page", 39, {}, ["null 40"]],
  ["a result that fills one page", 40, {}, ["null 40", "count"]],
  ["no row", 0, {}, ["null 40"]],
  ["a limit at the end of a page", 100, { limit: 80 }, ["null 40", "Id:40 40"]],
  ["a limit within a page", 100, { limit: 50 }, ["null 40", "Id:40 10"]],
  ["a limit above the result", 50, { limit: 60 }, ["null 40", "Id:40 20", "count"]],
  ["a limit of one page", 100, { limit: 40 }, ["null 40"]],
  ["a limit of 0", 100, { limit: 0 }, []],
  ["a skip token", 100, { skipToken: "Id:30" }, ["Id:30 40", "Id:70 40", "Id:100 40"]],
  ["a skip token before a full last page", 100, { skipToken: "Id:60" }, ["Id:60 40", "Id:100 40"]],
  ["maxRows", 50, { maxRows: 50 }, ["null 40", "count", "Id:40 40"]],
  [
    "a count that is wrong at first",
    100,
    { maxRows: 100 },
    ["null 40", "count", "Id:40 40", "Id:80 40", "count"],
    (number) => number === 1 ? 90 : 100,
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

Deno.test("metadata() fail when a dataset comes a second time", async () => {
  const link = (token: string) => `${ROOT}/Metadata?$skiptoken=${token}`;
  const { options } = upstream(
    page([{ Id: "b" }], link("Id:b")),
    page([{ Id: "c" }], link("Id:c")),
    page([{ Id: "a" }, { Id: "b" }]),
  );
  const error = await assertRejects(
    () => new DataStream(options).metadata({ select: ["DOI"], top: 2 }).toArray(),
    DataStreamError,
    "the row with Id b a second time",
  );
  assertEquals([error.kind, error.rows], ["page", 2]);
});

/** The body of the page that a service sends by default, in two texts of which the first ends after a row. */
function twoTexts(ids: readonly number[], after: number): [string, string] {
  const body = JSON.stringify({ value: rowsOf(ids) });
  const at = body.indexOf(`"d${after}"}`) + `"d${after}"}`.length;
  return [body.slice(0, at), body.slice(at)];
}

/** Creates a client of four rows whose first page is the given response. */
function clientOfFirstPage(first: (clock: FakeClock) => Response, count = 4) {
  const service = pagedClient({
    ids: [2, 4, 6, 8],
    count: () => count,
    change: (page, { number }) => number === 1 ? first(service.clock) : page,
  });
  return service;
}

for (const end of ["reset", "close", "hang"] as const) {
  Deno.test(`records() continue behind the last delivered Id when a page ends early with ${end}`, async () => {
    const { client, requests } = clientOfFirstPage((clock) => {
      const [start] = twoTexts([2, 4, 6, 8], 6);
      return arrivingPage(clock, [start, 200, ",", 200], end);
    });
    const { ids, error } = await readIds(client.records({ top: 10 }));
    assertEquals([ids, error], [[2, 4, 6, 8], undefined]);
    assertEquals(requests, ["null 10", "count", "Id:4 10"]);
  });
}

Deno.test("records() fail when a continued page lacks a row that came out of order", async () => {
  // The service sends Id 3 after Id 6, so a request behind Id 4 does not get it.
  const { client } = clientOfFirstPage(
    (clock) => arrivingPage(clock, [twoTexts([2, 4, 6, 3], 6)[0], 200], "reset"),
    5,
  );
  const { error } = await readIds(client.records({ top: 10 }));
  assert(String(error).includes("Received 4 of 5 counted rows"), String(error));
});

Deno.test("records() restart the number of attempts when rows were delivered", async () => {
  const { client, requests, clock } = pagedClient({
    ids: HUNDRED,
    // Each response breaks after two rows.
    change: (page) =>
      page.ids.length < 3
        ? page
        : arrivingPage(clock, [twoTexts(page.ids, page.ids[1]!)[0], 200], "reset"),
  });
  const { ids, error } = await readIds(client.records({ top: 100, limit: 20 }));
  assertEquals([ids, error], [range(1, 20), undefined]);
  assert(requests.length > 15, requests.join());
});

const unordered: [name: string, ids: number[], early: number, end: number, delivered: number[]][] =
  [
    ["has unordered Ids", [4, 2, 8, 6], 8, Infinity, [4, 2, 8, 6]],
    ["has unordered Ids after its first rows", [2, 6, 8, 4], 8, Infinity, [2, 6, 8, 4]],
    ["has unordered Ids after its first rows, and breaks", [2, 6, 4, 8], 6, -12, [2]],
    ["repeats its first row", [2, 6, 8, 2], 6, Infinity, [2]],
  ];
for (const [name, ids, early, end, delivered] of unordered) {
  const isComplete = delivered.length === 4;
  Deno.test(`records() ${isComplete ? "give each row once" : "fail"} when a page ${name}`, async () => {
    const { client, requests } = clientOfFirstPage((clock) => {
      const [start, rest] = twoTexts(ids, early);
      return arrivingPage(clock, [start, 200, rest.slice(0, 5), 200, rest.slice(5, end)]);
    });
    const { ids: found, error } = await readIds(client.records({ top: 10 }));
    assertEquals([found, requests], [delivered, ["null 10"]]);
    if (isComplete) assertEquals(error, undefined);
    else {
      assert(error instanceof DataStreamError && error.hint.includes("start again"), String(error));
      assertEquals(error.rows, 1);
    }
  });
}

for (const type of [undefined, "bytes"] as const) {
  Deno.test(`records() deliver rows before their page ends when its body is a ${type ?? "stream"}`, async () => {
    const { client, clock } = clientOfFirstPage((clock) => {
      const [start, rest] = twoTexts([2, 4, 6, 8], 6);
      const { body } = arrivingPage(clock, [
        start.slice(0, -5),
        200,
        start.slice(-5),
        10_000,
        rest,
      ]);
      const chunks = body!.getReader();
      const source = {
        type,
        async pull(controller: ReadableStreamController<Uint8Array<ArrayBuffer>>) {
          const { done, value } = await chunks.read();
          if (!done) return controller.enqueue(value);
          controller.close();
          if ("byobRequest" in controller) controller.byobRequest?.respond(0);
        },
      };
      const stream = new ReadableStream(source as UnderlyingByteSource);
      return new Response(stream, { headers: { "content-type": "application/json" } });
    });
    const reader = client.records({ select: ["Id"], top: 10 }).csv().getReader();
    const read = async () => new TextDecoder().decode((await reader.read()).value);
    // The last row that has arrived may be incomplete. An incomplete row is read again when its bytes have doubled.
    assertEquals([await read(), clock.now()], ["Id\r\n2\r\n", 200]);
    assertEquals([await read(), clock.now()], ["4\r\n6\r\n", 10_200]);
  });
}

Deno.test("records() fail before the first row when the service counts more than maxRows", async () => {
  const { client, requests } = clientOfFirstPage((clock) => {
    const [start, rest] = twoTexts([2, 4, 6, 8], 6);
    return arrivingPage(clock, [start, 200, rest]);
  });
  const { ids, error } = await readIds(client.records({ maxRows: 3, top: 4 }));
  assert(error instanceof DataStreamError);
  assertEquals([error.kind, error.expectedRows, ids], ["too-many-rows", 4, []]);
  assertEquals(requests, ["null 4", "count"]);
});

const streams: [
  name: string,
  stop: (clock: FakeClock, abort: () => void) => void,
  message: string,
][] = [
  ["its timeout", () => {}, "no bytes within 30 s"],
  ["its signal", (clock, abort) => clock.sleep(1_000).then(abort), "stopped"],
];
for (const [name, stop, message] of streams) {
  Deno.test(`records() end by ${name} when a byte stream is closed while a read is pending`, async () => {
    const controller = new AbortController();
    const { client, clock } = pagedClient({
      ids: HUNDRED,
      change: () => {
        let isBegun = false;
        const body = new ReadableStream({
          type: "bytes",
          pull(controller) {
            // Without `respond(0)`, the pending read never ends.
            if (isBegun) return controller.close();
            isBegun = true;
            controller.enqueue(new TextEncoder().encode('{"value":['));
          },
        });
        return new Response(body, { headers: { "content-type": "application/json" } });
      },
    }, { retry: { attempts: 1 } });
    stop(clock, () => controller.abort(new Error("stopped")));
    const { error } = await readIds(client.records({ signal: controller.signal }));
    assert(String(error).includes(message), String(error));
  });
}

const outages: [name: string, seconds: number, status: number][] = [
  ["an outage of 10 s", 10, 503],
  ["an outage of 40 s with timeouts", 40, 504],
  ["429 without Retry-After for 10 minutes", 600, 429],
];
for (const [name, seconds, status] of outages) {
  Deno.test(`observations() survive ${name}, and are not split`, async () => {
    for (const jitter of [0.5, 0.999]) {
      using _ = useRandom(() => jitter);
      const service = largeService(60_000, 1_000);
      let begin: number | undefined;
      const fetch = async (request: Request) => {
        if (requests.length > 3) begin ??= clock.now();
        const isDown = begin !== undefined && clock.now() - begin < seconds * 1_000;
        return isDown ? new Response("", { status }) : await service.fetch(request);
      };
      const { client, clock, requests } = clientOfLarge({ ...service, fetch });
      await assertEachOnce(client.observations({ select: ["Id"] }), 60_000, clock);
      assert(requests.every((url) => !url.includes("LocationId ")), requests.join("\n"));
    }
  });
}

Deno.test("records() report the message of an error in a page without the key", async () => {
  const error = { message: "for key k3y-of-a-test:\nno more" };
  const { client } = pagedClient({ ids: [], change: () => Response.json({ value: [], error }) });
  await assertRejects(
    () => client.records().toArray(),
    DataStreamError,
    "got an error in the page (for key [key]: no more), 6 times",
  );
});

Deno.test("records() do not call the status 304 a redirect", async () => {
  const { client } = pagedClient({ ids: [], change: () => new Response(null, { status: 304 }) });
  const error = await assertRejects(() => client.records().toArray(), DataStreamError, "304");
  assertEquals([error.status, /redirect/i.test(error.message)], [304, false]);
});

const LARGE = "https://large.invalid/v1/odata/v4";

/** Creates a client of a service whose requests for observations may be refused. */
function clientOfLarge(
  service: LargeService,
  refuse: (options: URLSearchParams, now: number) => number | undefined = () => undefined,
) {
  const clock = new FakeClock();
  const requests: string[] = [];
  const client = new DataStream({
    baseUrl: LARGE,
    clock,
    fetch: async (request) => {
      const { pathname, searchParams } = new URL(request.url);
      requests.push(decodeURIComponent(request.url.slice(LARGE.length)));
      const status = pathname.endsWith("/Observations")
        ? refuse(searchParams, clock.now())
        : undefined;
      return status === undefined ? await service.fetch(request) : new Response("", { status });
    },
  });
  return { client, clock, requests };
}

/** Whether a request is for the rows of all locations. */
function isWhole(options: URLSearchParams): boolean {
  return !options.get("$filter")?.includes("LocationId");
}

/** Asserts that a query of observations gives the rows with the Ids from 1 once, and returns the first row's time. */
async function assertEachOnce(
  query: Query<{ Id: number }>,
  rows: number,
  clock: FakeClock,
): Promise<number> {
  const seen = new Uint8Array(rows);
  let first: number | undefined;
  for await (const page of query.pages()) {
    first ??= clock.now();
    for (const { Id } of page) seen[Id - 1]!++;
  }
  assert(seen.every((times) => times === 1));
  return first!;
}

const large: [
  name: string,
  service: () => LargeService,
  rows: number,
  most: number,
  splits: boolean,
][] = [
  ["120,000 rows", () => largeService(120_000, 300), 120_000, 13, false],
  ["1,000,000 rows", () => largeService(1_000_000, 30), 1_000_000, 101, false],
  ["2,400,000 rows", () => largeService(2_400_000, 3_000), 2_400_000, 248, true],
  ["1,300,000 rows of one location", () => largeService(1_300_000, 1, false), 1_300_000, 145, true],
  [
    "1,300,000 rows of one location, of which some have no date",
    () => largeService(1_300_000, 1),
    1_300_000,
    137,
    false,
  ],
];
for (const [name, service, rows, most, splits] of large) {
  Deno.test(`observations() give each row once with at most ${most} requests when there are ${name}`, async () => {
    const { client, clock, requests } = clientOfLarge(service());
    await assertEachOnce(client.observations({ select: ["Id"] }), rows, clock);
    assert(requests.length <= most, `${requests.length} requests`);
    const filters = new Set(
      requests.filter((url) => url.includes("$skiptoken"))
        .map((url) => /\$filter=([^&]*)/.exec(url)?.[1]),
    );
    assertEquals(filters.size > 1, splits, [...filters].join("; "));
  });
}

Deno.test("observations() are not split when partition is never or the limit is at most 1,000,000", async () => {
  for (const query of [{ partition: "never" }, { limit: 1_000_000 }] as const) {
    const { client, requests } = clientOfLarge(largeService(1_100_000, 30));
    await client.observations({ select: ["Id"], ...query }).pages().pipeTo(new WritableStream());
    assert(requests.every((url) => !url.includes("LocationId ")), requests.at(-1));
  }
});

Deno.test("observations() apply limit and skipToken across shards", async () => {
  const { client } = clientOfLarge(largeService(1_300_000, 30));
  const query = client.observations({ select: ["Id"], limit: 1_150_000, skipToken: "Id:100000" });
  const seen = new Uint8Array(1_300_000);
  for await (const page of query.pages()) for (const { Id } of page) seen[Id - 1]!++;
  assertEquals(seen.reduce((sum, times) => sum + times, 0), 1_150_000);
  assert(seen.every((times, row) => times <= (row < 100_000 ? 0 : 1)));
});

Deno.test("observations() give each row once when Locations lacks a location and counts are wrong", async () => {
  for (const factor of [0.3, 2]) {
    const service = largeService(1_200_000, 40);
    let counted = 0;
    const { client, clock } = clientOfLarge({
      ...service,
      async fetch(request) {
        const { pathname, searchParams } = new URL(request.url);
        if (pathname.endsWith("/Locations")) {
          return Response.json({ value: [1085, 1141, "1022", 1057, 1239].map((Id) => ({ Id })) });
        }
        const response = await service.fetch(request);
        // The count of the whole query is right.
        if (!searchParams.has("$count") || ++counted === 1) return response;
        return Response.json({ value: Math.floor(Number((await response.json()).value) * factor) });
      },
    });
    await assertEachOnce(client.observations({ select: ["Id"] }), 1_200_000, clock);
  }
});

Deno.test("observations() keep the meaning of an unchecked filter when they are split", async () => {
  const service = largeService(1_100_000, 30);
  const filters = new Set<string>();
  const { client, clock } = clientOfLarge({
    ...service,
    fetch(request) {
      const url = new URL(request.url);
      const filter = url.searchParams.get("$filter") ?? "";
      if (url.searchParams.has("$skiptoken")) filters.add(filter);
      const rest = filter.replace(/^\(?a or b\)?( and )?/, "");
      url.searchParams.set("$filter", rest || "LocationId gt 0");
      return service.fetch(new Request(url));
    },
  });
  const query = client.observations({ unchecked: true, filter: "a or b", select: ["Id"] });
  await assertEachOnce(query as Query<{ Id: number }>, 1_100_000, clock);
  assert(filters.size > 1 && [...filters].every((f) => /^\(a or b\) and LocationId /.test(f)));
});

Deno.test("observations() of a box over 2,000 locations take 8 requests", async () => {
  const { client, requests } = clientOfLarge(largeService(20_000, 4_000));
  const within = { west: -68, south: 44, east: -59, north: 48 };
  const rows = await client.observations({ within, select: ["Id", "LocationId"] }).toArray();
  assertEquals(new Set(rows.map(({ Id }) => Id)).size, rows.length);
  assert(rows.length > 5_000 && rows.every(({ LocationId }) => LocationId % 2 === 1));
  assertEquals([requests.length, requests.filter((url) => url.includes("$count")).length], [8, 3]);
});

for (
  const [name, refusesCounts, latest] of [["counts", false, 8_500], [
    "no counts",
    true,
    22_500,
  ]] as const
) {
  Deno.test(`observations() are split by location when the service has 504 for the whole query and ${name}`, async () => {
    using _ = useRandom(() => 0.999);
    const { client, clock, requests } = clientOfLarge(
      largeService(20_000, 12),
      (options) => isWhole(options) && (refusesCounts || !options.has("$count")) ? 504 : undefined,
    );
    const reports: Progress[] = [];
    const onProgress = (progress: Progress) => void reports.push(progress);
    const first = await assertEachOnce(client.observations({ onProgress }), 20_000, clock);
    assert(first <= latest, `${first} ms`);
    const [split] = reports.filter(({ splitting }) => splitting !== undefined);
    assertEquals([split?.splitting, split?.rows], ["location", 0]);
    assertEquals([reports.at(-1)?.expectedRows, reports.at(-1)?.splitting], [20_000, undefined]);
    const pages = requests.filter((url) => !url.includes("$count"));
    // Three attempts at the whole query, and one at each of its shards.
    assertEquals(requests.length - pages.length, refusesCounts ? 3 + 12 : 1);
    assertEquals(pages.slice(0, 4).map((url) => url.split("?")[0]), [
      "/Observations",
      "/Observations",
      "/Observations",
      "/Locations",
    ]);
  });
}

Deno.test("observations() of a box fail at the row after maxRows", async () => {
  const { client } = clientOfLarge(largeService(20_000, 4_000));
  const within = { west: -68, south: 44, east: -59, north: 48 };
  const query = client.observations({ within, select: ["Id"], maxRows: 12_000 });
  let rows = 0;
  const error = await assertRejects(async () => {
    for await (const page of query.pages()) rows += page.length;
  }, DataStreamError);
  assert(rows > 0 && rows <= 12_000, `${rows}`);
  assertEquals([error.kind, error.rows], ["too-many-rows", rows]);
});

for (const status of [408, 413, 504]) {
  Deno.test(`observations() are split when the service answers ${status} after some pages`, async () => {
    let pages = 0;
    const { client, clock } = clientOfLarge(
      largeService(20_000, 12),
      (options) => isWhole(options) && !options.has("$count") && ++pages >= 4 ? status : undefined,
    );
    await assertEachOnce(client.observations({ top: 2_000 }), 20_000, clock);
  });
}

const refusedLocations: [
  name: string,
  top: number,
  status: number,
  refuse: (top: number, number: number) => number | undefined,
][] = [
  ["has more locations than its pages may have", 40, 504, (top) => top > 700 ? 413 : undefined],
  [
    "refuses one row, and the locations once",
    4,
    413,
    (_, number) => number === 1 ? 504 : undefined,
  ],
];
for (const [name, top, status, refuse] of refusedLocations) {
  Deno.test(`observations() are split when the service ${name}`, async () => {
    const service = largeService(200, 12);
    let number = 0;
    const fetch = async (request: Request) => {
      const { pathname, searchParams } = new URL(request.url);
      const refusal = pathname.endsWith("/Locations")
        ? refuse(Number(searchParams.get("$top")), ++number)
        : undefined;
      return refusal === undefined
        ? await service.fetch(request)
        : new Response("", { status: refusal });
    };
    const { client, clock } = clientOfLarge(
      { ...service, fetch },
      (options) => isWhole(options) && !options.has("$count") ? status : undefined,
    );
    await assertEachOnce(client.observations({ top }), 200, clock);
  });
}

const unsplit: [name: string, query: object, options: object, locations: number][] = [
  ["partition is never", { partition: "never" }, {}, 12],
  ["only one attempt is allowed", {}, { retry: { attempts: 1 } }, 12],
  ["it has one location", {}, {}, 1],
];
for (const [name, query, options, locations] of unsplit) {
  Deno.test(`observations() fail when each page is refused and ${name}`, async () => {
    const { client, requests } = clientOfLarge(
      largeService(20_000, locations, false),
      (options) => {
        if (options.has("$count") || locations > 1 && !isWhole(options)) return undefined;
        return requests.length > 50 ? 403 : 504;
      },
    );
    const error = await assertRejects(
      () => client.with(options).observations(query).toArray(),
      DataStreamError,
      "504",
    );
    assertEquals(error.status, 504);
    assert(requests.length < 20, requests.join("\n"));
  });
}

Deno.test("observations() grow their pages back after refused pages, and rarely request a size that is always refused", async () => {
  const tops: number[] = [];
  const { client, clock } = clientOfLarge(largeService(500_000, 30), (options) => {
    if (!options.has("$top")) return undefined;
    tops.push(Number(options.get("$top")));
    return tops.at(-1)! > 2_500 ? 413 : undefined;
  });
  await assertEachOnce(client.observations({ select: ["Id"] }), 500_000, clock);
  const refused = tops.filter((top) => top > 2_500).length;
  assert(refused > 2 && refused <= 12, `${refused} refused of ${tops.length}`);
});

Deno.test("records() of a box fail without a position when the service rejects the list of locations", async () => {
  const { options } = upstream(
    page([{ Id: 1 }], `${ROOT}/Locations?$skiptoken=Id:1`),
    Response.json({}, { status: 400 }),
  );
  const within = { west: -68, south: 44, east: -59, north: 48 };
  const query = new DataStream(options).records({ within });
  const error = await assertRejects(() => query.toArray(), DataStreamError, "400");
  assertEquals([error.rows, error.skipToken, error.hint.includes("delivered")], [
    0,
    undefined,
    false,
  ]);
});

Deno.test("metadata() requests no token with an Id when the links have tokens of another form", async () => {
  const { requests, options } = upstream(
    page([{ Id: "00000000-5eed-4000-8000-000000000001" }], `${ROOT}/Metadata?$skiptoken=opaque`),
    page([{ Id: "00000000-5eed-4000-8000-000000000002" }]),
    new Response(null, { status: 413 }), // no count
  );
  const rows = await new DataStream(options).metadata({ select: ["Id"], top: 1 }).toArray();
  assertEquals([rows.length, requests.length], [2, 3]);
});
