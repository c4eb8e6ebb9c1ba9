// NDJSON and JSON, and malformed pages in every format.
// Tests writers directly: a query does not throw their errors, but requests the page again.
import "../../helpers/no_permission.ts";
import { assertEquals, assertThrows } from "@std/assert";
import { csvFromPage, geojsonFromPage, ndjsonFromPage } from "../../../mod.ts";
import { createGeojsonWriter } from "../../../src/formats/geojson.ts";
import {
  createJsonWriter,
  createNdjsonWriter,
  type JsonDocumentWriter,
} from "../../../src/formats/json.ts";
import { writePage } from "../../../src/formats/page_writer.ts";
import { writeWholePage } from "./page_writers.ts";

const encoder = new TextEncoder();
const bytes = (page: string) => encoder.encode(page);
const text = (page: Uint8Array) => new TextDecoder().decode(page);

const documentOf = (writer: JsonDocumentWriter, pages: string[]) =>
  pages.map((page) => text(writePage(writer, bytes(page)))).join("") + text(writer.end());

const UNUSUAL_PAGE = String
  .raw`{ "@x" : {"value":[{"no":1}]} , "value" : [ { "a" : 0.10 , "b c" : "x  \" ] } y" } ,
  {"a":[1 , {"d" :null}],"e":{} }
] , "@odata.nextLink" : "x" }`;
const rows = [String.raw`{"a":0.10,"b c":"x  \" ] } y"}`, '{"a":[1,{"d":null}],"e":{}}'];

Deno.test("ndjsonFromPage() writes one line per row without white space between tokens", () => {
  assertEquals(text(ndjsonFromPage(bytes(UNUSUAL_PAGE))), `${rows.join("\n")}\n`);
  assertEquals(text(ndjsonFromPage(bytes('{"value":[ ]}'))), "");
  const { envelope, rows: count } = writeWholePage(
    createNdjsonWriter(),
    bytes(UNUSUAL_PAGE),
  );
  assertEquals([envelope["@odata.nextLink"], count], ["x", 2]);
});

Deno.test("createJsonWriter() writes one document when there are several, empty or no pages", () => {
  const document = documentOf(createJsonWriter(), [
    '{"value":[]}',
    UNUSUAL_PAGE,
    '{"value":[]}',
    '{"value":[{"z":1}]}',
  ]);
  assertEquals(document, `{"value":[${[...rows, '{"z":1}'].join()}]}\n`);
  assertEquals(documentOf(createJsonWriter(), []), '{"value":[]}\n');
  assertEquals(documentOf(createJsonWriter(), ['{"value":[]}']), '{"value":[]}\n');
});

Deno.test("write() throws and keeps the state when a page is malformed", () => {
  for (
    const page of ["", "[]", '{"value":[1]}', '{"value":[{"a":01}]}', '{"value":[{}]', '{"x":1}']
  ) {
    for (const writer of [createNdjsonWriter(), createJsonWriter(), createGeojsonWriter()]) {
      const before = text(writePage(writer, bytes('{"value":[{"Id":1}]}')));
      assertThrows(() => writePage(writer, bytes(page)), SyntaxError);
      const after = text(writePage(writer, bytes('{"value":[{"Id":2}]}')));
      const document = before + after + text(writer.end());
      assertEquals(document.split("Id").length, before.split("Id").length * 2 - 1);
    }
  }
  assertThrows(() => ndjsonFromPage(new Uint8Array([0x22, 0xff, 0x22])), SyntaxError);
});

// Pages whose list of rows has an unusual name.
const parsedPages: [page: string, rows: string[]][] = [
  [String.raw`{"val\u0075e":[{"a":1}]}`, ['{"a":1}']],
];
for (const [page, rows] of parsedPages) {
  Deno.test(`each format has the rows of JSON.parse() when the page is ${page}`, () => {
    assertEquals(text(ndjsonFromPage(bytes(page))), rows.map((row) => `${row}\n`).join(""));
    assertEquals(documentOf(createJsonWriter(), [page]), `{"value":[${rows.join()}]}\n`);
    const values = rows.map((row) => `${Object.values(JSON.parse(row))}\r\n`);
    assertEquals(text(csvFromPage(bytes(page), { columns: ["a"] })), ["a\r\n", ...values].join(""));
  });
}

const MALFORMED_PAGES = [
  '{"value":[{"a":1}],"value":"\\u0000rows"}',
  '{"value":[{"a":1}],"value":"\\u0000"}',
  '{"value":[{"a":1}]\ufeff}',
  '{"value":[[["#"],[null]],"value":[]}',
  '{"value":null,"value":[{"a":1}]}',
  '{"value":[],"value":null}',
  String.raw`{"value":[{"a":1}],"val\u0075e":[{"a":2}]}`,
];
for (const page of MALFORMED_PAGES) {
  Deno.test(`each format throws a SyntaxError when the page is ${JSON.stringify(page)}`, () => {
    for (const make of [ndjsonFromPage, geojsonFromPage, csvFromPage]) {
      assertThrows(() => make(bytes(page)), SyntaxError);
    }
  });
}

Deno.test("each format writes long texts, and values that are nested up to 1,000 deep", () => {
  const nested = (depth: number) =>
    `{"value":[{"a":1,"b":${"[".repeat(depth)}${"]".repeat(depth)}}]}`;
  for (const depth of [3, 150, 900]) {
    assertEquals(text(ndjsonFromPage(bytes(nested(depth)))).length, nested(depth).length - 12 + 1);
    assertEquals(text(csvFromPage(bytes(nested(depth)))).includes("[[["), true);
  }
  assertThrows(() => csvFromPage(bytes(nested(5_000))), SyntaxError, "nested too deep");
  const long = `{"value":[{"a":"${"x".repeat(9_000_000)}","b":{}}]}`;
  assertEquals(csvFromPage(bytes(long)).length, "a,b\r\n".length + 9_000_000 + ",{}\r\n".length);
  assertEquals(geojsonFromPage(bytes(long)).length > 9_000_000, true);
});
