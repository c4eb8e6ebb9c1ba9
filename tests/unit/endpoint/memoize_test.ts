// Tests `memoize()` directly: a cache does not change any result of an entry point.
import "../../helpers/no_permission.ts";
import { assertEquals, assertThrows } from "@std/assert";
import { memoize } from "../../../src/endpoint/merge.ts";

Deno.test("memoize() clears its cache when it has 1,000 results", () => {
  let calls = 0;
  const read = memoize((text) => `${text}${++calls}`);
  for (let entry = 0; entry < 1_000; entry++) read(`k${entry}`);
  read("k0");
  assertEquals(calls, 1_000);
  read("k1000");
  read("k1000");
  read("k0");
  assertEquals(calls, 1_002);
});

Deno.test("memoize() does not cache when the text is over 500 characters or the function throws", () => {
  let calls = 0;
  const read = memoize((text) => {
    calls++;
    if (text === "bad") throw new Error("bad");
    return text;
  });
  for (const text of ["x".repeat(501), "x".repeat(501), "x".repeat(500), "x".repeat(500)]) {
    read(text);
  }
  assertEquals(calls, 3);
  assertThrows(() => read("bad"), Error, "bad");
  assertThrows(() => read("bad"), Error, "bad");
  assertEquals(calls, 5);
});
