// The published entry points serve the sandbox, and print their settings. start_test.ts has those that do not start.
import { assert, assertEquals } from "@std/assert";
import {
  COMMAND_LINES,
  DEFAULT_EXPORTS,
  PUBLISHED_IN_WORKERD,
  type ServerProgram,
  startProgram,
  testPrograms,
} from "./runtimes.ts";

const PROGRAMS = [...COMMAND_LINES, ...DEFAULT_EXPORTS];
/** Without this flag, Deno aborts the signal of a request after each response, and warns of that. */
const FLAG = "--unstable-no-legacy-abort";
const withFlag = PROGRAMS.filter(({ name }) => /deno/i.test(name))
  .map((program): ServerProgram => ({
    ...program,
    name: `${program.name} ${FLAG}`,
    async command(environment) {
      const options = await program.command(environment);
      return { ...options, args: options.args.toSpliced(1, 0, FLAG) };
    },
  }));

testPrograms(
  [...PROGRAMS, ...withFlag, PUBLISHED_IN_WORKERD],
  "serves the sandbox when WEIR_SANDBOX is set, and prints its settings and unknown variables, and neither an error nor Deno's warning of aborts",
  async (program) => {
    await using server = await startProgram(program, {
      WEIR_SANDBOX: "1",
      WEIR_REQUESTS_PER_SECOND: "1000000",
      WEIR_MAX_ROW: "5",
    });
    const get = async (path: string) => {
      const response = await fetch(server.root + path);
      assertEquals(response.status, 200, path);
      return { headers: response.headers, text: await response.text() };
    };
    assertEquals((await get("/healthz")).text, "ok\n");
    const download = await get("/Records.csv?$select=Id");
    assertEquals(download.headers.get("x-weir-data"), "synthetic");
    assertEquals(new Set(download.text.split("\r\n")).size, 1 + 40_000 + 1);
    assertEquals(JSON.parse((await get("/Records?$count=true")).text), { count: 40_000 });
    assert((await get("/Citations.json")).text.includes("10.25976/"));
    // The first requests for the page load it.
    const pages = await Promise.all([get("/"), get("/"), get("/fields")]);
    for (const { text } of pages) assert(text.trimEnd().endsWith("</html>"));
    const log = server.log();
    assert(log.includes('Unknown variable WEIR_MAX_ROW: did you mean "WEIR_MAX_ROWS"?\n'), log);
    assertEquals(log.match(/^Settings: .*, WEIR_SANDBOX=1$/gm)?.length, 1, log);
    assertEquals(/legacy|warn|error|aborted|failed/i.test(log), false, log);
  },
);
