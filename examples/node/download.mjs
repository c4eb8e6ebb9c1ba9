// Downloads the monitoring locations of Prince Edward Island to locations.csv.
import { createWriteStream } from "node:fs";
import { Readable } from "node:stream";
import { pipeline } from "node:stream/promises";
import { DataStream } from "@weir/datastream";
import { createSandbox } from "@weir/datastream/sandbox";

// Synthetic data, without an API key or the network:
const { apiKey, url, fetch } = createSandbox();
const client = new DataStream({ apiKey, baseUrl: url, fetch });
// Real data:
// const client = new DataStream({ apiKey: process.env.DATASTREAM_API_KEY });

const query = client.locations({ filter: "RegionId eq 'admin.4.ca.pe'" });
await pipeline(Readable.fromWeb(query.csv()), createWriteStream("locations.csv"));
console.log(`locations.csv has ${await query.count()} rows`);
