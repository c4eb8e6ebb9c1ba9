/**
 * Checks that a CSV file is a complete download of the demo's records.
 *
 * Compares the header and each cell with records requested from the sandbox directly, without the
 * client under test. Usage: `check_demo_download.ts FILE [FILTER]`.
 */
import { fieldNames } from "../src/odata/resources.ts";
import { sandboxRequests } from "../tests/helpers/sandbox.ts";
import { readCsv } from "../tests/helpers/rfc4180.ts";

const [file, filter] = Deno.args;
const { get, count } = sandboxRequests({ hostileNames: false });
const expected: Record<string, unknown>[] = [];
for (let after = "Id:0"; after !== "";) {
  const query = { $top: 10_000, $skiptoken: after, ...(filter && { $filter: filter }) };
  const { value } = await (await get("Records", query)).json();
  expected.push(...value);
  after = value.length === 0 ? "" : `Id:${value.at(-1).Id}`;
}
const counted = await count("Records", filter);
const names = fieldNames("Records");
const [header, ...rows] = readCsv(await Deno.readTextFile(file!));

if (header?.join() !== names.join()) throw new Error(`Unexpected header: ${header}`);
if (rows.length !== counted || expected.length !== counted) {
  throw new Error(`The file has ${rows.length} of ${counted} records`);
}
for (const [index, row] of expected.entries()) {
  const cells = names.map((name) => String(row[name] ?? ""));
  if (cells.join("\0") !== rows[index]?.join("\0")) throw new Error(`Record ${row.Id} differs`);
}
console.log(`Complete: header and ${rows.length} records`);
