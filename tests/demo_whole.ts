/**
 * Tells whether a file is the demo's whole download: the header and every record of the sandbox,
 * cell by cell, in order. Usage: `demo_whole.ts FILE [FILTER]`.
 */
import { fieldNames } from "../src/odata/resources.ts";
import { DataStream } from "../mod.ts";
import { createSandbox } from "../src/sandbox/service.ts";
import { readCsv } from "./helpers/rfc4180.ts";

const [file, filter] = Deno.args;
const { apiKey, url, fetch } = createSandbox({ requestsPerSecond: Infinity });
const client = new DataStream({ apiKey, baseUrl: url, fetch, requestsPerSecond: Infinity });
const wanted = await client.records(filter ? { filter } : {}).toArray();
const names = fieldNames("Records");
const [header, ...rows] = readCsv(await Deno.readTextFile(file!));

if (header?.join() !== names.join()) throw new Error(`the header is ${header}`);
if (rows.length !== wanted.length) throw new Error(`${rows.length} records of ${wanted.length}`);
for (const [index, row] of wanted.entries()) {
  const cells = names.map((name) => String(row[name] ?? ""));
  if (cells.join("\0") !== rows[index]?.join("\0")) throw new Error(`record ${row.Id} differs`);
}
console.log(`whole: the header and ${rows.length} records`);
