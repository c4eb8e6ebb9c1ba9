// Memory of a running download: only the chunks that the client has not read yet.
// Tests `streamDownload()` directly: the app does not give access to the chunks of the client.
import "../../helpers/no_permission.ts";
import { assert, assertEquals } from "@std/assert";
import { ClientReader } from "../../../edge/client_reader.ts";
import { OutputBudget, OutputBuffer } from "../../../edge/output_budget.ts";
import { releaseBuffer } from "../../../src/formats/page_writer.ts";
import { streamDownload } from "../../../edge/download_response.ts";

const CLOCK = { now: () => 0, sleep: () => new Promise<void>(() => {}) };
/** Options of a download whose events the test ignores. */
const OPTIONS = {
  headers: {},
  signal: new AbortController().signal,
  readerTimeout: 1,
  clock: CLOCK,
  onError: () => {},
  onDisconnect: () => {},
  onRead: () => {},
  onChunk: () => {},
  onEnd: () => {},
  createBodyError: () => new Error(),
};

const CHUNK = Uint8Array.from({ length: 200_000 }, (_, index) => index % 251);

Deno.test("streamDownload() returns copies of at most 64 KiB and frees each chunk after its last copy", async () => {
  const chunks = [CHUNK.slice(), CHUNK.slice()];
  let given = 0;
  const budget = new OutputBudget(1, CLOCK);
  const buffer = new OutputBuffer(budget);
  await buffer.startPage();
  for (const { length } of chunks) buffer.add(length);
  buffer.endPage();
  const response = await streamDownload({
    stream: new ReadableStream({
      pull(controller) {
        const chunk = chunks[given++];
        if (chunk) controller.enqueue(chunk);
        else controller.close();
      },
    }, { highWaterMark: 0 }),
    ...OPTIONS,
    reader: new ClientReader(CLOCK),
    isShared: false,
    onRead(part) {
      buffer.remove(part.length);
      releaseBuffer(part);
    },
  });
  const received: Uint8Array[] = [];
  const buffered: number[] = [];
  for await (const part of response.body!) {
    buffered.push(budget.used);
    assertEquals(chunks.reduce((sum, { length }) => sum + length, 0), budget.used);
    assertEquals(part.buffer.byteLength, part.length);
    received.push(part);
  }
  const both = 2 * CHUNK.length;
  assertEquals(buffered, [
    both,
    both,
    both,
    CHUNK.length,
    CHUNK.length,
    CHUNK.length,
    CHUNK.length,
    0,
  ]);
  assert(received.every(({ length }) => length <= 65_536));
  const whole = new Uint8Array(
    await new Blob(received as Uint8Array<ArrayBuffer>[]).arrayBuffer(),
  );
  assertEquals(whole, new Uint8Array([...CHUNK, ...CHUNK]));
});

Deno.test("streamDownload() returns parts of a chunk without copying them when the chunk is shared", async () => {
  const { body } = await streamDownload({
    stream: new ReadableStream({
      start(controller) {
        controller.enqueue(CHUNK);
        controller.close();
      },
    }),
    ...OPTIONS,
    reader: new ClientReader(CLOCK),
    isShared: true,
  });
  const received: Uint8Array[] = [];
  for await (const part of body!) received.push(part);
  assert(received.every(({ buffer, length }) => buffer === CHUNK.buffer && length <= 65_536));
  assertEquals(new Uint8Array(received.flatMap((part) => [...part])), CHUNK);
});
