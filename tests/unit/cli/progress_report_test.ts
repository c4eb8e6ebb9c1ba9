// Progress shows rows, retries and the remaining time in the width of the terminal. Tests `ProgressReport` directly:
// the delays of a download in progress are not exact.
import "../../helpers/no_permission.ts";
import { assertEquals, assertMatch } from "@std/assert";
import { DataStreamError, type Progress } from "../../../mod.ts";
import type { ServiceState } from "../../../src/client/rate_limiter.ts";
import { startReport } from "../../../src/cli/progress_report.ts";
import { screenOf } from "./screen.ts";

const PROGRESS: Progress = {
  pages: 1,
  rows: 0,
  requests: 1,
  retries: 0,
  waits: 0,
  expectedRows: undefined,
  retrying: undefined,
};

interface Given {
  limit?: number;
  /** Rows of an earlier run. */
  before?: number;
  /** Width of the terminal, if there is one. */
  columns?: number;
}

/** Starts a report, and returns functions that show it and what it printed and drew. */
function show({ limit = Infinity, before, columns }: Given) {
  const lines: string[] = [];
  let drawn = "";
  const context = {
    clock: { now: () => Date.UTC(2026, 10, 28, 10, 43), sleep: () => Promise.resolve() },
    printError: (line: string) => lines.push(line),
    terminal: columns === undefined ? undefined : {
      columns: () => columns,
      write: (text: string) => drawn += text,
    },
  };
  const after = before === undefined ? undefined : { rows: before };
  const report = startReport(context, { isQuiet: false, mayDraw: true, limit, after });
  const update = (progress: Partial<Progress>) => report.update({ ...PROGRESS, ...progress });
  return { report, lines, drawn: () => drawn, update };
}

const status = new DataStreamError(`DataStream responded with status 500 (${"x".repeat(81)})`, {
  isTemporary: true,
  kind: "status",
  url: "u",
  hint: "try again later",
});
const offline = new DataStreamError("Cannot find a.test", {
  isTemporary: true,
  kind: "network",
  url: "u",
  hint: "check your network connection and {baseUrl}",
});
const answering: ServiceState = { is: "answering", age: 0, wait: 0, targetLength: 8_000 };
const silent = { ...answering, is: "silent", cause: "name not found", age: 60_000 } as const;
const retries: [text: string, fault: DataStreamError, wait: number, given?: Given][] = [
  // The first 80 characters, without a bracket that stays open.
  [`Retrying in 5 s: DataStream responded with status 500 (${"x".repeat(42)}…)`, status, 4_200],
  [
    "Retrying in 12:35 min, 20 rows: DataStream has not answered since 10:42 UTC (name not found): check your network connection and --base-url (or DATASTREAM_BASE_URL)",
    offline,
    754_900,
    { before: 20, columns: 200 },
  ],
  ["Retrying in 2:02:05 h: DataStream has not answered since", offline, 7_325_000, {
    columns: 57,
    before: 20,
  }],
];
for (const [text, fault, wait, given = {}] of retries) {
  Deno.test(`ProgressReport.retry() shows "${text}"`, () => {
    const { report, lines, drawn } = show(given);
    report.retry(fault, wait, fault === offline ? silent : answering);
    assertEquals(given.columns ? screenOf(drawn()).trimEnd() : lines.at(-1), text);
    report.end();
  });
}

Deno.test("ProgressReport.retry() prints nothing without a terminal when the retry begins within two seconds", () => {
  const { report, lines } = show({});
  report.retry(status, 1_500, answering);
  assertEquals(lines, []);
  advanced += 600;
  report.retry(status, 1_500, answering);
  assertEquals(lines.length, 1);
  report.end();
});

Deno.test("ProgressReport prints an outage once without a terminal, and once that DataStream answers again", () => {
  const { report, lines, update } = show({});
  for (const wait of [4_000, 8_000]) report.retry(offline, wait, silent);
  for (const pages of [1, 2]) update({ pages, rows: pages });
  report.retry(status, 4_000, { ...silent, cause: 503 });
  update({ pages: 3, rows: 3 });
  report.end();
  assertEquals(lines.filter((line) => !/^\d/.test(line)), [
    "DataStream has not answered since 10:42 UTC (name not found), so weir waits and tries again: check your network connection and --base-url (or DATASTREAM_BASE_URL)",
    "DataStream answers again",
    "DataStream has not answered since 10:42 UTC (status 503), so weir waits and tries again",
    "DataStream answers again",
  ]);
});

const texts: [text: string, given: Given, progress: Partial<Progress>][] = [
  ["2 of 3 rows (66%)", { limit: 3 }, { rows: 2 }],
  ["2,600 of 2,500 rows (100%)", { limit: 2_500 }, { rows: 2_600 }],
  ["1,000 of 2,500 rows (40%)", { limit: 2_500 }, { rows: 1_000, expectedRows: 5_000 }],
  ["1,000 rows", {}, { rows: 1_000 }],
  ["0 of 3 rows (0%)", { limit: 3 }, { expectedRows: 5 }],
  ["75 of 100 rows (75%)", { limit: 100, before: 50 }, { rows: 75 }],
];
for (const [text, given, progress] of texts) {
  Deno.test(`ProgressReport.update() prints "${text}" when there is no terminal`, () => {
    const { report, lines, update } = show(given);
    update(progress);
    report.end();
    assertEquals(lines.at(-1)!.replace(/, [\d,]+ rows\/s.*/, ""), text);
  });
}

Deno.test("ProgressReport shows which page it requests before the first rows", () => {
  const first = show({ columns: 80 });
  assertEquals(screenOf(first.drawn()), "Requesting the first page…");
  first.report.end();
  const next = show({ columns: 80, before: 20 });
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

// It is never set back, because reports have stored times.
let advanced = 0;
const now = performance.now.bind(performance);
performance.now = () => now() + advanced;

Deno.test("ProgressReport.finish() leaves a line without escape sequences when a download takes over a second", () => {
  const { report, drawn, update } = show({ columns: 80, limit: 10 });
  advanced += 1_500;
  update({ rows: 7 });
  update({ pages: 2, rows: 8 });
  report.finish();
  assertMatch(screenOf(drawn().slice(0, -1)), /^8 of 8 rows \(100%\), [\d,]+ rows\/s *$/);
  assertEquals([drawn().includes("\x1b"), drawn().endsWith("\n")], [false, true]);
});

for (
  const [columns, line] of [
    [99, /^1,000 of 120,000,000,000 rows \(0%\), [\d,]+ rows\/s, [\d:]+ \S+ left$/],
    [60, /^1,000 of 120,000,000,000 rows \(0%\), [\d:]+ \S+ left$/],
    [30, /^0%, [\d:]+ \S+ left$/],
  ] as const
) {
  Deno.test(`ProgressReport.update() shows the remaining time in ${columns} columns`, () => {
    const { report, update, drawn } = show({ columns });
    update({ rows: 1_000, expectedRows: 120_000_000_000 });
    assertMatch(drawn().split("\r").at(-1)!.trimEnd(), line);
    report.end();
  });
}

Deno.test("ProgressReport.finish() names the address of next links once when it is not that of the requests", () => {
  const { report, lines, update } = show({});
  for (const pages of [1, 2]) update({ pages, otherAddress: "http://a.test/Locations" });
  report.finish();
  const note = "Links to next pages have the address http://a.test/Locations, which is not used";
  assertEquals(lines.filter((line) => line.includes("a.test")), [note]);
});
