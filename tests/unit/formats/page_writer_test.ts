// Tests functions for memory directly: no entry point gives access to the buffer of a page.
import "../../helpers/no_permission.ts";
import { assertEquals } from "@std/assert";
import { releaseBuffer, writePage } from "../../../src/formats/page_writer.ts";
import { createNdjsonWriter } from "../../../src/formats/json.ts";

Deno.test("releaseBuffer() detaches the buffer", () => {
  const bytes = new Uint8Array(1_000_000);
  releaseBuffer(bytes);
  assertEquals([bytes.length, bytes.buffer.byteLength], [0, 0]);
});

Deno.test("releaseBuffer() does nothing when the runtime has no ArrayBuffer.prototype.transfer", () => {
  const bytes = new Uint8Array(3);
  Object.defineProperty(bytes.buffer, "transfer", { value: undefined });
  releaseBuffer(bytes);
  assertEquals(bytes.length, 3);
});

Deno.test("writePage() does not release the page", () => {
  const page = new TextEncoder().encode('{"value":[{"Id":1}]}');
  const bytes = writePage(createNdjsonWriter(), page);
  assertEquals([page.length, bytes.buffer.byteLength], [20, bytes.length]);
});
