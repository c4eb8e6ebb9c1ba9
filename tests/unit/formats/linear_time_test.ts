// Malformed and unusual pages take linear time. Their errors are SyntaxErrors.
// Measures writers directly, because a query takes more time than they do.
import "../../helpers/no_permission.ts";
import { assertThrows } from "@std/assert";
import { csvFromPage, geojsonFromPage, ndjsonFromPage } from "../../../mod.ts";
import { citationsText } from "../../../src/formats/citations.ts";
import { createJsonWriter } from "../../../src/formats/json.ts";
import { assertLinear } from "../../helpers/assert_linear.ts";

type Text = (size: number) => string;

const encoder = new TextEncoder();
const many = (size: number, item: (index: number) => string) =>
  Array.from({ length: size }, (_, index) => item(index)).join("");

/** Malformed pages by size. */
const malformed: Record<string, Text> = {
  "an unclosed string of n characters": (n) => `{"value":[{"a":"${"a".repeat(n)}`,
  "n backslashes in an unclosed string": (n) => `{"value":[{"a":"${"\\".repeat(n)}`,
  "n escaped quotes in an unclosed string": (n) => `{"value":[{"a":"${'\\"'.repeat(n)}`,
  "n opening brackets": (n) => `{"value":[{"a":${"[".repeat(n)}`,
  "n opening braces": (n) => `{"value":[{"a":${'{"a":'.repeat(n)}`,
  "n digits": (n) => `{"value":[{"a":${"1".repeat(n)}`,
  "n lists of rows": (n) => `{${'"value":[{"a":1}],'.repeat(n)}`,
  "n rows": (n) => `{"value":[${'{"a":1},'.repeat(n)}`,
  "n members of one name": (n) => `{"value":[{${'"a":[1],'.repeat(n)}`,
  "n items of a list": (n) => `{"value":[{"a":[${'"a",'.repeat(n)}`,
  "n rows that each have a new field": (n) => `{"value":[${many(n, (i) => `{"a${i}":1},`)}`,
  "n escapes outside the rows": (n) => `{"b":"${"\\u0000".repeat(n)}","value":[{"a":1}]`,
};

const wellFormed: Record<string, Text> = {
  "n escapes outside the rows": (n) => `{"b":"${"\\u0000".repeat(n)}","value":[{"a":1}]}`,
  "n fields": (n) => `{"value":[{${many(n, (i) => `"a${i}":1,`)}"a":1}]}`,
  "n rows, a field new on the last": (n) => `{"value":[${'{"a":1},'.repeat(n)}{"b":1}]}`,
};

const CONVERTERS: Record<string, (page: Uint8Array) => unknown> = {
  csvFromPage,
  ndjsonFromPage,
  geojsonFromPage,
};

for (const [symbol, make] of Object.entries(CONVERTERS)) {
  for (const [what, text] of Object.entries(malformed)) {
    Deno.test(`${symbol}() throws in linear time when a page has ${what}`, async () => {
      await assertLinear((size) => encoder.encode(text(size)), make);
      assertThrows(() => make(encoder.encode(text(10_000))), SyntaxError);
    });
  }

  for (const [what, text] of Object.entries(wellFormed)) {
    Deno.test(`${symbol}() takes linear time when a page has ${what}`, async () => {
      await assertLinear((size) => encoder.encode(text(size)), make);
      make(encoder.encode(text(100)));
    });
  }
}

Deno.test("feed() takes linear time when a row of n bytes arrives in small chunks", async () => {
  await assertLinear((n) => encoder.encode(`{"value":[{"a":"${"é".repeat(n)}"}]}`), (page) => {
    const conversion = createJsonWriter().openPage();
    for (let at = 0; at < page.length; at += 16) conversion.feed(page.subarray(at, at + 16));
    conversion.end();
  });
});

Deno.test("csvFromPage() throws in linear time when a page has n fields, then many empty rows", async () => {
  // Each empty row is a line of n cells: the page must be rejected before those are written.
  const page = (n: number) =>
    `{"value":[{${many(n, (i) => `"a${i}":1,`)}"a":1},${"{},".repeat(20 * n)}`;
  await assertLinear((size) => encoder.encode(page(size)), csvFromPage, 1_200);
});

Deno.test("every writer throws a SyntaxError when a value is nested a million deep", () => {
  const open = "[".repeat(1_000_000);
  for (const text of [`{"value":[{"a":${open}`, `{"value":[{"a":1}],"b":${open}`, open]) {
    const page = encoder.encode(text);
    for (const make of Object.values(CONVERTERS)) assertThrows(() => make(page), SyntaxError);
  }
});

Deno.test("citationsText() takes linear time when a citation has n line feeds", async () => {
  await assertLinear(
    (n) => `a${"\n".repeat(n)}a`,
    (text) => citationsText([{ citation: text, licence: text }]),
  );
});
