// Downloads that take over a second. They advance the clock of this process, and never set it back,
// because the rate limiter has stored times.
import "../../helpers/no_permission.ts";
import { assertEquals } from "@std/assert";
import { screenOf } from "./screen.ts";
import { record } from "./transcript.ts";

let advanced = 0;
const now = performance.now.bind(performance);
performance.now = () => now() + advanced;

/** Returns the text that remains on a terminal after a download whose first response takes 1.5 s. */
async function screenAfter(...flags: string[]): Promise<string> {
  const { drawn } = await record({
    line: ["locations", "--select=Id", ...flags],
    isTerminal: true,
    answer() {
      advanced += 1_500;
      return Response.json({ value: Array.from({ length: 8 }, (_, index) => ({ Id: index })) });
    },
  });
  // The line stays: a line feed follows it.
  return screenOf(drawn.replace(/\n$/, "")).trim().replace(/[\d,]+ rows\/s/, "N rows/s");
}

for (
  const [flags, screen] of [
    [[], "8 rows, N rows/s"],
    [["--limit=8"], "8 of 8 rows (100%), N rows/s"],
    [["--limit=10"], "8 of 8 rows (100%), N rows/s"],
    [["--limit=10", "--quiet"], ""],
  ] as const
) {
  Deno.test(`weir leaves "${screen}" on a terminal when the flags are [${flags}]`, async () => {
    assertEquals(await screenAfter(...flags), screen);
  });
}
