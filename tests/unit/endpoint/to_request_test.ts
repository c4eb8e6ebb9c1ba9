import "../../helpers/no_permission.ts";
import { Buffer } from "node:buffer";
import { Readable } from "node:stream";
import {
  assert,
  assertEquals,
  assertMatch,
  assertRejects,
  assertStrictEquals,
  assertThrows,
} from "@std/assert";
import { endpoint, toRequest, ValidationError } from "../../../mod.ts";
import type { EndpointOptions } from "../../../src/endpoint/mod.ts";

Deno.test("toRequest() returns a Request with a JSON body when the parameters are the body", async () => {
  const request = toRequest(endpoint("patch https://example.org/x", { a: [1, null] }));
  assertEquals(request.method, "PATCH");
  assertEquals(request.headers.get("content-type"), "application/json; charset=utf-8");
  assertEquals(await request.text(), '{"a":[1,null]}');
});

Deno.test("toRequest() follows redirects only when the caller asks for it", () => {
  assertEquals(toRequest(endpoint("/x")).redirect, "manual");
  assertEquals(toRequest(endpoint("/x"), { redirect: "follow" }).redirect, "follow");
});

Deno.test("toRequest() sends the same bytes when the body is bytes or text", async () => {
  const bytes = new Uint8Array([0, 255]);
  const sent = toRequest(endpoint("PUT https://example.org/x", { data: bytes }));
  assertEquals(new Uint8Array(await sent.arrayBuffer()), bytes);
  const text = toRequest(endpoint("PUT https://example.org/x", { data: '{"raw":1}' }));
  assertEquals(await text.text(), '{"raw":1}');
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

class Note {
  text = "clear";
}

class Reading {
  #value = 7;
  toJSON() {
    return { value: this.#value };
  }
}

Deno.test("toRequest() sends JSON when data has instances of classes and objects with toJSON()", async () => {
  const data = {
    bare: Object.assign(Object.create(null), { a: 1 }),
    note: new Note(),
    reading: new Reading(),
    date: new Date(0),
    url: new URL("https://example.org/"),
    boxed: [Object("text"), Object(1), Object(false)],
    absent: undefined,
    list: [undefined],
  };
  assertEquals(
    await requestOf(data).text(),
    '{"bare":{"a":1},"note":{"text":"clear"},"reading":{"value":7},"date":"1970-01-01T00:00:00.000Z",' +
      '"url":"https://example.org/","boxed":["text",1,false],"list":[null]}',
  );
  assertEquals(await requestOf(new Reading()).text(), '{"value":7}');
  assertEquals(await requestOf(new Note()).text(), '{"text":"clear"}');
});

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
  ["Set", new Set([1])],
  ["WeakMap", new WeakMap()],
  ["SharedArrayBuffer", new SharedArrayBuffer(2)],
  ["Promise", Promise.resolve(1)],
  ["RegExp", /a/],
  ["Error", new Error("e")],
  ["Headers", new Headers()],
  ["Request", new Request("https://example.org/")],
  ["Generator", (function* () {})()],
  ["Function", () => 1],
  ["Symbol", Symbol("s")],
  ["BigInt", 1n],
  ["NaN", NaN],
  ["-Infinity", -Infinity],
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

for (const value of [new Uint8Array(2), new Blob([]), new URLSearchParams("a=1"), new FormData()]) {
  Deno.test(`toRequest() throws when a JSON body contains ${value.constructor.name}`, () => {
    const call = () => toRequest(endpoint("POST https://example.org/x", { thing: value }));
    assertThrows(call, ValidationError, `got ${value.constructor.name}`);
  });
}

Deno.test("toRequest() throws when the body is a view of shared memory", () => {
  assertThrows(() => requestOf(new Uint8Array(new SharedArrayBuffer(2))), TypeError);
});

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

Deno.test("toRequest() throws when toJSON() returns undefined", () => {
  assertThrows(() => requestOf({ toJSON() {} }), ValidationError, "got Undefined");
});

Deno.test("toRequest() keeps the error of a toJSON() that throws as the cause", () => {
  const cause = new Error("not yet");
  const thing = {
    toJSON() {
      throw cause;
    },
  };
  const error = assertThrows(() => requestOf({ thing }), ValidationError, "body must");
  assertStrictEquals(error.cause, cause);
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

const iterables: Record<string, () => unknown> = {
  "an async generator": async function* () {
    yield* chunks;
  },
  "an object with an async iterator": () => ({
    [Symbol.asyncIterator]: () => {
      let next = 0;
      return {
        next: () => Promise.resolve({ done: next === chunks.length, value: chunks[next++] }),
      };
    },
  }),
};
for (const [name, create] of Object.entries(iterables)) {
  Deno.test(`toRequest() streams bytes and text when the body is ${name}`, async () => {
    const request = requestOf(create(), { "content-type": "text/plain" });
    assertEquals(request.headers.get("content-type"), "text/plain");
    assertEquals(await request.text(), "éé🌊aa");
    assertEquals(requestOf(create()).headers.has("content-type"), false);
  });
}

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

Deno.test("toRequest() reads a chunk of an async iterable only when the body is read", async () => {
  let pulled = 0;
  const request = requestOf({
    [Symbol.asyncIterator]: () => ({
      next: () => Promise.resolve({ done: false, value: `${pulled++}` }),
    }),
  });
  assertEquals(pulled, 0);
  const reader = request.body!.getReader();
  await reader.read();
  await reader.read();
  assert(pulled <= 3, `${pulled}`);
  await reader.cancel();
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

for (const chunk of [{ a: 1 }, 5, null, [1], new Map(), new SharedArrayBuffer(1)]) {
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

Deno.test("toRequest() rejects the read with the error of the iterable when it throws", async () => {
  const failure = new Error("disk is gone");
  const request = requestOf((async function* () {
    yield "a";
    throw failure;
  })());
  const reader = request.body!.getReader();
  await reader.read();
  assertStrictEquals(await reader.read().catch((error) => error), failure);
});

Deno.test("toRequest() sends the header fields when they are a Headers object", () => {
  const headers = new Headers({ "x-a": "1" }) as unknown as Record<string, string>;
  const request = toRequest({ method: "get", url: "https://example.org/", headers });
  assertEquals(request.headers.get("x-a"), "1");
});

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
