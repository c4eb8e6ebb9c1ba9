// Downloads and drops all records of a service; arguments: base URL, and `parquet` or `csv`. Prints
// the memory (bytes) before the download and its peak.
import process from "node:process";
import { DataStream } from "../../mod.ts";
import { toParquet } from "../../src/formats/parquet.ts";
import { peakMemory } from "./peak_memory.ts";

const [baseUrl, format] = process.argv.slice(2);
const start = process.memoryUsage().rss;
const client = new DataStream({
  apiKey: "sandbox",
  baseUrl: baseUrl!,
  requestsPerSecond: Infinity,
});
const records = client.records();
for await (const _ of format === "csv" ? records.csv() : toParquet(records));
console.log(JSON.stringify({ start, peak: peakMemory("self") }));
