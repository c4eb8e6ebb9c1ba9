// main() of the command line, called many times by one process.
import { assertEquals } from "@std/assert";
import { bundle } from "../bundle.ts";
import { FOLDER, MAIN, withFiles, writeFile } from "../command_line.ts";
import type { ProgramResult } from "../../helpers/programs.ts";
import { bun, node } from "../runtime_programs.ts";

/** Prints the results of the calls, and the remaining listeners, as JSON on standard error. */
const SCRIPT = (main: string) => `
import process from "node:process";
import { main } from ${JSON.stringify(main)};

const emitters = [process.stdout, process.stderr, process];
const listeners = () =>
  emitters.map((emitter) =>
    Object.fromEntries(emitter.eventNames().map((name) => [name, emitter.listenerCount(name)]))
  );
const before = listeners();
const line = ["locations", "--sandbox", "--quiet", "--select=Id", "--limit=2"];
const codes = [];
if (process.argv[2] === "interrupted") {
  const slow = () => main(["records", "--sandbox", "--quiet", "--top=1"]);
  const calls = [slow(), slow(), slow()];
  process.kill(process.pid, "SIGTERM");
  codes.push(...await Promise.all(calls));
} else {
  for (let call = 0; call < 20; call++) codes.push(await main(line));
  codes.push(...await Promise.all(Array.from({ length: 20 }, () => main(line))));
  codes.push(await main(["recrds"]));
}
const isLocked = globalThis.Deno?.stdout.writable.locked ?? false;
const areRestored = JSON.stringify(before) === JSON.stringify(listeners());
const report = JSON.stringify({ codes, isLocked, areRestored });
if (process.argv[2] !== "unheard") process.stderr.write(report + "\\n");
// The process exits by itself, because no listener is left.
if (process.argv[2] === "interrupted") process.kill(process.pid, "SIGTERM");
setTimeout(() => {}, process.argv[2] === "interrupted" ? 20_000 : 0);
`;
const report = (codes: number[]) => JSON.stringify({ codes, isLocked: false, areRestored: true });
const ALL = [...Array<number>(40).fill(0), 2];
const ROWS = "Id\n1001\n1008\n".repeat(40);
const USAGE = 'Unknown command "recrds": ';

for (const [name, program] of Object.entries({ Deno: Deno.execPath(), Node: node, Bun: bun })) {
  const isDeno = name === "Deno";
  const permissions = ["--no-prompt", "--allow-env", "--allow-run", "--allow-read=."];

  /** Runs a shell command in which `"$@"` is the script. */
  const run = async (command: string, mode = ""): Promise<ProgramResult> => {
    const flags = isDeno ? ["run", "--quiet", ...permissions] : [];
    const { success, code, stdout, stderr } = await new Deno.Command("bash", {
      args: ["-c", command, "bash", program!, ...flags, "script.mjs", mode],
      env: { WEIR_REQUESTS_PER_SECOND: mode === "interrupted" ? "20" : "Infinity" },
      cwd: FOLDER,
    }).output();
    const decode = (bytes: Uint8Array) => new TextDecoder().decode(bytes);
    return { success, code, stdout: decode(stdout), stderr: decode(stderr) };
  };

  const withScript = (test: () => Promise<void>) =>
    withFiles(async () => {
      await writeFile("script.mjs", SCRIPT(isDeno ? MAIN : "./main.mjs"));
      if (!isDeno) {
        await writeFile("main.mjs", await bundle("src/cli/main.ts", "--platform", "deno"));
      }
      await test();
    });

  Deno.test({
    name: `main() restores streams and listeners when called many times in ${name}`,
    ignore: !program,
    fn: () =>
      withScript(async () => {
        const { code, stdout, stderr } = await run('"$@"');
        const [usage, , reported, ...warnings] = stderr.split("\n");
        assertEquals([code, stdout, reported, warnings], [0, ROWS, report(ALL), [""]]);
        assertEquals(usage?.startsWith(USAGE), true);
      }),
  });

  Deno.test({
    name: `main() returns an exit code for each call when its output cannot be written in ${name}`,
    ignore: !program,
    fn: () =>
      withScript(async () => {
        const left = await run('"$@" | true');
        assertEquals([left.code, left.stderr.split("\n").at(-2)], [0, report(ALL)]);
        const full = await run('"$@" > /dev/full');
        const failed = ALL.map((code) => code === 0 ? 1 : code);
        assertEquals([full.code, full.stderr.split("\n").at(-2)], [0, report(failed)]);
        assertEquals(full.stderr.match(/^.*no space.*$/gim)?.length, 40);
        const unheard = await run('"$@" 2> >(exec true)', "unheard");
        assertEquals([unheard.code, unheard.stdout], [0, ROWS]);
      }),
  });

  Deno.test({
    name: `main() returns 130 for each call and restores signals when interrupted in ${name}`,
    ignore: !program,
    fn: () =>
      withScript(async () => {
        const { stdout, stderr } = await run('"$@" > /dev/null; echo $?', "interrupted");
        const lines = stderr.split("\n").filter((text) => /^[I{]/.test(text));
        assertEquals(lines, [...Array(3).fill("Interrupted"), report([130, 130, 130])]);
        assertEquals(stdout, "143\n");
      }),
  });
}
