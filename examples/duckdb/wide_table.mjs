// Makes a wide table in DuckDB: one row per location, and the median of each characteristic in a column of its own.
import { writeFile } from "node:fs/promises";
import { DuckDBInstance } from "@duckdb/node-api";
import { DataStream, isIn } from "@weir/datastream";
import { createSandbox } from "@weir/datastream/sandbox";

// Synthetic data, without an API key or the network:
const { apiKey, url, fetch } = createSandbox();
const client = new DataStream({ apiKey, baseUrl: url, fetch });
// Real data:
// const client = new DataStream({ apiKey: process.env.DATASTREAM_API_KEY });

const observations = client.observations({
  select: ["LocationId", "CharacteristicName"],
  filter: isIn("CharacteristicName", ["pH", "Chloride"]),
  tidy: true,
  excludeQualityControl: true,
});
await writeFile("tidy.csv", observations.csv());

const instance = await DuckDBInstance.create();
const connection = await instance.connect();
// A median needs the values below a limit too: they take part with their limit, so a median below it is an upper bound.
const result = await connection.runAndReadAll(`
  PIVOT (FROM 'tidy.csv' WHERE censoring IN ('none', 'left'))
  ON CharacteristicName IN ('pH', 'Chloride')
  USING round(median(value), 3)
  GROUP BY LocationId ORDER BY LocationId
`);
for (const [location, pH, chloride] of result.getRows()) {
  console.log(`${location}: pH ${pH}, chloride ${chloride} mg/L`);
}
connection.closeSync();
