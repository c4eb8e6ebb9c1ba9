// Joins observations and locations in DuckDB, and prints the mean water temperature by location type.
import { writeFile } from "node:fs/promises";
import { DuckDBInstance } from "@duckdb/node-api";
import { DataStream } from "@weir/datastream";
import { createSandbox } from "@weir/datastream/sandbox";

// Synthetic data, without an API key or the network:
const { apiKey, url, fetch } = createSandbox();
const client = new DataStream({ apiKey, baseUrl: url, fetch });
// Real data:
// const client = new DataStream({ apiKey: process.env.DATASTREAM_API_KEY });

const observations = client.observations({
  select: ["LocationId", "ActivityStartDate", "ResultValue"],
  filter: "CharacteristicName eq 'Temperature, water'",
});
await writeFile("observations.csv", observations.csv());
await writeFile("locations.csv", client.locations().csv());

const instance = await DuckDBInstance.create();
const connection = await instance.connect();
const result = await connection.runAndReadAll(`
  SELECT MonitoringLocationType AS type, count(*) AS n, round(avg(ResultValue), 2) AS mean
  FROM 'observations.csv' JOIN 'locations.csv' ON LocationId = locations.Id
  GROUP BY type ORDER BY n DESC, type
`);
for (const [type, count, mean] of result.getRows()) {
  console.log(`${type}: ${count} values, ${mean} °C`);
}
connection.closeSync();
