// Long inputs take linear time: doubled four times, to 100,000 characters, they take less than three
// times as long at each doubling; quadratic time would be four.
import { assert, assertEquals } from "@std/assert";
import { endpoint } from "../../mod.ts";

const inputs: Record<string, (length: number) => () => unknown> = {
  "a route without a space": (length) => () => endpoint(`/${"a".repeat(length)}`),
  "a route of token characters": (length) => () => endpoint("a".repeat(length)),
  "a route of spaces": (length) => () => endpoint(`GET ${" ".repeat(length)}/x`),
  "a template of many expressions": (length) => () =>
    endpoint(`/${"{a}".repeat(length / 3)}`, { a: 1 }),
  "a template of one long name": (length) => () => endpoint(`/{${"a".repeat(length)}}`),
  "a template of one long list": (length) => () => endpoint(`/{a${",a".repeat(length / 2)}}`),
  "a template that opens and opens": (length) => () => caught(`/${"{".repeat(length)}`),
  "a template that is never closed": (length) => () => caught(`/{${"a".repeat(length)}`),
  "a template with a wrong end": (length) => () => caught(`/{${"a".repeat(length)}!}`),
  "a template of dots": (length) => () => caught(`/{${".".repeat(length)}}`),
  "a template of colons": (length) => () => endpoint(`/${":".repeat(length)}`),
  "a template of percent signs": (length) => () => endpoint(`/${"%".repeat(length)}`),
  "a base URL of slashes": (length) => () =>
    endpoint("/x", { baseUrl: `https://a${"/".repeat(length)}` }),
  "a path of slashes": (length) => () => endpoint("/".repeat(length) + "x"),
  "a long value": (length) => () => endpoint("/x", { a: "'é (".repeat(length / 4) }),
  "a long value with a prefix": (length) => () =>
    endpoint("/{a:9999}", { a: "🌊".repeat(length / 2) }),
  "a long reserved value": (length) => () => endpoint("/{+a}", { a: "%2".repeat(length / 2) }),
  "an accept header of commas": (length) => () => formatted(",".repeat(length)),
  "an accept header of spaces": (length) => () => formatted(" ".repeat(length)),
  "an accept header of one type": (length) => () =>
    formatted(`application/vnd.${".v3".repeat(length / 3)}`),
  "an accept header of semicolons": (length) => () =>
    formatted(`application/vnd.x.v3+json${" ;".repeat(length / 2)}\n`),
};

function caught(route: string): string {
  try {
    return endpoint(route).url;
  } catch (error) {
    return String(error);
  }
}

function formatted(accept: string): unknown {
  return endpoint("/x", { headers: { accept }, mediaType: { format: "raw" } });
}

/** The shortest of some runs: what disturbs a run only ever makes it longer. */
function shortest(call: () => unknown): number {
  let least = Infinity;
  for (let run = 0; run < 7; run++) {
    const start = performance.now();
    call();
    least = Math.min(least, performance.now() - start);
  }
  return least;
}

for (const [name, of] of Object.entries(inputs)) {
  Deno.test(`${name} takes linear time`, () => {
    const [short, long] = [shortest(of(6_250)), shortest(of(100_000))];
    // A fixed share of a call counts as a tenth of a millisecond.
    assert(long < 3 ** 4 * (short + 0.1), `${short} ms for 6,250, ${long} ms for 100,000`);
  });
}

Deno.test("an error shows the beginning of a long expression alone", () => {
  const message = caught(`/{${"a".repeat(100_000)}!}`);
  assert(message.length < 300 && message.includes("…"));
  assertEquals(caught("/{a!}").includes('"{a!}"'), true);
});
