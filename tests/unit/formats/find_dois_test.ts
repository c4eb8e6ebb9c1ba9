// The DOIs of a page, which are read from its bytes.
import "../../helpers/no_permission.ts";
import { assertEquals } from "@std/assert";
import { type Batch, DataStream, type FormatName } from "../../../mod.ts";
import { pageOf, upstream } from "../../helpers/upstream.ts";
import { formatsOf } from "../../helpers/formats.ts";

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

async function doisOf(rows: string, format: FormatName | undefined) {
  const page = `{"@data.context":"DOI","value":[${rows.slice(0, -1)}]}`;
  const { options } = upstream(
    pageOf(page),
  );
  const query = new DataStream(options).locations();
  const batches: AsyncIterable<Batch<unknown>> = format === undefined
    ? query.batches({ dois: true })
    : query.batches({ format, dois: true });
  return (await Array.fromAsync(batches)).at(-1)!.dois;
}

function row(doi: string): string {
  return `{"DOI":"${doi}","Longitude":1,"Latitude":2},`;
}
