// Every command reports an outage once, after two seconds. tests/e2e/processes has the terminal and files.
import "../../helpers/no_permission.ts";
import { assertEquals, assertMatch } from "@std/assert";
import { systemClock } from "../../../src/clock.ts";
import { FakeClock } from "../../helpers/fake_clock.ts";
import type { RunOptions } from "../../helpers/run_weir.ts";
import { record } from "./transcript.ts";

const clock = new FakeClock();
Object.assign(systemClock, {
  now: () => clock.now(),
  sleep: (...sleep: Parameters<FakeClock["sleep"]>) => clock.sleep(...sleep),
});

const offline = Object.assign(new Error("getaddrinfo"), { code: "ENOTFOUND" });

/** Runs a command line, whose requests with this number and the next ones fail. Returns the lines about that. */
async function retriesOf(
  line: string,
  first: number,
  failures: number,
  options: RunOptions = {},
): Promise<string[]> {
  let requests = 0;
  const answer = () => {
    const isFailing = requests >= first && requests < first + failures;
    requests++;
    if (isFailing) throw offline;
    return undefined;
  };
  const { errors } = await record({ line: line.split(" "), answer, ...options });
  assertEquals(requests > first + failures, true, line);
  return errors.filter((text) => text.startsWith("DataStream"));
}

/** Command lines, and the numbers of their requests that fail: for rows, counts and names. */
const COMMANDS: readonly (readonly [line: string, ...requests: number[]])[] = [
  ["records --count", 0],
  ["records --limit 30 --top 10", 0, 1],
  ["cite", 0],
  ["values unit --live", 0, 1],
  ["summary", 0, 1],
];
for (const [line, ...requests] of COMMANDS) {
  Deno.test(`weir ${line} reports an outage once, after two seconds, with what to check`, async () => {
    for (const first of requests) {
      assertEquals(await retriesOf(line, first, 1), []);
      const [text, ...others] = await retriesOf(line, first, 3);
      assertMatch(
        text!,
        /^DataStream has not answered since \d\d:\d\d UTC \(name not found\), so weir waits and tries again: check your network connection and --base-url \(or DATASTREAM_BASE_URL\)$/,
      );
      // With progress, a row or page tells it. A count shows none.
      const isOfRows = line.includes("--limit") || line === "summary" && first > 0;
      assertEquals(others, isOfRows ? ["DataStream answers again"] : []);
    }
  });
}

Deno.test("weir records reports an outage also between the rows on a terminal, and not with --quiet", async () => {
  const terminal = { isTerminal: true, isStdoutTerminal: true };
  assertEquals((await retriesOf("records --limit 5", 0, 3, terminal)).length > 0, true);
  assertEquals(await retriesOf("records --limit 5 --quiet", 0, 3), []);
});
