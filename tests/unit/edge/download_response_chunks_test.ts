// Memory of a running download: only the chunks that the client has not read yet.
// Tests `streamDownload()` directly: the app does not give access to the chunks of the client.
import "../../helpers/no_permission.ts";
import { assert, assertEquals } from "@std/assert";
import { streamDownload } from "../../../edge/download_response.ts";

const CHUNK = Uint8Array.from({ length: 200_000 }, (_, index) => index % 251);

Deno.test("streamDownload() releases the buffer of a chunk and returns copies of at most 64 KiB", async () => {
  const chunks = [CHUNK.slice(), CHUNK.slice()];
  let given = 0;
  const response = await streamDownload({
    stream: new ReadableStream({
      pull(controller) {
        const chunk = chunks[given++];
        if (chunk) controller.enqueue(chunk);
        else controller.close();
      },
    }, { highWaterMark: 0 }),
    headers: {},
    signal: new AbortController().signal,
    readerTimeout: 1,
    clock: { now: () => 0, sleep: () => new Promise(() => {}) },
    onError: () => {},
    onChunk: () => {},
    onEnd: () => {},
  });
  const received: Uint8Array[] = [];
  for await (const part of response.body!) {
    if (received.length === 0) {
      assertEquals(chunks.map(({ length }) => length), [0, CHUNK.length]);
    }
    assertEquals(part.buffer.byteLength, part.length);
    received.push(part);
  }
  assert(received.every(({ length }) => length <= 65_536));
  const whole = new Uint8Array(
    await new Blob(received as Uint8Array<ArrayBuffer>[]).arrayBuffer(),
  );
  assertEquals(whole, new Uint8Array([...CHUNK, ...CHUNK]));
});
