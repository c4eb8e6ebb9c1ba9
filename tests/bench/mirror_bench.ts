// Measures `weir sync` of all datasets, against a download of the same rows to one Parquet file: time and peak memory of the
// processes, without a rate limit. Argument: number of records. Linux only.
import { PROJECT } from "../helpers/project.ts";
import { logProgress, median } from "./measurement.ts";
import { peakMemory } from "./peak_memory.ts";
import { baseUrlOf, startSandbox } from "./processes.ts";
import { alignColumns } from "./table.ts";

const RECORDS = Number(Deno.args[0] ?? 5_000_000);
const RUNS = 3;
const POLL = 100;

const folder = await Deno.makeTempDir({ prefix: "weir-mirror-" });
await using service = await startSandbox(RECORDS, Infinity);
const env = {
  DATASTREAM_BASE_URL: baseUrlOf(service),
  DATASTREAM_API_KEY: "sandbox",
  WEIR_REQUESTS_PER_SECOND: "Infinity",
};

/** Runs a command of weir, and returns its time (s) and peak memory (MB). */
async function measure(...line: string[]): Promise<{ time: number; memory: number }> {
  const args = ["run", "--quiet", "--allow-all", `${PROJECT}src/cli/main.ts`, ...line, "--quiet"];
  const start = performance.now();
  const child = new Deno.Command(Deno.execPath(), { args, env, cwd: folder }).spawn();
  let memory = 0;
  const timer = setInterval(() => {
    try {
      memory = Math.max(memory, peakMemory(child.pid));
    } catch {
      // The process has just ended.
    }
  }, POLL);
  const { success } = await child.status.finally(() => clearInterval(timer));
  if (!success) throw new Error(`weir ${line.join(" ")} failed`);
  return { time: (performance.now() - start) / 1000, memory: memory / 1e6 };
}

/** Commands that fetch all rows, and one that finds no new version. */
const COMMANDS: Record<string, string[]> = {
  "one Parquet file": ["observations", "--output", "all.parquet", "--force"],
  "first weir sync": ["sync", "mirror", "--force"],
  "weir sync again": ["sync", "mirror"],
};
const rows = [[`${RECORDS} records`, "time (s)", "peak memory (MB)"]];
for (const [name, line] of Object.entries(COMMANDS)) {
  logProgress(name);
  const runs: Awaited<ReturnType<typeof measure>>[] = [];
  for (let run = 0; run < RUNS; run++) runs.push(await measure(...line));
  const of = (member: "time" | "memory") => median(runs.map((run) => run[member])).toFixed(1);
  rows.push([name, of("time"), of("memory")]);
}
console.log(alignColumns(rows));
await Deno.remove(folder, { recursive: true });
