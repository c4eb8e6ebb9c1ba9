/**
 * Runs the benchmarks and prints a Markdown table and the versions of all programs.
 *
 * `deno task bench csv edge` runs only the suites `csv` and `edge`. Progress goes to standard error.
 */
import { PROJECT } from "../helpers/project.ts";
import type { Measurement, RuntimeName } from "./measurement.ts";
import { checkPrograms, formatCommand, parseSuiteNames, type Suite, SUITES } from "./suites.ts";
import { formatTable, type SuiteMeasurement } from "./table.ts";
import { programVersion, versionsOf } from "./versions.ts";

/** Runs a program in the project's folder and inherits its standard error. */
async function run(
  program: string,
  ...args: string[]
): Promise<{ success: boolean; output: string }> {
  const command = new Deno.Command(program, { args, cwd: PROJECT, stderr: "inherit" });
  const { success, stdout } = await command.output();
  return { success, output: new TextDecoder().decode(stdout) };
}

/** Runs a benchmark file in a separate process; for Node, bundles it first. */
async function runBenchmark(
  name: string,
  runtime: RuntimeName,
  folder: string,
): Promise<{ success: boolean; measurements: Measurement[] }> {
  const file = `tests/bench/${name}`;
  const deno = Deno.execPath();
  let result: Awaited<ReturnType<typeof run>>;
  if (runtime === "Deno") {
    result = await run(deno, "run", "--quiet", "--allow-all", file);
  } else {
    const bundle = `${folder}/${name}.mjs`;
    const flags = ["--quiet", "--platform", "browser", "--output", bundle];
    result = await run(deno, "bundle", ...flags, file);
    if (result.success) result = await run("node", bundle);
  }
  const { success, output } = result;
  const lines = output.split("\n").filter((line) => line.startsWith("{"));
  const measurements: Measurement[] = lines.map((line) => JSON.parse(line));
  const failure = { name: `remaining measurements of ${name}`, runtime, value: "failed" };
  return { success, measurements: success ? measurements : [...measurements, failure] };
}

/** Returns the versions of those programs of the suites that are installed. */
async function findProgramVersions(suites: readonly Suite[]): Promise<Map<string, string>> {
  const versions = new Map<string, string>();
  for (const program of new Set(suites.flatMap(({ programs }) => programs))) {
    const version = await programVersion(program);
    if (version !== undefined) versions.set(program, version);
  }
  return versions;
}

/** Runs suites and prints their table; returns whether all benchmarks succeeded. */
async function runSuites(names: readonly string[]): Promise<boolean> {
  const suites = names.map((name) => SUITES[name]!);
  const programs = await findProgramVersions(suites);
  checkPrograms(names, new Set(programs.keys()));
  const measurements: SuiteMeasurement[] = [];
  let allSucceeded = true;
  const folder = await Deno.makeTempDir();
  try {
    for (const suite of names) {
      const { files, runtimes } = SUITES[suite]!;
      for (const file of files) {
        for (const runtime of runtimes) {
          console.error(`${suite}: ${file} in ${runtime}`);
          const result = await runBenchmark(file, runtime, folder);
          allSucceeded &&= result.success;
          measurements.push(...result.measurements.map((one) => ({ suite, ...one })));
        }
      }
    }
  } finally {
    await Deno.remove(folder, { recursive: true });
  }
  const versions = await versionsOf(programs, suites.flatMap(({ packages }) => packages));
  const cores = navigator.hardwareConcurrency;
  console.log(formatTable(measurements));
  console.log(`\n\`${formatCommand(names)}\` on ${cores} cores: ${versions}.`);
  return allSucceeded;
}

try {
  if (!await runSuites(parseSuiteNames(Deno.args))) Deno.exit(1);
} catch (error) {
  console.error(error instanceof Error ? error.message : error);
  Deno.exit(2);
}
