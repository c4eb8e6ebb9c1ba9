// Reads 5,000,000 records with `pages()`, or as many as the argument. Fails unless each record arrives
// once, the number of requests is near the minimum, and the heap is at the end at most 10 % larger than
// after 100,000 records.
import process from "node:process";
import { DataStream } from "../../mod.ts";
import { createSandbox } from "../../src/sandbox/service.ts";

const RECORDS = Number(process.argv[2] ?? 5_000_000);
/** Number of rows before the first measurement of the heap. */
const FIRST_CHECK = 100_000;

const { gc } = globalThis as { gc?: () => void };
if (gc === undefined) throw new Error("No access to the garbage collector: run deno task soak");

const sandbox = createSandbox({ records: RECORDS, locations: 3_000, requestsPerSecond: Infinity });
const client = new DataStream({
  apiKey: sandbox.apiKey,
  baseUrl: sandbox.url,
  fetch: sandbox.fetch,
  requestsPerSecond: Infinity,
});

const counts = new Uint8Array(RECORDS);
let rows = 0;
let firstHeap = 0;
let lastHeap = 0;
let nextCheck = FIRST_CHECK;
for await (const page of client.records().pages()) {
  // The Ids of the sandbox are 500003, 500006 and so on.
  for (const { Id } of page) counts[(Id - 500_003) / 3]!++;
  rows += page.length;
  if (rows < nextCheck && rows < RECORDS) continue;
  lastHeap = await measureHeap();
  firstHeap ||= lastHeap;
  nextCheck += 10 * FIRST_CHECK;
  console.log(`${rows} rows, heap ${(lastHeap / 2 ** 20).toFixed(1)} MiB`);
}
const { requests } = sandbox.stats;
console.log(
  `${rows} rows in ${requests} requests; the heap is ${(lastHeap / firstHeap).toFixed(3)} times ` +
    `as large as after ${FIRST_CHECK} rows`,
);

const failures = [
  rows === RECORDS && counts.every((count) => count === 1) ? "" : "A row is missing or repeated",
  lastHeap <= 1.1 * firstHeap ? "" : "The heap has grown by more than 10 %",
  requests <= 1.1 * RECORDS / 10_000 + 30 ? "" : `Too many requests: ${requests}`,
].filter((failure) => failure !== "");
for (const failure of failures) console.error(failure);
process.exitCode = failures.length;

async function measureHeap(): Promise<number> {
  // Finalizers run between collections.
  for (let round = 0; round < 3; round++) {
    gc!();
    await new Promise((resolve) => setTimeout(resolve, 20));
  }
  return process.memoryUsage().heapUsed;
}
