// NDJSON and JSON: the bytes of the rows without white space, in one document of any number of pages.
// Tests writers directly: a query does not throw their errors, but requests the page again.
import "../../helpers/no_permission.ts";
import { assertEquals, assertThrows } from "@std/assert";
import { ndjsonFromPage } from "../../../mod.ts";
import { createJsonWriter, type JsonDocumentWriter } from "../../../src/formats/json.ts";
import { writePage } from "../../../src/formats/page_writer.ts";

const encoder = new TextEncoder();
const bytes = (page: string) => encoder.encode(page);
const text = (page: Uint8Array) => new TextDecoder().decode(page);

const documentOf = (writer: JsonDocumentWriter, pages: string[]) =>
  pages.map((page) => text(writePage(writer, bytes(page)))).join("") + text(writer.end());

const UNUSUAL_PAGE = String
  .raw`{ "@x" : {"value":[{"no":1}]} , "val\u0075e" : [ { "a" : 0.10 , "b c" : "x  \" ] } y" } ,
  {"a":[1 , {"d" :null}],"e":{} }
] , "@odata.nextLink" : "x" }`;
const ROWS = [String.raw`{"a":0.10,"b c":"x  \" ] } y"}`, '{"a":[1,{"d":null}],"e":{}}'];

Deno.test("ndjsonFromPage() writes one line per row without white space between tokens", () => {
  assertEquals(text(ndjsonFromPage(bytes(UNUSUAL_PAGE))), `${ROWS.join("\n")}\n`);
  assertEquals(text(ndjsonFromPage(bytes('{"value":[ ]}'))), "");
});

Deno.test("createJsonWriter() writes one document when there are several, empty or no pages", () => {
  const pages = ['{"value":[]}', UNUSUAL_PAGE, '{"value":[]}', '{"value":[{"z":1}]}'];
  const document = `{"value":[${[...ROWS, '{"z":1}'].join()}]}\n`;
  assertEquals(documentOf(createJsonWriter(), pages), document);
  assertEquals(documentOf(createJsonWriter(), []), '{"value":[]}\n');
  assertEquals(documentOf(createJsonWriter(), ['{"value":[]}']), '{"value":[]}\n');
});

Deno.test("writePage() throws and keeps the state when a page is malformed", () => {
  for (const page of ["", '{"value":[{"a":1},{"a":01}]}', '{"value":[{}]']) {
    const writer = createJsonWriter();
    const before = text(writePage(writer, bytes('{"value":[{"Id":1}]}')));
    assertThrows(() => writePage(writer, bytes(page)), SyntaxError);
    const after = text(writePage(writer, bytes('{"value":[{"Id":2}]}')));
    assertEquals(before + after + text(writer.end()), '{"value":[{"Id":1},{"Id":2}]}\n');
  }
});
