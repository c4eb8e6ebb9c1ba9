import "../../helpers/no_permission.ts";
import { assertEquals, assertStrictEquals, assertThrows } from "@std/assert";
import { BoundedCache } from "../../../src/endpoint/bounded_cache.ts";

Deno.test("get() makes once what is asked for again", () => {
  const cache = new BoundedCache((key) => ({ key }));
  assertStrictEquals(cache.get("a"), cache.get("a"));
});

Deno.test("get() keeps 200 entries, the newest", () => {
  let made = 0;
  const cache = new BoundedCache((key) => `${key}${++made}`);
  for (let entry = 0; entry < 201; entry++) cache.get(`k${entry}`);
  cache.get("k1");
  assertEquals(made, 201);
  cache.get("k0");
  assertEquals(made, 202);
});

Deno.test("get() keeps nothing of a key over 2,000 characters, and nothing that failed", () => {
  let made = 0;
  const cache = new BoundedCache((key) => {
    made++;
    if (key === "bad") throw new Error("bad");
    return key;
  });
  for (const key of ["x".repeat(2_001), "x".repeat(2_001), "x".repeat(2_000), "x".repeat(2_000)]) {
    cache.get(key);
  }
  assertEquals(made, 3);
  assertThrows(() => cache.get("bad"), Error, "bad");
  assertThrows(() => cache.get("bad"), Error, "bad");
  assertEquals(made, 5);
});
