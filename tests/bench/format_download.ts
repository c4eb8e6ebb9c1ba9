// Downloads and drops all records of a service. A program in Deno and Node, and a server in workerd, which downloads for
// each request; its arguments, or the query string, are the base URL and the form of the rows.
import process from "node:process";
import { DataStream } from "../../mod.ts";
import { toParquet } from "../../src/formats/parquet.ts";
import { toXlsx } from "../../src/formats/xlsx.ts";

/** Forms of the rows: files, or the pages of the service without Weir. */
export const FORMS = ["pages", "csv", "csv.gz", "parquet", "xlsx"] as const;
export type Form = typeof FORMS[number];

type Records = ReturnType<DataStream["records"]>;

const READERS: Record<Exclude<Form, "pages">, (records: Records) => ReadableStream<Uint8Array>> = {
  csv: (records) => records.csv(),
  "csv.gz": (records) => records.bytes("csv.gz"),
  parquet: (records) => toParquet(records),
  xlsx: (records) => toXlsx(records),
};

const PAGE_ROWS = 10_000;

async function download(baseUrl: string, form: Form): Promise<number> {
  if (form === "pages") return await readPages(`${baseUrl}/Records?%24top=${PAGE_ROWS}`);
  const client = new DataStream({ apiKey: "sandbox", baseUrl, requestsPerSecond: Infinity });
  return await lengthOf(READERS[form](client.records()));
}

/** Reads all pages with `fetch` alone, and drops them. */
async function readPages(url: string): Promise<number> {
  let length = 0;
  for (let next: string | undefined = url; next !== undefined;) {
    const response: Response = await fetch(next, { headers: { "x-api-key": "sandbox" } });
    length += await lengthOf(response.body!);
    next = /<([^>]+)>/.exec(response.headers.get("link") ?? "")?.[1]?.replaceAll("$", "%24");
  }
  return length;
}

async function lengthOf(bytes: ReadableStream<Uint8Array>): Promise<number> {
  let length = 0;
  for await (const chunk of bytes) length += chunk.length;
  return length;
}

const [baseUrl, form] = process.argv.slice(2);
if (baseUrl !== undefined && form !== undefined) {
  const { peakMemory } = await import("./peak_memory.ts");
  const start = process.memoryUsage().rss;
  const usage = process.cpuUsage();
  const length = await download(baseUrl, form as Form);
  const { user, system } = process.cpuUsage(usage);
  const memory = peakMemory("self") - start;
  console.log(JSON.stringify({ memory, cpu: (user + system) / 1e6, length }));
}

const worker: { fetch(request: Request): Promise<Response> } = {
  async fetch({ url }) {
    const { searchParams } = new URL(url);
    const given = searchParams.get("url");
    const length = given && await download(given, searchParams.get("form") as Form);
    return new Response(String(length));
  },
};
export default worker;
