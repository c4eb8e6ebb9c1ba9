// Parquet has the cells of CSV with fixed types, and the same bytes after any interruption. Other tests read it with other
// programs (`tests/package/parquet_readers_test.ts`), and generated rows (`tests/properties/parquet_test.ts`).
import "../../helpers/no_permission.ts";
import { assert, assertEquals, assertRejects, assertThrows } from "@std/assert";
import { DataStream, DataStreamError, ValidationError } from "../../../mod.ts";
import { concatBytes } from "../../../src/bytes.ts";
import { parquetFormat, toParquet } from "../../../src/formats/parquet.ts";
import { FakeClock } from "../../helpers/fake_clock.ts";
import { cellsOf, parquetOf, readAll, readParquet } from "../../helpers/parquet.ts";
import { RESOURCE_NAMES } from "../../helpers/resources.ts";
import { readCsv } from "../../helpers/rfc4180.ts";
import { sandboxAndClient } from "../../helpers/sandbox.ts";
import { ROOT } from "../../helpers/upstream.ts";

/** Options of a service of rows. */
interface Service {
  /** JSON of the rows; their Ids are ascending. */
  rows: readonly string[];
  replace?: (number: number, response: Response) => Response | Promise<Response>;
}

function clientOf({ rows, replace = (_, response) => response }: Service): DataStream {
  const ids = rows.map((row) => Number(/"Id":(\d+)/.exec(row)![1]));
  let number = 0;
  const clock = new FakeClock();
  return new DataStream({
    baseUrl: ROOT,
    clock,
    requestsPerSecond: Infinity,
    fetch(request: Request) {
      const { searchParams, pathname } = new URL(request.url);
      if (searchParams.has("$count")) return Promise.resolve(Response.json({ value: rows.length }));
      const after = Number(searchParams.get("$skiptoken")?.slice(3) ?? -1);
      const from = ids.findIndex((id) => id > after);
      const start = from < 0 ? rows.length : from;
      const end = Math.min(rows.length, start + Number(searchParams.get("$top")));
      const link = end < rows.length
        ? `,"@odata.nextLink":"${new URL(ROOT).origin}${pathname}?$skiptoken=Id:${ids[end - 1]}"`
        : "";
      const body = `{"value":[${rows.slice(start, end).join()}]${link}}`;
      const response = new Response(body, { headers: { "content-type": "application/json" } });
      return Promise.resolve(replace(++number, response));
    },
  });
}

const select = ["Id", "ResultValue", "ActivityStartDate", "LaboratoryName"];

for (const resource of RESOURCE_NAMES) {
  Deno.test(`toParquet() writes the cells of csv() when the rows are ${resource}`, async () => {
    const { client } = sandboxAndClient({ records: 450 }, { requestsPerSecond: Infinity });
    const query = client.query(resource, { limit: 450, top: 200 });
    const csv = await new Response(query.csv()).text();
    const { rows, types } = await parquetOf(query);
    const geometry = resource === "Locations" ? ["geometry"] : [];
    assertEquals(Object.keys(types), [...readCsv(csv)[0]!, ...geometry]);
    assert(rows.length > 3);
    assertEquals(cellsOf(rows, csv), readCsv(csv));
  });
}

Deno.test("toParquet() writes numbers, times and true or false when the rows are tidy", async () => {
  const { client } = sandboxAndClient({ records: 450 }, { requestsPerSecond: Infinity });
  const query = client.records({ limit: 450 }).tidy();
  const csv = await new Response(query.csv()).text();
  const { rows, types } = await parquetOf(query);
  const { value, unit, censoring, lower, upper, datetime_utc, is_quality_control } = types;
  assertEquals([value, unit, censoring, lower, upper, datetime_utc, is_quality_control], [
    ...["DOUBLE", "STRING", "STRING", "DOUBLE", "DOUBLE", "TIMESTAMP", "BOOLEAN"],
  ]);
  assertEquals(cellsOf(rows, csv), readCsv(csv));
  assert(rows.some((row) => row.datetime_utc instanceof Date));
});

Deno.test("toParquet() has the types of the fields when there are no rows, and when all values are null", async () => {
  const none = await parquetOf(clientOf({ rows: [] }).records());
  assertEquals([none.rows, none.groups], [[], []]);
  assertEquals(Object.values(none.types).length, 44);
  assertEquals(none.types.ResultValue, "DOUBLE");
  assertEquals(none.types.ActivityStartDate, "DATE");
  const rows = ['{"Id":1,"ResultValue":null,"LaboratoryName":""}', '{"Id":2}'];
  const nulls = await parquetOf(clientOf({ rows }).records());
  assertEquals(nulls.types, none.types);
  assertEquals(nulls.rows.length, 2);
  assertEquals(Object.values(nulls.rows[1]!).filter((value) => value !== null), [2n]);
  const lists = await parquetOf(clientOf({ rows: [] }).metadata());
  assertEquals([lists.types.Keywords, lists.types.TemporalExtent], ["LIST", "LIST"]);
});

