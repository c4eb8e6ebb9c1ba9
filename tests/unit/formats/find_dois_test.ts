import "../../helpers/no_permission.ts";
import { assertEquals } from "@std/assert";
import { findDois } from "../../../src/formats/find_dois.ts";
import { createWriter, formatsOf } from "../../../src/formats/formats.ts";
import { createNdjsonWriter } from "../../../src/formats/json.ts";

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
for (const format of formatsOf("Locations")) {
  for (const [name, rows, dois] of pages) {
    Deno.test(`findDois() returns each DOI once when ${format} has written a page with ${name}`, () => {
      const page = toPage(rows);
      assertEquals(
        findDois(page, createWriter(format, { resource: "Locations" }).write(page)),
        dois,
      );
    });
  }
}

Deno.test("findDois() returns each DOI once when 10,000 DOIs are repeated", () => {
  const dois = Array.from({ length: 10_000 }, (_, index) => `10.25976/${index}`);
  const page = toPage([...dois, ...dois].map((doi) => row(doi)).join(""));
  assertEquals(findDois(page, createNdjsonWriter().write(page)), dois);
});

function row(doi: string): string {
  return `{"Id":1,"DOI":"${doi}","Longitude":1,"Latitude":2},`;
}

function toPage(rows: string): Uint8Array<ArrayBuffer> {
  return new TextEncoder().encode(`{"@data.context":"DOI","value":[${rows.slice(0, -1)}]}`);
}
