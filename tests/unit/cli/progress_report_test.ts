// Progress shows rows, retries and the remaining time in the width of the terminal. Tests `ProgressReport` directly:
// the delays of a download in progress are not exact.
import "../../helpers/no_permission.ts";
import { assert, assertEquals, assertMatch } from "@std/assert";
import { DataStreamError } from "../../../mod.ts";
import { type ProgressReport, startReport } from "../../../src/cli/progress_report.ts";
import { screenOf } from "./screen.ts";

const waits: [milliseconds: number, text: string][] = [
  [4_200, "5 s"],
  [754_900, "12:35 min"],
  [7_325_000, "2:02:05 h"],
];
/** The first 80 characters of a fault are shown. */
const fault = (length: number) =>
  new DataStreamError("x".repeat(length), { kind: "network", url: "u", hint: "" });
for (const [wait, text] of waits) {
  Deno.test(`ProgressReport.update() shows ${text} when a retry is ${wait} ms away`, () => {
    const lines: string[] = [];
    const context = { printError: (line: string) => lines.push(line), terminal: undefined };
    const options = { isQuiet: false, mayDraw: true, limit: Infinity, after: undefined };
    const report = startReport(context, options);
    for (const length of [80, 81]) {
      report.update({
        ...{ pages: 0, rows: 0, requests: 1, retries: 1, waits: 0, expectedRows: undefined },
        retrying: { fault: fault(length), wait },
      });
    }
    const shown = "x".repeat(80);
    assertEquals(lines, [
      `Retrying in ${text} (${shown}), 0 rows`,
      `Retrying in ${text} (${shown}…), 0 rows`,
    ]);
  });
}

interface Shown {
  report: ProgressReport;
  lines: string[];
  /** Returns the text that was written to the terminal. */
  drawn: () => string;
  /** Reports a number of pages and of rows. */
  update: (pages: number, rows: number, expectedRows?: number) => void;
}

function show(
  {
    isQuiet = false,
    mayDraw = true,
    limit = Infinity,
    isTerminal = false,
    before = 0,
    columns = 80,
  },
): Shown {
  const lines: string[] = [];
  let drawn = "";
  const terminal = { columns: () => columns, write: (text: string) => drawn += text };
  const context = {
    printError: (line: string) => lines.push(line),
    terminal: isTerminal ? terminal : undefined,
  };
  const after = before === 0 ? undefined : { rows: before };
  const report = startReport(context, { isQuiet, mayDraw, limit, after });
  return {
    report,
    lines,
    drawn: () => drawn,
    update: (pages, rows, expectedRows) =>
      report.update({
        ...{ pages, rows, requests: pages, retries: 0, waits: 0 },
        ...{ expectedRows, retrying: undefined },
      }),
  };
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

Deno.test("ProgressReport draws nothing when rows are written to the same terminal", () => {
  const { report, lines, drawn, update } = show({ isTerminal: true, mayDraw: false, limit: 20 });
  update(1, 10);
  report.finish();
  assertEquals([lines, drawn()], [[], ""]);
});

for (const finish of [true, false]) {
  Deno.test(`ProgressReport.${finish ? "finish" : "end"}() leaves an empty line after a short download`, () => {
    const { report, drawn, update } = show({ isTerminal: true });
    update(1, 10);
    assertMatch(screenOf(drawn()), /^10 rows, [\d,]+ rows\/s *$/);
    if (finish) report.finish();
    else report.end();
    assertEquals(screenOf(drawn()).trim(), "");
    assert(drawn().endsWith("\r"));
  });
}

Deno.test("ProgressReport.update() writes no escape sequence when a line becomes shorter", () => {
  const { report, drawn, update } = show({ isTerminal: true, limit: 9_000_000 });
  update(1, 1_000_000);
  update(2, 9_000_000);
  assertMatch(screenOf(drawn()), /^9,000,000 of 9,000,000 rows \(100%\), [\d,]+ rows\/s *$/);
  report.finish();
  assert(!drawn().includes("\x1b"));
});

const limited: [limit: number, rows: number, counted: number | undefined, text: string][] = [
  [2_500, 1_000, undefined, "1,000 of 2,500 rows (40%)"],
  [3, 2, undefined, "2 of 3 rows (66%)"],
  [2_500, 2_600, undefined, "2,600 of 2,500 rows (100%)"],
  [2_500, 1_000, 5_000, "1,000 of 2,500 rows (40%)"],
  [Infinity, 1_000, undefined, "1,000 rows"],
  [3, 0, undefined, "0 rows"],
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
