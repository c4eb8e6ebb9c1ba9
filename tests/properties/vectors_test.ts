// Templates expand as in the test vectors of the authors of RFC 6570, and as url-template expands them.
// Expands templates directly: `endpoint()` joins the result with the base URL.
import { assert, assertEquals, assertThrows } from "@std/assert";
import fc from "fast-check";
import { parseTemplate as parseUriTemplate } from "url-template";
import extended from "uri-template-tests/extended-tests.json" with { type: "json" };
import negative from "uri-template-tests/negative-tests.json" with { type: "json" };
import examples from "uri-template-tests/spec-examples.json" with { type: "json" };
import bySection from "uri-template-tests/spec-examples-by-section.json" with { type: "json" };
import { ValidationError } from "../../mod.ts";
import { toUrlValue } from "../../src/endpoint/encode.ts";
import { expandTemplate, parseTemplate } from "../../src/endpoint/uri_template.ts";

interface Suite {
  variables: Record<string, unknown>;
  testcases: [template: string, expected: string | string[] | false][];
}

function expandWith(template: string, values: Record<string, unknown>): string {
  return expandTemplate(
    parseTemplate(template),
    new Map(Object.keys(values).map((name) => [name, toUrlValue(name, values[name])])),
  );
}

let vectors = 0;
for (const file of [extended, negative, examples, bySection]) {
  for (const [section, suite] of Object.entries(file as unknown as Record<string, Suite>)) {
    for (const [template, expected] of suite.testcases) {
      vectors++;
      Deno.test(`expandTemplate() returns the expected text when the template is ${template} (${section})`, () => {
        if (expected === false) {
          assertThrows(() => expandWith(template, suite.variables), ValidationError);
        } else {
          const expanded = expandWith(template, suite.variables);
          assert([expected].flat().includes(expanded), `got ${expanded}, expected ${expected}`);
        }
      });
    }
  }
}

Deno.test("expandTemplate() is tested with 250 vectors when all files are read", () =>
  assertEquals(vectors, 250));

Deno.test("expandTemplate() returns the same as url-template when a whole expression has no percent sign", () => {
  const plain = fc.string({ unit: "grapheme" }).map((text) => text.replaceAll("%", ""));
  const value = fc.oneof(
    plain,
    fc.array(plain, { minLength: 1 }),
    fc.dictionary(plain.filter((key) => key !== "__proto__"), plain, { minKeys: 1 }),
  );
  const variables = fc.uniqueArray(fc.constantFrom("a", "b", "c", "a*", "b*", "c*", "none"), {
    minLength: 1,
  });
  fc.assert(
    fc.property(
      fc.constantFrom("", "+", "#", ".", "/", ";", "?", "&"),
      variables,
      fc.record({ a: value, b: value, c: value }),
      (operator, list, values: Record<string, string | string[] | Record<string, string>>) => {
        const template = `{${operator}${list}}`;
        const whole = parseUriTemplate(template).expand(values);
        assertEquals(
          expandWith(template, values),
          // `url-template` keeps the equals sign of an empty value after ";" (RFC 6570, section 3.2.7).
          operator === ";" ? whole.replace(/=(?=;|$)/g, "") : whole,
        );
      },
    ),
    { numRuns: 2_000, seed: 1 },
  );
});
