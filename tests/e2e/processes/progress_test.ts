// Progress on a terminal without escape sequences.
import { assertEquals, assertMatch } from "@std/assert";
import { denoArguments, FOLDER, withFiles } from "../command_line.ts";
import { needing } from "../needs.ts";
import { runProgram, runProgramWith } from "../../helpers/programs.ts";

const LOCATIONS = ["locations", "--select=Id", "--limit=40", "--top=20", "--output=a.csv"];

const hasScript = (await runProgram("script", "--version"))?.success ?? false;

/** Runs a command in a new terminal, and returns the text that it wrote there. */
async function onTerminal(term: string, ...command: string[]): Promise<string> {
  const words = command.map((word) => `'${word}'`).join(" ");
  const env = { TERM: term, WEIR_REQUESTS_PER_SECOND: "Infinity" };
  const ran = await runProgramWith({ cwd: FOLDER, env }, "script", "-qec", words, "/dev/null");
  assertEquals(ran?.code, 0, ran?.stdout);
  return ran!.stdout;
}

const LINES =
  /^20 of 40 rows \(50%\), .*\r\n40 of 40 rows \(100%\), .*\r\na\.csv: 40 rows, .*\r\n$/;

for (
  const [name, environment, pattern] of [
    ["plain lines when TERM is dumb and may be read", { TERM: "" }, LINES],
    [
      "no escape sequence and no prompt when Deno may not read TERM",
      {},
      // deno-lint-ignore no-control-regex -- finds escape sequences
      /^(?!.*\x1b)\rRequesting the first page….*\r\n?a\.csv: 40 rows, [^\n]*\n$/s,
    ],
  ] as const
) {
  Deno.test(needing({ script: hasScript }, `weir writes ${name}`, () =>
    withFiles(async () => {
      const weir = denoArguments({ hasFiles: true, environment }, [...LOCATIONS, "--sandbox"])
        .filter((arg) => "TERM" in environment || !/^--(no-prompt|allow-env)/.test(arg));
      assertMatch(await onTerminal("dumb", Deno.execPath(), ...weir), pattern);
    })));
}
