// Compares CPU time and memory of another checkout with this one: `deno task bench:compare
// ../before [edge]`. Both take turns, so that other programs matter little. A ratio above 1 means
// that this one needs less.
import { resolve } from "node:path";
import type { Server } from "../e2e/servers/server.ts";
import { PROJECT } from "../helpers/project.ts";
import { cpuTime } from "./cpu_time.ts";
import { type Comparison, logProgress } from "./measurement.ts";
import { peakMemory } from "./peak_memory.ts";
import { bundle, runInRuntimes, startEdgeServer, startSandbox } from "./processes.ts";
import { formatComparisons } from "./table.ts";

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

async function compareCalls({ before, after }: Checkouts, folder: string): Promise<Comparison[]> {
  const [program, ...modules] = await Promise.all([
    bundle(after, "tests/bench/compared_calls.ts", `${folder}/compared_calls.mjs`),
    bundle(before, "mod.ts", `${folder}/before.mjs`),
    bundle(after, "mod.ts", `${folder}/after.mjs`),
  ]);
  const urls = modules.map((path) => `file://${path}`);
  const cells: Comparison[] = [];
  for (let process = 0; process < CALL_PROCESSES; process++) {
    cells.push(...await runInRuntimes(folder, program!, ...urls));
  }
  return cells;
}

async function alternate(
  { before, after }: Checkouts,
  measure: (project: string) => Promise<Values>,
): Promise<Comparison[]> {
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

async function compareEdge(checkouts: Checkouts): Promise<Comparison[]> {
  await using service = await startSandbox(RECORDS, Infinity);
  const download = async ({ root }: Pick<Server, "root">) => {
    const response = await fetch(`${root}/Records.csv`);
    if (response.status !== 200) throw new Error(`Status ${response.status}`);
    for await (const _ of response.body!);
  };
  return await alternate(checkouts, async (project) => {
    logProgress(`downloads from the server, ${project}`);
    // A new process each time: V8 may optimise the same code differently in two processes.
    const environment = { WEIR_REQUESTS_PER_SECOND: "Infinity" };
    await using server = await startEdgeServer(service, environment, project);
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

const SUITES: Record<string, (checkouts: Checkouts, folder: string) => Promise<Comparison[]>> = {
  calls: compareCalls,
  edge: compareEdge,
};

const [path, ...given] = Deno.args;
const names = given.length === 0 ? Object.keys(SUITES) : given;
if (path === undefined || names.some((name) => !(name in SUITES))) {
  console.error(`Usage: deno task bench:compare CHECKOUT [${Object.keys(SUITES).join("|")}]`);
  Deno.exit(2);
}
const folder = await Deno.makeTempDir();
try {
  const checkouts = { before: `${resolve(path)}/`, after: PROJECT };
  const cells: Comparison[] = [];
  for (const name of names) cells.push(...await SUITES[name]!(checkouts, folder));
  console.log(formatComparisons("before / after", cells));
} finally {
  await Deno.remove(folder, { recursive: true });
}
