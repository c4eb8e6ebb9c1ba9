// Measures `weir serve` in Deno and Node: CPU time per 10,000 rows of all columns, memory, and
// requests to the service. Linux only.
import type { Server } from "../e2e/servers/server.ts";
import { cpuTime } from "./cpu_time.ts";
import { median } from "./measurement.ts";
import { peakMemory, toMegabytes } from "./peak_memory.ts";
import { serverStarts, type StartEdge, startSandbox, statsOf } from "./processes.ts";

const RECORDS = 100_000;
const CPU_ROUNDS = 5;
const READERS = 20;
/** Separators: each makes another document, so that the downloads share no pages. */
const SEPARATORS = [..."!#$%&()*,/:;<=>?@[]^_`{|}~"].slice(0, READERS);

const environment = {
  WEIR_REQUESTS_PER_SECOND: "1000000",
  WEIR_MAX_DOWNLOADS: "100",
  WEIR_MAX_DOWNLOADS_PER_CLIENT: "100",
};

const runtimes = await serverStarts(environment);

async function read({ root }: Server, query = ""): Promise<number> {
  const response = await fetch(`${root}/Records.csv?${query}`);
  if (response.status !== 200) {
    throw new Error(`Status ${response.status}: ${await response.text()}`);
  }
  let bytes = 0;
  for await (const chunk of response.body!) bytes += chunk.length;
  return bytes;
}

async function measureCpu(start: StartEdge, ttl: string): Promise<string> {
  await using service = await startSandbox(RECORDS, Infinity);
  await using server = await start(service, {
    WEIR_CACHE_TTL: ttl,
    WEIR_MAX_CACHED_BYTES: "200000000",
  });
  await read(server);
  const { requests } = await statsOf(service);
  const times: number[] = [];
  for (let round = 0; round < CPU_ROUNDS; round++) {
    const before = cpuTime(server.pid);
    await read(server);
    times.push((cpuTime(server.pid) - before) * 10_000 / RECORDS);
  }
  const later = ((await statsOf(service)).requests - requests) / CPU_ROUNDS;
  return `CPU time of 10,000 rows ${
    median(times).toFixed(0)
  } ms; ${requests} requests for the first ` +
    `download, ${later} for each later one`;
}

async function measureMemory(start: StartEdge): Promise<string> {
  await using service = await startSandbox(RECORDS, Infinity);
  await using server = await start(service, { WEIR_CACHE_TTL: "0" });
  await read(server, "limit=1");
  const idle = peakMemory(server.pid);
  await Promise.all(
    SEPARATORS.map((separator) => read(server, `separator=${encodeURIComponent(separator)}`)),
  );
  return `memory ${toMegabytes(idle)} idle, ${
    toMegabytes(peakMemory(server.pid))
  } at most with ${READERS} downloads`;
}

for (const [name, start] of runtimes) {
  for (const ttl of ["0", "300"]) {
    console.log(`${name}, rows shared for ${ttl} s: ${await measureCpu(start, ttl)}`);
  }
  console.log(`${name}: ${await measureMemory(start)}`);
}
