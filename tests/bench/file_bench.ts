/**
 * Prints what the hash of a file and gzip cost: CPU time, for the CSV of 40,000 records of the sandbox.
 *
 *     deno run --allow-all tests/bench/file_bench.ts
 */
import { createHash } from "node:crypto";
import process from "node:process";
import { gzipSync } from "node:zlib";
import { createWriter } from "../../src/formats/formats.ts";
import { concatBytes, writePage } from "../../src/formats/page_writer.ts";
import { createSandbox } from "../../src/sandbox/service.ts";

const RUNS = 9;
const PAGES = 4;

const { apiKey, url, fetch } = createSandbox({ requestsPerSecond: Infinity });
const pages: Uint8Array[] = [];
for (let page = 0, link = `${url}/Records?%24top=10000`; page < PAGES; page++) {
  const bytes = await (await fetch(new Request(link, { headers: { "x-api-key": apiKey } })))
    .bytes();
  pages.push(bytes);
  link = JSON.parse(new TextDecoder().decode(bytes))["@odata.nextLink"]?.replaceAll("$", "%24");
}

async function write(format: "csv" | "csv.gz", onData = (_: Uint8Array) => {}) {
  const writer = createWriter(format, { resource: "Records" });
  const parts = [];
  for (const page of pages) {
    const data = writePage(writer, page);
    onData(data);
    parts.push(data);
  }
  return concatBytes([...parts, await writer.end()]);
}

const csv = await write("csv");
const steps: Record<string, () => unknown> = {
  "CSV": () => write("csv"),
  "CSV and SHA-256"() {
    const hash = createHash("sha256");
    return write("csv", (data) => hash.update(data));
  },
  "SHA-256 alone": () => createHash("sha256").update(csv).digest("hex"),
  "zlib, level 6": () => gzipSync(csv, { level: 6 }),
  "CSV in gzip": () => write("csv.gz"),
};
const times = new Map<string, number>();
for (let run = 0; run < RUNS; run++) {
  for (const [name, step] of Object.entries(steps)) {
    const start = process.cpuUsage();
    await step();
    const { user, system } = process.cpuUsage(start);
    times.set(name, Math.min(times.get(name) ?? Infinity, (user + system) / 1_000));
  }
}
for (const [name, time] of times) {
  console.log(`${name.padEnd(18)}${time.toFixed(0).padStart(6)} ms`);
}
const ratio = times.get("CSV in gzip")! / (times.get("CSV")! + times.get("zlib, level 6")!);
const [plain, compressed] = [csv.length, (await write("csv.gz")).length];
console.log(`gzip / (CSV + zlib) = ${ratio.toFixed(2)}; ${plain} bytes, in gzip ${compressed}`);
