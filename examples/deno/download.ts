// Downloads the pH values since 2015 to ph.csv and prints the citations of their datasets.
import { and, DataStream, eq, gte } from "@weir/datastream";
import { createSandbox } from "@weir/datastream/sandbox";

// Synthetic data, without an API key or the network:
const { apiKey, url, fetch } = createSandbox();
const client = new DataStream({ apiKey, baseUrl: url, fetch });
// Real data:
// const client = new DataStream({ apiKey: Deno.env.get("DATASTREAM_API_KEY") });

const filter = and(eq("CharacteristicName", "pH"), gte("ActivityStartYear", 2015));
const query = client.records({
  select: ["DOI", "MonitoringLocationName", "ActivityStartDate", "ResultValue"],
  filter,
});
await Deno.writeFile("ph.csv", query.csv());
console.log(`ph.csv has ${await query.count()} rows`);
for (const { citation } of await client.citations(filter)) console.log(citation);
