// batches() continue after each cursor of the same query, with each row once.
import "../../helpers/no_permission.ts";
import { assert, assertEquals, assertThrows } from "@std/assert";
import {
  type AnyResourceQuery,
  type Batch,
  type BatchOptions,
  type Cursor,
  DataStream,
  type FormatName,
  type Query,
  type ResourceName,
  type Row,
  ValidationError,
} from "../../../mod.ts";
import { fileFormatsOf, formatsOf, RESOURCE_NAMES } from "../../helpers/resources.ts";
import { FakeClock } from "../../helpers/fake_clock.ts";
import { largeService } from "./large_service.ts";
import { sandboxAndClient } from "../../helpers/sandbox.ts";
import { page, ROOT, upstream } from "../../helpers/upstream.ts";

const box = { west: -125, south: 42, east: -59, north: 60 };
const link = (id: number) => `${ROOT}/Locations?$skiptoken=Id:${id}`;

/** The same value, as another process reads it. */
function stored<T>(value: T): T {
  return JSON.parse(JSON.stringify(value));
}

async function all<T>(batches: AsyncIterable<Batch<T>>): Promise<Batch<T>[]> {
  const found: Batch<T>[] = [];
  for await (const batch of batches) found.push(batch);
  return found;
}

function textOf(batches: readonly Batch<Uint8Array<ArrayBuffer>>[]): string {
  const decoder = new TextDecoder("utf-8", { ignoreBOM: true });
  return batches.map(({ data }) => decoder.decode(data)).join("");
}

const read = (stream: ReadableStream<Uint8Array<ArrayBuffer>>) =>
  new Response(stream).arrayBuffer().then((bytes) =>
    new TextDecoder("utf-8", { ignoreBOM: true }).decode(bytes)
  );

const cases: (readonly [resource: ResourceName, more: string, query: AnyResourceQuery])[] = [
  ...RESOURCE_NAMES.flatMap((resource) => [
    [resource, "", {}] as const,
    [resource, ", a bounding box", { within: box }] as const,
  ]),
  ["Records", ", tidy columns and rows that are left out", {
    ...{ within: box, tidy: true, excludeQualityControl: true, from: "2014-03-01" },
  }],
];
for (const [resource, more, given] of cases) {
  Deno.test(`batches() continue after each cursor when the query has ${resource}${more}`, async () => {
    const size = { records: 150, locations: 8, requestsPerSecond: Infinity };
    const { client } = sandboxAndClient(size, { requestsPerSecond: Infinity });
    const top = { Metadata: 1, Locations: 2, Observations: 20, Records: 20 }[resource];
    const options = { top, ...given };
    const query = (): Query<Record<string, unknown>> => client.query(resource, options);
    const rows = await query().toArray();
    const batches = await all(query().batches({ distinct: ["DOI"] }));
    assert(batches.length > 2);
    assertEquals(batches.flatMap(({ data }) => data), rows);
    const dois = [...new Set(rows.map(({ DOI }) => String(DOI)))];
    assertEquals(batches.at(-1)!.distinct?.DOI, dois);
    for (const [index, { cursor, totalRows }] of batches.entries()) {
      const after = stored(cursor);
      const others = await all(query().batches({ after, distinct: ["DOI"] }));
      assertEquals(after, stored(cursor), "the cursor has changed");
      assertEquals(
        others.flatMap(({ data }) => data),
        batches.slice(index + 1).flatMap(({ data }) => data),
      );
      const cursorsOf = (of: typeof others) => stored(of.map(({ cursor }) => cursor));
      assertEquals(cursorsOf(others), cursorsOf(batches.slice(index + 1)));
      assertEquals(totalRows, batches.slice(0, index + 1).flatMap(({ data }) => data).length);
    }
    for (const format of formatsOf(resource)) {
      const csv = format === "csv" ? { bom: true, separator: ";" } : undefined;
      const document = await read(query().bytes(format, { csv }));
      const written = await all(query().batches({ format, csv, distinct: ["DOI"] }));
      assertEquals(textOf(written), document);
      assertEquals(
        written.map(({ distinct }) => distinct),
        batches.map(({ distinct }) => distinct),
      );
      // Parsing locations again and again takes long; the rows above have each cursor.
      for (const index of new Set([0, written.length >> 1, written.length - 2])) {
        const after = stored(written[index]!.cursor);
        const others = await all(query().batches({ format, csv, after, distinct: ["DOI"] }));
        assertEquals(textOf(others), textOf(written.slice(index + 1)), `${format} after ${index}`);
        assertEquals(others.at(-1)?.distinct, written.at(-1)!.distinct);
      }
    }
  });
}

