// Errors of requests: their messages, hints and causes, which never contain the API key.
import "../../helpers/no_permission.ts";
import { assert, assertEquals, assertMatch, assertRejects } from "@std/assert";
import { DataStream, DataStreamError } from "../../../mod.ts";
import { page, ROOT, upstream } from "../../helpers/upstream.ts";

const next = (token: string) => `${ROOT}/Locations?$skiptoken=${token}&$top=2`;

const invalidPages: [name: string, reply: () => Response, received: string][] = [
  [
    "HTML with status 200",
    () => new Response("<html>", { headers: { "content-type": "text/html" } }),
    "text/html",
  ],
  ["an empty response", () => new Response(null), "no content type"],
  [
    "bytes without a content type",
    () => new Response(new Uint8Array([123, 125])),
    "no content type",
  ],
  [
    "broken JSON",
    () => new Response('{"value":[{"Id":1}', { headers: { "content-type": "application/json" } }),
    "broken JSON",
  ],
  [
    "invalid UTF-8",
    () =>
      new Response(new Uint8Array([0x22, 0xff, 0x22]), {
        headers: { "content-type": "application/json" },
      }),
    "broken JSON",
  ],
  ["no array of rows", () => Response.json({ value: 5 }), "no list of rows"],
  ["rows that are numbers", () => Response.json({ value: [1] }), "no list of rows"],
  [
    "JSON of another type",
    () => new Response('{"value":[]}', { headers: { "content-type": "text/json" } }),
    "text/json",
  ],
];
for (const [name, reply, received] of invalidPages) {
  Deno.test(`locations() fails with what it received when a page is ${name}`, async () => {
    const { options } = upstream(page([{ Id: 1 }], next("Id:1")), reply());
    const pages = new DataStream(options).locations().pages().getReader();
    assertEquals((await pages.read()).value?.length, 1);
    const error = await assertRejects(() => pages.read(), DataStreamError, received);
    assertEquals(error.kind, "page");
  });
}

Deno.test("locations() accepts every JSON media type, in any case", async () => {
  for (const type of ["Application/JSON", "application/vnd.api+json; charset=utf-8"]) {
    const { options } = upstream(
      new Response('{"value":[]}', { headers: { "content-type": type } }),
    );
    assertEquals(await new DataStream(options).locations().toArray(), []);
  }
});

const hints: [status: number, hint: RegExp][] = [
  [400, /filter/],
  [
    401,
    /send an API key, or request one at https:\/\/github\.com\/datastreamapp\/api-docs\/blob\/main\/docs\/README\.md$/,
  ],
  [
    403,
    /check the API key.* request one at https:\/\/github\.com\/datastreamapp\/api-docs\/blob\/main\/docs\/README\.md$/,
  ],
  [404, /base URL/],
  [408, /narrow the filter/],
  [413, /fewer fields/],
  [429, /2 requests per second/],
  [500, /again/],
  [504, /lower {top}/],
];
for (const [status, hint] of hints) {
  Deno.test(`locations() fails with a hint when the status is ${status}`, async () => {
    const { options } = upstream(new Response(null, { status }));
    const query = new DataStream(options).locations();
    const error = await assertRejects(() => query.toArray(), DataStreamError, `status ${status}:`);
    assertMatch(error.hint, hint);
  });
}

Deno.test("locations() reads only the start of an error response, and cancels the rest", async () => {
  let chunks = 0;
  let cancelled = false;
  const body = new ReadableStream({
    pull(controller) {
      chunks++;
      controller.enqueue(new TextEncoder().encode("x".repeat(500)));
    },
    cancel: () => void (cancelled = true),
  });
  const { options } = upstream(new Response(body, { status: 500 }));
  const query = new DataStream(options).locations();
  await assertRejects(() => query.toArray(), DataStreamError, "status 500: try");
  assertEquals([chunks < 10, cancelled], [true, true]);
});

Deno.test("locations() fails with the message of an error response, if that is a string, however it is chunked", async () => {
  const bytes = new TextEncoder().encode(JSON.stringify({ message: `né${"à".repeat(500)}` }));
  const body = new ReadableStream({
    start(controller) {
      for (const byte of bytes) controller.enqueue(new Uint8Array([byte]));
      controller.close();
    },
  });
  const responses = [
    new Response(body, { status: 400 }),
    Response.json({ message: null }, { status: 400 }),
    Response.json({ error: { code: "", message: "of OData" } }, { status: 400 }),
  ];
  const { options } = upstream(...responses);
  const query = new DataStream(options).locations();
  await assertRejects(() => query.toArray(), DataStreamError, `(né${"à".repeat(500)})`);
  await assertRejects(() => query.toArray(), DataStreamError, "status 400: check");
  await assertRejects(() => query.toArray(), DataStreamError, "status 400 (of OData): check");
});