const MISFITS: [row: string, message: string][] = [
  ['"ResultValue":"<0.05"', 'ResultValue "<0.05", which is not a number'],
  ['"ResultValue":"\ufeff5"', 'ResultValue "\ufeff5", which is not a number'],
  ['"ResultValue":true', "ResultValue true, which is not a number"],
  ['"ResultValue":1e999', "ResultValue 1e999, which is not a number"],
  ['"ActivityStartDate":"2023-02-29"', 'ActivityStartDate "2023-02-29", which is not a date'],
  ['"ActivityStartDate":20230228', "ActivityStartDate 20230228, which is not a date"],
];

for (const [member, message] of MISFITS) {
  Deno.test(`toParquet() names the row and the field when a row has ${member}`, async () => {
    const rows = ['{"Id":7}', `{"Id":8,${member}}`, '{"Id":9,"ResultValue":"7.10"}'];
    const query = clientOf({ rows }).records({ select });
    const error = await assertRejects(() => readAll(toParquet(query)), DataStreamError);
    assert(error.message.includes(`The row with Id 8 has ${message}`), error.message);
    const { rows: read, metadata } = await parquetOf(query, { invalidValues: "null" });
    assertEquals(read, [
      { Id: 7n, ResultValue: null, ActivityStartDate: null, LaboratoryName: null },
      { Id: 8n, ResultValue: null, ActivityStartDate: null, LaboratoryName: null },
      { Id: 9n, ResultValue: 7.1, ActivityStartDate: null, LaboratoryName: null },
    ]);
    assertEquals(JSON.parse(metadata.weir!).invalidValues, 1);
  });
}

/** Rows of more than two row groups. The long texts of some end a row group before 50,000 rows. */
const manyRows = Array.from({ length: 105_000 }, (_, index) => {
  const text = index > 60_000 && index < 70_000 ? `${index} ${"x".repeat(2_400)}` : index % 7;
  return `{"Id":${index + 1},"ResultValue":${index / 8},"LaboratoryName":"${text}"}`;
});
const manySelected = ["Id", "ResultValue", "LaboratoryName"];
const rowsWithMisfits = manyRows.map((row, index) =>
  index % 999 === 0 ? row.replace(/"ResultValue":[^,]+/, '"ResultValue":"x"') : row
);

Deno.test("toParquet() ends row groups after the same rows when pages, faults or interruptions differ", async () => {
  const query = (top: number, replace?: Service["replace"]) =>
    clientOf({ rows: manyRows, replace }).records({ top, select: manySelected });
  const expected = await parquetOf(query(10_000));
  assertEquals(expected.groups.length, 3);
  assertEquals(expected.groups[0], 50_000);
  assertEquals(expected.rows.length, manyRows.length);
  assertEquals(expected.rows.every(({ Id }, index) => Id === BigInt(index + 1)), true);

  const sameAs = async (stream: ReadableStream<Uint8Array>) => {
    assertEquals(new Uint8Array(await readAll(stream)), new Uint8Array(expected.bytes));
  };
  await sameAs(toParquet(query(7_001)));
  // Each third page is cut after some of its rows.
  await sameAs(
    toParquet(query(9_000, async (number, response) => {
      const { headers } = response;
      const text = await response.text();
      return new Response(number % 3 === 2 ? text.slice(0, text.length >> 1) : text, { headers });
    })),
  );
});

for (const isSaved of [true, false]) {
  Deno.test(`batches() continues a Parquet file with equal bytes when the cursor ${isSaved ? "was saved as JSON" : "is of the same process"}`, async () => {
    const query = clientOf({ rows: rowsWithMisfits }).records({ top: 9_000, select: manySelected });
    const format = parquetFormat({ invalidValues: "null" });
    const file = await readAll(query.bytes(format));
    const { invalidValues } = JSON.parse((await readParquet(file)).metadata.weir!);
    assertEquals(invalidValues, 106);
    const expected = new Uint8Array(file);
    const bytes = new Uint8Array(expected.length);
    let length = 0;
    let requests = 0;
    let after: never | undefined;
    let restarts = 0;
    let pages = 1;
    for (let isLast = false; !isLast;) {
      let read = 0;
      for await (const batch of query.batches({ format, after })) {
        bytes.set(batch.data, length);
        length += batch.data.length;
        requests++;
        isLast = batch.isLast;
        const saved = isSaved ? JSON.stringify(batch.cursor) : undefined;
        // A cursor before the first row group is no position, as if nothing was read.
        after = (isSaved ? saved && JSON.parse(saved) : batch.cursor) as never;
        if (after === undefined) assertEquals(length, 0);
        if (++read > pages) break;
      }
      restarts++;
      pages = pages % 7 + 1;
    }
    assert(restarts > 3, `${restarts}`);
    assertEquals(length, expected.length);
    assertEquals(bytes, expected);
    assert(requests < 100);
  });
}

