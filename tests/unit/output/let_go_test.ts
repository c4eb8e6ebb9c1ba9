import "../../helpers/no_permission.ts";
import { assertEquals } from "@std/assert";
import { cutOff, letGo } from "../../../src/output/let_go.ts";
import { NdjsonWriter } from "../../../src/output/ndjson.ts";

Deno.test("letGo() gives the memory back at once", () => {
  const bytes = new Uint8Array(1_000_000);
  letGo(bytes);
  assertEquals([bytes.length, bytes.buffer.byteLength], [0, 0]);
});

Deno.test("letGo() does nothing where the runtime cannot", () => {
  const bytes = new Uint8Array(3);
  Object.defineProperty(bytes.buffer, "transfer", { value: undefined });
  letGo(bytes);
  assertEquals(bytes.length, 3);
});

Deno.test("cutOff() keeps the beginning, in memory of its own", () => {
  const bytes = Uint8Array.of(1, 2, 3, 4);
  const kept = cutOff(bytes, 2);
  assertEquals([[...kept], kept.buffer.byteLength, bytes.length], [
    [1, 2],
    2,
    0,
  ]);
});

Deno.test("a writer leaves the page that it was given", () => {
  const page = new TextEncoder().encode('{"value":[{"Id":1}]}');
  const { bytes } = new NdjsonWriter().write(page);
  assertEquals([page.length, bytes.buffer.byteLength], [20, bytes.length]);
});
