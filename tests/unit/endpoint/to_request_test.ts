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
import { endpoint, type EndpointOptions, toRequest } from "../../../mod.ts";

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

Deno.test("toRequest() encodes plain objects, class instances and what has toJSON() as JSON", async () => {
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

Deno.test("toRequest() leaves the content type as it is when one is set", () => {
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
  Deno.test(`toRequest() throws, naming the type, when the body is a ${got}`, () => {
    assertThrows(() => requestOf(value), TypeError, `got ${got}`);
  });

  Deno.test(`toRequest() throws, naming the parameter, when the body holds a ${got}`, () => {
    for (const thing of [value, [value], { deep: [{ value }] }]) {
      const options = endpoint("POST https://example.org/x", { before: { a: 1 }, thing });
      const error = assertThrows(() => toRequest(options), TypeError, `got ${got}`);
      assertMatch(error.message, /^Cannot encode the body as JSON: .*"thing"/);
    }
  });
}

for (const value of [new Uint8Array(2), new Blob([]), new URLSearchParams("a=1"), new FormData()]) {
  Deno.test(`toRequest() throws when a JSON body holds ${value.constructor.name}`, () => {
    const call = () => toRequest(endpoint("POST https://example.org/x", { thing: value }));
    assertThrows(call, TypeError, `got ${value.constructor.name} in "thing"`);
  });
}

Deno.test("toRequest() throws when a view is on shared memory", () => {
  assertThrows(() => requestOf(new Uint8Array(new SharedArrayBuffer(2))), TypeError);
});

Deno.test("toRequest() names the parameter when a body refers to itself", () => {
  class Node {
    self = { list: [this] };
  }
  const call = () =>
    toRequest(endpoint("POST https://example.org/x", { before: [1], loop: new Node() }));
  const error = assertThrows(call, TypeError, "Cannot encode the body as JSON: ");
  assertMatch(error.message, /"loop"/);
  const circle: Record<string, unknown> = {};
  circle.self = circle;
  assertThrows(() => requestOf(circle), TypeError, '"self"');
});

Deno.test("toRequest() throws when toJSON() returns undefined", () => {
  assertThrows(() => requestOf({ toJSON() {} }), TypeError, "got Undefined");
});

Deno.test("toRequest() keeps the error of a toJSON() that throws as the cause", () => {
  const cause = new Error("not yet");
  const thing = {
    toJSON() {
      throw cause;
    },
  };
  const error = assertThrows(() => requestOf({ thing }), TypeError, "Cannot encode the body");
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
  Deno.test(`toRequest() streams the bytes and text of ${name}`, async () => {
    const request = requestOf(create(), { "content-type": "text/plain" });
    assertEquals(request.headers.get("content-type"), "text/plain");
    assertEquals(await request.text(), "éé🌊aa");
    assertEquals(requestOf(create()).headers.has("content-type"), false);
  });
}

Deno.test("toRequest() streams a Node Readable", async () => {
  assertEquals(await requestOf(Readable.from([Buffer.from("a"), "é"])).text(), "aé");
  const decoded = Readable.from([Buffer.from("🌊").subarray(0, 2), Buffer.from("🌊").subarray(2)]);
  assertEquals(await requestOf(decoded.setEncoding("utf8")).text(), "🌊");
});

Deno.test("toRequest() ends a text with the replacement character when the last chunk is half a character", async () => {
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

Deno.test("toRequest() asks an async iterable for chunks only as they are read", async () => {
  let asked = 0;
  const request = requestOf({
    [Symbol.asyncIterator]: () => ({
      next: () => Promise.resolve({ done: false, value: `${asked++}` }),
    }),
  });
  assertEquals(asked, 0);
  const reader = request.body!.getReader();
  await reader.read();
  await reader.read();
  assert(asked <= 3, `${asked}`);
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
  Deno.test(`toRequest() breaks the body and closes the iterable when a chunk is a ${got}`, async () => {
    let closed = false;
    const request = requestOf((async function* () {
      try {
        yield "a";
        yield chunk;
      } finally {
        closed = true;
      }
    })());
    await assertRejects(() => request.text(), TypeError, got);
    assertEquals(closed, true);
  });
}

Deno.test("toRequest() breaks the body with the iterable's own error when it throws", async () => {
  const failure = new Error("disk is gone");
  const request = requestOf((async function* () {
    yield "a";
    throw failure;
  })());
  const reader = request.body!.getReader();
  await reader.read();
  assertStrictEquals(await reader.read().catch((error) => error), failure);
});

Deno.test("toRequest() takes header fields when they are a Headers object", () => {
  const headers = new Headers({ "x-a": "1" }) as unknown as Record<string, string>;
  const request = toRequest({ method: "get", url: "https://example.org/", headers });
  assertEquals(request.headers.get("x-a"), "1");
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
