// Runs the benchmarks in Deno and Node, and prints a Markdown table; progress goes to standard
// error.
import { PROJECT } from "../helpers/project.ts";
import type { Measurement, RuntimeName } from "./measurement.ts";
import { bundle, outputOf } from "./processes.ts";
import { formatTable, type SuiteMeasurement } from "./table.ts";

const SUITES = ["endpoint", "query"];
const RUNTIMES: readonly RuntimeName[] = ["Deno", "Node"];

async function runSuite(
  suite: string,
  runtime: RuntimeName,
  folder: string,
): Promise<Measurement[]> {
  const file = `tests/bench/${suite}_bench.ts`;
  const output = runtime === "Node"
    ? await outputOf(PROJECT, "node", await bundle(PROJECT, file, `${folder}/${suite}.mjs`))
    : await outputOf(PROJECT, Deno.execPath(), "run", "--quiet", "--allow-all", file);
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
