// toRequest() converts built options to a Request that fetch() sends unchanged.
import "../../helpers/no_permission.ts";
import { Buffer } from "node:buffer";
import { Readable } from "node:stream";
import { assertEquals, assertMatch, assertRejects, assertThrows } from "@std/assert";
import { endpoint, toRequest, ValidationError } from "../../../mod.ts";
import type { EndpointOptions } from "../../../src/endpoint/mod.ts";

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

Deno.test("toRequest() sends the same body when it is FormData, a Blob, URLSearchParams or a stream", async () => {
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
  Deno.test(`toRequest() sends JSON when data is ${JSON.stringify(data)}`, async () => {
    const request = toRequest(endpoint("POST https://example.org/x", { data }));
    assertEquals(await request.text(), JSON.stringify(data));
    assertEquals(request.headers.get("content-type"), "application/json; charset=utf-8");
  });
}

/** A request with a body, as a caller passes it in `data`. */
const requestOf = (data: unknown, headers?: EndpointOptions["headers"]) =>
  toRequest(endpoint("POST https://example.org/x", { data, headers }));

Deno.test("toRequest() keeps the content type when one is set", () => {
  const type = "application/merge-patch+json";
  assertEquals(requestOf({ a: 1 }, { "Content-Type": type }).headers.get("content-type"), type);
  assertEquals(requestOf(null, { "content-type": "" }).headers.get("content-type"), "");
  const options = { method: "post", url: "https://example.org/x", body: [1] };
  const request = toRequest({ ...options, headers: { "CONTENT-TYPE": type } });
  assertEquals(request.headers.get("content-type"), type);
  assertEquals(requestOf("text").headers.get("content-type"), "text/plain;charset=UTF-8");
  assertEquals(requestOf(new Uint8Array(1)).headers.has("content-type"), false);
});

Deno.test("toRequest() sends the JSON text null when data is null, and no body when it is undefined", async () => {
  const request = requestOf(null);
  assertEquals(request.headers.get("content-type"), "application/json; charset=utf-8");
  assertEquals(await request.text(), "null");
  assertEquals([requestOf(undefined).body, requestOf(undefined).headers.has("content-type")], [
    null,
    false,
  ]);
  const get = toRequest(endpoint("GET https://example.org/x", { data: null }));
  assertEquals([get.body, get.headers.has("content-type")], [null, false]);
});

const unencodable: [got: string, value: unknown][] = [
  ["Map", new Map([["a", 1]])],
  ["SharedArrayBuffer", new SharedArrayBuffer(2)],
  ["Promise", Promise.resolve(1)],
  ["Headers", new Headers()],
  ["Function", () => 1],
  ["Symbol", Symbol("s")],
  ["BigInt", 1n],
  ["NaN", NaN],
];
for (const [got, value] of unencodable) {
  Deno.test(`toRequest() throws an error with the type when the body is a ${got}`, () => {
    const error = assertThrows(() => requestOf(value), ValidationError, `got ${got}`);
    assertEquals(error.option, "body");
  });

  Deno.test(`toRequest() throws an error with the parameter when the body contains a ${got}`, () => {
    for (const thing of [value, [value], { deep: [{ value }] }]) {
      const options = endpoint("POST https://example.org/x", { before: { a: 1 }, thing });
      const error = assertThrows(() => toRequest(options), ValidationError, `got ${got}`);
      assertMatch(error.message, /^body\.thing must contain only what JSON can represent, /);
    }
  });
}

Deno.test("toRequest() throws an error with the parameter when the body refers to itself", () => {
  class Node {
    self = { list: [this] };
  }
  const call = () =>
    toRequest(endpoint("POST https://example.org/x", { before: [1], loop: new Node() }));
  const error = assertThrows(call, ValidationError, "refers to itself");
  assertEquals(error.option, "body.loop");
  const circle: Record<string, unknown> = {};
  circle.self = circle;
  assertThrows(() => requestOf(circle), ValidationError, "body.self");
});

// Streams.

const chunks = [
  new Uint8Array([0xc3]),
  new Uint8Array([0xa9]).buffer,
  "é\ud83c",
  "",
  "\udf0a",
  new Uint16Array([0x6161]),
];

Deno.test("toRequest() streams bytes and text when the body is an async iterable", async () => {
  const create = async function* () {
    yield* chunks;
  };
  const request = requestOf(create(), { "content-type": "text/plain" });
  assertEquals(request.headers.get("content-type"), "text/plain");
  assertEquals(await request.text(), "éé🌊aa");
  assertEquals(requestOf(create()).headers.has("content-type"), false);
});

Deno.test("toRequest() streams the body when it is a Node Readable", async () => {
  assertEquals(await requestOf(Readable.from([Buffer.from("a"), "é"])).text(), "aé");
  const decoded = Readable.from([Buffer.from("🌊").subarray(0, 2), Buffer.from("🌊").subarray(2)]);
  assertEquals(await requestOf(decoded.setEncoding("utf8")).text(), "🌊");
});

Deno.test("toRequest() writes the replacement character when text ends in half a surrogate pair", async () => {
  const half = (async function* () {
    yield "a\ud83c";
  })();
  assertEquals(await requestOf(half).text(), "a\ufffd");
  const mixed = (async function* () {
    yield "a\ud83c";
    yield new Uint8Array([98]);
  })();
  assertEquals(await requestOf(mixed).text(), "a\ufffdb");
});

Deno.test("toRequest() closes the async iterable when the request's body is cancelled", async () => {
  let closed = false;
  const request = requestOf((async function* () {
    try {
      while (true) yield "a";
    } finally {
      closed = true;
    }
  })());
  const reader = request.body!.getReader();
  await reader.read();
  await reader.cancel();
  assertEquals(closed, true);
});

for (const chunk of [{ a: 1 }, null]) {
  const got = Object.prototype.toString.call(chunk).slice(8, -1);
  Deno.test(`toRequest() rejects the read and closes the iterable when a chunk is a ${got}`, async () => {
    let closed = false;
    const request = requestOf((async function* () {
      try {
        yield "a";
        yield chunk;
      } finally {
        closed = true;
      }
    })());
    await assertRejects(() => request.text(), ValidationError, got);
    assertEquals(closed, true);
  });
}

Deno.test("toRequest() converts the method to upper case when fetch would not", () => {
  for (const method of ["patch", "query", "get", "delete"]) {
    assertEquals(
      toRequest(endpoint(`${method} https://example.org/x`)).method,
      method.toUpperCase(),
    );
  }
});

Deno.test("toRequest() throws an error without the value when a header is not valid", () => {
  const options = endpoint("https://example.org/x", { headers: { "x-api-key": "secret\nkey" } });
  const error = assertThrows(() => toRequest(options), ValidationError);
  assertEquals(error.option, "headers.x-api-key");
  assertEquals(Deno.inspect(error).includes("secret"), false);
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
    for (
      const runtime of ["Deno/2.9.6", "Node.js/24", "Bun/1.4", "Cloudflare-Workers", undefined]
    ) {
      assertEquals(agentIn(runtime), "my-app/1.0");
    }
  } finally {
    Object.defineProperty(globalThis, "navigator", own);
  }
});
