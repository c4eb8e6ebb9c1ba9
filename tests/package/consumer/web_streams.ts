// Uses the streams of a query with Web APIs. The tests compile it in several settings; it is never run.
import { DataStream } from "@weir/datastream";
import { createApp } from "@weir/datastream/edge";
import { createSandbox } from "@weir/datastream/sandbox";

const client = new DataStream();
const records = client.records();
const locations = client.locations();

export async function readBytes(): Promise<void> {
  const streams = [records.csv(), records.ndjson(), records.json(), records.bytes("csv")];
  for (const stream of [...streams, locations.geojson()]) {
    await new Response(stream).text();
    for await (const chunk of stream) console.log(chunk.byteLength);
  }
  const zipped = records.csv().pipeThrough(new CompressionStream("gzip"));
  await new Response(zipped).arrayBuffer();
  const text: ReadableStream<string> = records.csv().pipeThrough(new TextDecoderStream());
  await text.pipeTo(new WritableStream<string>());
  await records.csv().pipeTo(new WritableStream<Uint8Array>());
  const reader = records.csv().getReader();
  const { done, value } = await reader.read();
  if (!done) console.log(value.byteLength);
  reader.releaseLock();
  const stream: ReadableStream<Uint8Array> = records.csv();
  const iterable: AsyncIterable<Uint8Array> = records.csv();
  await Promise.all([stream.cancel(), ...records.csv().tee().map((branch) => branch.cancel())]);
  void iterable;
}

export async function readRows(): Promise<void> {
  for await (const page of records.pages()) console.log(page.length, page[0]!.Id.toFixed());
  for await (const row of records.rows()) console.log(row.Id.toFixed());
  for await (const row of records) console.log(row.Id.toFixed());
  await records.rows().pipeTo(
    new WritableStream({
      write(row) {
        console.log(row.Id.toFixed());
      },
    }),
  );
  for await (const { data } of records.batches({ format: "csv" })) await new Response(data).text();
}

export async function respond(): Promise<Response> {
  const sandbox = createSandbox();
  const fetch: typeof globalThis.fetch = sandbox.fetch;
  const app = createApp({ access: "public", fetch });
  const response: Response = await app.request("/Records.csv");
  await response.body!.pipeTo(new WritableStream());
  return new Response(response.body);
}
