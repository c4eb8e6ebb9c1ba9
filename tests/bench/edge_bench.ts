/**
 * Measures downloads of all columns from the edge server.
 *
 * The server, started by its task, and the service run in separate processes. Runs one download,
 * then fifty concurrent ones with fast, pausing and cancelling readers, then fifty from a service
 * that allows two requests per second. Compares every byte with the expected file.
 */
import { DownloadReader, expectedFile } from "./download_reader.ts";
import {
  formatNumber,
  logProgress,
  type Measurement,
  report,
  requireAtMost,
} from "./measurement.ts";
import { peakMemory } from "./peak_memory.ts";
import {
  type ServerProcess,
  type ServiceStats,
  startSandbox,
  startServer,
  statsOf,
} from "./processes.ts";

const RECORDS = 100_000;
/** Records of each of the rate-limited downloads, which end within a minute. */
const RATE_LIMITED_RECORDS = 5_000;
const DOWNLOADS = 50;
const MAX_MEGABYTES = 300;
/** Number of bytes after which a reader pauses. */
const PAUSE_AFTER = 100_000;

type Open = () => Promise<DownloadReader>;

interface Result extends ServiceStats {
  /** Number of rows of the downloads that were read to the end. */
  rows: number;
  seconds: number;
  megabytes: number;
}

interface Run {
  name: string;
  requestsPerSecond: number;
  records: number;
  /** Reads downloads; returns the number of those read to the end. */
  read(open: Open, service: ServerProcess): Promise<number>;
  evaluate(result: Result): Omit<Measurement, "name" | "runtime">;
}

const readOne = async (open: Open) => {
  await (await open()).read();
  return 1;
};

async function readAll(open: Open): Promise<number> {
  await Promise.all(Array.from({ length: DOWNLOADS }, () => readOne(open)));
  return DOWNLOADS;
}

/** Starts the downloads and waits until backpressure stops the server's requests. */
async function openAndPause(open: Open, service: ServerProcess): Promise<DownloadReader[]> {
  const readers = await Promise.all(Array.from({ length: DOWNLOADS }, async () => {
    const reader = await open();
    await reader.read(PAUSE_AFTER);
    return reader;
  }));
  for (let before = -1, now = 0; now !== before;) {
    before = now;
    await new Promise((resolve) => setTimeout(resolve, 3_000));
    now = (await statsOf(service)).requests;
  }
  return readers;
}

const evaluateOne = ({ rows, seconds, requests }: Result) => ({
  value: `${seconds.toFixed(1)} s, ${requests} requests, ${formatNumber(rows / seconds)} rows/s`,
});
const evaluateMemory = ({ megabytes }: Result) => ({
  value: `peak ${megabytes.toFixed(0)} MB`,
  ...requireAtMost(MAX_MEGABYTES, [megabytes], " MB"),
});
const evaluateMany = (result: Result) => {
  const { value, ...target } = evaluateMemory(result);
  return { value: `${formatNumber(result.rows / result.seconds)} rows/s, ${value}`, ...target };
};

const many = `${DOWNLOADS} concurrent downloads of ${formatNumber(RECORDS)} records`;
const one = `one download of ${formatNumber(RECORDS)} records`;
const unlimited = { requestsPerSecond: Infinity, records: RECORDS };
const runs: Run[] = [
  { ...unlimited, name: `${one}, no rate limit`, read: readOne, evaluate: evaluateOne },
  {
    ...unlimited,
    name: `${one}, 2 requests per second`,
    requestsPerSecond: 2,
    read: readOne,
    evaluate: evaluateOne,
  },
  { ...unlimited, name: `${many}, fast readers`, read: readAll, evaluate: evaluateMany },
  {
    ...unlimited,
    name: `${many}, readers that pause and resume`,
    async read(open, service) {
      const readers = await openAndPause(open, service);
      await Promise.all(readers.map((reader) => reader.read()));
      return DOWNLOADS;
    },
    evaluate: evaluateMany,
  },
  {
    ...unlimited,
    name: `${many}, readers that pause and cancel`,
    async read(open, service) {
      const readers = await openAndPause(open, service);
      await Promise.all(readers.map((reader) => reader.cancel()));
      return await readOne(open);
    },
    evaluate: evaluateMemory,
  },
  {
    name: `${DOWNLOADS} concurrent downloads of ${
      formatNumber(RATE_LIMITED_RECORDS)
    } records, 2 requests per second`,
    requestsPerSecond: 2,
    records: RATE_LIMITED_RECORDS,
    read: readAll,
    evaluate: ({ requests, violations }) => ({
      value: `${violations} of ${requests} requests too early`,
      target: "0",
      isMet: violations === 0,
    }),
  },
];

/** Starts a service and a server, and measures a run. */
async function measure(run: Run, file: Uint8Array): Promise<Result> {
  const { requestsPerSecond, records } = run;
  await using service = await startSandbox(records, requestsPerSecond);
  await using server = await startServer(service, {
    WEIR_MAX_DOWNLOADS: `${DOWNLOADS}`,
    WEIR_REQUESTS_PER_SECOND: `${requestsPerSecond}`,
  });
  const open = () => DownloadReader.open(`${server.root}/Records.csv`, file);
  const started = performance.now();
  const rows = records * await run.read(open, service);
  const seconds = (performance.now() - started) / 1000;
  return { ...await statsOf(service), rows, seconds, megabytes: peakMemory(server.pid) / 1e6 };
}

const files = new Map<string, Uint8Array>();
for (const run of runs) {
  logProgress(run.name);
  const key = `${run.records} ${run.requestsPerSecond}`;
  const file = files.get(key) ?? await expectedFile(run.records, run.requestsPerSecond);
  files.set(key, file);
  report({ name: run.name, ...run.evaluate(await measure(run, file)) });
}
