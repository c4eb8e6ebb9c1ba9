// Rows that are delivered before their page is complete: their order, faults, and continued pages.
import "../../helpers/no_permission.ts";
import { assert, assertEquals, assertRejects } from "@std/assert";
import { DataStream, DataStreamError, type DataStreamOptions } from "../../../mod.ts";
import {
  breakableResult,
  BREAKS,
  PAUSE,
  pausingBody,
  readChunks,
} from "../../helpers/broken_pages.ts";
import { cutPoints } from "../../helpers/cut_points.ts";
import { FakeClock } from "../../helpers/fake_clock.ts";
import { formatsOf } from "../../helpers/formats.ts";
import { RESOURCE_NAMES } from "../../helpers/resources.ts";
import { ROOT } from "../../helpers/upstream.ts";

const encoder = new TextEncoder();
const decoder = new TextDecoder();

for (const resource of RESOURCE_NAMES) {
  for (const format of formatsOf(resource)) {
    Deno.test(`${format}() returns each row of ${resource} once when a page breaks at any byte`, async () => {
      const result = await breakableResult(resource);
      const expected = (await readChunks(result.intact(), format)).join("");
      let index = 0;
      let continued = 0;
      for (const at of cutPoints(result.page)) {
        // One way to break at each offset; `deno task test:properties` tries all of them.
        const way = BREAKS[index++ % BREAKS.length]!;
        const { query, requests } = result.break(at, way);
        assertEquals((await readChunks(query, format)).join(""), expected, `${way} at ${at}`);
        if (requests[1]?.startsWith("Id:")) continued++;
      }
      // Ids of Metadata are not integers, so its pages are held.
      assert(resource === "Metadata" ? continued === 0 : continued > index / 3, `${continued}`);
    });
  }
}

/** A page of rows with the given Ids, and further members. */
const pageOf = (ids: readonly unknown[], members: object = {}) =>
  JSON.stringify({ value: ids.map((Id) => ({ Id, DOI: `d${Id}` })), ...members });

/** A response of a service: the texts that arrive with pauses between them. */
interface Reply {
  texts: readonly string[];
  end?: "close" | "reset" | "hang";
  status?: number;
}

/**
 * Creates a client of a service that sends the given replies, and records the requests for rows.
 *
 * @param count Number of rows that the service counts, or its refusal to count. Default 0, which is less than any
 *   result and thus ignored
 */
function clientOf(
  replies: readonly Reply[],
  options: DataStreamOptions = {},
  count: number | "refused" = 0,
) {
  const clock = new FakeClock();
  const requests: string[] = [];
  const counted: (string | null)[] = [];
  const client = new DataStream({
    apiKey: "k3y-of-a-test",
    baseUrl: ROOT,
    requestsPerSecond: Infinity,
    clock,
    // deno-lint-ignore require-await -- fetch() rejects instead of throwing
    fetch: async (request) => {
      const { searchParams } = new URL(request.url);
      if (searchParams.has("$count")) {
        counted.push(searchParams.get("$filter"));
        return Response.json({ value: count }, { status: count === "refused" ? 413 : 200 });
      }
      requests.push(`${searchParams.get("$skiptoken")} ${searchParams.get("$top")}`);
      const reply = replies[requests.length - 1];
      if (reply === undefined) throw new Error("More requests than replies");
      const parts = reply.texts.map((text) => encoder.encode(text));
      return new Response(pausingBody(parts, clock, reply.end), {
        status: reply.status ?? 200,
        headers: { "content-type": "application/json" },
      });
    },
    ...options,
  });
  return { client, clock, requests, counted };
}

/** Splits a text after the given parts. */
function split(text: string, ...ends: string[]): string[] {
  const parts: string[] = [];
  let rest = text;
  for (const end of ends) {
    const at = rest.indexOf(end) + end.length;
    parts.push(rest.slice(0, at));
    rest = rest.slice(at);
  }
  return [...parts, rest];
}

