// What an open download holds: what its reader has not taken yet, and no more.
import "../../../helpers/no_permission.ts";
import { assert, assertEquals } from "@std/assert";
import { downloadResponse } from "../../../../edge/downloads/download.ts";

const CHUNK = Uint8Array.from({ length: 200_000 }, (_, index) => index % 251);

Deno.test("downloadResponse() takes a chunk over, and gives it in pieces with memory of their own", async () => {
  const chunks = [CHUNK.slice(), CHUNK.slice()];
  let given = 0;
  const response = await downloadResponse({
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
    onFault: () => {},
    onEnd: () => {},
  });
  const pieces: Uint8Array[] = [];
  for await (const piece of response.body!) {
    if (pieces.length === 0) {
      assertEquals(chunks.map(({ length }) => length), [0, CHUNK.length]);
    }
    assertEquals(piece.buffer.byteLength, piece.length);
    pieces.push(piece);
  }
  assert(pieces.every(({ length }) => length <= 65_536));
  const whole = new Uint8Array(
    await new Blob(pieces as Uint8Array<ArrayBuffer>[]).arrayBuffer(),
  );
  assertEquals(whole, new Uint8Array([...CHUNK, ...CHUNK]));
});
