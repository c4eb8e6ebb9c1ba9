// Writes a Parquet file, and prints the median pH of the location types in DuckDB, which reads only the columns it needs.
import { writeFile } from "node:fs/promises";
import { DuckDBInstance } from "@duckdb/node-api";
import { DataStream, eq } from "@weir/datastream";
import { toParquet } from "@weir/datastream/parquet";
import { createSandbox } from "@weir/datastream/sandbox";

// Synthetic data, without an API key or the network:
const { apiKey, url, fetch } = createSandbox();
const client = new DataStream({ apiKey, baseUrl: url, fetch });
// Real data:
// const client = new DataStream({ apiKey: process.env.DATASTREAM_API_KEY });

const query = client.records({ filter: eq("CharacteristicName", "pH"), tidy: true });
await writeFile("ph.parquet", toParquet(query));

const instance = await DuckDBInstance.create();
const connection = await instance.connect();
const result = await connection.runAndReadAll(`
  SELECT MonitoringLocationType AS type, count(*) AS n, round(median(value), 2) AS median
  FROM 'ph.parquet' WHERE censoring = 'none' AND NOT is_quality_control
  GROUP BY type ORDER BY n DESC, type
`);
for (const [type, count, median] of result.getRows()) {
  console.log(`${type}: ${count} values, ${median}`);
}
connection.closeSync();
