// Writes the nitrate values of 2020 to a CSV file and prints their mean by monitoring location.
/// <reference types="node" />
import { writeFile } from "node:fs/promises";
import { and, DataStream, DataStreamError, eq, type Filter } from "@weir/datastream";
import { createSandbox } from "@weir/datastream/sandbox";

// Synthetic data, without an API key or the network:
const { apiKey, url, fetch } = createSandbox();
const client = new DataStream({ apiKey, baseUrl: url, fetch });
// Real data:
// const client = new DataStream({ apiKey: process.env.DATASTREAM_API_KEY });

const filter: Filter = and(eq("CharacteristicName", "Nitrate"), eq("ActivityStartYear", 2020));
const query = client.observations({ select: ["LocationId", "ResultValue", "ResultUnit"], filter });

try {
  await writeFile("nitrate.csv", query.csv());
  // The type of a row follows from `select`: row.ResultComment would not compile.
  const values = new Map<number, number[]>();
  for await (const { LocationId, ResultValue } of query) {
    if (ResultValue === null) continue;
    values.set(LocationId, [...values.get(LocationId) ?? [], ResultValue]);
  }
  for (const [location, all] of values) {
    const mean = all.reduce((sum, value) => sum + value, 0) / all.length;
    console.log(location, mean.toFixed(3), "mg/L");
  }
} catch (error) {
  if (!(error instanceof DataStreamError)) throw error;
  console.error(error.kind, error.message);
  process.exitCode = 1;
}
