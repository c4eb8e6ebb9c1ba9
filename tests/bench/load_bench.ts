/**
 * The server under load, in a process of its own as its task starts it: fifty downloads at once with
 * all columns, by readers that read as fast as they can, that stop for a while, and that leave; then
 * over a service that allows two requests a second. Run it as `deno task bench:load`; an argument, such
 * as "stop", picks the runs whose names hold it.
 */
import process from "node:process";
import {
  type Served,
  type ServiceStats,
  startServer,
  startService,
  statsOf,
  usageOf,
} from "./load_processes.ts";
import { DownloadReader, wholeFile } from "./load_readers.ts";

const DOWNLOADS = 50;
const RECORDS = 100_000;
/** Few enough to end within a minute. */
const PACED_RECORDS = 5_000;
const MOST_MEGABYTES = 300;
/** After so many bytes a reader stops. */
const STOP_AFTER = 100_000;
const WIDTHS = [30, 9, 7, 8, 6, 8, 7, 10];

type Open = () => Promise<DownloadReader>;

interface Run {
  name: string;
  requestsPerSecond: number;
  records: number;
  downloads: number;
  /** Reads the downloads, and says how many of them to the end. */
  read(open: Open, downloads: number, service: Served): Promise<number>;
}

async function readAll(open: Open, downloads: number): Promise<number> {
  await Promise.all(Array.from({ length: downloads }, async () => await (await open()).read()));
  return downloads;
}

/** Begins the downloads, and waits until the server waits for its readers. */
async function stop(open: Open, downloads: number, service: Served): Promise<DownloadReader[]> {
  const readers = await Promise.all(Array.from({ length: downloads }, async () => {
    const reader = await open();
    await reader.read(STOP_AFTER);
    return reader;
  }));
  for (let before = -1, now = 0; now !== before;) {
    before = now;
    await new Promise((resolve) => setTimeout(resolve, 3_000));
    now = (await statsOf(service)).requests;
  }
  return readers;
}

const unpaced = { requestsPerSecond: Infinity, records: RECORDS, downloads: DOWNLOADS };
const runs: Run[] = [
  { ...unpaced, name: "one reader", downloads: 1, read: readAll },
  { ...unpaced, name: "fast readers", read: readAll },
  {
    ...unpaced,
    name: "readers that stop, then read on",
    async read(open, downloads, service) {
      const readers = await stop(open, downloads, service);
      await Promise.all(readers.map((reader) => reader.read()));
      return downloads;
    },
  },
  {
    ...unpaced,
    name: "readers that stop, then leave",
    async read(open, downloads, service) {
      const readers = await stop(open, downloads, service);
      await Promise.all(readers.map((reader) => reader.cancel()));
      return await readAll(open, 1);
    },
  },
  {
    name: "2 requests a second",
    requestsPerSecond: 2,
    records: PACED_RECORDS,
    downloads: DOWNLOADS,
    read: readAll,
  },
];

interface Result extends ServiceStats {
  rows: number;
  seconds: number;
  cpu: number;
  peakMegabytes: number;
  error: unknown;
}

/** One run, over a service and a server that are started for it. */
async function measure(run: Run): Promise<Result> {
  const { requestsPerSecond, records, downloads } = run;
  const file = await wholeFile(records);
  await using service = await startService(records, requestsPerSecond);
  await using server = await startServer(service, {
    WEIR_MAX_WAITING: "60",
    WEIR_REQUESTS_PER_SECOND: String(requestsPerSecond),
  });
  const open = () => DownloadReader.open(`${server.root}/Records.csv`, file);
  const started = performance.now();
  let error: unknown;
  const read = await run.read(open, downloads, service).catch((reason) => {
    error = reason;
    return 0;
  });
  const seconds = (performance.now() - started) / 1000;
  const used = { ...await usageOf(server), ...await statsOf(service) };
  return { ...used, rows: read * records, seconds, error };
}

/** What must not be. */
function faultsOf({ error, tooFast, parallel, peakMegabytes }: Result): string[] {
  return [
    error === undefined ? "" : `a download is not whole: ${error}`,
    tooFast + parallel === 0 ? "" : "requests came too fast, or at once",
    peakMegabytes <= MOST_MEGABYTES ? "" : `more than ${MOST_MEGABYTES} MB of memory`,
  ].filter((fault) => fault !== "");
}

function line(name: string, ...cells: (string | number)[]): void {
  const [first, ...widths] = WIDTHS;
  const right = cells.map((cell, index) => String(cell).padStart(widths[index]!));
  console.log([name.padEnd(first!), ...right].join("  "));
}

line("run", "rows", "seconds", "rows/s", "CPU s", "requests", "peak MB", "violations");
const picked = process.argv[2] ?? "";
for (const run of runs.filter(({ name }) => name.includes(picked))) {
  const result = await measure(run);
  const { rows, seconds, cpu, requests, peakMegabytes, tooFast, parallel } = result;
  line(
    run.name,
    rows,
    seconds.toFixed(1),
    Math.round(rows / seconds),
    cpu.toFixed(1),
    requests,
    Math.round(peakMegabytes),
    tooFast + parallel,
  );
  for (const fault of faultsOf(result)) {
    console.error(`${run.name}: ${fault}`);
    process.exitCode = 1;
  }
}
