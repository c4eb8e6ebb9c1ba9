// Long inputs take linear time.
import "../../helpers/no_permission.ts";
import { assert, assertThrows } from "@std/assert";
import { endpoint, ValidationError } from "../../../mod.ts";
import { assertLinear } from "../../helpers/assert_linear.ts";

let calls = 0;
const inputs: Record<string, (length: number) => () => unknown> = {
  "a route without a space": (length) => () => endpoint(`/${"a".repeat(length)}`),
  "a template of one long name": (length) => () => endpoint(`/{${"a".repeat(length)}}`),
  "a template that opens and opens": (length) => () => endpoint(`/${"{".repeat(length)}`),
  // Each call has another template: a short one that is repeated is not parsed again.
  "a template of percent signs": (length) => () => endpoint(`/${++calls}${"%".repeat(length)}`),
  "a base URL of slashes": (length) => () =>
    endpoint("/x", { baseUrl: `https://a${"/".repeat(length)}` }),
  "a long value": (length) => () => endpoint("/x", { a: "'é (".repeat(length / 4) }),
  "a long value with a prefix": (length) => () =>
    endpoint("/{a:9999}", { a: "🌊".repeat(length / 2) }),
  "an accept header of many vendor types": (length) => () =>
    endpoint("/x", {
      headers: { accept: "application/vnd.a.b.v3+json,".repeat(length / 28) },
      mediaType: { format: "raw" },
    }),
  "many prefixes of one value": (length) => () =>
    endpoint(`/{a${":1,a".repeat(length / 4)}:1}`, { a: "🌊é".repeat(length) }),
  "a template of dollar signs and commas": (length) => () =>
    endpoint(`/{?${"$a,".repeat(length / 3)}`),
  "a host of scheme ends before an expression": (length) => () =>
    endpoint(`https://${"a://".repeat(length / 4)}:{+b}`, { b: 1 }),
  "many query parameters": (length) => () => endpoint("/x", fieldsOf(length / 10)),
  // Without toRequest(): `Request` of Deno takes quadratic time for many header fields.
  "many header fields": (length) => () => endpoint("/x", { headers: fieldsOf(length / 20) }),
  "many pairs of one header field": (length) => () =>
    endpoint("/x", { headers: Array.from({ length }, () => ["x-a", "b"] as const) }).headers,
};

/** Creates parameters or header fields with different names. */
function fieldsOf(count: number): Record<string, string> {
  return Object.fromEntries(Array.from({ length: count }, (_, index) => [`x${index}`, "v"]));
}

for (const [name, of] of Object.entries(inputs)) {
  Deno.test(`endpoint() takes linear time when its input is ${name}`, () =>
    assertLinear(of, (call) => call()));
}

Deno.test("endpoint() throws an error with the start of an expression when it is long", () => {
  const call = () => endpoint(`/{${"a".repeat(100_000)}!}`);
  const { message } = assertThrows(call, ValidationError);
  assert(message.length < 300);
});