for (const status of [400, 504]) {
  Deno.test(`locations() fails with the message of the service on one line when the status is ${status}`, async () => {
    const { options, requests } = upstream(Response.json({ message: "Said\nso" }, { status }));
    const query = new DataStream(options).locations();
    const error = await assertRejects(
      () => query.toArray(),
      DataStreamError,
      `status ${status} (Said so)`,
    );
    assertEquals([error.kind, error.status, requests.length], ["status", status, 1]);
    assertEquals(error.url, query.url);
    assertEquals(error.address, "https://upstream.invalid/v1/odata/v4/Locations");
    assertEquals(
      error.message,
      `${error.address} ${error.detail}: ${error.hint.replace(/[{}]/g, "")}`,
    );
    assert(error.hint.length > 0 && !error.message.includes("\n"));
  });
}

Deno.test("locations() fails without following, and cancels the body, when the response is a redirect, also an opaque one", async () => {
  for (const status of [301, 308]) {
    let cancelled = false;
    const body = new ReadableStream({ cancel: () => void (cancelled = true) });
    const headers = { location: "https://evil.invalid/" };
    const { options, requests } = upstream(new Response(body, { status, headers }));
    const query = new DataStream(options).locations();
    await assertRejects(() => query.toArray(), DataStreamError, "a redirect");
    assertEquals([cancelled, requests.map(({ redirect }) => redirect)], [true, ["manual"]]);
  }
  const { options } = upstream(Response.error());
  await assertRejects(
    () => new DataStream(options).locations().toArray(),
    DataStreamError,
    "a redirect",
  );
});

Deno.test("locations() fails with the cause when the network fails", async () => {
  const failure = new TypeError("fetch failed", { cause: new Error("connection\nreset") });
  const { options } = upstream(failure);
  const query = new DataStream(options).locations();
  const error = await assertRejects(
    () => query.toArray(),
    DataStreamError,
    "(fetch failed: connection reset)",
  );
  assertEquals(error.kind, "network");
  const { name, message, cause } = error.cause as Error;
  assertEquals([name, message, (cause as Error).message], [
    "TypeError",
    "fetch failed",
    "connection\nreset",
  ]);
  const keyless = new DataStream({ ...upstream(failure).options, apiKey: undefined }).locations();
  const plain = await assertRejects(() => keyless.toArray(), DataStreamError);
  assertEquals(plain.cause, failure);
});

Deno.test("locations() fails without showing the key when a response or an error contains it", async () => {
  const apiKey = 'k3y-"quoted"-of-a-test';
  const responses = [
    Response.json({ message: `bad key ${apiKey} given, ${apiKey}` }, { status: 403 }),
    Response.json({ message: `bad ${encodeURIComponent(apiKey)}` }, { status: 403 }),
    new Error(`header x-api-key: ${apiKey}`),
    new Error("[key]", { cause: new Error(apiKey) }),
    new Error("[key]", { cause: new Error(`x-api-key=${encodeURIComponent(apiKey)}`) }),
    new Error("[key]", {
      cause: new AggregateError([new Error(apiKey), new Error(apiKey)], "all"),
    }),
    Object.assign(new Error("[key]"), { options: { headers: { "x-api-key": apiKey } } }),
    new Error("[key]", { cause: apiKey }),
  ];
  for (const response of responses) {
    const { options } = upstream(response);
    const query = new DataStream({ ...options, apiKey }).locations();
    const error = await assertRejects(() => query.toArray(), DataStreamError);
    for (const secret of [apiKey, apiKey.replaceAll('"', '\\"'), encodeURIComponent(apiKey)]) {
      assertEquals(Deno.inspect(error, { depth: 10 }).includes(secret), false);
    }
    assertEquals(error.message.includes(encodeURIComponent(apiKey)), false);
    assertEquals(`${error.stack} ${error.url} ${error.detail}`.includes(apiKey), false);
    assert(error.message.includes("[key]"));
  }
});
