// Parquet has the cells of CSV with fixed types, and the same rows after any interruption. Other tests read it with other
// programs (`tests/package/parquet_readers_test.ts`), and generated rows (`tests/properties/parquet_test.ts`).
import "../../helpers/no_permission.ts";
import { assert, assertEquals, assertRejects, assertThrows } from "@std/assert";
import { parquetMetadata } from "hyparquet";
import { type Batch, DataStream, DataStreamError, ValidationError } from "../../../mod.ts";
import { concatBytes } from "../../../src/bytes.ts";
import { parquetFormat, toParquet } from "../../../src/formats/parquet.ts";
import {
  cellsOf,
  clientOf,
  parquetOf,
  readAll,
  readParquet,
  type Replace,
} from "../../helpers/parquet.ts";
import { readCsv } from "../../helpers/rfc4180.ts";
import { sandboxAndClient } from "../../helpers/sandbox.ts";

const select = ["Id", "ResultValue", "ActivityStartDate", "LaboratoryName"];

const toBuffer = (batches: readonly Batch<Uint8Array>[]) =>
  concatBytes(batches.map(({ data }) => data)).buffer;

for (const resource of ["Metadata", "Locations"] as const) {
  Deno.test(`toParquet() writes the cells of csv() when the rows are ${resource}`, async () => {
    const { client } = sandboxAndClient({ records: 450 }, { requestsPerSecond: Infinity });
    const query = client.query(resource);
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
  const query = client.records({ limit: 450, tidy: true });
  const csv = await new Response(query.csv()).text();
  const { rows, types } = await parquetOf(query);
  const columns = ["value", "unit", "datetime_utc", "is_quality_control"];
  const expected = ["DOUBLE", "STRING", "TIMESTAMP", "BOOLEAN"];
  assertEquals(columns.map((column) => types[column]), expected);
  assertEquals(cellsOf(rows, csv), readCsv(csv));
});

Deno.test("toParquet() has the types of the fields when there are no rows, and when all values are null", async () => {
  const none = await parquetOf(clientOf([]).records());
  assertEquals([none.rows, none.groups], [[], []]);
  assertEquals(Object.values(none.types).length, 44);
  assertEquals([none.types.ResultValue, none.types.ActivityStartDate], ["DOUBLE", "DATE"]);
  const nulls = await parquetOf(clientOf(['{"Id":1,"ResultValue":null}', '{"Id":2}']).records());
  assertEquals([nulls.types, nulls.rows.length], [none.types, 2]);
});

const MISFITS: [row: string, message: string][] = [
  ['"ResultValue":"<0.05"', 'ResultValue "<0.05", which is not a number'],
  ['"ResultValue":"\ufeff5"', 'ResultValue "\ufeff5", which is not a number'],
  ['"ResultValue":1e999', "ResultValue 1e999, which is not a number"],
  ['"ActivityStartDate":"2023-02-29"', 'ActivityStartDate "2023-02-29", which is not a date'],
  ['"ActivityStartDate":20230228', "ActivityStartDate 20230228, which is not a date"],
];

for (const [member, message] of MISFITS) {
  Deno.test(`toParquet() names the row and the field when a row has ${member}`, async () => {
    const rows = ['{"Id":7}', `{"Id":8,${member}}`, '{"Id":9,"ResultValue":"7.10"}'];
    const query = clientOf(rows).records({ select });
    const error = await assertRejects(() => readAll(toParquet(query)), DataStreamError);
    assert(error.message.includes(`The row with Id 8 has ${message}`), error.message);
    const { rows: read, metadata } = await parquetOf(query, { invalidValues: "null" });
    assertEquals(read, [
      { Id: 7n, ResultValue: null, ActivityStartDate: null, LaboratoryName: null },
      { Id: 8n, ResultValue: null, ActivityStartDate: null, LaboratoryName: null },
      { Id: 9n, ResultValue: 7.1, ActivityStartDate: null, LaboratoryName: null },
    ]);
    assertEquals(JSON.parse(metadata.weir!).notes, { invalidValues: 1 });
  });
}

Deno.test("toParquet() rejects an object in a field of texts", async () => {
  const query = clientOf(['{"Id":1,"Keywords":{"a":1}}']).metadata();
  const message = 'Keywords {"a":1}, which is not text or a list of texts';
  await assertRejects(() => readAll(toParquet(query)), DataStreamError, message);
});

const SYSTEM = "HorizontalCoordinateReferenceSystem";
/** Rows with short texts, and 400 with long ones, of 24 MB. */
const manyRows = Array.from({ length: 50_400 }, (_, index) => {
  const text = index < 50_000 ? index % 7 : `${index} ${"x".repeat(60_000)}`;
  const value = index % 99 === 0 ? '"x"' : index / 8;
  const place = `"Longitude":-60,"Latitude":${index % 5 === 0 ? 95 : 46},"${SYSTEM}":"NAD83"`;
  return `{"Id":${index + 1},"VerticalMeasure":${value},"Name":"${text}",${place}}`;
});
const longRows = manyRows.slice(50_000);
const manyOptions = { invalidValues: "null" } as const;
const queryOf = (rows: readonly string[], top: number, replace?: Replace) =>
  clientOf(rows, replace).locations({
    top,
    select: ["Id", "VerticalMeasure", "Name", "Longitude", "Latitude", SYSTEM],
  });
/** Cuts each third page after some of its rows. */
const cut: Replace = async (number, response) => {
  const { headers } = response;
  const text = await response.text();
  return new Response(number % 3 === 2 ? text.slice(0, text.length >> 1) : text, { headers });
};

const GROUPS: [name: string, rows: readonly string[], top: number, groups: number[]][] = [
  ["50,000 rows", manyRows, 10_000, [50_000, 400]],
  ["more than 50,000 rows", manyRows, 8_350, [50_100, 300]],
  ["16 MB", longRows, 100, [300, 100]],
];
for (const [name, rows, top, expected] of GROUPS) {
  for (const replace of [undefined, cut]) {
    const faults = replace ? ", and pages are cut" : "";
    Deno.test(`toParquet() ends a row group after the page with which it has ${name}${faults}`, async () => {
      const file = await parquetOf(queryOf(rows, top, replace), manyOptions);
      assertEquals(file.groups, expected);
      const ids = file.rows.map(({ Id }) => Number(Id));
      assertEquals(ids.join(), rows.map((row) => JSON.parse(row).Id).join());
      const { notes } = JSON.parse(file.metadata.weir!);
      const places = rows.map((row) => JSON.parse(row));
      assertEquals(notes, {
        invalidValues: places.filter(({ VerticalMeasure }) => VerticalMeasure === "x").length,
        withoutGeometry: places.filter(({ Latitude }) => Latitude === 95).length,
        nad83: places.filter(({ Latitude }) => Latitude === 46).length,
      });
    });
  }
}

Deno.test("batches() continues a Parquet file after its last row group, without losing or doubling a row, value or note", async () => {
  const format = parquetFormat(manyOptions);
  const options = { format, distinct: ["VerticalMeasure"] };
  const read = async (after: Batch<Uint8Array>[], count = Infinity) => {
    const cursor = after.at(-1) && JSON.parse(JSON.stringify(after.at(-1)!.cursor));
    const query = queryOf(longRows, 100 - after.length);
    for await (const batch of query.batches({ ...options, after: cursor })) {
      after.push(batch);
      if (--count === 0) break;
    }
    return after;
  };
  const whole = await read([]);
  assertEquals(whole.map(({ data, heldBytes = 0 }) => [data.length > 0, heldBytes > 5e6]), [
    [false, true],
    [false, true],
    [true, false],
    [false, true],
    [true, false],
  ]);
  const expected = await readParquet(toBuffer(whole));
  for (const first of [1, 2, 3, 4]) {
    for (const second of [1, 3]) {
      const batches = await read(await read(await read([], first), second));
      const sum = batches.reduce((sum, { rows }) => sum + rows, 0);
      assertEquals([sum, batches.at(-1)!.totalRows], [longRows.length, longRows.length]);
      assertEquals(batches.at(-1)!.distinct, whole.at(-1)!.distinct);
      assertEquals(batches.at(-1)!.notes, whole.at(-1)!.notes);
      const file = await readParquet(toBuffer(batches));
      assertEquals(file.rows.map(({ Id }) => Id), expected.rows.map(({ Id }) => Id));
    }
  }
});

Deno.test("toParquet() gives the least and the greatest text of a row group, also when one begins another", async () => {
  const rows = ["ab", "abc", "a", "abcd"].map((text, index) =>
    `{"Id":${index},"LaboratoryName":"${text}"}`
  );
  const query = clientOf(rows).records({ select: ["LaboratoryName"] });
  const { row_groups } = parquetMetadata(await readAll(toParquet(query)));
  const { min_value, max_value } = row_groups[0]!.columns[0]!.meta_data!.statistics!;
  assertEquals([min_value, max_value], ["a", "abcd"]);
});

Deno.test("toParquet() adds a column of text when rows have a field that Weir does not know", async () => {
  const rows = ['{"Id":1}', '{"Id":2,"New":1.50}', '{"Id":3,"New":"b"}'];
  const file = await parquetOf(clientOf(rows).records({ top: 1 }));
  assertEquals(file.types.New, "STRING");
  assertEquals(file.rows.map((row) => row.New), [null, "1.50", "b"]);
  const late = [...longRows, '{"Id":60000,"New":1}'];
  await assertRejects(
    () => readAll(toParquet(clientOf(late).records({ top: 300 }))),
    DataStreamError,
    'Field "New" first appears after the columns were written',
  );
});

Deno.test("toParquet() writes GeoParquet when the rows have positions and their reference system", async () => {
  const place = '"Longitude":-63.25,"Latitude":46.5,"HorizontalCoordinateReferenceSystem":"WGS84"';
  const client = clientOf([`{"Id":1,${place}}`]);
  const { metadata, types } = await parquetOf(client.locations(), { metadata: { geo: "{}" } });
  assertEquals(types.geometry, "GEOMETRY"); // by the metadata `geo`
  assertEquals(JSON.parse(metadata.geo!), {
    version: "1.1.0",
    primary_column: "geometry",
    columns: { geometry: { encoding: "WKB", geometry_types: ["Point"] } },
  });
  const others = await parquetOf(client.locations({ select: ["Id", "Longitude", "Latitude"] }));
  assertEquals(Object.keys(others.types), ["Id", "Longitude", "Latitude"]);
  assertEquals(others.metadata.geo, undefined);
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
  assertThrows(() => query.bytes("parquet" as never), ValidationError, "@weir/datastream/parquet");
});
