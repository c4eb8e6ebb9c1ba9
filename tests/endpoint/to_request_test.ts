import { assertEquals } from "@std/assert";
import { endpoint, toRequest } from "../../mod.ts";

Deno.test("toRequest() makes a Request with method, headers and JSON body", async () => {
  const request = toRequest(endpoint("patch https://example.org/x", { a: [1, null] }));
  assertEquals(request.method, "PATCH");
  assertEquals(request.headers.get("content-type"), "application/json; charset=utf-8");
  assertEquals(await request.text(), '{"a":[1,null]}');
});

Deno.test("toRequest() follows no redirect", () => {
  assertEquals(toRequest(endpoint("/x")).redirect, "manual");
});

Deno.test("toRequest() passes bytes and text as they are", async () => {
  const bytes = new Uint8Array([0, 255]);
  const sent = toRequest(endpoint("PUT https://example.org/x", { data: bytes }));
  assertEquals(new Uint8Array(await sent.arrayBuffer()), bytes);
  const text = toRequest(endpoint("PUT https://example.org/x", { data: '{"raw":1}' }));
  assertEquals(await text.text(), '{"raw":1}');
});

Deno.test("toRequest() carries a signal", () => {
  const stop = new AbortController();
  const request = toRequest(endpoint("/x"), { signal: stop.signal });
  stop.abort();
  assertEquals(request.signal.aborted, true);
});
