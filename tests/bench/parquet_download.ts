/**
 * Downloads all records of a service and drops them. In Deno and Node, a program: its arguments are the base URL and
 * `parquet` or `csv`, and it prints the memory (bytes) before the download and its peak. In workerd, a server that
 * downloads for each request: the base URL and the format are in its query string.
 */
import { DataStream } from "../../mod.ts";
import { toParquet } from "../../src/formats/parquet.ts";

async function download(baseUrl: string, format: string): Promise<number> {
  const client = new DataStream({ apiKey: "sandbox", baseUrl, requestsPerSecond: Infinity });
  const records = client.records();
  let length = 0;
  for await (const chunk of format === "csv" ? records.csv() : toParquet(records)) {
    length += chunk.length;
  }
  return length;
}

const { process } = globalThis as unknown as {
  process?: { argv: string[]; pid: number; memoryUsage(): { rss: number } };
};
const [baseUrl, format] = process?.argv.slice(2) ?? [];
if (baseUrl !== undefined) {
  const { peakMemory } = await import("./peak_memory.ts");
  const start = process!.memoryUsage().rss;
  const length = await download(baseUrl, format!);
  console.log(JSON.stringify({ start, peak: peakMemory("self"), length }));
}

export default {
  async fetch({ url }: Request): Promise<Response> {
    const { searchParams } = new URL(url);
    const [baseUrl, format] = [searchParams.get("url")!, searchParams.get("format")!];
    return new Response(String(await download(baseUrl, format)));
  },
};
