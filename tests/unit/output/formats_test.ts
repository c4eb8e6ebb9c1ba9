// NDJSON, JSON and GeoJSON: the service's own bytes, in other documents.
import "../../helpers/no_permission.ts";
import { assertEquals, assertThrows } from "@std/assert";
import { csvFromPage, geojsonFromPage, ndjsonFromPage } from "../../../mod.ts";
import { geojsonWriter } from "../../../src/output/geojson.ts";
import { jsonWriter } from "../../../src/output/json.ts";
import { NdjsonWriter } from "../../../src/output/ndjson.ts";
import type { PageWriter } from "../../../src/output/page_writer.ts";

const encoder = new TextEncoder();
const bytes = (page: string) => encoder.encode(page);
const text = (page: Uint8Array) => new TextDecoder().decode(page);

/** The whole document that a writer makes of pages. */
const whole = (writer: PageWriter, pages: string[]) =>
  pages.map((page) => text(writer.write(bytes(page)).bytes)).join("") + text(writer.end());

const odd = String
  .raw`{ "@x" : {"value":[{"no":1}]} , "value" : [ { "a" : 0.10 , "b c" : "x  \" ] } y" } ,
  {"a":[1 , {"d" :null}],"e":{} }
] , "@odata.nextLink" : "x" }`;
const rows = [String.raw`{"a":0.10,"b c":"x  \" ] } y"}`, '{"a":[1,{"d":null}],"e":{}}'];

Deno.test("ndjson has a row a line, its bytes as sent but for white space between tokens", () => {
  assertEquals(text(ndjsonFromPage(bytes(odd))), `${rows.join("\n")}\n`);
  assertEquals(text(ndjsonFromPage(bytes('{"value":[ ]}'))), "");
  const { envelope, rows: count } = new NdjsonWriter().write(bytes(odd));
  assertEquals([envelope["@odata.nextLink"], count], ["x", 2]);
});

Deno.test("json is one document over all pages, also of none, and of pages without rows", () => {
  const document = whole(jsonWriter(), [
    '{"value":[]}',
    odd,
    '{"value":[]}',
    '{"value":[{"z":1}]}',
  ]);
  assertEquals(document, `{"value":[${[...rows, '{"z":1}'].join()}]}\n`);
  assertEquals(whole(jsonWriter(), []), '{"value":[]}\n');
  assertEquals(whole(jsonWriter(), ['{"value":[]}']), '{"value":[]}\n');
});

Deno.test("geojson has a point for each location, longitude first, with the digits as they came", () => {
  const page =
    '{"value":[{"Id":7,"Name":"É, \\"x\\"","Latitude":46.10,"Longitude":-63.000,"VerticalMeasure":null},' +
    '{"Id":8,"Latitude":null,"Longitude":-63},{"Name":"y","Latitude":"45.5","Longitude":"-62"},{"Latitude":"north","Longitude":1}]}';
  const document = text(geojsonFromPage(bytes(page)));
  assertEquals(document.includes('"coordinates":[-63.000,46.10]'), true);
  assertEquals(JSON.parse(document), {
    type: "FeatureCollection",
    features: [
      {
        type: "Feature",
        id: 7,
        geometry: { type: "Point", coordinates: [-63, 46.1] },
        properties: {
          Id: 7,
          Name: 'É, "x"',
          Latitude: 46.1,
          Longitude: -63,
          VerticalMeasure: null,
        },
      },
      {
        type: "Feature",
        id: 8,
        geometry: null,
        properties: { Id: 8, Latitude: null, Longitude: -63 },
      },
      {
        type: "Feature",
        geometry: { type: "Point", coordinates: [-62, 45.5] },
        properties: { Name: "y", Latitude: "45.5", Longitude: "-62" },
      },
      {
        type: "Feature",
        geometry: null,
        properties: { Latitude: "north", Longitude: 1 },
      },
    ],
  });
  assertEquals(JSON.parse(whole(geojsonWriter(), [])).features, []);
  assertEquals(JSON.parse(whole(geojsonWriter(), [page, page])).features.length, 8);
});

Deno.test("a page that is none gives no row in any format, and changes nothing", () => {
  for (
    const page of ["", "[]", '{"value":[1]}', '{"value":[{"a":01}]}', '{"value":[{}]', '{"x":1}']
  ) {
    for (const writer of [new NdjsonWriter(), jsonWriter(), geojsonWriter()]) {
      const before = text(writer.write(bytes('{"value":[{"Id":1}]}')).bytes);
      assertThrows(() => writer.write(bytes(page)), SyntaxError);
      const after = text(writer.write(bytes('{"value":[{"Id":2}]}')).bytes);
      const document = before + after + text(writer.end());
      assertEquals(document.split("Id").length, before.split("Id").length * 2 - 1);
    }
  }
  assertThrows(() => ndjsonFromPage(new Uint8Array([0x22, 0xff, 0x22])), SyntaxError);
});

// Each of them is JSON whose rows the way from bytes to bytes cannot tell, or must not take.
const doubled: [page: string, rows: string[]][] = [
  ['{"value":[{"a":1}],"value":[{"a":2},{"a":3}]}', ['{"a":2}', '{"a":3}']],
  ['{"value":[{"a":1}],"value":[{"a":2}]}', ['{"a":2}']],
  [String.raw`{"value":[{"a":1}],"val\u0075e":[{"a":2}]}`, ['{"a":2}']],
  [String.raw`{"val\u0075e":[{"a":1}]}`, ['{"a":1}']],
  ['{"value":null,"value":[{"a":1}]}', ['{"a":1}']],
  ['{"value":{},"x":1,"value":[{"a":1}]}', ['{"a":1}']],
  ['{"value":[[["#"],[null]]],"value":[]}', []],
];
for (const [page, rows] of doubled) {
  Deno.test(`${page} has the rows that JSON says`, () => {
    assertEquals(text(ndjsonFromPage(bytes(page))), rows.map((row) => `${row}\n`).join(""));
    assertEquals(whole(jsonWriter(), [page]), `{"value":[${rows.join()}]}\n`);
    const values = rows.map((row) => `${Object.values(JSON.parse(row))}\r\n`);
    assertEquals(text(csvFromPage(bytes(page), { columns: ["a"] })), ["a\r\n", ...values].join(""));
  });
}

const refused = [
  '{"value":[{"a":1}],"value":"\\u0000rows"}',
  '{"value":[{"a":1}],"value":"\\u0000"}',
  '{"value":[{"a":1}]\ufeff}',
  '{"value":[[["#"],[null]],"value":[]}',
];
for (const page of refused) {
  Deno.test(`${JSON.stringify(page)} gives no row in any format`, () => {
    for (const make of [ndjsonFromPage, geojsonFromPage, csvFromPage]) {
      assertThrows(() => make(bytes(page)), SyntaxError);
    }
  });
}

Deno.test("values nested deep are written, or refused with a word; and so are long texts", () => {
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
