// Measures the resident memory that a download as Parquet and as CSV needs above the start of the
// process, in Deno and Node. The service is in another process. Linux only.
import { bundle } from "../e2e/bundle.ts";
import { logProgress, median } from "./measurement.ts";
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

const runtimes: Record<string, (format: string) => Promise<number>> = {
  Deno: (format) => runProgram(Deno.execPath(), ["run", "--allow-all", program, baseUrl, format]),
  Node: (format) => runProgram("node", [program, baseUrl, format]),
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
