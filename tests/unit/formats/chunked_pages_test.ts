// A page has the same result however its bytes arrive: cut at each offset, or one by one.
// Tests writers directly: a query does not show the members, Ids and DOIs of a page.
import "../../helpers/no_permission.ts";
import { assertEquals } from "@std/assert";
import { csvFromPage, ndjsonFromPage } from "../../../mod.ts";
import { assertSameInChunks } from "./chunked_pages.ts";

const encoder = new TextEncoder();
const nested = (depth: number) => "[".repeat(depth) + "1" + "]".repeat(depth);

/** Pages with unusual rows or members. */
const PAGES: readonly string[] = [
  '{"@é":"é", "value":[{"Id":1,"é":"aé","n":-1.50,"l":["x"]},\n' +
  '{"Id":2,"é":"b","n":null,"l":["y"]},{"Id":3,"o":{"p":true},"q":"\\n,"}],"z":[1,"é"]}',
  '\ufeff{"value" : [ {"Id" : 1 , "DOI":"a"} , {"DOI":"a","Id":2},{"Id":"3","DOI":"\\u00e9"} ] }\r\n',
  '{"value":[{"Id":1},{"New":"=1"},{"Id":2,"Newer":"\\"","é":";"},{}],"@odata.nextLink":"x"}',
  '{"value":[]}',
  '{"value":[{}]}',
  String
    .raw`{"x":{"value":[{"a":1}]},"y":"\"value\":[","val\u0075e":[{"Id":7,"b":"\ud83e\udd86"}]}`,
  '{"value":[{"Id":1},{"Id":2}],"value":[{"Id":3}],"value":[]}',
  '{"value":[{"Id":1},7],"value":[{"Id":2}]}',
  `{"value":[{"Id":1,"deep":${nested(150)}},{"Id":2,"Id":3}],"error":{"message":"é"}}`,
  '{"value":[{"Id":1}{"Id":2}]}',
  '{"value":[{"Id":1,"é":tru},{"Id":2}]}',
  '["value",[{"Id":1}]]',
  "",
];

for (const text of PAGES) {
  Deno.test(`each writer gives the same result when a page is cut at each offset: ${text.slice(0, 60)}`, () => {
    const page = encoder.encode(text);
    const offsets = [...page.keys(), page.length];
    assertSameInChunks(page, [...offsets.map((cut) => [cut]), offsets], text);
  });
}

Deno.test("csvFromPage() and ndjsonFromPage() read rows longer than the window, and across its ends", () => {
  for (const length of [1, 65_000, 262_100, 262_144, 1_000_000]) {
    const values = Array.from({ length: 5 }, (_, index) => "é,".repeat(length / 4) + index);
    const rows = values.map((a, index) => `{"Id":${index},"a":${JSON.stringify(a)}}`);
    const page = encoder.encode(`{"value":[${rows.join()}]}`);
    assertEquals(new TextDecoder().decode(ndjsonFromPage(page)), `${rows.join("\n")}\n`);
    const lines = values.map((a, index) => `${index},${a.includes(",") ? `"${a}"` : a}\r\n`);
    assertEquals(new TextDecoder().decode(csvFromPage(page)), `"Id","a"\r\n${lines.join("")}`);
  }
});
