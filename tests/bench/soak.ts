/**
 * Five million records of 3,000 locations through `pages()`: each of them once, for few requests, and
 * with no more memory held at the end than after the first 100,000. Run it as `deno task soak`.
 */
import process from "node:process";
import { DataStream } from "../../mod.ts";
import { createSandbox } from "../../src/sandbox/service.ts";

const RECORDS = 5_000_000;
const EARLY = 100_000;

const { gc } = globalThis as { gc?: () => void };
if (gc === undefined) throw new Error("run it with --v8-flags=--expose-gc");

const sandbox = createSandbox({
  records: RECORDS,
  locations: 3_000,
  requestsPerSecond: Infinity,
});
const client = new DataStream({
  apiKey: sandbox.apiKey,
  baseUrl: sandbox.url,
  fetch: sandbox.fetch,
  requestsPerSecond: Infinity,
});

const seen = new Uint8Array(RECORDS);
let rows = 0;
let early = 0;
let late = 0;
let next = EARLY;
for await (const page of client.records().pages()) {
  // The ids of the sandbox are 500003, 500006 and so on.
  for (const { Id } of page) seen[(Id - 500_003) / 3]!++;
  rows += page.length;
  if (rows < next && rows < RECORDS) continue;
  const held = await heldMemory();
  early ||= held;
  late = held;
  next += 10 * EARLY;
  console.log(`${rows} rows, ${mebibytes(held)} held`);
}
const { requests } = sandbox.stats;
console.log(
  `${rows} rows by ${requests} requests; held at the end: ` +
    `${(late / early).toFixed(3)} of what was held after ${EARLY}`,
);

const faults = [
  rows === RECORDS && seen.every((times) => times === 1) ? "" : "a row was lost or doubled",
  late <= 1.1 * early ? "" : "memory has grown by more than a tenth",
  requests <= 1.1 * RECORDS / 10_000 + 30 ? "" : "too many requests",
].filter((fault) => fault !== "");
for (const fault of faults) console.error(fault);
process.exitCode = faults.length;

/** The bytes of the heap after a collection, which is given time to finish. */
async function heldMemory(): Promise<number> {
  for (let times = 0; times < 3; times++) {
    gc!();
    await new Promise((resolve) => setTimeout(resolve, 20));
  }
  return process.memoryUsage().heapUsed;
}

function mebibytes(bytes: number): string {
  return `${(bytes / 2 ** 20).toFixed(1)} MiB`;
}
