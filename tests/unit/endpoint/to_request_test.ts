// toRequest() converts built options to a Request that fetch() sends unchanged.
import "../../helpers/no_permission.ts";
import { Buffer } from "node:buffer";
import { Readable } from "node:stream";
import { assertEquals, assertMatch, assertRejects, assertThrows } from "@std/assert";
import { endpoint, toRequest, ValidationError } from "../../../mod.ts";
import type { EndpointOptions } from "../../../src/endpoint/mod.ts";

/** A request with a body, as a caller passes it in `data`. */
const requestOf = (data: unknown, headers?: EndpointOptions["headers"]) =>
  toRequest(endpoint("POST https://example.org/x", { data, headers }));

Deno.test("toRequest() follows redirects only when the caller asks for it", () => {
  assertEquals(toRequest(endpoint("/x")).redirect, "manual");
  assertEquals(toRequest(endpoint("/x"), { redirect: "follow" }).redirect, "follow");
});

Deno.test("toRequest() aborts the Request when the signal of its options is aborted", () => {
  const stop = new AbortController();
  const request = toRequest(endpoint("/x"), { signal: stop.signal });
  stop.abort();
  assertEquals(request.signal.aborted, true);
});

const JSON_TYPE = "application/json; charset=utf-8";
const bodies: [data: unknown, text: string, type: string | null][] = [
  [new Blob(["b"], { type: "text/x-b" }), "b", "text/x-b"],
  [new URLSearchParams({ c: "d" }), "c=d", "application/x-www-form-urlencoded;charset=UTF-8"],
  [new Blob(["streamed"]).stream(), "streamed", null],
  [new Uint8Array([97]), "a", null],
  [new Uint8Array([97]).buffer, "a", null],
  ["text", "text", "text/plain;charset=UTF-8"],
  [{ a: 1 }, '{"a":1}', JSON_TYPE],
  [false, "false", JSON_TYPE],
  [null, "null", JSON_TYPE],
  [undefined, "", null],
];
for (const [data, text, type] of bodies) {
  Deno.test(`toRequest() sends "${text}" as ${type} when data is ${Deno.inspect(data)}`, async () => {
    const request = requestOf(data);
    assertEquals([request.headers.get("content-type"), await request.text()], [type, text]);
  });
}

Deno.test("toRequest() sends the fields of FormData", async () => {
  const form = new FormData();
  form.set("a", "é");
  assertEquals((await requestOf(form).formData()).get("a"), "é");
});

Deno.test("toRequest() keeps the content type when one is set", () => {
  const type = "application/merge-patch+json";
  assertEquals(requestOf({ a: 1 }, { "Content-Type": type }).headers.get("content-type"), type);
  assertEquals(requestOf(null, { "content-type": "" }).headers.get("content-type"), "");
});

const unencodable: [got: string, value: unknown][] = [
  ["Map", new Map([["a", 1]])],
  ["Promise", Promise.resolve(1)],
  ["Function", () => 1],
  ["BigInt", 1n],
  ["NaN", NaN],
];
for (const [got, value] of unencodable) {
  Deno.test(`toRequest() throws an error that names the place of a ${got} in the body`, () => {
    const error = assertThrows(() => requestOf(value), ValidationError, `got ${got}`);
    assertEquals(error.option, "body");
    const options = endpoint("POST https://example.org/x", { a: 1, thing: { deep: [{ value }] } });
    const { message } = assertThrows(() => toRequest(options), ValidationError, `got ${got}`);
    assertMatch(message, /^body\.thing must contain only what JSON can represent, /);
  });
}

Deno.test("toRequest() throws an error with the parameter when the body refers to itself", () => {
  class Node {
    self = { list: [this] };
  }
  const call = () =>
    toRequest(endpoint("POST https://example.org/x", { before: [1], loop: new Node() }));
  assertEquals(assertThrows(call, ValidationError, "refers to itself").option, "body.loop");
});

Deno.test("toRequest() streams bytes and text when the body is an async iterable", async () => {
  const create = async function* () {
    yield new Uint8Array([0xc3]);
    yield new Uint8Array([0xa9]).buffer;
    yield* ["é\ud83c", "", "\udf0a"];
    yield new Uint16Array([0x6161]);
    yield "\ud83c"; // half a surrogate pair
    yield new Uint8Array([98]);
    yield "\ud83c";
  };
  const request = requestOf(create(), { "content-type": "text/plain" });
  assertEquals(request.headers.get("content-type"), "text/plain");
  assertEquals(await request.text(), "éé🌊aa\ufffdb\ufffd");
  assertEquals(await requestOf(Readable.from([Buffer.from("a"), "é"])).text(), "aé");
});

/** Returns a request that streams chunks again and again, and tells whether the iterable was closed. */
function streaming(...chunks: unknown[]) {
  const state = { closed: false };
  const create = async function* () {
    try {
      while (true) yield* chunks;
    } finally {
      state.closed = true;
    }
  };
  return { state, request: requestOf(create()) };
}

Deno.test("toRequest() closes the async iterable when the request's body is cancelled", async () => {
  const { state, request } = streaming("a");
  const reader = request.body!.getReader();
  await reader.read();
  await reader.cancel();
  assertEquals(state.closed, true);
});

Deno.test("toRequest() rejects the read and closes the iterable when a chunk is an object", async () => {
  const { state, request } = streaming("a", { a: 1 });
  await assertRejects(() => request.text(), ValidationError, "Object");
  assertEquals(state.closed, true);
});

Deno.test("toRequest() converts the method to upper case when fetch would not", () => {
  const { method } = toRequest(endpoint("patch https://example.org/x"));
  assertEquals(method, "PATCH");
});

Deno.test("toRequest() leaves out user-agent only when the runtime is a browser", () => {
  const own = Object.getOwnPropertyDescriptor(globalThis, "navigator")!;
  const agentIn = (userAgent: string | undefined) => {
    Object.defineProperty(globalThis, "navigator", { configurable: true, value: { userAgent } });
    const headers = { "User-Agent": "my-app/1.0", "x-a": "1" };
    const request = toRequest(endpoint("https://example.org/x", { headers }));
    assertEquals(request.headers.get("x-a"), "1");
    return request.headers.get("user-agent");
  };
  try {
    assertEquals(agentIn("Mozilla/5.0 (X11; Linux x86_64; rv:140.0) Firefox/140.0"), null);
    for (const runtime of ["Deno/2.9.6", "Cloudflare-Workers", undefined]) {
      assertEquals(agentIn(runtime), "my-app/1.0");
    }
  } finally {
    Object.defineProperty(globalThis, "navigator", own);
  }
});
