// The tools that measure the tests: mutants, samples, the matrix, and the commands of the gate.
import { assert, assertEquals } from "@std/assert";
import { testCommands } from "../suites.ts";
import { findDependentTests } from "./importers.ts";
import { findSoleKillers } from "./matrix.ts";
import { applyMutant, findMutants } from "./mutants.ts";
import { randomSample } from "./random_sample.ts";

function mutated(text: string): string[] {
  return findMutants("a.ts", text).map((mutant) => applyMutant(text, mutant));
}

const CASES: readonly [text: string, mutants: readonly string[]][] = [
  ["if (a) b();", ["if (!(a)) b();", "if (a) ;"]],
  ["const a = b ? c : d;", ["const a = !(b) ? c : d;"]],
  ["const a = b < 1;", ["const a = b <= 1;", "const a = b < 2;"]],
  ["const a = b && c;", ["const a = b || c;"]],
  ["const a = b ?? c;", ["const a = b!;"]],
  ["const a = !b;", ["const a = b;"]],
  ["a++;", [";", "a--;"]],
  ["const a = true;", ["const a = false;"]],
  ['const a = "b";', ['const a = "";']],
  ['const a = "";', ['const a = "mutant";']],
  ["const a = `b${c}`;", ["const a = ``;"]],
  ["const a = b?.c;", ["const a = b!.c;"]],
  ["const a = b?.[c];", ["const a = b![c];"]],
  ["const a = [b];", ["const a = [];"]],
  ["const a = { b };", ["const a = {};"]],
  ["[a, b] = c;", [";"]],
  ["for (;;) break;", ["for (;;) ;"]],
  ["const a = () => b;", ["const a = () => (undefined as never);"]],
  ["function a() { return b; }", ["function a() { return (undefined as never); }"]],
  ["const a = b.some(c);", ["const a = b.every(c);"]],
  ["const a = /b*/;", ["const a = /b+/;"]],
  ["const a = /^b?$/;", ["const a = /b?$/;", "const a = /^b$/;", "const a = /^b?/;"]],
  [
    String.raw`const a = /(?=b)\*[*+?]/;`,
    [String.raw`const a = /(?!b)\*[*+?]/;`, String.raw`const a = /(?=b)\*[^*+?]/;`],
  ],
  ["const a = /(?<c>b)[^?]+/;", ["const a = /(?<c>b)[?]+/;", "const a = /(?<c>b)[^?]*/;"]],
  // Names of members and modules, types, imports and comments are kept.
  ['const a = { "b": c };', ["const a = {};"]],
  ['const a = import("./b.ts");', []],
  ['import { a } from "./a.ts"; export { b } from "./b.ts"; // if (e) return 1;', []],
  ['type C = "c" | 1 | true; interface D { d?: [1]; } declare const f: 0;', []],
];

for (const [text, mutants] of CASES) {
  Deno.test(`findMutants() lists ${mutants.length} mutants when the program is ${text}`, () => {
    assertEquals(mutated(text).sort(), mutants.toSorted());
  });
}

Deno.test("randomSample() returns the same items when the seed is the same", () => {
  const items = Array.from({ length: 100 }, (_, index) => index);
  const sample = randomSample(items, 10, 7);
  assertEquals(randomSample(items, 10, 7), sample);
  assertEquals(new Set(sample).size, 10);
  assert(randomSample(items, 10, 8).join() !== sample.join());
  assertEquals(randomSample(items, 1_000, 7).sort((a, b) => a - b), items);
});

Deno.test("testCommands() runs the gate without long tests, or the chosen files, with their flags", () => {
  const timed = "tests/unit/cli/linear_time_test.ts";
  const files = ["tests/e2e/servers/b_test.ts", timed, "tests/unit/a_test.ts"];
  assertEquals(testCommands(files), [
    { flags: ["--parallel", "-P"], files: ["tests/unit/a_test.ts"] },
  ]);
  assertEquals(testCommands(files, ["long"]), [{ flags: ["-P"], files: [timed] }]);
  assertEquals(testCommands(files, ["tests/e2e", "tests/unit/a_test.ts"]), [
    { flags: ["--parallel", "-P"], files: ["tests/unit/a_test.ts"] },
    { flags: ["--parallel", "--allow-all"], files: ["tests/e2e/servers/b_test.ts"] },
  ]);
});

Deno.test("findDependentTests() finds test files when they import a file indirectly", () => {
  const importers = new Map([
    ["src/a.ts", ["src/b.ts", "tests/a_test.ts"]],
    ["src/b.ts", ["src/a.ts", "tests/b_test.ts"]],
    ["src/c.ts", ["tests/c_test.ts"]],
  ]);
  assertEquals(findDependentTests("src/a.ts", importers), ["tests/a_test.ts", "tests/b_test.ts"]);
});

Deno.test("findSoleKillers() finds the tests that alone kill a mutant", () => {
  const sole = findSoleKillers([["a"], ["a", "b"], ["b"], ["c", "b"], [], ["a"]]);
  assertEquals(sole, [["a", 2], ["b", 1]]);
});
