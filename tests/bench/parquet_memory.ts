/**
 * Measures the resident memory that a download of records as Parquet and as CSV needs above the start of the process,
 * in Deno, Node and workerd. The service is in another process. Linux only.
 */
import { bundle } from "../e2e/bundle.ts";
import { workerd } from "../e2e/runtime_programs.ts";
import { logProgress, median } from "./measurement.ts";
import { peakMemory } from "./peak_memory.ts";
import { baseUrlOf, startProcess, startSandbox } from "./processes.ts";
import { alignColumns } from "./table.ts";

const RECORDS = 300_000;
const RUNS = 3;
const MODULE = "tests/bench/parquet_download.ts";

const folder = await Deno.makeTempDir({ prefix: "weir-parquet-" });
const program = `${folder}/download.mjs`;
await Deno.writeTextFile(program, await bundle(MODULE, "--platform", "deno"));
await Deno.writeTextFile(
  `${folder}/worker.js`,
  await bundle(MODULE, "--platform", "browser", "--external", "node:fs"),
);
await Deno.writeTextFile(
  `${folder}/app.capnp`,
  `using Workerd = import "/workerd/workerd.capnp";
const config :Workerd.Config = (
  services = [
    (name = "main", worker = (
      modules = [(name = "worker.js", esModule = embed "worker.js")],
      compatibilityDate = "2026-05-03",
      compatibilityFlags = ["nodejs_compat"],
      globalOutbound = "loopback",
    )),
    (name = "loopback", network = (allow = ["private"])),
  ],
  sockets = [(name = "http", address = "127.0.0.1:0", service = "main")],
);`,
);

await using service = await startSandbox(RECORDS, Infinity);
const baseUrl = baseUrlOf(service);

async function runProgram(command: string, args: string[]): Promise<number> {
  const { stdout, stderr, success } = await new Deno.Command(command, { args }).output();
  if (!success) throw new Error(new TextDecoder().decode(stderr));
  const { start, peak } = JSON.parse(new TextDecoder().decode(stdout));
  return peak - start;
}

async function runWorker(format: string): Promise<number> {
  const args = ["serve", "--control-fd=2", "app.capnp"];
  await using worker = await startProcess(workerd!, args, {}, folder);
  await (await fetch(`${worker.root}/none`)).text(); // an error, after which the worker is loaded
  const start = peakMemory(worker.pid);
  const query = new URLSearchParams({ url: baseUrl, format });
  const response = await fetch(`${worker.root}/?${query}`);
  const length = await response.text();
  if (!response.ok) throw new Error(length);
  return peakMemory(worker.pid) - start;
}

const runtimes: Record<string, (format: string) => Promise<number>> = {
  Deno: (format) => runProgram(Deno.execPath(), ["run", "--allow-all", program, baseUrl, format]),
  Node: (format) => runProgram("node", [program, baseUrl, format]),
  ...workerd && { workerd: runWorker },
};
const rows = [[`memory of ${RECORDS} records above the start (MB)`, "Parquet", "CSV"]];
for (const [name, run] of Object.entries(runtimes)) {
  const cells: string[] = [];
  for (const format of ["parquet", "csv"]) {
    logProgress(`${name}, ${format}`);
    const values: number[] = [];
    for (let count = 0; count < RUNS; count++) values.push(await run(format));
    cells.push((median(values) / 1e6).toFixed(0));
    logProgress(`  ${cells.at(-1)}`);
  }
  rows.push([name, ...cells]);
}
console.log(alignColumns(rows));
await Deno.remove(folder, { recursive: true });
