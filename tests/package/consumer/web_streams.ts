// Uses the streams of a query with Web APIs. The tests compile it in several settings; it is never run.
import { DataStream } from "@weir/datastream";
import { createApp } from "@weir/datastream/edge";
import { createSandbox } from "@weir/datastream/sandbox";

const client = new DataStream();
const records = client.records();

export async function readBytes(): Promise<void> {
  await new Response(records.csv()).text();
  for await (const chunk of records.csv()) console.log(chunk.byteLength);
  const zipped = records.csv().pipeThrough(new CompressionStream("gzip"));
  await new Response(zipped).arrayBuffer();
  const text: ReadableStream<string> = records.csv().pipeThrough(new TextDecoderStream());
  await records.csv().pipeTo(new WritableStream<Uint8Array>());
  const reader = records.csv().getReader();
  const { value } = await reader.read();
  console.log(value?.byteLength);
  const stream: ReadableStream<Uint8Array> = records.csv();
  const iterable: AsyncIterable<Uint8Array> = records.csv();
  void [text, stream, iterable];
}

export async function readRows(): Promise<void> {
  for await (const page of records.pages()) console.log(page.length, page[0]!.Id.toFixed());
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