/** Reads all chunks of the Ids in a query of Records, and the error that ends it. */
async function readIds(
  client: DataStream,
  query: object = {},
): Promise<{ chunks: string[]; error: unknown }> {
  const chunks: string[] = [];
  try {
    const csv = client.records({ select: ["Id"], top: 10, ...query }).csv({ header: false });
    for await (const chunk of csv) chunks.push(decoder.decode(chunk).replaceAll("\r\n", " "));
    return { chunks, error: undefined };
  } catch (error) {
    return { chunks, error };
  }
}

// A byte stream is read into the memory of the page.
for (const [name, type] of [["stream", undefined], ["byte stream", "bytes"]] as const) {
  Deno.test(`csv() returns rows before their page ends, except the last row that has arrived, when its body is a ${name}`, async () => {
    const clock = new FakeClock();
    let controller!: ReadableStreamController<Uint8Array<ArrayBuffer>>;
    const start = (given: typeof controller) => void (controller = given);
    const body = new ReadableStream({ start, type } as UnderlyingByteSource);
    const { client } = clientOf([], {
      clock,
      fetch: () =>
        Promise.resolve(new Response(body, { headers: { "content-type": "application/json" } })),
    });
    const reader = client.records({ select: ["Id"] }).csv().getReader();
    const [first, second] = split(pageOf([1, 2, 3, 4]), '"Id":3,');
    controller.enqueue(encoder.encode(first));
    assertEquals(decoder.decode((await reader.read()).value), "Id\r\n1\r\n");
    controller.enqueue(encoder.encode(second));
    assertEquals(decoder.decode((await reader.read()).value), "2\r\n3\r\n");
    controller.close();
    // A byte stream also returns the memory of the pending read.
    if ("byobRequest" in controller) controller.byobRequest?.respond(0);
    assertEquals(decoder.decode((await reader.read()).value), "4\r\n");
    assertEquals((await reader.read()).done, true);
  });
}

for (const end of ["reset", "close", "hang"] as const) {
  Deno.test(`csv() continues after the last delivered row when a page ends early with ${end}`, async () => {
    const [start] = split(pageOf([2, 4, 6, 8]), '"Id":6,"DOI":"d6"}');
    const { client, requests } = clientOf([
      { texts: [start!], end },
      { texts: [pageOf([6, 8])] },
    ]);
    const { chunks, error } = await readIds(client);
    assertEquals([chunks.join("|"), error], ["2 4 |6 8 ", undefined]);
    assertEquals(requests, ["null 10", "Id:4 8"]);
  });
}

const uncounted: [name: string, query: object][] = [
  ["with partition auto", {}],
  ["with partition never", { partition: "never" }],
  ["whose limit is not reached", { limit: 9 }],
];
for (const [name, query] of uncounted) {
  Deno.test(`csv() fails when a continued page of a query ${name} lacks one counted row`, async () => {
    // The service sends Id 3 after Id 4, so an attempt after Id 4 does not get it.
    const [start] = split(pageOf([2, 4, 6, 3]), `"d6"}`);
    const replies = [{ texts: [start!], end: "reset" as const }, { texts: [pageOf([6])] }];
    const { client, counted } = clientOf(replies, {}, 4);
    const { chunks, error } = await readIds(client, query);
    assertEquals(chunks, ["2 4 "]);
    assert(String(error).includes("Received 3 of 4 counted rows"), String(error));
    assertEquals(counted, [null, null]);
  });

  Deno.test(`csv() accepts a continued page of a query ${name} when it has all counted rows`, async () => {
    const [start] = split(pageOf([2, 4, 6]), `"d6"}`);
    const replies = [{ texts: [start!], end: "reset" as const }, { texts: [pageOf([6])] }];
    const { client, counted } = clientOf(replies, {}, 3);
    const { chunks, error } = await readIds(client, query);
    assertEquals([chunks.join(""), error, counted], ["2 4 6 ", undefined, [null]]);
  });
}

