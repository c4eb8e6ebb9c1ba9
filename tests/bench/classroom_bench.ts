// Measures 100 people who open the same URL of 40,000 records at once, on a server in Deno and a
// service with DataStream's limits: without a page cache, with each kind of cache, and a second
// class afterwards.
import { logProgress, median } from "./measurement.ts";
import { startSandbox, startServer, statsOf } from "./processes.ts";
import { alignColumns } from "./table.ts";

const CLIENTS = 100;
const RECORDS = 40_000;
const PATH = "/Records.csv";

interface Visit {
  status: number;
  /** Times (s) to the first byte and to the last one. */
  first: number;
  last: number;
  bytes: number;
}

async function visit(url: string): Promise<Visit> {
  const start = performance.now();
  const seconds = () => (performance.now() - start) / 1000;
  const response = await fetch(url);
  const reader = response.body!.getReader();
  let { done, value } = await reader.read();
  const first = seconds();
  let bytes = 0;
  while (!done) {
    bytes += value!.length;
    ({ done, value } = await reader.read());
  }
  return { status: response.status, first, last: seconds(), bytes };
}

function formatTimes(times: readonly number[]): string {
  const values = [Math.min(...times), median(times), Math.max(...times)];
  return `${values.map((value) => value.toFixed(1)).join(", ")} s`;
}

/** Lets all clients come at once. Returns a row of the table. */
async function visitTogether(
  name: string,
  root: string,
  countRequests: () => Promise<number>,
): Promise<string[]> {
  logProgress(name);
  const before = await countRequests();
  const visits = await Promise.all(Array.from({ length: CLIENTS }, () => visit(root + PATH)));
  const requests = await countRequests() - before;
  const statuses = Map.groupBy(visits, ({ status }) => status);
  const complete = statuses.get(200) ?? [];
  if (new Set(complete.map(({ bytes }) => bytes)).size > 1) throw new Error("Lengths differ");
  return [
    name,
    [...statuses].sort().map(([status, { length }]) => `${length} × ${status}`).join(", "),
    String(requests),
    formatTimes(complete.map(({ first }) => first)),
    formatTimes(complete.map(({ last }) => last)),
  ];
}

/** Measures a server. The second class, if any, comes after the first one. */
async function measureServer(
  name: string,
  environment: Record<string, string>,
  classes = 1,
): Promise<string[][]> {
  await using service = await startSandbox(RECORDS, 2);
  await using server = await startServer(service, environment);
  const countRequests = async () => (await statsOf(service)).requests;
  const rows = [await visitTogether(name, server.root, countRequests)];
  if (classes > 1) {
    rows.push(await visitTogether(`${name}, second class`, server.root, countRequests));
  }
  const { violations } = await statsOf(service);
  if (violations > 0) throw new Error(`${violations} requests broke the limits of the service`);
  return rows;
}

const rows = [
  // All clients have the address of the loopback interface.
  ...await measureServer("no cache", {
    WEIR_CACHE_TTL: "0",
    WEIR_MAX_DOWNLOADS_PER_CLIENT: String(CLIENTS),
  }),
  ...await measureServer("memory", {}, 2),
];
console.log(alignColumns([
  ["page cache", "statuses", "requests to DataStream", "first byte", "last byte"],
  ...rows,
]));
