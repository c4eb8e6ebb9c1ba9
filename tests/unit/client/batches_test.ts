// batches() deliver each row once when they continue after a cursor, and reject a cursor of another query.
import "../../helpers/no_permission.ts";
import { assert, assertEquals, assertRejects, assertThrows } from "@std/assert";
import {
  type AnyResourceQuery,
  type Batch,
  type BatchOptions,
  type Cursor,
  DataStream,
  type FormatName,
  type Query,
  type ResourceName,
  ValidationError,
} from "../../../mod.ts";
import { formatsOf } from "../../helpers/resources.ts";
import { sandboxAndClient } from "../../helpers/sandbox.ts";
import { page, ROOT, upstream } from "../../helpers/upstream.ts";
import { arrivingPage, pagedClient, range, splitBody } from "./paged_service.ts";

const box = { west: -125, south: 42, east: -59, north: 60 };

/** Returns a copy of a value, as another process would read it. */
function stored<T>(value: T): T {
  return JSON.parse(JSON.stringify(value));
}

function textOf(batches: readonly Batch<Uint8Array<ArrayBuffer>>[]): string {
  const decoder = new TextDecoder("utf-8", { ignoreBOM: true });
  return batches.map(({ data }) => decoder.decode(data)).join("");
}

const cases: [name: string, resource: ResourceName, query: AnyResourceQuery][] = [
  ["locations", "Locations", { top: 2 }],
  ["records, a bounding box, tidy columns and rows that are left out", "Records", {
    top: 20,
    within: box,
    tidy: true,
    excludeQualityControl: true,
    from: "2014-03-01",
  }],
];
for (const [name, resource, options] of cases) {
  Deno.test(`batches() continue after each cursor when the query has ${name}`, async () => {
    const size = { records: 150, locations: 8, requestsPerSecond: Infinity };
    const { client } = sandboxAndClient(size, { requestsPerSecond: Infinity });
    const query: Query<Record<string, unknown>> = client.query(resource, options);
    const rows = await query.toArray();
    const distinct = ["DOI"] as const;
    const batches = await Array.fromAsync(query.batches({ distinct }));
    assertEquals(batches.flatMap(({ data }) => data), rows);
    const dois = [...new Set(rows.map(({ DOI }) => String(DOI)))];
    assertEquals(batches.at(-1)!.distinct?.DOI, dois);
    for (const [index, { cursor }] of batches.entries()) {
      const after = stored(cursor);
      const others = await Array.fromAsync(query.batches({ after, distinct }));
      assertEquals(after, stored(cursor), "the cursor has changed");
      assertEquals(stored(others), stored(batches.slice(index + 1)));
    }
    for (const format of formatsOf(resource)) {
      const csv = format === "csv" ? { bom: true, separator: ";" } : undefined;
      const document = await new Response(query.bytes(format, { csv })).bytes();
      const written = await Array.fromAsync(query.batches({ format, csv }));
      assertEquals(textOf(written), new TextDecoder("utf-8", { ignoreBOM: true }).decode(document));
      // Only three cursors, because each continuation parses the locations again. The rows above cover each cursor.
      const middle = Math.floor(written.length / 2);
      for (const index of new Set([0, middle, written.length - 2])) {
        const after = stored(written[index]!.cursor);
        const others = await Array.fromAsync(query.batches({ format, csv, after }));
        assertEquals(textOf(others), textOf(written.slice(index + 1)), `${format} after ${index}`);
      }
    }
  });
}

Deno.test("batches() end with a batch without rows, after one whose hasMore is false", async () => {
  for (const options of [{ top: 10 }, { top: 10, limit: 20 }, { limit: 0 }, { top: 25 }]) {
    const { client } = pagedClient({ ids: range(1, 30) });
    const batches = await Array.fromAsync(client.records(options).batches());
    const last = batches.at(-1)!;
    assertEquals([last.isLast, last.rows, last.data], [true, 0, []]);
    assertEquals(batches.filter(({ isLast }) => isLast).length, 1);
    assertEquals(batches.at(-2)?.hasMore ?? false, false);
    assert(batches.slice(0, -2).every(({ hasMore }) => hasMore));
  }
});

