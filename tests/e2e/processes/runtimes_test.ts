// The command line works in Deno, Node and Bun: files, signals, pipes and exit codes.
import { assert, assertEquals, assertMatch } from "@std/assert";
import { runProgram } from "../../helpers/programs.ts";
import { createSandbox } from "../../../src/sandbox/service.ts";
import {
  type CommandLine,
  commandOf,
  fileNames,
  FOLDER,
  inShell,
  PROGRAMS,
  readFile,
  type Runtime,
  runToEnd,
  serving,
  start,
  writeBundle,
  writeFile,
} from "../command_line.ts";
import { testNeeding } from "../needs.ts";

/** Runtimes, and the signal that interrupts a download in each; every runtime handles all three signals. */
const RUNTIMES: readonly (readonly [Runtime, Deno.Signal])[] = [
  ["Deno", "SIGHUP"],
  ["Node", "SIGINT"],
  ["Bun", "SIGTERM"],
];

for (const [runtime, signal] of RUNTIMES) {
  let onRequest = (): Promise<Response> | undefined => undefined;
  /** Registers a test with a service of 60 locations and the arguments of their download. */
  const test = (does: string, use: (weir: CommandLine, args: string[]) => Promise<void>) =>
    testNeeding({ [runtime]: PROGRAMS[runtime] }, `weir in ${runtime} ${does}`, () => {
      const sandbox = createSandbox({ requestsPerSecond: Infinity });
      onRequest = () => undefined;
      return serving((request) => onRequest() ?? sandbox.fetch(request), async (line, baseUrl) => {
        await writeBundle();
        const args = ["locations", baseUrl, "--select=Id", "--top=10", "--quiet"];
        await use({ ...line, runtime }, args);
      });
    });

  test(`leaves a part when it receives ${signal}, and continues it`, async (weir, args) => {
    let requests = 0;
    const child = start(weir, ...args, "--output=a.csv");
    onRequest = () => {
      if (++requests < 3) return undefined;
      child.kill(signal);
      return child.status.then(() => new Response(null, { status: 503 }));
    };
    const { code, stderr } = await child.output();
    assertEquals(code, 130);
    assertMatch(
      new TextDecoder().decode(stderr),
      /^a\.csv\.part has 10 rows: .* again to continue\n/,
    );
    assertEquals(await fileNames(), ["a.csv.part", "a.csv.part.json", "weir.mjs"]);

    onRequest = () => undefined;
    await writeFile("a.csv.part", `${await readFile("a.csv.part")}and half of a page`);
    assertEquals((await runToEnd(weir, ...args, "--output=a.csv")).code, 0);
    const { stdout } = await runToEnd(weir, ...args, "--output=/dev/stdout", "--force");
    assertEquals(await readFile("a.csv"), stdout.replaceAll("\n", "\r\n"));
    // A header, 60 rows, and the empty text after the last line break.
    assertEquals(stdout.split("\n").length, 62);
  });

  test("writes to a named pipe, and ends when nobody reads it", async (weir, args) => {
    const pipe = `${FOLDER}/a.csv`;
    await runProgram("mkfifo", pipe);
    const toPipe = [...args, "--output=a.csv"];
    const waiting = start(weir, ...toPipe);
    // Until weir handles SIGHUP (bit 0 of the mask), which Node itself does not, and some time to open the pipe.
    const handles = `(( 0x$(grep SigCgt /proc/${waiting.pid}/status | cut -f2) & 1 ))`;
    await runProgram("bash", "-c", `until ${handles}; do sleep 0.05; done; sleep 0.5`);
    waiting.kill(signal);
    const { code, stderr } = await waiting.output();
    assertEquals([code, new TextDecoder().decode(stderr)], [130, "Interrupted\n"]);

    const reader = runProgram("timeout", "20", "cat", pipe);
    assertEquals((await runToEnd(weir, ...toPipe, "--force")).stderr, "");
    assertEquals((await reader)?.stdout.split("\r\n").length, 62);
    const closing = runProgram("timeout", "20", "head", "-c", "5", pipe);
    const closed = await runToEnd(weir, "records", "--sandbox", "--quiet", "--output=a.csv");
    // As on standard output, a closed pipe is not an error.
    assertEquals([closed.code, closed.stderr, (await closing)?.stdout], [0, "", '"Id",']);
    assert((await Deno.lstat(pipe)).isFifo);
  });

  test("ends quietly when the reader of its output has left", async (weir) => {
    const records = commandOf(weir, "records", "--sandbox", "--quiet");
    const line = '"$@" | head -c 6; echo " ${PIPESTATUS[0]}"';
    const { stdout, stderr } = await inShell(line, records, weir.environment);
    assertEquals([stdout, stderr], ['"Id"," 0\n', ""]);
  });

  test("prints an error without a stack", async (weir) => {
    const { code, stderr } = await runToEnd(weir, "recrds");
    assertEquals([code, stderr.includes("    at ")], [2, false]);
  });
}
