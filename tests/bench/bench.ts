// Runs the benchmarks in Deno and Node, and prints a Markdown table of ratios; progress goes to
// standard error.
import { PROJECT } from "../helpers/project.ts";
import type { Comparison } from "./measurement.ts";
import { bundle, runInRuntimes } from "./processes.ts";
import { formatComparisons } from "./table.ts";

const SUITES = ["endpoint", "query"];

const names = Deno.args.length === 0 ? SUITES : Deno.args;
const unknown = names.find((name) => !SUITES.includes(name));
if (unknown !== undefined) {
  console.error(`Unknown suite "${unknown}": use ${SUITES.join(", ")}`);
  Deno.exit(2);
}
const folder = await Deno.makeTempDir();
const cells: Comparison[] = [];
try {
  for (const name of names) {
    const path = `${folder}/${name}.mjs`;
    const program = await bundle(PROJECT, `tests/bench/${name}_bench.ts`, path);
    cells.push(...await runInRuntimes(folder, program));
  }
} finally {
  await Deno.remove(folder, { recursive: true });
}
console.log(formatComparisons("ratio of CPU times", cells));