Deno.test("batches() continues a Parquet file at an earlier cursor when later row groups are written", async () => {
  const query = clientOf({ rows: manyRows }).records({ top: 9_000, select: manySelected });
  const format = parquetFormat();
  const batches = await Array.fromAsync(query.batches({ format }));
  const expected = concatBytes(batches.map(({ data }) => data));
  for (const index of [0, 6, 7, 10]) {
    const rest = await Array.fromAsync(query.batches({ format, after: batches[index]!.cursor }));
    const all = [...batches.slice(0, index + 1), ...rest];
    assertEquals(concatBytes(all.map(({ data }) => data)), expected, `batch ${index}`);
  }
});

Deno.test("toParquet() adds a column of text when rows have a field that Weir does not know", async () => {
  const rows = ['{"Id":1}', '{"Id":2,"New":1.50}', '{"Id":3,"New":"b"}'];
  const file = await parquetOf(clientOf({ rows }).records({ top: 1 }));
  assertEquals(file.types.New, "STRING");
  assertEquals(file.rows.map((row) => row.New), [null, "1.50", "b"]);
  const late = [...manyRows.slice(0, 50_000), '{"Id":60000,"New":1}'];
  await assertRejects(
    () => readAll(toParquet(clientOf({ rows: late }).records())),
    DataStreamError,
    'Field "New" first appears after the columns were written',
  );
});

Deno.test("toParquet() writes points of WGS 84 as GeoParquet when the rows are locations", async () => {
  const place = '"Longitude":-63.25,"Latitude":"46.5","HorizontalCoordinateReferenceSystem"';
  const rows = [
    `{"Id":1,${place}:"WGS84"}`,
    `{"Id":2,${place}:"NAD83"}`,
    `{"Id":3,${place}:null}`,
    '{"Id":4,"Longitude":-63.25,"HorizontalCoordinateReferenceSystem":"WGS84"}',
    `{"Id":5,${place}:"WGS\\u00384"}`,
  ];
  const client = clientOf({ rows });
  const { rows: read, metadata, types } = await parquetOf(client.locations(), {
    metadata: { geo: "{}" },
  });
  const point = { type: "Point", coordinates: [-63.25, 46.5] };
  assertEquals(read.map(({ geometry }) => geometry), [point, null, null, null, point]);
  assertEquals(types.geometry, "GEOMETRY"); // by the metadata `geo`
  assertEquals(JSON.parse(metadata.geo!), {
    version: "1.1.0",
    primary_column: "geometry",
    columns: { geometry: { encoding: "WKB", geometry_types: ["Point"] } },
  });
  assertEquals(JSON.parse(metadata.weir!).withoutGeometry, 3);
  const others = await parquetOf(client.locations({ select: ["Id", "Longitude", "Latitude"] }));
  assertEquals(Object.keys(others.types), ["Id", "Longitude", "Latitude"]);
  assertEquals(others.metadata.geo, undefined);
});

Deno.test("toParquet() writes a file that is not readable when it is cut", async () => {
  const { client } = sandboxAndClient({ records: 100 }, { requestsPerSecond: Infinity });
  const bytes = await readAll(toParquet(client.records({ limit: 100 })));
  for (let length = 0; length < bytes.byteLength; length += 97) {
    await assertRejects(async () => await readParquet(bytes.slice(0, length)));
  }
});

Deno.test("toParquet() writes metadata when it is an object or a function", async () => {
  const { client } = sandboxAndClient({ records: 100 }, { requestsPerSecond: Infinity });
  const query = client.records({ limit: 3 });
  const { metadata } = await parquetOf(query, { metadata: { project: "é", weir: "{}" } });
  assertEquals(metadata.project, "é");
  assertEquals(JSON.parse(metadata.weir!).url, query.url.replace("?%24top=3", ""));
  const counted = await parquetOf(query, {
    metadata: ({ rows }) => Promise.resolve({ rows: String(rows) }),
  });
  assertEquals(counted.metadata.rows, "3");
});

Deno.test("toParquet() rejects an unknown option, and bytes() the name of the format", () => {
  const query = new DataStream().records();
  assertThrows(() => toParquet(query, { invalidValues: "skip" as never }), ValidationError);
  assertThrows(() => query.bytes("parquet" as never), ValidationError, "toParquet(query)");
});
