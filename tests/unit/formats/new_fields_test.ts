// Fields without a column: new columns on the first page, an error on later pages.
// Tests `CsvWriter` directly: a query knows at least all fields of its resource, not only `a` and
// `b`.
import "../../helpers/no_permission.ts";
import { assertEquals, assertThrows } from "@std/assert";
import { csvFromPage } from "../../../mod.ts";
import { checkCsvOptions, CsvWriter } from "../../../src/formats/csv.ts";
import { writePage } from "../../../src/formats/page_writer.ts";

const bytes = (page: string) => new TextEncoder().encode(page);
const text = (page: Uint8Array) => new TextDecoder().decode(page);
const writer = (known: readonly string[]) =>
  new CsvWriter(checkCsvOptions(), known, { addsNewFields: true });

/** First pages. The known fields are `a` and `b`. */
const added: [name: string, rows: string, csv: string][] = [
  ["on the first row", '{"a":1,"x":2},{"a":3}', "a,b,x\r\n1,,2\r\n3,,\r\n"],
  ["on a later row", '{"a":1,"b":2},{"x":3,"a":4}', "a,b,x\r\n1,2,\r\n4,,3\r\n"],
  ["on several rows", '{"y":1},{"x":2},{"y":3,"z":4}', "a,b,y,x,z\r\n,,1,,\r\n,,,2,\r\n,,3,,4\r\n"],
  ["with an escaped name", '{"a":1},{"\\u0078":2},{"x":3}', "a,b,x\r\n1,,\r\n,,2\r\n,,3\r\n"],
  ["twice on one row", '{"a":1},{"x":2,"y":3,"x":4}', "a,b,x,y\r\n1,,,\r\n,,4,3\r\n"],
  ["on a row after an empty one", '{},{"x":[1.50]}', "a,b,x\r\n,,\r\n,,[1.50]\r\n"],
];
for (const [name, rows, csv] of added) {
  Deno.test(`CsvWriter.write() adds a column when a field is new ${name}`, () => {
    assertEquals(text(writePage(writer(["a", "b"]), bytes(`{"value":[${rows}]}`))), csv);
  });
}

Deno.test("csvFromPage() takes columns from later rows when the first row has none", () => {
  assertEquals(
    text(csvFromPage(bytes('{"value":[{},{"x":1},{"y":2}]}'))),
    "x,y\r\n,\r\n1,\r\n,2\r\n",
  );
});

Deno.test("CsvWriter.write() names the first new field, and keeps its state, when a later page has one", () => {
  const csv = writer(["a"]);
  writePage(csv, bytes('{"value":[{"a":1}]}'));
  const before = csv.state;
  for (const rows of ['{"a":2},{"y":3,"x":4}', '{"y":3},{"x":4}']) {
    assertThrows(
      () => writePage(csv, bytes(`{"value":[${rows}]}`)),
      SyntaxError,
      'Field "y" first appears after the header was written',
    );
  }
  assertThrows(() => writePage(csv, bytes('{"value":[{"y":2}')), SyntaxError, "broken JSON");
  assertEquals(csv.state, before);
  assertEquals(text(writePage(csv, bytes('{"value":[{"a":5}]}'))), "5\r\n");
});
