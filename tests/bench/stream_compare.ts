// The suite `stream` of `deno task bench:compare`: reading records over loopback, in two versions of Weir.
import { node } from "../helpers/runtime_programs.ts";
import { cpuTime } from "./cpu_time.ts";
import type { ValueKind } from "./csv_pages.ts";
import { formatNumber, logProgress, median } from "./measurement.ts";
import { peakMemory } from "./peak_memory.ts";
import { type ServerProcess, startService } from "./processes.ts";
import type { Job, JobResult, Reading } from "./stream_program.ts";
import { bundleProgram, INSTALLED, startProgram } from "./stream_runtimes.ts";
import { type Delivery, DRIP_TIME, pageUrls, streamUrl } from "./stream_service.ts";
import type { StreamRow, StreamRuntime } from "./stream_table.ts";

/** Folders of both checkouts, with a trailing slash. */
export interface Checkouts {
  before: string;
  after: string;
}

/** How much to measure. */
interface Scale {
  /** Rounds of each row, except those of the most records. */
  rounds: number;
  /** Numbers of records for the peak memory. */
  records: readonly [few: number, many: number, most: number];
  /** Number of pages in a measurement of CPU time. */
  pages: number;
}

const FULL: Scale = { rounds: 7, records: [100_000, 1_000_000, 5_000_000], pages: 6 };
const QUICK: Scale = { rounds: 1, records: [20_000, 40_000, 60_000], pages: 2 };
const PAGE_ROWS = 10_000;
const KINDS: readonly ValueKind[] = ["typical values", "mostly nulls", "long texts"];
/** Time (ms) for which a reader stops. */
const STOP_TIME = 3_000;

/** The service and the bundled programs. */
interface Context extends Scale {
  /** Temporary folder. */
  folder: string;
  runtimes: readonly StreamRuntime[];
  service: ServerProcess;
  folders: Checkouts;
  checkouts: Checkouts;
}

/** What a measurement reads. */
interface Content {
  reading: Reading;
  records: number;
  kind?: ValueKind;
  delivery?: Delivery;
  stop?: number;
}

/** Runs a job in a running program, and returns its result and the requests that it made. */
async function runJob(
  { root }: ServerProcess,
  { root: service }: ServerProcess,
  { reading, records, kind = "typical values", delivery = "plain", stop }: Content,
): Promise<JobResult & { requests: number }> {
  const baseUrl = streamUrl(service, kind, delivery, records);
  const job: Job = {
    reading,
    baseUrl,
    pages: pageUrls(baseUrl, records),
    ...stop !== undefined && { stop },
  };
  const countRequests = async () => await (await fetch(`${service}/requests`)).json();
  await countRequests();
  const response = await fetch(root, { method: "POST", body: JSON.stringify(job) });
  if (response.status !== 200) throw new Error(await response.text());
  return { ...await response.json(), requests: await countRequests() };
}

/** Measures both versions in each round, in alternating order. */
async function alternate<T>(
  rounds: number,
  measure: (version: keyof Checkouts) => Promise<T>,
): Promise<{ before: T[]; after: T[] }> {
  const results: { before: T[]; after: T[] } = { before: [], after: [] };
  for (let round = 0; round < rounds; round++) {
    const order = ["before", "after"] as const;
    for (const version of round % 2 === 0 ? order : order.toReversed()) {
      results[version].push(await measure(version));
    }
  }
  return results;
}

/** Measures the CPU time of a page, for each format and kind of values. */
async function* compareCpu(context: Context): AsyncGenerator<StreamRow> {
  const { service, folders, runtimes, rounds, pages } = context;
  for (const runtime of runtimes) {
    await using before = await startProgram(runtime, folders.before);
    await using after = await startProgram(runtime, folders.after);
    const programs = { before, after };
    for (const kind of KINDS) {
      for (const reading of ["csv", "ndjson", "json", "rows"] as const) {
        const lengths = new Set<number>();
        const measure = async (version: keyof Checkouts) => {
          const started = cpuTime(programs[version].pid);
          const content = { reading, kind, records: pages * PAGE_ROWS };
          lengths.add((await runJob(programs[version], service, content)).length);
          return (cpuTime(programs[version].pid) - started) / pages;
        };
        await alternate(1, measure); // warm-up
        const times = await alternate(rounds, measure);
        if (lengths.size > 1) throw new Error(`Both versions return different ${reading}`);
        yield { name: `${reading}, ${kind}: CPU time of a page`, runtime, unit: "ms", ...times };
      }
    }
  }
}

