// Measures what a download of each format needs: resident memory above the start of the process, CPU time and bytes. The
// form "pages" are pages that `fetch` reads and drops. In Deno, Node and, for memory and if it is installed, workerd. The
// service is in another process. Linux only. Argument: number of records.
import { bundle } from "../e2e/bundle.ts";
import { workerd } from "../e2e/runtime_programs.ts";
import { inWorkerd, startProgram } from "../e2e/servers/runtimes.ts";
import { type Form, FORMS } from "./format_download.ts";
import { logProgress, median } from "./measurement.ts";
import { peakMemory } from "./peak_memory.ts";
import { baseUrlOf, startSandbox } from "./processes.ts";
import { alignColumns } from "./table.ts";

const RECORDS = Number(Deno.args[0] ?? 300_000);
const RUNS = 3;
const MODULE = "tests/bench/format_download.ts";

/** Bytes and, of a program, seconds. */
interface Measured {
  memory: number;
  cpu: number;
  length: number;
}

const folder = await Deno.makeTempDir({ prefix: "weir-formats-" });
const program = `${folder}/download.mjs`;
await Deno.writeTextFile(program, await bundle(MODULE, "--platform", "deno"));

await using service = await startSandbox(RECORDS, Infinity);
const baseUrl = baseUrlOf(service);

async function runProgram(command: string, args: string[]): Promise<Measured> {
  const { stdout, stderr, success } = await new Deno.Command(command, { args }).output();
  if (!success) throw new Error(new TextDecoder().decode(stderr));
  return JSON.parse(new TextDecoder().decode(stdout));
}

async function runWorker(form: Form): Promise<Measured> {
  await using worker = await startProgram(inWorkerd("workerd", MODULE), {});
  await (await fetch(worker.root)).text(); // loads the Worker
  const start = peakMemory(worker.pid);
  const response = await fetch(`${worker.root}/?${new URLSearchParams({ url: baseUrl, form })}`);
  const length = await response.text();
  if (!response.ok) throw new Error(`${length} ${worker.log()}`);
  return { memory: peakMemory(worker.pid) - start, cpu: NaN, length: Number(length) };
}

const runtimes: Record<string, (form: Form) => Promise<Measured>> = {
  Deno: (form) => runProgram(Deno.execPath(), ["run", "--allow-all", program, baseUrl, form]),
  Node: (form) => runProgram("node", [program, baseUrl, form]),
  ...workerd !== undefined && { workerd: runWorker },
};
const rows = [[`${RECORDS} records`, "memory (MB)", "CPU (s)", "CPU, CSV = 1", "size (MB)"]];
for (const [name, run] of Object.entries(runtimes)) {
  // The formats take turns, so that other programs matter little.
  const found = FORMS.map((): Measured[] => []);
  for (let count = 0; count < RUNS; count++) {
    for (const [index, form] of FORMS.entries()) {
      logProgress(`${name}, ${form}`);
      found[index]!.push(await run(form));
    }
  }
  const medianOf = (form: Form, key: keyof Measured) =>
    median(found[FORMS.indexOf(form)]!.map((measured) => measured[key]));
  for (const form of FORMS) {
    const [memory, cpu, length] = (["memory", "cpu", "length"] as const)
      .map((key) => medianOf(form, key)) as [number, number, number];
    const shown = (value: number, digits: number) => isNaN(value) ? "" : value.toFixed(digits);
    rows.push([
      `${name}, ${form}`,
      shown(memory / 1e6, 0),
      shown(cpu, 1),
      shown(cpu / medianOf("csv", "cpu"), 2),
      shown(length / 1e6, 1),
    ]);
  }
}
console.log(alignColumns(rows));
await Deno.remove(folder, { recursive: true });