Deno.test("batches() request nothing after the only page when it ends before the limit and Id is not selected", async () => {
  const { sandbox, client } = sandboxAndClient({ records: 30 });
  const query = client.records({ select: ["DOI"], limit: 40 });
  const [first, last, ...rest] = await Array.fromAsync(query.batches());
  assertEquals([first!.rows, Object.keys(first!.data[0]!), rest], [30, ["DOI"], []]);
  const afterFirst = await Array.fromAsync(query.batches({ after: stored(first!.cursor) }));
  assertEquals(stored(afterFirst), [stored(last)]);
  assertEquals(await Array.fromAsync(query.batches({ after: stored(last!.cursor) })), []);
  assertEquals(sandbox.stats.requests, 1);
});

Deno.test("batches() have no distinct values when they were not requested before the cursor", async () => {
  const { client } = pagedClient({ ids: range(1, 30) });
  const query = client.records({ top: 10 });
  const [first] = await Array.fromAsync(query.batches());
  assertEquals(first!.distinct, undefined);
  const [next] = await Array.fromAsync(query.batches({ after: first!.cursor, distinct: ["DOI"] }));
  assertEquals(next!.distinct, undefined);
});

Deno.test("batches() have no distinct values of a failed page when it is requested again", async () => {
  const repeatedId = () => page([{ Id: 1, DOI: "a" }, { Id: 1, DOI: "b" }]);
  const { options } = upstream(repeatedId(), page([{ Id: 1, DOI: "c" }, { Id: 2, DOI: "c" }]));
  const query = new DataStream({ ...options, retry: {} }).locations({ select: ["Id", "DOI"] });
  const batches = await Array.fromAsync(query.batches({ format: "ndjson", distinct: ["DOI"] }));
  assertEquals(batches.at(-1)!.distinct, { DOI: ["c"] });
});

Deno.test("batches() report the missing rows of all batches when a query continues", async () => {
  const { client } = pagedClient({ ids: [1, 2], count: () => 9 });
  const query = client.records({ top: 1, incomplete: "warn" });
  const batches = await Array.fromAsync(query.batches());
  assertEquals([batches.at(-1)!.missingRows, batches.at(-1)!.expectedRows], [7, 9]);
  // As if rows of an earlier shard were missing.
  const after = { ...stored(batches[1]!.cursor), missingRows: 3 };
  const last = (await Array.fromAsync(query.batches({ after }))).at(-1)!;
  assertEquals([last.missingRows, last.expectedRows, last.cursor.missingRows], [10, 9, 10]);
});

Deno.test("batches() know whether their rows came in one response", async () => {
  const ids = [1, 2, 3];
  for (
    const [isBroken, expected] of [[false, [true, true]], [true, [true, false, false]]] as const
  ) {
    const { client, clock } = pagedClient({
      ids,
      change: (page, { number }) =>
        isBroken && number === 1
          ? arrivingPage(clock, [splitBody(ids, 2)[0], 200, ",", 200], "reset")
          : page,
    });
    // The page is full, so its rows are counted in another request.
    const batches = client.records({ top: 3 }).batches({ format: "csv", parts: true });
    const received = (await Array.fromAsync(batches)).map(({ isOneResponse }) => isOneResponse);
    assertEquals(received, [...expected]);
  }
});

/** Creates a query that sends no request. */
const locations = (options: AnyResourceQuery = {}, baseUrl = ROOT): Query<unknown> =>
  new DataStream({ baseUrl, fetch: () => Promise.reject(new Error("unexpected request")) })
    .query("Locations" as ResourceName, { select: ["Id", "DOI"], ...options });

/** Cursor after the first batch of {@linkcode locations} as CSV. */
const CURSOR: Cursor = await (async () => {
  const query = pagedClient({ ids: [1] }).client.locations({ select: ["Id", "DOI"] });
  const [first] = await Array.fromAsync(query.batches({ format: "csv" }));
  return stored(first!.cursor);
})();