Deno.test("csv() counts the rows after the last page when an earlier page was continued", async () => {
  const link = (id: number) => ({ "@odata.nextLink": `${ROOT}/Records?$skiptoken=Id:${id}` });
  const replies = [
    { texts: split(pageOf([2, 4, 3]), `"d4"}`).slice(0, 1), end: "reset" as const },
    { texts: [pageOf([4, 5], link(5))] },
    { texts: [pageOf([6])] },
  ];
  const { client, counted } = clientOf(replies, {}, 5);
  const { error } = await readIds(client, { top: 3, partition: "never" });
  assert(String(error).includes("Received 4 of 5 counted rows"), String(error));
  assertEquals(counted, [null, null]);
});

Deno.test("csv() requests the whole page again when the service has refused to count", async () => {
  const link = (id: number) => ({ "@odata.nextLink": `${ROOT}/Records?$skiptoken=Id:${id}` });
  const replies = [
    { texts: [pageOf([1, 2, 3], link(3))] },
    { texts: split(pageOf([5, 6, 4]), `"d6"}`).slice(0, 1), end: "reset" as const },
    { texts: [pageOf([5, 6, 4])] },
    { texts: ['{"value":[]}'] },
  ];
  const { client, requests } = clientOf(replies, {}, "refused");
  const { chunks, error } = await readIds(client, { top: 3 });
  assertEquals([chunks.join("|"), error], ["1 2 3 |5 |6 4 ", undefined]);
  assertEquals(requests, ["null 3", "Id:3 3", "Id:3 3", "Id:6 3"]);
});

Deno.test("csv() requests the whole page again, and no count, when a page of a query with skipToken breaks", async () => {
  const { client, requests, counted } = clientOf([
    { texts: split(pageOf([4, 6, 8, 5]), `"d8"}`).slice(0, 1), end: "reset" },
    { texts: [pageOf([4, 6, 8, 5])] },
  ]);
  const { chunks, error } = await readIds(client, { skipToken: "Id:2" });
  assertEquals([chunks.join("|"), error], ["4 6 |8 5 ", undefined]);
  assertEquals([requests, counted], [["Id:2 10", "Id:2 10"], []]);
});

Deno.test("csv() fails without splitting the query when a page of a query with skipToken is refused after a part of it", async () => {
  const refused = { texts: ["{}"], status: 413 };
  const { client, requests } = clientOf([
    { texts: split(pageOf([4, 6, 8, 5]), `"d8"}`).slice(0, 1), end: "reset" },
    ...Array.from({ length: 20 }, () => refused),
  ]);
  const query = client.records({ select: ["Id"], top: 4, skipToken: "Id:2" });
  const error = await assertRejects(() => readChunks(query, "csv"), DataStreamError);
  assertEquals([error.status, error.rows], [413, 2]);
  assert(requests.every((request) => request.startsWith("Id:2")), requests.join());
});

Deno.test("csv() adapts the size of whole pages when the rest of a page is refused", async () => {
  const link = { "@odata.nextLink": `${ROOT}/Records?$skiptoken=Id:8` };
  const { client, requests } = clientOf(
    [
      { texts: split(pageOf([1, 2, 3, 4, 5, 6, 7]), `"d7"}`).slice(0, 1), end: "reset" },
      { texts: ["{}"], status: 413 },
      { texts: [pageOf([7, 8], link)] },
      { texts: [pageOf([9])] },
    ],
    {},
    9,
  );
  const { chunks, error } = await readIds(client, { top: 8 });
  assertEquals([chunks.join(""), error], ["1 2 3 4 5 6 7 8 9 ", undefined]);
  assertEquals(requests, ["null 8", "Id:6 2", "Id:6 2", "Id:8 4"]);
});

Deno.test("csv() requests only the rows that the limit leaves when it continues a page", async () => {
  const [start] = split(pageOf([2, 4, 6, 8, 10]), '"Id":6,"DOI":"d6"}');
  const { client, requests } = clientOf([
    { texts: [start!], end: "reset" },
    { texts: [pageOf([6, 8, 10])] },
  ]);
  const { chunks } = await readIds(client, { limit: 5 });
  assertEquals([chunks.join("|"), requests], ["2 4 |6 8 10 ", ["null 5", "Id:4 3"]]);
});

