// Test vectors of RFC 6570 from the package uri-template-tests.
import { assert, assertEquals, assertThrows } from "@std/assert";
import extended from "uri-template-tests/extended-tests.json" with { type: "json" };
import negative from "uri-template-tests/negative-tests.json" with { type: "json" };
import examples from "uri-template-tests/spec-examples.json" with { type: "json" };
import bySection from "uri-template-tests/spec-examples-by-section.json" with { type: "json" };
import { expand } from "../../src/endpoint/expand.ts";
import { parseTemplate } from "../../src/endpoint/uri_template.ts";

interface Suite {
  variables: Record<string, unknown>;
  testcases: [template: string, expected: string | string[] | false][];
}

function expandWith(template: string, values: Record<string, unknown>): string {
  const own = (name: string) => Object.hasOwn(values, name) ? values[name] : undefined;
  return expand(parseTemplate(template), own);
}

let vectors = 0;
for (const file of [extended, negative, examples, bySection]) {
  for (const [section, suite] of Object.entries(file as unknown as Record<string, Suite>)) {
    for (const [template, expected] of suite.testcases) {
      vectors++;
      Deno.test(`expand() passes the vector ${template} when the section is ${section}`, () => {
        if (expected === false) {
          assertThrows(() => expandWith(template, suite.variables), Error, "Cannot");
        } else {
          const expanded = expandWith(template, suite.variables);
          assert([expected].flat().includes(expanded), `Expected ${expected}, got ${expanded}`);
        }
      });
    }
  }
}

Deno.test("uri-template-tests has 250 vectors when all files are read", () =>
  assertEquals(vectors, 250));
