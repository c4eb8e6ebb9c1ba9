// Runs the benchmarks in Deno and Node, and prints a Markdown table; progress goes to standard
// error.
import { PROJECT } from "../helpers/project.ts";
import type { Measurement, RuntimeName } from "./measurement.ts";
import { formatTable, type SuiteMeasurement } from "./table.ts";

const SUITES = ["endpoint", "query"];
const RUNTIMES: readonly RuntimeName[] = ["Deno", "Node"];

/** Runs a program in the project's folder and returns its output, which it prints if it fails. */
async function run(program: string, ...args: string[]): Promise<string> {
  const command = new Deno.Command(program, { args, cwd: PROJECT, stderr: "inherit" });
  const { success, stdout } = await command.output();
  const output = new TextDecoder().decode(stdout);
  if (!success) throw new Error(`${program} ${args.join(" ")} failed:\n${output}`);
  return output;
}

async function runSuite(
  suite: string,
  runtime: RuntimeName,
  folder: string,
): Promise<Measurement[]> {
  const file = `tests/bench/${suite}_bench.ts`;
  const bundle = `${folder}/${suite}.mjs`;
  const flags = ["--quiet", "--platform", "browser", "--output", bundle];
  if (runtime === "Node") await run(Deno.execPath(), "bundle", ...flags, file);
  const output = runtime === "Node"
    ? await run("node", bundle)
    : await run(Deno.execPath(), "run", "--quiet", "--allow-all", file);
  return output.split("\n").filter((line) => line.startsWith("{")).map((line) => JSON.parse(line));
}

const names = Deno.args.length === 0 ? SUITES : Deno.args;
const unknown = names.find((name) => !SUITES.includes(name));
if (unknown !== undefined) {
  console.error(`Unknown suite "${unknown}": use ${SUITES.join(", ")}`);
  Deno.exit(2);
}
const measurements: SuiteMeasurement[] = [];
const folder = await Deno.makeTempDir();
try {
  for (const suite of names) {
    for (const runtime of RUNTIMES) {
      console.error(`${suite} in ${runtime}`);
      const measured = await runSuite(suite, runtime, folder);
      measurements.push(...measured.map((one) => ({ suite, ...one })));
    }
  }
} finally {
  await Deno.remove(folder, { recursive: true });
}
console.log(formatTable(measurements));