Deno.test("csv() limits the attempts at a page when each of them delivers a row", async () => {
  const start = (id: number) => split(pageOf([id, id + 1, id + 2]), `"d${id + 1}"}`)[0]!;
  const replies = Array.from({ length: 6 }, (_, index): Reply => ({
    texts: [start(index + 1)],
    end: "reset",
  }));
  const { client, requests } = clientOf(replies);
  const { chunks, error } = await readIds(client);
  assertEquals(chunks.join("|"), "1 |2 |3 |4 |5 |6 ");
  assertEquals(requests.length, 6);
  assert(error instanceof DataStreamError);
  assertEquals([error.kind, error.rows, error.skipToken], ["network", 6, "Id:6"]);
  assert(error.message.includes("6 times"), error.message);
});

Deno.test("csv() requests a continued page again when it has no rows", async () => {
  const [start] = split(pageOf([2, 4, 6]), '"Id":4,"DOI":"d4"}');
  const { client, requests } = clientOf([
    { texts: [start!], end: "reset" },
    { texts: ['{"value":[]}'] },
    { texts: [pageOf([4, 6])] },
  ]);
  const { chunks } = await readIds(client);
  assertEquals([chunks.join("|"), requests], ["2 |4 6 ", ["null 10", "Id:2 9", "Id:2 9"]]);
});

Deno.test("csv() rejects a continued page when its rows have no Ids", async () => {
  const [start] = split(pageOf([2, 4, 6]), '"Id":4,"DOI":"d4"}');
  const { client } = clientOf([
    { texts: [start!], end: "reset" },
    { texts: ['{"value":[{"DOI":"d4"}]}'] },
  ], { retry: { attempts: 2 } });
  const { chunks, error } = await readIds(client);
  assertEquals(chunks, ["2 "]);
  assert(String(error).includes("a row without an integer Id"), String(error));
});

const held: [name: string, text: string, ids: string][] = [
  ["fall", pageOf([4, 3, 2, 1]), "4 3 2 1 "],
  ["are strings", pageOf(["a", "b", "c"]), "a b c "],
  ["are equal", pageOf([1, 1, 2]), ""],
  ["are missing", '{"value":[{"DOI":"a"},{"DOI":"b"},{"DOI":"c"}]}', '"" "" "" '],
];
for (const [name, text, ids] of held) {
  Deno.test(`csv() holds a page until it is complete when its Ids ${name}`, async () => {
    const texts = text.match(/.{1,10}/g)!;
    const { client } = clientOf([{ texts }], { retry: { attempts: 1 } });
    const { chunks, error } = await readIds(client);
    assertEquals(chunks, ids === "" ? [] : [ids]);
    assertEquals(error !== undefined, ids === "");
  });
}

for (const later of [3, 1, 2]) {
  Deno.test(`csv() returns each row once when Id ${later} comes after rows with greater Ids were delivered`, async () => {
    const sorted = [...new Set([2, 4, later, 6, 8])].toSorted((a, b) => a - b);
    const { client, requests } = clientOf([
      { texts: split(pageOf([2, 4, 6, later, 8]), `"d6"}`) },
      { texts: split(pageOf(sorted), `"d6"}`) },
    ]);
    const { chunks, error } = await readIds(client);
    assertEquals(error, undefined);
    const ids = chunks.join("").trim().split(" ").map(Number);
    assertEquals(ids.toSorted((a, b) => a - b), sorted);
    // The whole page is requested again, because a row before the last delivered one may be missing.
    assertEquals(requests, ["null 10", "null 10"]);
  });
}

