// Compares CPU time and memory of another checkout with this one: `deno task bench:compare
// ../before [edge]`. Both take turns, so that other programs matter little. A ratio above 1 means
// that this one needs less.
import { resolve } from "node:path";
import { PROJECT } from "../helpers/project.ts";
import type { Comparison } from "./compared_calls.ts";
import { cpuTime } from "./cpu_time.ts";
import { logProgress, median, type RuntimeName } from "./measurement.ts";
import { peakMemory } from "./peak_memory.ts";
import { bundle, outputOf, type ServerProcess, startSandbox, startServer } from "./processes.ts";
import { alignColumns } from "./table.ts";

interface Checkouts {
  before: string;
  after: string;
}

/** Measured values of one run, lower is better, by the text to report. */
type Values = Record<string, number>;

/** Processes per runtime that run `compared_calls.ts`: a process may be slower than another one. */
const CALL_PROCESSES = 3;
const ROUNDS = 9;
const RECORDS = 100_000;
const DOWNLOADS = 10;

interface Cell extends Comparison {
  runtime: RuntimeName;
}

async function compareCalls({ before, after }: Checkouts, folder: string): Promise<Cell[]> {
  const [program, ...modules] = await Promise.all([
    bundle(after, "tests/bench/compared_calls.ts", `${folder}/compared_calls.mjs`),
    bundle(before, "mod.ts", `${folder}/before.mjs`),
    bundle(after, "mod.ts", `${folder}/after.mjs`),
  ]);
  const args = [program!, ...modules.map((path) => `file://${path}`)];
  const cells: Cell[] = [];
  for (let process = 0; process < CALL_PROCESSES; process++) {
    const outputs: [RuntimeName, string][] = [
      ["Deno", await outputOf(folder, Deno.execPath(), "run", "--quiet", "--allow-all", ...args)],
      ["Node", await outputOf(folder, "node", ...args)],
    ];
    for (const [runtime, output] of outputs) {
      const lines = output.split("\n").filter((line) => line !== "");
      cells.push(...lines.map((line) => ({ runtime, ...JSON.parse(line) })));
    }
  }
  return cells;
}

async function alternate(
  { before, after }: Checkouts,
  measure: (project: string) => Promise<Values>,
): Promise<Cell[]> {
  const ratios = new Map<string, number[]>();
  for (let round = -1; round < ROUNDS; round++) {
    const order = round % 2 === 0 ? [before, after] : [after, before];
    const values = new Map<string, Values>();
    for (const project of order) values.set(project, await measure(project));
    if (round < 0) continue; // warm-up
    for (const [name, value] of Object.entries(values.get(before)!)) {
      ratios.set(name, [...ratios.get(name) ?? [], value / values.get(after)![name]!]);
    }
  }
  return [...ratios].map(([name, ratios]) => ({ name, ratios, runtime: "Deno" }));
}

async function compareEdge(checkouts: Checkouts): Promise<Cell[]> {
  await using service = await startSandbox(RECORDS, Infinity);
  const download = async ({ root }: ServerProcess) => {
    const response = await fetch(`${root}/Records.csv`);
    if (response.status !== 200) throw new Error(`Status ${response.status}`);
    for await (const _ of response.body!);
  };
  return await alternate(checkouts, async (project) => {
    logProgress(`downloads from the server, ${project}`);
    // A new process each time: V8 may optimise the same code differently in two processes.
    const environment = { WEIR_REQUESTS_PER_SECOND: "Infinity" };
    await using server = await startServer(service, environment, project);
    await download(server); // warm-up
    const started = cpuTime(server.pid);
    for (let count = 0; count < DOWNLOADS; count++) await download(server);
    const between = cpuTime(server.pid);
    await Promise.all(Array.from({ length: DOWNLOADS }, () => download(server)));
    const several = `${DOWNLOADS} times ${RECORDS} rows`;
    return {
      [`GET /Records.csv, ${several}, in succession: CPU time`]: between - started,
      [`GET /Records.csv, ${several}, concurrently: CPU time`]: cpuTime(server.pid) - between,
      "server: peak memory": peakMemory(server.pid),
    };
  });
}

const SUITES: Record<string, (checkouts: Checkouts, folder: string) => Promise<Cell[]>> = {
  calls: compareCalls,
  edge: compareEdge,
};

/** Formats the median ratio, and the ratios that a quarter of the rounds are below and above. */
function formatRatios(ratios: readonly number[]): string {
  const sorted = ratios.toSorted((a, b) => a - b);
  const at = (share: number) => sorted[Math.round(share * (sorted.length - 1))]!.toFixed(2);
  return `${median(ratios).toFixed(2)} (${at(0.25)} to ${at(0.75)})`;
}

function formatCells(cells: readonly Cell[]): string {
  const rows = [...Map.groupBy(cells, ({ name }) => name)].map(([name, ofName]) => {
    const inRuntime = (runtime: RuntimeName) => {
      const ratios = ofName.flatMap((cell) => cell.runtime === runtime ? cell.ratios : []);
      return ratios.length === 0 ? "" : formatRatios(ratios);
    };
    return [name, inRuntime("Deno"), inRuntime("Node")];
  });
  return alignColumns([["before / after, median (quartiles)", "Deno", "Node"], ...rows]);
}

const [path, ...given] = Deno.args;
const names = given.length === 0 ? Object.keys(SUITES) : given;
if (path === undefined || names.some((name) => !(name in SUITES))) {
  console.error(`Usage: deno task bench:compare CHECKOUT [${Object.keys(SUITES).join("|")}]`);
  Deno.exit(2);
}
const folder = await Deno.makeTempDir();
try {
  const checkouts = { before: `${resolve(path)}/`, after: PROJECT };
  const cells: Cell[] = [];
  for (const name of names) cells.push(...await SUITES[name]!(checkouts, folder));
  console.log(formatCells(cells));
} finally {
  await Deno.remove(folder, { recursive: true });
}
