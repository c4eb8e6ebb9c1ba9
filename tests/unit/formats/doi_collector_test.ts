import "../../helpers/no_permission.ts";
import { assertEquals, assertThrows } from "@std/assert";
import { DoiCollector, doisOf } from "../../../src/formats/doi_collector.ts";
import { CsvWriter } from "../../../src/formats/csv.ts";
import { checkCsvOptions } from "../../../src/formats/csv_options.ts";
import { createGeojsonWriter } from "../../../src/formats/geojson.ts";
import { createJsonWriter, createNdjsonWriter } from "../../../src/formats/json.ts";
import type { PageWriter } from "../../../src/formats/page_writer.ts";

const writers: Record<string, () => PageWriter> = {
  csv: () => new CsvWriter(checkCsvOptions(), ["Id", "DOI"], { addsNewFields: true }),
  ndjson: () => createNdjsonWriter(),
  json: () => createJsonWriter(),
  geojson: () => createGeojsonWriter(),
};

const pages: [name: string, page: string, dois: string[]][] = [
  ["two alternating DOIs", row("a") + row("b") + row("a") + row("b"), ["a", "b"]],
  ["no row", "", []],
  ["white space", ' { "Id" : 1 , "DOI" :\n"a" , "X" : 2 } ,', ["a"]],
  ["escapes", row(String.raw`10.25976\/\u00e9`) + row("é"), ["10.25976/é", "é"]],
  ["null", '{"DOI":null},' + row("a"), ["a"]],
  ["no DOI", '{"Id":1},' + row("a"), ["a"]],
  [
    "DOI as a value and inside text",
    String.raw`{"Id":"DOI","X":"\"DOI\":\"x\"","DOI":"a"},{"X":["DOI"],"Y":"DOI"},`,
    ["a"],
  ],
  ["a DOI after other members", '{"X":"Oxygen","Y":"DO","DOI":"a"},', ["a"]],
  // A page with a value nested this deep is parsed.
  [
    "a deeply nested value",
    `{"X":${"[".repeat(120)}${"]".repeat(120)},"DOI":"a"},` + row("b"),
    ["a", "b"],
  ],
];
for (const [format, writer] of Object.entries(writers)) {
  for (const [name, rows, dois] of pages) {
    Deno.test(`DoiCollector.write() collects the DOIs of ${format} when a page has ${name}`, () => {
      const page = toPage(rows);
      const collector = new DoiCollector(writer());
      const written = collector.write(page);
      assertEquals(collector.dois, dois);
      const { bytes, rows: count, envelope } = writer().write(page);
      assertEquals([written.bytes, written.rows, written.envelope], [bytes, count, envelope]);
    });
  }

  Deno.test(`DoiCollector.write() adds DOIs to those of its state in ${format}`, () => {
    const first = new DoiCollector(writer());
    first.write(toPage(row("a")));
    const state = JSON.parse(JSON.stringify(first.state));
    assertEquals(state.dois, ["a"]);
    const second = new DoiCollector(writer(), doisOf(state));
    second.write(toPage(row("b")));
    assertEquals(second.dois, ["a", "b"]);
  });

  Deno.test(`DoiCollector.write() adds nothing when ${format} rejects a page`, () => {
    const collector = new DoiCollector(writer());
    const page = new TextEncoder().encode(`{"value":[${row("a")}`);
    assertThrows(() => collector.write(page), SyntaxError);
    assertEquals(collector.dois, []);
  });
}

Deno.test("DoiCollector.write() adds each DOI once when there are more than its table holds", () => {
  const dois = Array.from({ length: 10_000 }, (_, index) => `10.25976/${index}`);
  const collector = new DoiCollector(createNdjsonWriter());
  for (let time = 0; time < 2; time++) {
    collector.write(toPage(dois.map((doi) => row(doi)).join("")));
  }
  assertEquals(collector.dois, dois);
});

Deno.test("doisOf() returns undefined when a state has no valid DOIs", () => {
  assertEquals(doisOf({ isBegun: true }), undefined);
  assertEquals(doisOf(JSON.parse('{"isBegun":true,"dois":[1]}')), undefined);
  assertEquals(doisOf(JSON.parse('{"isBegun":true,"dois":[]}')), []);
});

function row(doi: string): string {
  return `{"Id":1,"DOI":"${doi}","Longitude":1,"Latitude":2},`;
}

function toPage(rows: string): Uint8Array<ArrayBuffer> {
  return new TextEncoder().encode(`{"@data.context":"DOI","value":[${rows.slice(0, -1)}]}`);
}
