import "../../helpers/no_permission.ts";
import { assertEquals } from "@std/assert";
import { releaseBuffer, truncate } from "../../../src/formats/page_writer.ts";
import { createNdjsonWriter } from "../../../src/formats/json.ts";

Deno.test("releaseBuffer() gives the memory back at once", () => {
  const bytes = new Uint8Array(1_000_000);
  releaseBuffer(bytes);
  assertEquals([bytes.length, bytes.buffer.byteLength], [0, 0]);
});

Deno.test("releaseBuffer() does nothing where the runtime cannot", () => {
  const bytes = new Uint8Array(3);
  Object.defineProperty(bytes.buffer, "transfer", { value: undefined });
  releaseBuffer(bytes);
  assertEquals(bytes.length, 3);
});

Deno.test("truncate() keeps the beginning, in memory of its own", () => {
  const bytes = Uint8Array.of(1, 2, 3, 4);
  const kept = truncate(bytes, 2);
  assertEquals([[...kept], kept.buffer.byteLength, bytes.length], [
    [1, 2],
    2,
    0,
  ]);
});

Deno.test("a writer leaves the page that it was given", () => {
  const page = new TextEncoder().encode('{"value":[{"Id":1}]}');
  const { bytes } = createNdjsonWriter().write(page);
  assertEquals([page.length, bytes.buffer.byteLength], [20, bytes.length]);
});
