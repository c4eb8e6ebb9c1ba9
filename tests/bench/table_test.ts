import { assertEquals, assertThrows } from "@std/assert";
import { median, requireAtLeast, requireAtMost } from "./measurement.ts";
import { checkPrograms, formatCommand, parseSuiteNames } from "./suites.ts";
import { formatTable } from "./table.ts";

Deno.test("formatTable() has one row per benchmark when a benchmark ran in two runtimes", () => {
  const table = formatTable([
    { suite: "csv", name: "a|b", runtime: "Deno", value: "7 times", ...requireAtLeast(4, [7]) },
    {
      suite: "csv",
      name: "memory",
      runtime: "Node",
      value: "1 page",
      ...requireAtMost(2, [1], " pages"),
    },
    { suite: "csv", name: "a|b", runtime: "Node", value: "3 times", ...requireAtLeast(4, [3]) },
    { suite: "edge", name: "a|b", runtime: "Deno", value: "5 s" },
  ]);
  assertEquals(table.split("\n"), [
    "| suite | benchmark | Deno    | Node    | target          | met |",
    "| ----- | --------- | ------- | ------- | --------------- | --- |",
    "| csv   | a\\|b      | 7 times | 3 times | at least 4      | no  |",
    "| csv   | memory    |         | 1 page  | at most 2 pages | yes |",
    "| edge  | a\\|b      | 5 s     |         |                 |     |",
  ]);
});

Deno.test("requireAtLeast() and requireAtMost() accept the limit when they compare every value", () => {
  assertEquals(requireAtLeast(4, [4, 5]).isMet, true);
  assertEquals(requireAtLeast(4, [5, 3.9]).isMet, false);
  assertEquals(requireAtMost(2, [1, 2]).isMet, true);
  assertEquals(requireAtMost(2, [2.1, 1]).isMet, false);
});

Deno.test("median() compares numerically and keeps the list when the values are unsorted", () => {
  const values = [100, 9, 20, 3, 30];
  assertEquals(median(values), 20);
  assertEquals(values, [100, 9, 20, 3, 30]);
});

Deno.test("parseSuiteNames() throws when a name is unknown and returns all without a name", () => {
  assertEquals(parseSuiteNames(["edge", "csv"]), ["csv", "edge"]);
  assertEquals(parseSuiteNames([]), ["endpoint", "csv", "query", "edge", "cli", "startup"]);
  assertThrows(
    () => parseSuiteNames(["csv", "load"]),
    Error,
    'Unknown suite "load": use endpoint, csv, query, edge, cli, startup',
  );
});

Deno.test("checkPrograms() names missing programs and other suites when some are not installed", () => {
  checkPrograms(["csv", "edge"], new Set(["node"]));
  assertThrows(
    () => checkPrograms(["endpoint", "csv", "edge", "cli"], new Set(["bash", "jq"])),
    Error,
    "Programs of the suites endpoint, csv, cli are missing: install node, curl, " +
      "or run deno task bench edge",
  );
});

Deno.test("formatCommand() names the suites when not all are selected", () => {
  assertEquals(formatCommand(parseSuiteNames([])), "deno task bench");
  assertEquals(formatCommand(["csv", "cli"]), "deno task bench csv cli");
});