Deno.test("csv() gives each row once when it requests a page again of which all rows were delivered", async () => {
  const link = (id: number) => ({ "@odata.nextLink": `${ROOT}/Records?$skiptoken=Id:${id}` });
  const { client, requests } = clientOf([
    { texts: split(pageOf([2, 4]), `"d4"}`).slice(0, 1), end: "reset" },
    { texts: split(pageOf([4, 6, 4]), `"d6"}`) },
    { texts: [pageOf([2, 4], link(4))] },
    { texts: [pageOf([6, 8], link(8))] },
    { texts: [pageOf([10])] },
  ]);
  const { chunks, error } = await readIds(client, { top: 3, partition: "never" });
  assertEquals([chunks.join(""), error], ["2 4 6 8 10 ", undefined]);
  assertEquals(requests, ["null 3", "Id:2 2", "null 3", "Id:4 3", "Id:8 3"]);
});

Deno.test("csv() returns each row once when the rest of a page is not in order", async () => {
  const link = { "@odata.nextLink": `${ROOT}/Records?$skiptoken=Id:10` };
  const { client, requests } = clientOf([
    { texts: split(pageOf([1, 2, 3, 4, 6, 5, 7]), `"d4"}`).slice(0, 1), end: "reset" },
    { texts: split(pageOf([4, 6, 8, 5, 7]), `"d8"}`) },
    { texts: [pageOf([1, 2, 3, 4, 6, 8, 5, 7], link)] },
    { texts: [pageOf([11])] },
  ]);
  const { chunks, error } = await readIds(client, { top: 8 });
  assertEquals([chunks.join("|"), error], ["1 2 3 |4 6 |8 5 7 |11 ", undefined]);
  assertEquals(requests, ["null 8", "Id:3 5", "null 8", "Id:8 8"]);
});

Deno.test("csv() holds a page when the Ids of its second list of rows do not rise", async () => {
  const row = (Id: number) => JSON.stringify({ Id });
  const texts = [
    `{"value":[${row(5)}`,
    `],"value":[${row(9)},${row(6)},${row(7)},${row(8)}`,
    `,${row(10)}`,
  ];
  const { client, requests } = clientOf([
    { texts, end: "reset" },
    { texts: [pageOf([6, 7, 8, 9])] },
  ]);
  const { chunks, error } = await readIds(client);
  assertEquals([chunks, error], [["6 7 8 9 "], undefined]);
  assertEquals(requests, ["null 10", "null 10"]);
});

// The last rows are not the first ones of the page. An attempt after one of them would not get the others.
const lastRows = pageOf([6, 8, 10]).slice(1, -1);
const malformed: [name: string, text: string][] = [
  ["another value before it", `{"message":"busy"}{${lastRows}}`],
  ["another value after it", `${pageOf([2, 4])}{${lastRows}}`],
  ["a second list of rows", `${pageOf([2, 4]).slice(0, -1)},${lastRows}`],
];
for (const [name, text] of malformed) {
  Deno.test(`csv() loses no row when a page has ${name} and breaks`, async () => {
    const { client, requests } = clientOf([
      { texts: split(text, `"d8"}`) },
      { texts: [pageOf([2, 4, 6, 8, 10])] },
    ]);
    const { chunks, error } = await readIds(client, { limit: 5 });
    assertEquals([chunks, error], [["2 4 6 8 10 "], undefined]);
    assertEquals(requests, ["null 5", "null 5"]);
  });
}

for (const id of [null, undefined, "x", 2 ** 53]) {
  Deno.test(`csv() returns each row once when a row with Id ${id} comes after rows were delivered`, async () => {
    const text = pageOf([2, 4, id, 8]);
    const { client, requests } = clientOf([{ texts: split(text, '"d4"}') }, { texts: [text] }]);
    const { chunks, error } = await readIds(client, { select: ["Id", "DOI"] });
    assertEquals(error, undefined);
    assertEquals(chunks.join("|"), `2,d2 |4,d4 ${id ?? ""},d${id} 8,d8 `);
    assertEquals(requests, ["null 10", "null 10"]);
  });
}

