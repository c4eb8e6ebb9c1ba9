// Replaces nutrients.csv if its datasets have new versions. Continues an interrupted download.
import { type Cursor, DataStream, isIn } from "@weir/datastream";
import { createSandbox } from "@weir/datastream/sandbox";

// Synthetic data, without an API key or the network:
const { apiKey, url, fetch } = createSandbox();
const client = new DataStream({ apiKey, baseUrl: url, fetch });
// Real data:
// const client = new DataStream({ apiKey: Deno.env.get("DATASTREAM_API_KEY") });

const characteristics = ["Nitrate", "Total Phosphorus, mixed forms", "Dissolved oxygen (DO)"];
const filter = isIn("CharacteristicName", characteristics);
const select = ["DOI", "ActivityStartDate", "CharacteristicName", "ResultValue"] as const;
const query = client.records({ select, filter });
const datasets = client.metadata({ select: ["DOI", "Version"], filter });
const requestVersion = async () => JSON.stringify([query.url, await datasets.toArray()]);

/** The last run: a file of `size` bytes. It is complete if there is no cursor. */
type State = { version?: string; size: number; cursor?: Cursor };
const saved: State = JSON.parse(
  await Deno.readTextFile("nutrients.json").catch(() => '{"size":0}'),
);
async function save(state: State) {
  await Deno.writeTextFile("nutrients.json.part", JSON.stringify(state));
  await Deno.rename("nutrients.json.part", "nutrients.json");
}

const version = await requestVersion();
if (saved.version === version && !saved.cursor) {
  console.log("nutrients.csv is up to date");
  Deno.exit();
}
const file = await Deno.open("nutrients.csv.part", { append: true, create: true });
const continues = saved.version === version && (await file.stat()).size >= saved.size;
let { size, cursor: after } = continues ? saved : { size: 0 };
await file.truncate(size); // removes rows after the saved cursor
const writer = file.writable.getWriter();
for await (const { data, cursor } of query.batches({ format: "csv", after })) {
  await writer.write(data);
  await save({ version, size: size += data.length, cursor });
}
await writer.close();
if (await requestVersion() !== version) throw new Error("A dataset has changed: run this again");
await Deno.rename("nutrients.csv.part", "nutrients.csv");
await save({ version, size });
console.log(`nutrients.csv has ${size} bytes`);