Deno.test("batches() continue after each cursor and keep the later shards as the same objects when the query is split", async () => {
  const service = largeService(1_100_000, 30);
  const query = () =>
    new DataStream({
      baseUrl: "https://large.invalid/v1/odata/v4",
      fetch: service.fetch,
      clock: new FakeClock(),
    }).observations({ select: ["Id"] });
  const batches: Batch<Pick<Row<"Observations">, "Id">[]>[] = await all(query().batches());
  const ids = (of: typeof batches) => of.flatMap(({ data }) => data.map(({ Id }) => Id));
  assertEquals(new Set(ids(batches)).size, 1_100_000);
  assert(batches[0]!.expectedRows === undefined && batches[1]!.expectedRows === 1_100_000);
  const cursors = batches.slice(1).map(({ cursor }) => cursor);
  assert(cursors[0]!.shards.length > 1);
  for (const [index, { shards }] of cursors.slice(1).entries()) {
    const { shards: before } = cursors[index]!;
    const later = shards.slice(1);
    assert(later.every((shard, place) => shard === before[before.length - later.length + place]));
  }
  for (const index of [60, batches.length - 2]) {
    const others = await all(query().batches({ after: stored(batches[index]!.cursor) }));
    assertEquals(ids(others), ids(batches.slice(index + 1)));
  }
});

