/**
 * Measures how long a new client waits for its download while twenty slow readers use the server. Takes up to
 * eight minutes, most of it waiting.
 */
import { logProgress } from "./measurement.ts";
import { startSandbox, startServer } from "./processes.ts";
import { alignColumns } from "./table.ts";

const SLOW_READERS = 20;
/**
 * Rate (bytes per second) of a slow reader. On loopback, one below about 25 kB per second can seem to read
 * nothing, because of the buffers of the sockets.
 */
const SLOW_RATE = 45_000;
/** Records of each slow download: about 60 MB, which takes more than 20 minutes at this rate. */
const RECORDS = 200_000;
/** Time (ms) after which a new client gives up. */
const PATIENCE = 150_000;
/** Interval (ms) between the attempts of a new client. */
const RETRY_INTERVAL = 2_000;

const sleep = (milliseconds: number) =>
  new Promise<void>((resolve) => setTimeout(resolve, milliseconds));
const secondsSince = (start: number) => (performance.now() - start) / 1000;

/** Reads downloads at the rate of a slow reader. Requests another one whenever one is refused, breaks or ends. */
async function readSlowly(url: string, signal: AbortSignal): Promise<void> {
  while (!signal.aborted) {
    try {
      const reader = (await fetch(url, { signal })).body!.getReader();
      for (;;) {
        const { done, value } = await reader.read();
        if (done) break;
        await sleep(1000 * value.length / SLOW_RATE);
      }
    } catch {
      // The server has disconnected this reader, or the experiment is over.
    }
    await sleep(RETRY_INTERVAL);
  }
}

/** Requests a download until the server accepts it. Returns the times (s) to its first byte and to its end. */
async function downloadPatiently(
  url: string,
): Promise<{ first: number; last: number } | undefined> {
  const start = performance.now();
  while (performance.now() - start < PATIENCE) {
    try {
      const response = await fetch(url, {
        signal: AbortSignal.timeout(PATIENCE - (performance.now() - start)),
      });
      if (response.status === 200) {
        const first = secondsSince(start);
        await response.bytes();
        return { first, last: secondsSince(start) };
      }
      await response.body!.cancel();
    } catch {
      break;
    }
    await sleep(RETRY_INTERVAL);
  }
  return undefined;
}

const describeWait = (wait: { first: number; last: number } | undefined) =>
  wait === undefined
    ? [`none after ${PATIENCE / 1000} s`, ""]
    : [`${wait.first.toFixed(1)} s`, `${wait.last.toFixed(1)} s`];

/** Lets three clients come, one after another, after twenty slow readers. */
async function measureSlowReaders(
  name: string,
  maxCachedBytes: number,
): Promise<string[][]> {
  await using service = await startSandbox(RECORDS, 2);
  await using server = await startServer(service, {
    WEIR_MAX_CACHED_BYTES: String(maxCachedBytes),
    WEIR_CACHE_TTL: "0",
  });
  const end = new AbortController();
  for (let reader = 0; reader < SLOW_READERS; reader++) {
    void readSlowly(`${server.root}/Records.csv?filename=r${reader}`, end.signal);
  }
  await sleep(1_000);
  const rows: string[][] = [];
  for (let client = 1; client <= 3; client++) {
    await sleep(client === 1 ? 0 : 20_000);
    const wait = await downloadPatiently(`${server.root}/Records.csv?limit=1000`);
    rows.push([name, String(client), ...describeWait(wait)]);
    logProgress(`${name}: ${rows.at(-1)!.join(", ")}`);
    if (wait === undefined) break;
  }
  end.abort();
  return rows;
}

const slowReaders = await Promise.all(
  [32, 64, 500].map((megabytes) => measureSlowReaders(`memory ${megabytes} MB`, megabytes * 1e6)),
);
console.log(alignColumns([
  [`${SLOW_READERS} readers at ${SLOW_RATE / 1000} kB/s`, "new client", "first byte", "complete"],
  ...slowReaders.flat(),
]));
