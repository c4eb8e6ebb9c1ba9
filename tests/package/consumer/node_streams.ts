// Passes the streams of a query to Node. The tests compile it in several settings; it is never run.
import * as fs from "node:fs";
import { writeFile } from "node:fs/promises";
import { Readable, Writable } from "node:stream";
import { pipeline } from "node:stream/promises";
import type { ReadableStream as NodeStream } from "node:stream/web";
import { DataStream } from "@weir/datastream";

const client = new DataStream();
const records = client.records();

export async function writeBytes(): Promise<void> {
  await writeFile("a.csv", records.csv());
  Readable.fromWeb(records.csv()).pipe(process.stdout);
  Readable.from(records.csv()).pipe(process.stdout);
  await pipeline(records.csv(), fs.createWriteStream("a"));
  await records.csv().pipeTo(Writable.toWeb(fs.createWriteStream("a")));
  const stream: NodeStream<Uint8Array> = records.csv();
  for await (const chunk of stream) process.stdout.write(chunk);
}

export async function readRows(): Promise<void> {
  Readable.fromWeb(records.rows()).on("data", console.log);
  const [first, second] = records.rows().tee();
  Readable.fromWeb(first).pipe(new Writable({ objectMode: true }));
  for await (const row of second) console.log(row.Id.toFixed());
}

export async function writeBatches(): Promise<void> {
  for await (const { data, cursor } of records.batches({ format: "csv" })) {
    await writeFile("a", data);
    process.stdout.write(data);
    await writeFile("b", JSON.stringify(cursor));
  }
}