Deno.test("batches() end with a batch without rows, and hasMore is false before it", async () => {
  const { client } = sandboxAndClient({ records: 30 });
  for (const options of [{ top: 10 }, { top: 10, limit: 20 }, { limit: 0 }, { top: 25 }]) {
    const batches = await all(client.records({ select: ["Id"], ...options }).batches());
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
  const [first, ...rest] = await all(query.batches());
  assertEquals([first!.rows, Object.keys(first!.data[0]!)], [30, ["DOI"]]);
  const others = await all(query.batches({ after: stored(first!.cursor) }));
  assertEquals(others.map(({ rows }) => rows), rest.map(({ rows }) => rows));
  assertEquals(sandbox.stats.requests, 1);
});

Deno.test("batches() end and request nothing when the cursor is after the last batch", async () => {
  const { sandbox, client } = sandboxAndClient({ records: 30 });
  for (const format of [undefined, "json"] as const) {
    const query = client.records({ top: 20 });
    const options = { format } as BatchOptions & { format: "json" };
    const { cursor } = (await all(query.batches(options))).at(-1)!;
    const { requests } = sandbox.stats;
    assertEquals(await all(query.batches({ ...options, after: stored(cursor) })), []);
    assertEquals(sandbox.stats.requests, requests);
  }
});

Deno.test("batches() have no DOIs when they are not requested or were not before the cursor", async () => {
  const { client } = sandboxAndClient({ records: 30 });
  const query = client.records({ top: 10 });
  const [first] = await all(query.batches());
  assertEquals(first!.distinct, undefined);
  const [next] = await all(query.batches({ after: first!.cursor, distinct: ["DOI"] }));
  assertEquals(next!.distinct, undefined);
  const [written] = await all(query.batches({ format: "csv", distinct: ["DOI"] }));
  assert(written!.distinct!.DOI!.length > 0);
});

Deno.test("batches() have the DOIs of the rows once when a page was broken before", async () => {
  const broken = () => page([{ Id: 1, DOI: "a" }, { Id: 1, DOI: "b" }]);
  for (const format of [undefined, "ndjson"] as const) {
    const { options } = upstream(broken(), page([{ Id: 1, DOI: "c" }, { Id: 2, DOI: "c" }]));
    const query = new DataStream({ ...options, retry: {} }).locations({ select: ["Id", "DOI"] });
    const batches = format === undefined
      ? await all<unknown>(query.batches({ distinct: ["DOI"] }))
      : await all<unknown>(query.batches({ format, distinct: ["DOI"] }));
    assertEquals(batches.at(-1)!.distinct, { DOI: ["c"] });
  }
});

Deno.test("batches() report the missing rows of all batches when a query continues", async () => {
  const { options } = upstream(
    page([{ Id: 1 }], link(1).replace("Locations", "Records")),
    Response.json({ value: 9 }),
    ...[page([{ Id: 2 }]), page([]), Response.json({ value: 9 })],
    ...[page([]), Response.json({ value: 9 })],
  );
  const query = new DataStream(options).records({ select: ["Id"], top: 1, incomplete: "warn" });
  const batches = await all(query.batches());
  const { missingRows, expectedRows } = batches.at(-1)!;
  assertEquals([missingRows, expectedRows], [7, 9]);
  // As if rows of an earlier shard were missing.
  const after = { ...stored(batches[1]!.cursor), missingRows: 3 };
  const last = (await all(query.batches({ after }))).at(-1)!;
  assertEquals([last.missingRows, last.expectedRows, last.cursor.missingRows], [10, 9, 10]);
});

const locations = (options: AnyResourceQuery = {}, baseUrl = ROOT) =>
  new DataStream({ baseUrl, fetch: () => Promise.reject(new Error("a request")) })
    .query("Locations" as ResourceName, { select: ["Id", "DOI"], ...options });

/** The cursor after the first batch of {@linkcode locations}. */
async function cursorOf(batchOptions: BatchOptions = {}): Promise<Cursor> {
  const { options } = upstream(page([{ Id: 1, DOI: "a" }], link(1)));
  const query = new DataStream(options).locations({ select: ["Id", "DOI"] });
  const batches = query.batches(batchOptions as BatchOptions & { format: "csv" });
  for await (const { cursor } of batches) return stored(cursor);
  throw new Error("no batch");
}

const differing: [what: string, query: () => Query<unknown>, options?: BatchOptions][] = [
  ["resource", () => new DataStream({ baseUrl: ROOT }).records({ select: ["Id", "DOI"] })],
  ["baseUrl", () => locations({}, "https://other.invalid/v1")],
  ["select", () => locations({ select: ["Id"] })],
  ["filter", () => locations({ filter: "DOI eq 'x'" })],
  ["box", () => locations({ within: box })],
  ["limit", () => locations({ limit: 5 })],
  ["skipToken", () => locations({ skipToken: "Id:0" })],
  ["format", () => locations(), { format: "ndjson" }],
  ...[{ separator: ";" }, { header: false }, { bom: true }, { escapeFormulas: true }].map((
    csv,
  ): [string, () => Query<unknown>, BatchOptions] => [
    `CSV with ${JSON.stringify(csv)}`,
    locations,
    { format: "csv", csv },
  ]),
];
for (const [what, query, options] of differing) {
  Deno.test(`batches() throw when the cursor is of a query with another ${what}`, async () => {
    const after = await cursorOf({ format: "csv" });
    assertNotOfQuery(query(), { format: "csv", ...options, after });
  });
}

function assertNotOfQuery(query: Query<unknown>, options: BatchOptions): void {
  const error = assertThrows(
    () => query.batches(options as BatchOptions & { format: "csv" }),
    ValidationError,
    "after must be a cursor of a query with the same options",
  );
  assertEquals(error.option, "after");
}

Deno.test("batches() accept a cursor when only the page size and what is reported differ", async () => {
  const after = await cursorOf();
  locations({ top: 5, maxRows: 9, incomplete: "warn", onProgress: () => {} }).batches({ after });
});

Deno.test("batches() accept a cursor when the units are in another order", async () => {
  const names = ["Nitrate", "Phosphorus"];
  const cursors = [names, names.toReversed()].map(async (order) => {
    const units = Object.fromEntries(order.map((name) => [name, "mg/L"]));
    const { options } = upstream(page([{ Id: 1 }]));
    const query = new DataStream(options).records({ tidy: true, units });
    for await (const { cursor } of query.batches()) return cursor.query;
  });
  const [one, other] = await Promise.all(cursors);
  assertEquals(one, other);
});

Deno.test("batches() throw when the cursor is not what they returned", async () => {
  const cursor = await cursorOf({ format: "csv" });
  const without = (name: string) => ({ ...cursor, [name]: undefined });
  const tampered = [
    ...[null, JSON.stringify(cursor), [], {}],
    ...[without("query"), without("shards"), without("groupRows"), without("writer")],
    ...[{ ...cursor, version: 1 }, { ...cursor, rows: -1 }, { ...cursor, rows: "1" }],
  ];
  for (const after of tampered) {
    assertNotOfQuery(locations(), { format: "csv", after: after as Cursor });
  }
});

/** Names of the formats that a query of a resource has, joined. */
const known = (resource: ResourceName) =>
  fileFormatsOf(resource).filter((format) => format !== "parquet").join(", ");

const wrongOptions: [name: string, options: object, message: string][] = [
  ["distinct is no list", { distinct: "DOI" }, "distinct must be an array of fields"],
  [
    "distinct has an unknown field",
    { distinct: ["Doi"] },
    'distinct includes "Doi", which is not a field of Locations: did you mean "DOI"?',
  ],
  ["csv is set without a format", { csv: {} }, "csv must not be set without a format"],
  [
    "the format is unknown",
    { format: "xml" },
    `format must be one of ${known("Locations")} for Locations, got "xml"`,
  ],
  [
    "CSV options go with another format",
    { format: "json", csv: { bom: true } },
    "applies to CSV only",
  ],
];
for (const [name, options, message] of wrongOptions) {
  Deno.test(`batches() throw when ${name}`, () => {
    assertThrows(() => locations().batches(options), ValidationError, message);
  });
}

Deno.test("bytes() throws when the resource does not have the format", () => {
  const names = known("Records");
  for (
    const [format, end] of [
      ["geojson", 'got "geojson"'],
      ["xml", 'got "xml"'],
      ["toString", 'got "toString"'],
      ["CSV", 'got "CSV": did you mean "csv"?'],
      [undefined, "got undefined"],
    ]
  ) {
    const error = assertThrows(
      () => new DataStream().records().bytes(format as FormatName),
      ValidationError,
    );
    assertEquals(error.message, `format must be one of ${names} for Records, ${end}`);
    assertEquals([error.option, error.received], ["format", format]);
  }
});

Deno.test("query() throws when there is no such resource", () => {
  for (const resource of ["records", "toString", undefined]) {
    const error = assertThrows(
      () => new DataStream().query(resource as ResourceName),
      ValidationError,
      "resource must be one of Metadata, Locations, Observations, Records",
    );
    assertEquals(error.option, "resource");
  }
});

Deno.test("query() has rows of its resource when the name is literal", () => {
  const client = new DataStream();
  const rows: Query<Pick<Row<"Records">, "Id">> = client.query("Records", { select: ["Id"] });
  const any: Query<Record<string, unknown>> = client.query("Records" as ResourceName, {
    select: ["Id"] as string[],
    filter: "DOI eq 'x'" as string,
    within: box,
  });
  assert(rows.url !== any.url);
  const wrong: (() => unknown)[] = [
    // @ts-expect-error -- no field of Records
    () => client.query("Records", { select: ["Doi"] }),
    // @ts-expect-error -- not split
    () => client.query("Metadata", { partition: "never" }),
  ];
  assertEquals(wrong.length, 2);
});

Deno.test("batches() begin again when they are iterated again", async () => {
  const { client } = sandboxAndClient({ records: 20 });
  const batches = client.records({ select: ["Id"], top: 10 }).batches({ format: "csv" });
  const first = await all(batches);
  assertEquals([first.length, textOf(first).startsWith("Id\r\n")], [3, true]);
  assertEquals(await all(batches), first);
});

Deno.test("batches() request pages of the size that the service could deliver when they continue after a cursor", async () => {
  const { sandbox, clock } = sandboxAndClient({ records: 200, requestsPerSecond: Infinity });
  const tops: number[] = [];
  const refusesLongPages = (request: Request) => {
    const { searchParams } = new URL(request.url);
    if (searchParams.has("$count")) return sandbox.fetch(request);
    tops.push(Number(searchParams.get("$top")));
    return tops.at(-1)! > 40
      ? Promise.resolve(new Response(null, { status: 413 }))
      : sandbox.fetch(request);
  };
  const client = new DataStream({
    ...{ apiKey: sandbox.apiKey, baseUrl: sandbox.url, requestsPerSecond: Infinity, clock },
    fetch: refusesLongPages,
  });
  let after: Cursor | undefined;
  for (let run = 0; run < 3; run++) {
    for await (const batch of client.records({ top: 100 }).batches({ format: "csv", after })) {
      after = stored(batch.cursor);
      break;
    }
  }
  assertEquals(tops, [100, 50, 25, 25, 25]);
});
