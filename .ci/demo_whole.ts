/**
 * Tells whether a file is the demo's whole download: the header and every record that the sandbox
 * counts, cell by cell, in order. The records are asked of the sandbox itself, not of the client
 * that is under test. Usage: `demo_whole.ts FILE [FILTER]`.
 */
import { fieldNames } from "../src/odata/resources.ts";
import { ask } from "../tests/helpers/sandbox.ts";
import { readCsv } from "../tests/helpers/rfc4180.ts";

const [file, filter] = Deno.args;
const { get, count } = ask();
const wanted: Record<string, unknown>[] = [];
for (let after = "Id:0"; after !== "";) {
  const query = { $top: 10_000, $skiptoken: after, ...(filter && { $filter: filter }) };
  const { value } = await (await get("Records", query)).json();
  wanted.push(...value);
  after = value.length === 0 ? "" : `Id:${value.at(-1).Id}`;
}
const counted = await count("Records", filter);
const names = fieldNames("Records");
const [header, ...rows] = readCsv(await Deno.readTextFile(file!));

if (header?.join() !== names.join()) throw new Error(`the header is ${header}`);
if (rows.length !== counted || wanted.length !== counted) {
  throw new Error(`${rows.length} records of ${counted}`);
}
for (const [index, row] of wanted.entries()) {
  const cells = names.map((name) => String(row[name] ?? ""));
  if (cells.join("\0") !== rows[index]?.join("\0")) throw new Error(`record ${row.Id} differs`);
}
console.log(`whole: the header and ${rows.length} records`);
