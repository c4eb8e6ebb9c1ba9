// The documents of a query (CSV, NDJSON, JSON, GeoJSON) have every cell of every page.
import "../../helpers/no_permission.ts";
import { assert, assertEquals, assertRejects, assertThrows } from "@std/assert";
import { DataStream, DataStreamError, ValidationError } from "../../../mod.ts";
import { TIDY_COLUMNS } from "../../../src/formats/tidy.ts";
import { clientOf } from "../../helpers/parquet.ts";
import { sandboxAndClient } from "../../helpers/sandbox.ts";
import { page, ROOT, upstream } from "../../helpers/upstream.ts";

const read = (stream: ReadableStream<Uint8Array<ArrayBuffer>>) => new Response(stream).text();

Deno.test("geojson() throws when a coordinate or its reference system is not selected", () => {
  const query = new DataStream().locations({ select: ["Id", "Latitude"] });
  const message =
    "select must contain Longitude and HorizontalCoordinateReferenceSystem for GeoJSON";
  assertThrows(() => query.geojson(), ValidationError, message);
  assertEquals("geojson" in new DataStream().records(), false);
});

Deno.test("csv() has columns that the rows lack only when the query is unchecked", async () => {
  const { client } = sandboxAndClient({ records: 3 });
  const wrong = () => client.records({ select: ["Id"] }).csv({ columns: ["ResultUnit"] });
  assertThrows(wrong, ValidationError, "must be selected fields");
  const unchecked = client.records({ unchecked: true }).csv({ columns: ["New", "Id"] });
  assertEquals((await read(unchecked)).split("\r\n")[1], ",500003");
});

Deno.test("csv() adds a column of new fields before those of tidy when a later row has them", async () => {
  const tidyRow = async (...rows: string[]) => {
    const text = await read(clientOf(rows).records({ tidy: true }).csv());
    return text.split("\r\n").slice(0, 2);
  };
  const row = '{"Id":1,"ResultValue":7.5,"ResultUnit":"mg/l"}';
  const [header, cells] = await tidyRow(row);
  const [newHeader, newCells] = await tidyRow(row, '{"Id":2,"New":"x"}');
  const first = TIDY_COLUMNS[0];
  const at = header!.indexOf(`,"${first}"`);
  assert(at > 0);
  assertEquals(newHeader, `${header!.slice(0, at)},"New"${header!.slice(at)}`);
  // The cells of tidy are at the end.
  const count = TIDY_COLUMNS.length;
  const [known, tidy] = [cells!.split(",").slice(0, -count), cells!.split(",").slice(-count)];
  assertEquals(newCells!.split(","), [...known, "", ...tidy]);
  assert(tidy.some(Boolean));
});

Deno.test("csv() fails without a retry when a later page has a field that the header lacks", async () => {
  const link = `${ROOT}/Locations?$skiptoken=Id:1`;
  const { options, requests } = upstream(page([{ Id: 1, New: "x" }], link), page([{ Newer: "z" }]));
  const query = new DataStream({ ...options, retry: {} }).locations();
  const message = 'Field "Newer" first appears after';
  const error = await assertRejects(() => read(query.csv()), DataStreamError, message);
  assertEquals([error.kind, requests.length], ["page", 2]);
});

Deno.test("records() requests Id for its checks and removes it when it is not selected", async () => {
  const select = ["CharacteristicName", "ResultValue", "DOI"] as const;
  const { client } = sandboxAndClient({ records: 300 });
  const query = client.records({ select, top: 100 });
  const rows = await query.toArray();
  assertEquals(rows.length, 300);
  assert(rows.every((row) => Object.keys(row).join() === select.join()));
  assertEquals(await read(query.csv()), await read(client.records().csv({ columns: select })));
  const selectOf = (url: string) => new URL(url).searchParams.get("$select");
  assertEquals(selectOf(query.url), `${select},Id`);
  // One page is the whole result.
  const short = client.records({ select, limit: 5 });
  assertEquals(selectOf(short.url), select.join());
  assertEquals(await short.toArray(), rows.slice(0, 5));
});
