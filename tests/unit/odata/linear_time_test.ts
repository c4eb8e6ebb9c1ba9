// Malformed filters and lists: each takes linear time.
// Measures functions directly: entry points reject texts that are too long for a URL.

import "../../helpers/no_permission.ts";
import { assertEquals, assertThrows } from "@std/assert";
import { ValidationError } from "../../../mod.ts";
import { parseBox } from "../../../src/odata/bounding_box.ts";
import { parseFilter } from "../../../src/odata/parse_filter.ts";
import { checkQuery } from "../../../src/odata/query_options.ts";
import { assertLinear } from "../../helpers/assert_linear.ts";

type Text = (size: number) => string;

const malformed: Record<string, Text> = {
  "n opening quotes": (n) => "DOI eq " + "'".repeat(2 * n + 1),
  "an unclosed text of n characters": (n) => `DOI eq '${"a".repeat(n)}`,
  "n doubled quotes in an unclosed text": (n) => `DOI eq '${"a''b".repeat(n)}`,
  "n commas": (n) => `DOI in (${",".repeat(n)}`,
  "n clauses and a last and": (n) => "DOI eq 'a' and ".repeat(n),
  "n spaces before a mark": (n) => `DOI${" ".repeat(n)}!`,
  "n digits": (n) => `LocationId eq ${"1".repeat(n)}x`,
};
for (const [what, text] of Object.entries(malformed)) {
  Deno.test(`parseFilter() throws in linear time when the filter has ${what}`, async () => {
    await assertLinear(text, parseFilter);
    assertThrows(() => parseFilter(text(10_001)), ValidationError);
  });
}

const others: Record<string, [text: Text, read: (text: string) => unknown]> = {
  "parseFilter() takes linear time when a list has n items": [
    (n) => `DOI in (${"'a',".repeat(n)}'a')`,
    parseFilter,
  ],
  "checkQuery() takes linear time when an unknown field has n characters": [
    (n) => `${"a".repeat(n)} eq 1`,
    (filter) => checkQuery("Records", { filter }),
  ],
  "checkQuery() takes linear time when n unchecked fields are selected": [
    (n) => Array.from({ length: n }, (_, index) => `a${index}`).join(),
    (select) => checkQuery("Records", { select, unchecked: true }),
  ],
  "parseBox() takes linear time when a side has n digits": [(n) => "1".repeat(n), parseBox],
};
for (const [name, [text, read]] of Object.entries(others)) {
  Deno.test(name, async () => await assertLinear(text, read));
}

Deno.test("parseFilter() reads a text when it has thirty million characters", () => {
  const [clause] = parseFilter(`DOI eq '${"a".repeat(30_000_000)}'`);
  assertEquals(clause?.values[0]?.text.length, 30_000_000);
});