Deno.test("csv() checks rows before their delivery when they arrive at the moment of a delivery", async () => {
  // The rows arrive a number of microtasks after the time for which earlier rows were kept has passed.
  for (let microtasks = 0; microtasks < 12; microtasks++) {
    const clock = new FakeClock();
    const [start, end] = split(pageOf([1, 2, 3, 9, 4, 5]), `"d3"}`);
    let body!: ReadableStreamDefaultController<Uint8Array>;
    const sendEnd = async () => {
      for (let count = 0; count < microtasks; count++) await undefined;
      body.enqueue(encoder.encode(end));
      body.close();
    };
    let hasSentEnd = false;
    const { client } = clientOf([], {
      clock: {
        now: () => clock.now(),
        async sleep(milliseconds, signal) {
          await clock.sleep(milliseconds, signal);
          if (milliseconds !== 10 || hasSentEnd) return;
          hasSentEnd = true;
          sendEnd();
        },
      },
      fetch: () => {
        const stream = new ReadableStream<Uint8Array>({
          start(controller) {
            body = controller;
            controller.enqueue(encoder.encode(hasSentEnd ? pageOf([1, 2, 3, 4, 5, 9]) : start));
            if (hasSentEnd) controller.close();
          },
        });
        const headers = { "content-type": "application/json" };
        return Promise.resolve(
          new Response(stream as ReadableStream<Uint8Array<ArrayBuffer>>, { headers }),
        );
      },
    });
    const { chunks, error } = await readIds(client, { partition: "never" });
    assertEquals(error, undefined);
    const first = chunks[0]!.trim().split(" ").map(Number);
    // Row 9 may be delivered only with the complete page: row 4 comes after it.
    assert(first.length === 6 || first.every((id) => id < 9), `${microtasks}: ${chunks}`);
    assertEquals(new Set(chunks.join("").trim().split(" ")).size, 6);
  }
});

Deno.test("csv() requests the same rows again when the service ignores the position of a continued page", async () => {
  const { client, requests } = clientOf([
    { texts: split(pageOf([2, 4]), `"d4"}`).slice(0, 1), end: "reset" },
    { texts: split(pageOf([4, 6]), `"d6"}`).slice(0, 1), end: "reset" },
    { texts: [pageOf([2, 4])] },
    { texts: [pageOf([6])] },
  ]);
  const { chunks, error } = await readIds(client, { top: 4, partition: "never" });
  assertEquals([chunks.join(""), error], ["2 4 6 ", undefined]);
  assertEquals(requests, ["null 4", "Id:2 3", "Id:4 2", "Id:4 2"]);
});

Deno.test("csv() fails when a page that is not in order lacks a delivered row in the next attempt", async () => {
  const { client } = clientOf([
    { texts: split(pageOf([2, 4, 6, 3]), `"d6"}`) },
    { texts: [pageOf([3, 4, 6])] },
  ], { retry: { attempts: 2 } });
  const { chunks, error } = await readIds(client);
  assertEquals(chunks, ["2 4 "]);
  assert(String(error).includes("no row with Id 2"), String(error));
});

Deno.test("csv() continues a page when it has more rows than requested after some were delivered", async () => {
  const { client, requests } = clientOf([
    { texts: split(pageOf([1, 2, 3, 4, 5]), `"d2"}`, `"d4"}`) },
    { texts: [pageOf([2, 3], { "@odata.nextLink": `${ROOT}/Records?$skiptoken=Id:3` })] },
    { texts: [pageOf([4, 5])] },
  ]);
  const { chunks, error } = await readIds(client, { top: 3 });
  assertEquals([chunks.join(""), error], ["1 2 3 4 5 ", undefined]);
  assertEquals(requests.slice(0, 2), ["null 3", "Id:1 2"]);
});