/** Measures when the first and the last bytes of a dripped page are delivered. */
async function* compareDrip(context: Context): AsyncGenerator<StreamRow> {
  const { service, folders, runtimes, rounds } = context;
  for (const runtime of runtimes) {
    await using before = await startProgram(runtime, folders.before);
    await using after = await startProgram(runtime, folders.after);
    const programs = { before, after };
    for (const reading of ["csv", "ndjson", "json"] as const) {
      const content: Content = { reading, delivery: "dripped", records: PAGE_ROWS };
      const measure = (version: keyof Checkouts) => runJob(programs[version], service, content);
      await alternate(1, measure); // warm-up
      const { before, after } = await alternate(Math.min(rounds, 3), measure);
      for (const time of ["first", "last"] as const) {
        yield {
          name: `${reading}, page that arrives in ${DRIP_TIME / 1000} s: ${time} bytes`,
          runtime,
          unit: "of the page's time",
          before: before.map((result) => result[time] / DRIP_TIME),
          after: after.map((result) => result[time] / DRIP_TIME),
        };
      }
    }
  }
}

/** Readings that show the share of the runtime. */
const WITHOUT_WEIR = ["bodies", "bodies into one buffer", "bodies and new chunks"] as const;

/** Measures peak memory, and counts requests. */
async function* compareMemory(context: Context): AsyncGenerator<StreamRow> {
  for (const runtime of context.runtimes) yield* compareMemoryIn(runtime, context);
}

async function* compareMemoryIn(
  runtime: StreamRuntime,
  { service, folders, rounds, records: [few, many, most] }: Context,
): AsyncGenerator<StreamRow> {
  const inNewProcess = async (version: keyof Checkouts, content: Content) => {
    await using program = await startProgram(runtime, folders[version]);
    const { requests, length } = await runJob(program, service, content);
    return { peak: peakMemory(program.pid) / 1e6, requests, length };
  };
  const rows = new Map<string, StreamRow>();
  const measure = async (name: string, content: Content): Promise<StreamRow[]> => {
    const { records, stop, delivery } = content;
    const results = await alternate(
      records === most ? 1 : Math.min(rounds, 3),
      (version) => inNewProcess(version, content),
    );
    const size = `${formatNumber(records)} records, ${delivery}`;
    const row = (value: "peak" | "requests"): StreamRow => ({
      name: `${name}, ${size}: ${value === "peak" ? "peak memory" : value}`,
      runtime,
      unit: value === "peak" ? "MB" : "requests",
      before: results.before.map((result) => result[value]),
      after: results.after.map((result) => result[value]),
    });
    rows.set(`${name} ${records} ${delivery}`, row("peak"));
    return stop === undefined ? [row("peak"), row("requests")] : [row("peak")];
  };
  const quotient = (name: string, above: string, below: string, limit: number): StreamRow[] => {
    const [top, bottom] = [rows.get(above), rows.get(below)];
    if (top === undefined || bottom === undefined) return [];
    const divide = (version: keyof Checkouts) => [median(top[version]) / median(bottom[version])];
    const values = { before: divide("before"), after: divide("after") };
    return [{ name, runtime, unit: "times", ...values, limit }];
  };
  const deliveries = ["plain", "gzip"] as const;
  for (const delivery of deliveries) {
    for (const reading of ["csv", "rows"] as const) {
      for (const records of reading === "csv" ? [few, many, most] : [few, many]) {
        yield* await measure(reading, { reading, records, delivery });
        const name = `${reading}, peak memory: ${formatNumber(records)} records, gzip / plain`;
        const [gzip, plain] = [`${reading} ${records} gzip`, `${reading} ${records} plain`];
        if (delivery === "gzip") yield* quotient(name, gzip, plain, 1.5);
      }
      yield* quotient(
        `${reading}, peak memory: ${delivery}, largest / smallest number of records`,
        `${reading} ${reading === "csv" ? most : many} ${delivery}`,
        `${reading} ${few} ${delivery}`,
        1.1,
      );
    }
    const stopped: Content = { reading: "csv", records: few, delivery, stop: STOP_TIME };
    yield* await measure("csv, stopped reader", stopped);
    for (const reading of WITHOUT_WEIR) {
      if (reading === "bodies into one buffer" && runtime !== "Deno") continue;
      for (const records of reading === "bodies and new chunks" ? [few, many, most] : [few, many]) {
        logProgress(`${reading} ${records}`);
        const peaks: number[] = [];
        for (let round = 0; round < (records === most ? 1 : Math.min(rounds, 3)); round++) {
          peaks.push((await inNewProcess("after", { reading, records, delivery })).peak);
        }
        const name = `without Weir, ${reading}, ${formatNumber(records)} records, ${delivery}`;
        yield { name: `${name}: peak memory`, runtime, unit: "MB", before: [], after: peaks };
      }
    }
  }
}

