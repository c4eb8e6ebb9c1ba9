// The gate names the line of a test that fails, also if a helper registered it.
import { assertEquals } from "@std/assert";
import { testsIn } from "../../junit.ts";
import { PROJECT } from "../../helpers/project.ts";

/** A test that a helper registered. */
const caseOf = (name: string, content: string) =>
  `<testcase name="${name}" classname="./tests/e2e/needs.ts" time="0.1" line="19" col="8">${content}</testcase>`;
const failure = (message: string, stack = "") =>
  `<failure message="${message}">${message}\n${stack}</failure>`;
const frame = (path: string) => `\n    at async file://${PROJECT}${path}:7`;

const own = "tests/unit/project/junit_test.ts";
const lineOf = (text: string) =>
  Deno.readTextFileSync(PROJECT + own).split("\n").findIndex((line) => line.includes(text)) + 1;

const cases: [what: string, report: string, file: string, line: number, failure?: string][] = [
  ["a test passes", caseOf("a", ""), "tests/e2e/needs.ts", 19],
  [
    "a helper throws in a test",
    caseOf(
      "a",
      failure(
        "Uncaught Error: no\nmore",
        `    at help (file://${PROJECT}tests/helpers/deadline.ts:3:5)\n` +
          `${frame("tests/e2e/processes/a_test.ts:30")}${frame("tests/e2e/needs.ts:9")}`,
      ),
    ),
    "tests/e2e/processes/a_test.ts",
    30,
    "Error: no",
  ],
  [
    "a test took too long, so that its error has no stack",
    caseOf("a name that only this line has", failure("Test timed out after 60000ms")),
    own,
    lineOf("a name that only this " + "line has"),
    "Test timed out after 60000ms",
  ],
  [
    "a test has another name at run time, and no stack",
    caseOf("a &gt; &#39;b&#39;", failure("no")),
    "tests/e2e/needs.ts",
    19,
    "no",
  ],
];
for (const [what, report, file, line, failure] of cases) {
  Deno.test(`testsIn() returns the line of a test when ${what}`, () => {
    const [test] = testsIn(report, [own]);
    assertEquals([test?.file, test?.line, test?.failure], [file, line, failure]);
  });
}

Deno.test("testsIn() returns the names of tests, and which were skipped", () => {
  const report = caseOf("a() &gt; &#39;b&#39;", "") + caseOf("c", "<skipped/>");
  const found = testsIn(report).map(({ name, isSkipped }) => [name, isSkipped]);
  assertEquals(found, [["a() > 'b'", false], ["c", true]]);
});
