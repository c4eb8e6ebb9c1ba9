/**
 * The server in a process of its own, as its task starts it, over a service in another: a whole
 * download, with all columns; fifty at once, by readers that read as fast as they can, that stop for a
 * while, and that leave; and over a service that allows two requests a second. Every byte that is
 * read is held against what it must be.
 */
import { DownloadReader, wholeFile } from "./download_reader.ts";
import { atMost, type Figure, report, rounded, say } from "./figure.ts";
import { peakMemory } from "./peak_memory.ts";
import { type Served, type ServiceStats, startServer, startService, statsOf } from "./processes.ts";

const RECORDS = 100_000;
/** Of fifty downloads at the service's pace: few enough to end within a minute. */
const PACED_RECORDS = 5_000;
const DOWNLOADS = 50;
const MOST_MEGABYTES = 300;
/** After so many bytes a reader stops. */
const STOP_AFTER = 100_000;

type Open = () => Promise<DownloadReader>;

/** What a run came to. */
interface Result extends ServiceStats {
  /** Rows that were read to the end. */
  rows: number;
  seconds: number;
  megabytes: number;
}

interface Run {
  what: string;
  requestsPerSecond: number;
  records: number;
  /** Reads downloads, and says how many of them to the end. */
  read(open: Open, service: Served): Promise<number>;
  judge(result: Result): Omit<Figure, "what" | "runtime">;
}

const readOne = async (open: Open) => {
  await (await open()).read();
  return 1;
};

async function readAll(open: Open): Promise<number> {
  await Promise.all(Array.from({ length: DOWNLOADS }, () => readOne(open)));
  return DOWNLOADS;
}

/** Begins the downloads, and waits until the server waits for its readers. */
async function stop(open: Open, service: Served): Promise<DownloadReader[]> {
  const readers = await Promise.all(Array.from({ length: DOWNLOADS }, async () => {
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

const judgeOne = ({ rows, seconds, requests }: Result) => ({
  figure: `${seconds.toFixed(1)} s, ${requests} requests, ${rounded(rows / seconds)} rows/s`,
});
const judgeMemory = ({ megabytes }: Result) => ({
  figure: `${megabytes.toFixed(0)} MB at most`,
  ...atMost(MOST_MEGABYTES, [megabytes], " MB"),
});
const judgeMany = (result: Result) => {
  const { figure, ...judged } = judgeMemory(result);
  return { figure: `${rounded(result.rows / result.seconds)} rows/s, ${figure}`, ...judged };
};

const many = `${DOWNLOADS} downloads of ${rounded(RECORDS)} records at once`;
const one = `one download of ${rounded(RECORDS)} records`;
const unpaced = { requestsPerSecond: Infinity, records: RECORDS };
const runs: Run[] = [
  { ...unpaced, what: `${one}, no pace`, read: readOne, judge: judgeOne },
  {
    ...unpaced,
    what: `${one}, 2 requests a second`,
    requestsPerSecond: 2,
    read: readOne,
    judge: judgeOne,
  },
  { ...unpaced, what: `${many}, fast readers`, read: readAll, judge: judgeMany },
  {
    ...unpaced,
    what: `${many}, readers that stop, then read on`,
    async read(open, service) {
      const readers = await stop(open, service);
      await Promise.all(readers.map((reader) => reader.read()));
      return DOWNLOADS;
    },
    judge: judgeMany,
  },
  {
    ...unpaced,
    what: `${many}, readers that stop, then leave`,
    async read(open, service) {
      const readers = await stop(open, service);
      await Promise.all(readers.map((reader) => reader.cancel()));
      return await readOne(open);
    },
    judge: judgeMemory,
  },
  {
    what: `${DOWNLOADS} downloads of ${
      rounded(PACED_RECORDS)
    } records at once, 2 requests a second`,
    requestsPerSecond: 2,
    records: PACED_RECORDS,
    read: readAll,
    judge: ({ requests, violations }) => ({
      figure: `${violations} of ${requests} requests too early`,
      asked: "0",
      met: violations === 0,
    }),
  },
];

/** One run, over a service and a server that are started for it. */
async function measure(run: Run, file: Uint8Array): Promise<Result> {
  const { requestsPerSecond, records } = run;
  await using service = await startService(records, requestsPerSecond);
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

const files = new Map<number, Uint8Array>();
for (const { records } of runs) {
  if (!files.has(records)) files.set(records, await wholeFile(records));
}
for (const run of runs) {
  say(run.what);
  report({ what: run.what, ...run.judge(await measure(run, files.get(run.records)!)) });
}
