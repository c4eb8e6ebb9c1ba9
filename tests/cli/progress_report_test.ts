import { assertEquals } from "@std/assert";
import { DataStreamError } from "../../mod.ts";
import type { Io } from "../../src/cli/io.ts";
import { ProgressReport } from "../../src/cli/progress_report.ts";

const fault = new DataStreamError("The service is busy", { kind: "status", url: "u", hint: "" });
const waits: [milliseconds: number, told: string][] = [
  [4_200, "5 s"],
  [60_000, "1:00 min"],
  [754_900, "12:35 min"],
  [3_600_000, "1:00:00 h"],
  [7_325_000, "2:02:05 h"],
];
for (const [wait, told] of waits) {
  Deno.test(`a wait of ${wait} ms is told as ${told}`, () => {
    const lines: string[] = [];
    const io = { error: (line) => lines.push(line), terminal: undefined } as Partial<Io> as Io;
    const shows = { isQuiet: false, canDraw: true, limit: Infinity };
    new ProgressReport(io, shows, undefined).update({
      ...{ pages: 0, rows: 0, requests: 1, retries: 1, waits: 0, expectedRows: undefined },
      retrying: { fault, wait },
    });
    assertEquals(lines, [`Trying again in ${told} (The service is busy), 0 rows`]);
  });
}
