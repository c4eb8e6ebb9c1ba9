// Measures the resident memory that a download needs above the start of the process: as Parquet, as CSV, and of pages that
// `fetch` reads and drops. In Deno, Node and, if it is installed, workerd. The service is in another process. Linux only.
import { bundle } from "../e2e/bundle.ts";
import { workerd } from "../e2e/runtime_programs.ts";
import { inWorkerd, startProgram } from "../e2e/servers/runtimes.ts";
import { logProgress, median } from "./measurement.ts";
import { type Form, FORMS } from "./parquet_download.ts";
import { peakMemory } from "./peak_memory.ts";
import { baseUrlOf, startSandbox } from "./processes.ts";
import { alignColumns } from "./table.ts";

const RECORDS = 300_000;
const RUNS = 3;
const MODULE = "tests/bench/parquet_download.ts";

const folder = await Deno.makeTempDir({ prefix: "weir-parquet-" });
const program = `${folder}/download.mjs`;
await Deno.writeTextFile(program, await bundle(MODULE, "--platform", "deno"));

await using service = await startSandbox(RECORDS, Infinity);
const baseUrl = baseUrlOf(service);

async function runProgram(command: string, args: string[]): Promise<number> {
  const { stdout, stderr, success } = await new Deno.Command(command, { args }).output();
  if (!success) throw new Error(new TextDecoder().decode(stderr));
  const { start, peak } = JSON.parse(new TextDecoder().decode(stdout));
  return peak - start;
}

async function runWorker(form: Form): Promise<number> {
  await using worker = await startProgram(inWorkerd("workerd", MODULE), {});
  await (await fetch(worker.root)).text(); // loads the Worker
  const start = peakMemory(worker.pid);
  const response = await fetch(`${worker.root}/?${new URLSearchParams({ url: baseUrl, form })}`);
  const length = await response.text();
  if (!response.ok) throw new Error(`${length} ${worker.log()}`);
  return peakMemory(worker.pid) - start;
}

const runtimes: Record<string, (form: Form) => Promise<number>> = {
  Deno: (form) => runProgram(Deno.execPath(), ["run", "--allow-all", program, baseUrl, form]),
  Node: (form) => runProgram("node", [program, baseUrl, form]),
  ...workerd !== undefined && { workerd: runWorker },
};
const title = `memory of ${RECORDS} records above the start (MB)`;
const rows = [[title, "Parquet", "CSV", "pages, dropped"]];
for (const [name, run] of Object.entries(runtimes)) {
  const cells: string[] = [];
  for (const form of FORMS) {
    logProgress(`${name}, ${form}`);
    const values: number[] = [];
    for (let count = 0; count < RUNS; count++) values.push(await run(form));
    cells.push((median(values) / 1e6).toFixed(0));
    logProgress(`  ${cells.at(-1)}`);
  }
  rows.push([name, ...cells]);
}
console.log(alignColumns(rows));
await Deno.remove(folder, { recursive: true });