Deno.test("csv() fails when a field is new after the header was delivered, and names it", async () => {
  const text = '{"value":[{"Id":1},{"Id":2},{"Id":3,"New":1}]}';
  const { client } = clientOf([{ texts: split(text, '{"Id":2},') }]);
  const reader = client.records().csv().getReader();
  await reader.read();
  await assertRejects(
    () => reader.read(),
    DataStreamError,
    'Field "New" first appears after the header was written',
  );
});

Deno.test("csv() delivers no row before maxRows is checked", async () => {
  const { client, clock } = clientOf([{ texts: split(pageOf([1, 2, 3]), `"d2"}`) }]);
  const reader = client.records({ select: ["Id"], maxRows: 2 }).csv().getReader();
  await assertRejects(() => reader.read(), DataStreamError, "3 rows");
  assert(clock.now() >= PAUSE);
});

Deno.test("batches() returns whole pages when pages arrive slowly", async () => {
  const replies = [
    {
      texts: split(
        pageOf([1, 2, 3], { "@odata.nextLink": `${ROOT}/Records?$skiptoken=Id:3` }),
        "d2",
      ),
    },
    { texts: split(pageOf([4, 5]), "d4") },
  ];
  const { client } = clientOf(replies);
  const batches = await Array.fromAsync(
    client.records({ select: ["Id"], partition: "never" }).batches({ format: "csv" }),
  );
  assertEquals(batches.map(({ rows }) => rows), [3, 2, 0]);
});

Deno.test("csv() receives a whole page when its reader has taken only the first rows", async () => {
  const link = { "@odata.nextLink": `${ROOT}/Records?$skiptoken=Id:3` };
  const { client, clock, requests } = clientOf([
    { texts: split(pageOf([1, 2, 3], link), `"d2"}`) },
    {
      texts: split(
        pageOf([4, 5, 6], { "@odata.nextLink": `${ROOT}/Records?$skiptoken=Id:6` }),
        `"d5"}`,
      ),
    },
    { texts: [pageOf([7])] },
  ]);
  const query = client.records({ select: ["Id"], partition: "never", top: 3 });
  const reader = query.csv({ header: false }).getReader();
  const read = async () => decoder.decode((await reader.read()).value).replaceAll("\r\n", " ");
  assertEquals(await read(), "1 ");
  await clock.sleep(100_000);
  // The page is complete, so the next one was requested.
  assertEquals(requests.length, 2);
  assertEquals(await read(), "2 3 ");
  await clock.sleep(100_000);
  assertEquals(requests.length, 2);
  await reader.cancel();
});

for (const [name, query, ahead] of [["no limit", {}, 2], ["a limit", { limit: 9 }, 1]] as const) {
  Deno.test(`csv() sends ${ahead} requests when one page of a query with ${name} is read`, async () => {
    const link = (id: number) => ({ "@odata.nextLink": `${ROOT}/Records?$skiptoken=Id:${id}` });
    const { client, clock, requests } = clientOf([
      { texts: [pageOf([1, 2, 3], link(3))] },
      { texts: [pageOf([4, 5, 6], link(6))] },
      { texts: [pageOf([7, 8, 9])] },
    ]);
    const options = { select: ["Id"] as const, partition: "never" as const, top: 3, ...query };
    const reader = client.records(options).csv().getReader();
    await reader.read();
    await clock.sleep(100_000);
    assertEquals(requests.length, ahead);
    await reader.cancel();
  });
}

Deno.test("csv() fails without splitting the query when a page that is not in order is then refused", async () => {
  const refused = { texts: ["{}"], status: 413 };
  const { client, requests } = clientOf([
    { texts: split(pageOf([5, 6, 3]), `"d5"}`, `"d6"}`) },
    ...Array.from({ length: 20 }, () => refused),
  ]);
  const query = client.records({ select: ["Id"], top: 4 });
  const error = await assertRejects(() => readChunks(query, "csv"), DataStreamError);
  assertEquals([error.kind, error.rows], ["page", 1]);
  assert(
    error.message.includes("rows before the last delivered one may be missing"),
    error.message,
  );
  assert(requests.every((request) => request.startsWith("null")), requests.join());
});
