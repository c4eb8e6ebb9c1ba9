// Progress shows rows, retries and the remaining time in the width of the terminal. Tests `ProgressReport` directly:
// the delays of a download in progress are not exact.
import "../../helpers/no_permission.ts";
import { assert, assertEquals, assertMatch } from "@std/assert";
import { DataStreamError } from "../../../mod.ts";
import { startReport } from "../../../src/cli/progress_report.ts";
import { screenOf } from "./screen.ts";

/** Starts a report, and returns functions that show it and what it printed and drew. */
function show(
  {
    isQuiet = false,
    mayDraw = true,
    limit = Infinity,
    isTerminal = false,
    before = 0,
    columns = 80,
  },
) {
  const lines: string[] = [];
  let drawn = "";
  const terminal = { columns: () => columns, write: (text: string) => drawn += text };
  const context = {
    printError: (line: string) => lines.push(line),
    terminal: isTerminal ? terminal : undefined,
  };
  const after = before === 0 ? undefined : { rows: before };
  const report = startReport(context, { isQuiet, mayDraw, limit, after });
  const update = (
    pages: number,
    rows: number,
    expectedRows?: number,
    retrying?: { fault: DataStreamError; wait: number },
  ) =>
    report.update({ pages, rows, requests: pages, retries: 0, waits: 0, expectedRows, retrying });
  return { report, lines, drawn: () => drawn, update };
}

const waits: [milliseconds: number, text: string][] = [
  [4_200, "5 s"],
  [754_900, "12:35 min"],
  [7_325_000, "2:02:05 h"],
];
for (const [wait, text] of waits) {
  Deno.test(`ProgressReport.update() shows ${text} when a retry is ${wait} ms away`, () => {
    const { update, lines } = show({});
    for (const length of [80, 81]) {
      const fault = new DataStreamError("x".repeat(length), {
        kind: "network",
        url: "u",
        hint: "",
      });
      update(0, 0, undefined, { fault, wait });
    }
    // The first 80 characters of a fault are shown.
    const shown = "x".repeat(80);
    assertEquals(lines, [
      `Retrying in ${text} (${shown}), 0 rows`,
      `Retrying in ${text} (${shown}…), 0 rows`,
    ]);
  });
}

Deno.test("ProgressReport shows which page it requests before the first rows", () => {
  const first = show({ isTerminal: true });
  assertEquals(screenOf(first.drawn()), "Requesting the first page…");
  first.report.end();
  const next = show({ isTerminal: true, before: 20 });
  assertEquals(screenOf(next.drawn()), "Requesting the next page…");
  assertEquals(next.lines, ["Continuing after 20 rows"]);
  next.report.end();
});

Deno.test("ProgressReport prints which page it requests, without a terminal, when it takes over a second", async () => {
  const { report, lines } = show({});
  assertEquals(lines, []);
  await new Promise((resolve) => setTimeout(resolve, 1_100));
  assertMatch(lines.join(), /^Requesting the first page…/);
  report.end();
});

Deno.test("ProgressReport draws nothing when rows are written to the same terminal", () => {
  const { report, lines, drawn, update } = show({ isTerminal: true, mayDraw: false, limit: 20 });
  update(1, 10);
  report.finish();
  assertEquals([lines, drawn()], [[], ""]);
});

Deno.test("ProgressReport.finish() leaves an empty line after a short download", () => {
  const { report, drawn, update } = show({ isTerminal: true });
  update(1, 10);
  assertMatch(screenOf(drawn()), /^10 rows, [\d,]+ rows\/s *$/);
  report.finish();
  assertEquals(screenOf(drawn()).trim(), "");
  assert(drawn().endsWith("\r"));
});

// It is never set back, because reports have stored times.
let advanced = 0;
const now = performance.now.bind(performance);
performance.now = () => now() + advanced;

for (const limit of [8, 10]) {
  Deno.test(`ProgressReport.finish() leaves a line without escape sequences when a download takes over a second, with limit ${limit}`, () => {
    const { report, drawn, update } = show({ isTerminal: true, limit });
    advanced += 1_500;
    update(1, 7);
    update(2, 8);
    report.finish();
    assertMatch(screenOf(drawn().slice(0, -1)), /^8 of 8 rows \(100%\), [\d,]+ rows\/s *$/);
    assertEquals([drawn().includes("\x1b"), drawn().endsWith("\n")], [false, true]);
  });
}

const limited: [limit: number, rows: number, counted: number | undefined, text: string][] = [
  [3, 2, undefined, "2 of 3 rows (66%)"],
  [2_500, 2_600, undefined, "2,600 of 2,500 rows (100%)"],
  [2_500, 1_000, 5_000, "1,000 of 2,500 rows (40%)"],
  [Infinity, 1_000, undefined, "1,000 rows"],
  [3, 0, 5, "0 of 3 rows (0%)"],
];
for (const [limit, rows, counted, text] of limited) {
  Deno.test(`ProgressReport.update() shows ${text} when the limit is ${limit} and the count ${counted}`, () => {
    const { report, lines, update } = show({ limit });
    update(1, rows, counted);
    report.end();
    assertEquals(lines.map((line) => line.replace(/, [\d,]+ rows\/s.*/, "")), [text]);
  });
}

Deno.test("ProgressReport.update() includes the rows of an earlier run in the percentage", () => {
  const { report, lines, update } = show({ limit: 100, before: 50 });
  update(1, 25);
  report.end();
  assertMatch(lines[1]!, /^75 of 100 rows \(75%\), /);
});

for (
  const [columns, line] of [
    [99, /^1,000 of 120,000,000,000 rows \(0%\), [\d,]+ rows\/s, [\d:]+ \S+ left$/],
    [60, /^1,000 of 120,000,000,000 rows \(0%\), [\d:]+ \S+ left$/],
    [30, /^0%, [\d:]+ \S+ left$/],
  ] as const
) {
  Deno.test(`ProgressReport.update() shows the remaining time in ${columns} columns`, () => {
    const { report, update, drawn } = show({ isTerminal: true, columns });
    update(1, 1_000, 120_000_000_000);
    assertMatch(drawn().split("\r").at(-1)!.trimEnd(), line);
    report.end();
  });
}