const IMPORT_PROGRAM = `
const started = process.cpuUsage();
await import("@weir/datastream");
const { user, system } = process.cpuUsage(started);
console.log((user + system) / 1000);`;

/** Measures the CPU time of the import of the npm package in Node. */
async function* compareImport(context: Context): AsyncGenerator<StreamRow> {
  const { checkouts, folder, runtimes, rounds } = context;
  if (!runtimes.includes("Node")) return;
  const installed = {
    before: await installPackage(checkouts.before, `${folder}/import-before`),
    after: await installPackage(checkouts.after, `${folder}/import-after`),
  };
  const times = await alternate(3 * rounds, async (version) => {
    const args = ["--input-type=module", "--eval", IMPORT_PROGRAM];
    return Number(await outputOf(node!, args, installed[version]));
  });
  yield { name: "import of the npm package: CPU time", runtime: "Node", unit: "ms", ...times };
}

/** Packs a copy of a checkout, and installs the package in a new folder. Returns the folder. */
async function installPackage(checkout: string, folder: string): Promise<string> {
  const copy = `${folder}-copy`;
  await Deno.mkdir(folder);
  await outputOf("cp", ["-r", checkout, copy], checkout);
  const printed = await outputOf(Deno.execPath(), ["task", "--quiet", "pack"], copy);
  const path = /dist\/\S+\.tgz/.exec(printed)?.[0];
  await Deno.writeTextFile(`${folder}/package.json`, "{}");
  await outputOf("npm", ["install", "--silent", `${copy}/${path}`], folder);
  return folder;
}

async function outputOf(program: string, args: string[], cwd: string): Promise<string> {
  const command = new Deno.Command(program, { args, cwd, stderr: "piped" });
  const { success, stdout, stderr } = await command.output();
  if (!success) throw new Error(new TextDecoder().decode(stderr));
  return new TextDecoder().decode(stdout);
}

/** Options of `compareStream()`. */
export interface StreamOptions {
  /** Whether to measure few records once, to try the suite. */
  isQuick: boolean;
  /** Maximum number of rounds of each row. Default: that of the scale. */
  rounds?: number;
  /** Default: those that are installed. */
  runtimes?: readonly StreamRuntime[];
}

/** Parts of the suite by their names. */
export const STREAM_SUITES = {
  "stream-cpu": compareCpu,
  "stream-drip": compareDrip,
  "stream-memory": compareMemory,
  "stream-import": compareImport,
} as const satisfies Record<string, (context: Context) => AsyncGenerator<StreamRow>>;

/**
 * Compares two checkouts.
 *
 * @param names Names of the parts of the suite
 * @param folder Temporary folder
 */
export async function* compareStream(
  names: readonly (keyof typeof STREAM_SUITES)[],
  checkouts: Checkouts,
  folder: string,
  { isQuick, rounds = Infinity, runtimes = INSTALLED }: StreamOptions,
): AsyncGenerator<StreamRow> {
  await using service = await startService("tests/bench/stream_service.ts");
  const folders = { before: `${folder}/before`, after: `${folder}/after` };
  await bundleProgram(checkouts.before, folders.before);
  await bundleProgram(checkouts.after, folders.after);
  const scale = isQuick ? QUICK : FULL;
  const limited = { ...scale, rounds: Math.min(scale.rounds, rounds) };
  const context: Context = { ...limited, folder, runtimes, service, folders, checkouts };
  for (const name of names) yield* STREAM_SUITES[name](context);
}
