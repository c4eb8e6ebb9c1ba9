// Distinct values of rows, such as DOIs, which are read from the bytes of a page.
import "../../helpers/no_permission.ts";
import { assertEquals } from "@std/assert";
import { type Batch, DataStream, type FormatName } from "../../../mod.ts";
import { pageOf, upstream } from "../../helpers/upstream.ts";
import { formatsOf } from "../../helpers/resources.ts";

const pages: [name: string, page: string, dois: string[]][] = [
  ["two alternating DOIs", row("a") + row("b") + row("a") + row("b"), ["a", "b"]],
  ["no row", "", []],
  ["white space", ' { "Id" : 1 , "DOI" :\n"a" , "X" : 2 } ,', ["a"]],
  ["escapes", row(String.raw`10.25976\/\u00e9`) + row("é"), ["10.25976/é", "é"]],
  ["null", '{"DOI":null},' + row("a"), ["a"]],
  ["no DOI", '{"Id":1},' + row("a"), ["a"]],
  [
    "DOI as a value and inside text",
    String.raw`{"Name":"DOI","X":"\"DOI\":\"x\"","DOI":"a"},{"X":["DOI"],"Y":"DOI"},`,
    ["a"],
  ],
  ["a DOI after other members", '{"X":"Oxygen","Y":"DO","DOI":"a"},', ["a"]],
  ["empty DOIs", row("") + row("a"), ["a"]],
];
for (const format of [...formatsOf("Locations"), undefined]) {
  for (const [name, rows, dois] of pages) {
    Deno.test(`batches() lists each DOI once when ${format ?? "a list of rows"} has a page with ${name}`, async () =>
      assertEquals(await doisOf(rows, format), dois));
  }
}

Deno.test("batches() lists each DOI once when 5,000 DOIs are repeated", async () => {
  const dois = Array.from({ length: 5_000 }, (_, index) => `10.25976/${index}`);
  const rows = [...dois, ...dois].map((doi) => row(doi)).join("");
  assertEquals(await doisOf(rows, "ndjson"), dois);
});

const DROPPED: readonly (readonly [format: FormatName, select: string, data: string])[] = [
  ["csv", "Name", "Name\r\nA\r\nB\r\n"],
  ["ndjson", "Name", '{"Name":"A"}\n{"Name":"B"}\n'],
  ["json", "Name", '{"value":[{"Name":"A"},{"Name":"B"}]}\n'],
  [
    "geojson",
    "Longitude,Latitude",
    '{"type":"FeatureCollection","features":[' +
    [1, 2].map((x) =>
      `{"type":"Feature","geometry":{"type":"Point","coordinates":[${x},5.0]},` +
      `"properties":{"Longitude":${x},"Latitude":5.0}}`
    ).join() + "]}\n",
  ],
];
for (const [format, select, data] of DROPPED) {
  Deno.test(`batches() request fields for their values, and leave them out of ${format}`, async () => {
    const row = (id: number, name: string) =>
      format === "geojson"
        ? `{"Id":${id}, "Longitude":${id}, "Latitude":5.0 ,"MonitoringLocationType": "Ocean","DOI":"a"}`
        : `{"MonitoringLocationType": "Ocean","Name":"${name}" , "Id":${id},"DOI":"a"}`;
    const page = `{"value":[${row(1, "A")}, ${row(2, "B")}]}`;
    const { options, requests } = upstream(pageOf(page));
    const distinct = ["DOI", "MonitoringLocationType", "Id"];
    const query = new DataStream(options).locations({ select });
    const batches = await Array.fromAsync(query.batches({ format, distinct }));
    assertEquals(
      new URL(requests[0]!.url).searchParams.get("$select"),
      `${select},Id,DOI,MonitoringLocationType`,
    );
    const text = await new Blob(batches.map((batch) => batch.data)).text();
    assertEquals(text, data);
    assertEquals(batches.at(-1)!.distinct, {
      DOI: ["a"],
      MonitoringLocationType: ["Ocean"],
      Id: ["1", "2"],
    });
  });
}

Deno.test("batches() leave the fields of values out of rows", async () => {
  const { options } = upstream(pageOf('{"value":[{"Id":1,"Name":"A","DOI":"a"}]}'));
  const query = new DataStream(options).locations({ select: ["Name"] });
  const [batch] = await Array.fromAsync(query.batches({ distinct: ["DOI"] }));
  assertEquals<unknown>(batch!.data, [{ Name: "A" }]);
});

async function doisOf(rows: string, format: FormatName | undefined) {
  let id = 1;
  const withIds = rows.slice(0, -1).replaceAll(/\{(?! *"Id")/g, () => `{"Id":${++id},`);
  const page = `{"@data.context":"DOI","value":[${withIds}]}`;
  const { options } = upstream(
    pageOf(page),
  );
  const query = new DataStream(options).locations();
  const batches: AsyncIterable<Batch<unknown>> = format === undefined
    ? query.batches({ distinct: ["DOI"] })
    : query.batches({ format, distinct: ["DOI"] });
  return (await Array.fromAsync(batches)).at(-1)!.distinct?.DOI;
}

function row(doi: string): string {
  return `{"DOI":"${doi}","Longitude":1,"Latitude":2},`;
}
