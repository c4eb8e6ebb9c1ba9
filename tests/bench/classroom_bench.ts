// Measures 100 people who open the same URL of 40,000 records at once, on a server in Deno and a
// service with DataStream's limits, and again within a minute.
import { logProgress, median } from "./measurement.ts";
import { startEdgeServer, startSandbox, statsOf } from "./processes.ts";
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

await using service = await startSandbox(RECORDS, 2);
await using server = await startEdgeServer(service, {});

/** Lets all clients come at once. Returns a row of the table. */
async function visitTogether(name: string): Promise<string[]> {
  logProgress(name);
  const before = (await statsOf(service)).requests;
  const visits = await Promise.all(
    Array.from({ length: CLIENTS }, () => visit(server.root + PATH)),
  );
  const lengths = new Set(visits.map(({ bytes }) => bytes));
  if (lengths.size > 1 || visits.some(({ status }) => status !== 200)) {
    throw new Error("Incomplete");
  }
  return [
    name,
    String((await statsOf(service)).requests - before),
    formatTimes(visits.map(({ first }) => first)),
    formatTimes(visits.map(({ last }) => last)),
  ];
}

const rows = [await visitTogether("first time"), await visitTogether("within a minute")];
const { tooFast, parallel } = await statsOf(service);
if (tooFast + parallel > 0) throw new Error("The requests broke the limits of the service");
console.log(alignColumns([["", "requests to DataStream", "first byte", "last byte"], ...rows]));
