import { assertEquals, assertThrows } from "@std/assert";
import { atLeast, atMost, median } from "./figure.ts";
import { checkPrograms, readParts, taskOf } from "./parts.ts";
import { tableOf } from "./table.ts";

Deno.test("tableOf() has a row for what was measured, and a cell for each runtime", () => {
  const table = tableOf([
    { part: "csv", what: "a|b", runtime: "Deno", figure: "7 times", ...atLeast(4, [7]) },
    { part: "csv", what: "memory", runtime: "Node", figure: "1 page", ...atMost(2, [1], " pages") },
    { part: "csv", what: "a|b", runtime: "Node", figure: "3 times", ...atLeast(4, [3]) },
    { part: "edge", what: "a|b", runtime: "Deno", figure: "5 s" },
  ]);
  assertEquals(table.split("\n"), [
    "| part | what   | Deno    | Node    | asked           | met |",
    "| ---- | ------ | ------- | ------- | --------------- | --- |",
    "| csv  | a\\|b   | 7 times | 3 times | at least 4      | no  |",
    "| csv  | memory |         | 1 page  | at most 2 pages | yes |",
    "| edge | a\\|b   | 5 s     |         |                 |     |",
  ]);
});

Deno.test("atLeast() and atMost() hold every value against the limit, the limit too", () => {
  assertEquals(atLeast(4, [4, 5]).met, true);
  assertEquals(atLeast(4, [5, 3.9]).met, false);
  assertEquals(atMost(2, [1, 2]).met, true);
  assertEquals(atMost(2, [2.1, 1]).met, false);
});

Deno.test("median() sorts numbers as numbers, and leaves the list as it was", () => {
  const values = [100, 9, 20, 3, 30];
  assertEquals(median(values), 20);
  assertEquals(values, [100, 9, 20, 3, 30]);
});

Deno.test("readParts() takes names in any order, without one all, and no wrong one", () => {
  assertEquals(readParts(["edge", "csv"]), ["csv", "edge"]);
  assertEquals(readParts([]), ["endpoint", "csv", "edge", "cli"]);
  assertThrows(
    () => readParts(["csv", "load"]),
    Error,
    'wanted parts out of endpoint, csv, edge, cli, got "load"',
  );
});

Deno.test("checkPrograms() names what is not installed, and the parts that do without", () => {
  checkPrograms(["csv", "edge"], new Set(["node"]));
  assertThrows(
    () => checkPrograms(["endpoint", "csv", "edge", "cli"], new Set(["bash", "jq"])),
    Error,
    "not installed: node, curl, which endpoint, csv, cli run: install what is missing, " +
      "or measure the others: deno task bench edge",
  );
});

Deno.test("taskOf() names the parts, if they are not all", () => {
  assertEquals(taskOf(readParts([])), "deno task bench");
  assertEquals(taskOf(["csv", "cli"]), "deno task bench csv cli");
});
