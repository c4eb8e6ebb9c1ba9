import { assertEquals, assertThrows } from "@std/assert";
import { endpoint, toRequest } from "../../mod.ts";

Deno.test("toRequest() makes a Request with method, headers and JSON body", async () => {
  const request = toRequest(endpoint("patch https://example.org/x", { a: [1, null] }));
  assertEquals(request.method, "PATCH");
  assertEquals(request.headers.get("content-type"), "application/json; charset=utf-8");
  assertEquals(await request.text(), '{"a":[1,null]}');
});

Deno.test("toRequest() follows no redirect", () => {
  assertEquals(toRequest(endpoint("/x")).redirect, "manual");
  assertEquals(toRequest(endpoint("/x"), { redirect: "follow" }).redirect, "follow");
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

Deno.test("toRequest() passes forms, blobs, parameters and streams as they are", async () => {
  const form = new FormData();
  form.set("a", "é");
  const sentForm = toRequest(endpoint("POST https://example.org/x", { data: form }));
  assertEquals((await sentForm.formData()).get("a"), "é");
  const blob = new Blob(["b"], { type: "text/x-b" });
  const sentBlob = toRequest(endpoint("POST https://example.org/x", { data: blob }));
  assertEquals([sentBlob.headers.get("content-type"), await sentBlob.text()], ["text/x-b", "b"]);
  const pairs = new URLSearchParams({ c: "d" });
  const sentPairs = toRequest(endpoint("POST https://example.org/x", { data: pairs }));
  assertEquals(await sentPairs.text(), "c=d");
  const stream = new Blob(["streamed"]).stream();
  const sentStream = toRequest(endpoint("POST https://example.org/x", { data: stream }));
  assertEquals(await sentStream.text(), "streamed");
  const buffer = new Uint8Array([1, 2]).buffer;
  const sentBuffer = toRequest(endpoint("POST https://example.org/x", { data: buffer }));
  assertEquals((await sentBuffer.arrayBuffer()).byteLength, 2);
});

for (const data of [{ a: 1 }, [1], 0, false, null]) {
  Deno.test(`toRequest() encodes ${JSON.stringify(data)} as JSON`, async () => {
    const request = toRequest(endpoint("POST https://example.org/x", { data }));
    assertEquals(await request.text(), JSON.stringify(data));
  });
}

Deno.test("toRequest() says what JSON cannot hold", () => {
  const circle: Record<string, unknown> = {};
  circle.self = circle;
  for (const data of [{ a: 1n }, circle, () => 1, Symbol("s")]) {
    const options = endpoint("POST https://example.org/x", { data });
    assertThrows(() => toRequest(options), TypeError, "Cannot encode the body");
  }
});

Deno.test("toRequest() upper-cases methods that fetch would leave as they are", () => {
  for (const method of ["patch", "query", "get", "delete"]) {
    assertEquals(
      toRequest(endpoint(`${method} https://example.org/x`)).method,
      method.toUpperCase(),
    );
  }
});

Deno.test("toRequest() names a header that cannot be sent, and does not show its value", () => {
  const options = endpoint("https://example.org/x", { headers: { "x-api-key": "secret\nkey" } });
  const error = assertThrows(() => toRequest(options), TypeError, '"x-api-key"');
  assertEquals(Deno.inspect(error).includes("secret"), false);
});