const rejected: [what: string, after: unknown, query?: Query<unknown>, options?: BatchOptions][] = [
  [
    "is of another resource",
    CURSOR,
    new DataStream({ baseUrl: ROOT }).records({ select: ["Id", "DOI"] }),
  ],
  ["is of another baseUrl", CURSOR, locations({}, "https://other.invalid/v1")],
  ["is of another select", CURSOR, locations({ select: ["Id"] })],
  ["is of another filter", CURSOR, locations({ filter: "DOI eq 'x'" })],
  ["is of another box", CURSOR, locations({ within: box })],
  ["is of another limit", CURSOR, locations({ limit: 5 })],
  ["is of another skipToken", CURSOR, locations({ skipToken: "Id:0" })],
  ["is of another format", CURSOR, locations(), { format: "ndjson" }],
  ["is of another option of CSV", CURSOR, locations(), { csv: { header: false } }],
  ["is null", null],
  ["is a text", JSON.stringify(CURSOR)],
  ["is a list", []],
  ["lacks its query", { ...CURSOR, query: undefined }],
  ["lacks its shards", { ...CURSOR, shards: undefined }],
  ["lacks its groupRows", { ...CURSOR, groupRows: undefined }],
  ["lacks its writer", { ...CURSOR, writer: undefined }],
  ["has another version", { ...CURSOR, version: 1 }],
  ["has a negative number of rows", { ...CURSOR, rows: -1 }],
];
for (const [what, after, query = locations(), options] of rejected) {
  Deno.test(`batches() throw when the cursor ${what}`, () => {
    const given = { format: "csv", ...options, after } as BatchOptions & { format: "csv" };
    const message = "after must be a cursor of a query with the same options";
    const error = assertThrows(() => query.batches(given), ValidationError, message);
    assertEquals(error.option, "after");
    assert(!query.batches({ ...given, after: undefined }).accepts(after));
  });
}

Deno.test("batches() run the query again in each loop", async () => {
  const { client } = pagedClient({ ids: range(1, 30) });
  const batches = client.records({ top: 10, select: ["Id"] }).batches({ format: "csv" });
  const text = textOf(await Array.fromAsync(batches));
  assertEquals(text.split("\r\n").length, 32);
  assertEquals(textOf(await Array.fromAsync(batches)), text);
});

Deno.test("batches() accept a cursor when only top, maxRows, incomplete and onProgress differ", () => {
  locations({ top: 5, maxRows: 9, incomplete: "warn", onProgress: () => {} })
    .batches({ format: "csv", after: CURSOR });
  assert(locations().batches({ format: "csv" }).accepts(CURSOR));
});

Deno.test("batches() continue after another cursor, or stop at another signal, when with() has it", async () => {
  const { client, requests } = pagedClient({ ids: range(1, 30) });
  const batches = client.records({ top: 10 }).batches();
  const all = await Array.fromAsync(batches);
  const others = batches.with({ after: stored(all[1]!.cursor) });
  assertEquals(await Array.fromAsync(others), all.slice(2));
  const { length } = requests;
  const stopped = others.with({ signal: AbortSignal.abort(new Error("stopped")) });
  await assertRejects(() => Array.fromAsync(stopped), Error, "stopped");
  assertEquals(requests.length, length);
});

Deno.test("batches() accept a cursor when the units are in another order", async () => {
  const names = ["Nitrate", "Phosphorus"];
  const cursors = [names, names.toReversed()].map(async (order) => {
    const units = Object.fromEntries(order.map((name) => [name, "mg/L"]));
    const query = pagedClient({ ids: [1] }).client.records({ tidy: true, units });
    for await (const { cursor } of query.batches()) return cursor.query;
  });
  const [one, other] = await Promise.all(cursors);
  assertEquals(one, other);
});

const wrongOptions: [options: object, message: string][] = [
  [{ distinct: ["Doi"] }, '"Doi", which is not a field of Locations: did you mean "DOI"?'],
  [{ csv: {} }, "csv must not be set without a format"],
  [{ format: "json", csv: { bom: true } }, "applies to CSV only"],
];
for (const [options, message] of wrongOptions) {
  Deno.test(`batches() throw when the options are ${JSON.stringify(options)}`, () => {
    assertThrows(() => locations().batches(options), ValidationError, message);
  });
}

Deno.test("bytes() throws when the resource does not have the format", () => {
  for (const format of ["geojson", "toString", undefined]) {
    const read = () => new DataStream().records().bytes(format as FormatName);
    const error = assertThrows(read, ValidationError, "for Records, got");
    assertEquals([error.option, error.received], ["format", format]);
  }
});

Deno.test("batches() keep a reduced page size when they continue after a cursor", async () => {
  const { client, requests } = pagedClient({
    ids: range(1, 200),
    change: (page, { top }) => top > 40 ? new Response(null, { status: 413 }) : page,
  });
  let after: Cursor | undefined;
  for (let run = 0; run < 3; run++) {
    for await (const batch of client.records({ top: 100 }).batches({ after })) {
      after = stored(batch.cursor);
      break;
    }
  }
  assertEquals(requests, ["null 100", "null 50", "null 25", "count", "Id:25 25", "Id:50 25"]);
});
