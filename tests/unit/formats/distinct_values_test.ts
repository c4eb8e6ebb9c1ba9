// Distinct values of fields, such as DOIs, are complete, also of fields that are not in the output.
import "../../helpers/no_permission.ts";
import { assertEquals } from "@std/assert";
import { type Batch, DataStream, type FormatName } from "../../../mod.ts";
import { pageOf, upstream } from "../../helpers/upstream.ts";

/** Returns the rows of a page in a format, or parsed, and the values of fields that are not selected. */
async function read(rows: string, select: string, distinct: string[], format?: FormatName) {
  const { options, requests } = upstream(pageOf(`{"@data.context":"DOI","value":[${rows}]}`));
  const query = new DataStream(options).locations({ select });
  const found: AsyncIterable<Batch<unknown>> = format === undefined
    ? query.batches({ distinct })
    : query.batches({ format, distinct });
  const batches = await Array.fromAsync(found);
  const data: unknown[] = batches.flatMap((batch) => batch.data);
  return {
    data: format === undefined ? data : await new Blob(data as BlobPart[]).text(),
    distinct: batches.at(-1)!.distinct,
    select: new URL(requests[0]!.url).searchParams.get("$select"),
  };
}

const row = (doi: string) => `{"DOI":"${doi}"}`;
const PAGES: readonly (readonly [name: string, rows: readonly string[], dois: string[]])[] = [
  ["two alternating DOIs", ["a", "b", "a", "b"].map(row), ["a", "b"]],
  ["white space", [' { "X" : 1 , "DOI" :\n"a" , "Y" : 2 } '], ["a"]],
  ["escapes", [row(String.raw`10.25976\/\u00e9`), row("é")], ["10.25976/é", "é"]],
  ["null, empty and absent DOIs", ['{"DOI":null}', row(""), '{"X":1}', row("a")], ["a"]],
  [
    "DOI as a value and inside text",
    [String.raw`{"Name":"DOI","X":"\"DOI\":\"x\"","DOI":"a"}`, '{"X":["DOI"],"Y":"DOI"}'],
    ["a"],
  ],
];
for (const [name, rows, dois] of PAGES) {
  Deno.test(`batches() lists each DOI once when a page has ${name}`, async () => {
    const withIds = rows.map((row, index) => row.replace("{", `{"Id":${index + 1},`)).join();
    for (const format of ["ndjson", undefined] as const) {
      const { distinct } = await read(withIds, "Id", ["DOI"], format);
      assertEquals(distinct, { DOI: dois }, format);
    }
  });
}

Deno.test("batches() lists each DOI once when 5,000 DOIs are repeated", async () => {
  const dois = Array.from({ length: 5_000 }, (_, index) => `10.25976/${index}`);
  const rows = [...dois, ...dois].map((doi, index) => `{"Id":${index},"DOI":"${doi}"}`).join();
  assertEquals((await read(rows, "Id", ["DOI"], "ndjson")).distinct, { DOI: dois });
});

const SYSTEM = "HorizontalCoordinateReferenceSystem";
const OMITTED: readonly (readonly [format: FormatName | undefined, data: unknown])[] = [
  ["csv", `"Longitude","Latitude","${SYSTEM}"\r\n1,5.0,WGS84\r\n2,5.0,WGS84\r\n`],
  [
    "geojson",
    '{"type":"FeatureCollection","features":[' +
    [1, 2].map((x) =>
      `{"type":"Feature","geometry":{"type":"Point","coordinates":[${x},5.0]},` +
      `"properties":{"Longitude":${x},"Latitude":5.0,"${SYSTEM}":"WGS84"}}`
    ).join() + "]}\n",
  ],
  [undefined, [1, 2].map((x) => ({ Longitude: x, Latitude: 5, [SYSTEM]: "WGS84" }))],
];
for (const [format, data] of OMITTED) {
  Deno.test(`batches() request fields for their values, and leave them out of ${format ?? "rows"}`, async () => {
    const rows = [1, 2].map((id) =>
      `{"MonitoringLocationType": "Ocean","Longitude":${id}, "Id":${id}, "Latitude":5.0 ,` +
      `"${SYSTEM}":"WGS84","DOI":"a"}`
    );
    const fields = ["DOI", "MonitoringLocationType", "Id"];
    const select = `Longitude,Latitude,${SYSTEM}`;
    assertEquals<unknown>(await read(rows.join(), select, fields, format), {
      data,
      distinct: { DOI: ["a"], MonitoringLocationType: ["Ocean"], Id: ["1", "2"] },
      select: `${select},Id,DOI,MonitoringLocationType`,
    });
  });
}
