// Errors of requests: their messages, hints and causes, which never contain the API key.
import "../../helpers/no_permission.ts";
import { assert, assertEquals, assertRejects } from "@std/assert";
import { DataStream, DataStreamError } from "../../../mod.ts";
import { pageOf, upstream } from "../../helpers/upstream.ts";

const responseOf = (body: BodyInit | null, type: string) =>
  new Response(body, { headers: { "content-type": type } });
const invalidPages: [name: string, reply: Response, received: string][] = [
  ["HTML with status 200", responseOf("<html>", "text/html"), "text/html"],
  ["an empty response", new Response(null), "no content type"],
  ["broken JSON", pageOf('{"value":[{"Id":1}'), "broken JSON"],
  [
    "invalid UTF-8",
    responseOf(new Uint8Array([0x22, 0xff, 0x22]), "application/json"),
    "broken JSON",
  ],
  ["no array of rows", Response.json({ value: 5 }), "no list of rows"],
  ["rows that are numbers", Response.json({ value: [1] }), "no list of rows"],
  [
    "an error with the key",
    Response.json({ value: [], error: { message: "for key k3y-of-a-test:\nno more" } }),
    "got an error in the page (for key [key]: no more)",
  ],
];
for (const [name, reply, received] of invalidPages) {
  Deno.test(`locations() fails with what it received when a page is ${name}`, async () => {
    const query = new DataStream(upstream(reply).options).locations();
    const error = await assertRejects(() => query.toArray(), DataStreamError, received);
    assertEquals(error.kind, "page");
  });
}

Deno.test("locations() accepts every JSON media type, in any case", async () => {
  for (const type of ["Application/JSON", "application/vnd.api+json; charset=utf-8"]) {
    const { options } = upstream(responseOf('{"value":[]}', type));
    assertEquals(await new DataStream(options).locations().toArray(), []);
  }
});

/** A `Response` of another implementation of `fetch`. */
const foreign = ({ status, headers, body }: Response) => ({ status, headers, body }) as Response;
const returned: [name: string, reply: () => Response | Promise<Response>][] = [
  ["a Response without a promise", () => pageOf('{"value":[]}')],
  ["a Response of another class", () => Promise.resolve(foreign(pageOf('{"value":[]}')))],
];
for (const [name, fetch] of returned) {
  Deno.test(`locations() accepts ${name} from fetch`, async () => {
    const client = new DataStream({ ...upstream().options, fetch });
    assertEquals(await client.locations().toArray(), []);
  });
}

const { status, headers } = new Response();
const unusable: [value: unknown, got: string][] = [
  [undefined, "undefined"],
  [null, "null"],
  ["k3y-of-a-test", "a string"],
  [{}, "Object"],
  [{ status, headers }, "Object whose body is neither a web stream nor null"],
  [{ status, headers, body: "" }, "Object whose body is neither a web stream nor null"],
];
for (const [value, got] of unusable) {
  Deno.test(`locations() fails without a retry when fetch returns ${Deno.inspect(value)}`, async () => {
    for (const result of [value, Promise.resolve(value)]) {
      let calls = 0;
      const fetch = () => [result, calls++][0] as Response;
      const { options } = upstream();
      const query = new DataStream({ ...options, retry: {}, fetch }).locations();
      const error = await assertRejects(() => query.toArray(), TypeError);
      assertEquals(error.message, `The option fetch must return a Response, got ${got}`);
      assertEquals(calls, 1);
    }
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
  await assertRejects(
    () => query.toArray(),
    DataStreamError,
    `status 500 (${"x".repeat(200)}): try`,
  );
  assertEquals([chunks < 10, cancelled], [true, true]);
});

const failures: [status: number, body: string | null, message: string][] = [
  [304, null, "status 304: check the base URL"],
  [401, "", "status 401: send an API key, or request one at https://github.com/datastreamapp/"],
  [408, "", "status 408: try again; if that fails too"],
  [
    429,
    "",
    "status 429: other programs with this key or behind the same address send too many requests",
  ],
  [413, "{", "status 413: lower top or select fewer fields"],
  [504, "[]", "status 504: try again; if that fails too, lower top or narrow the filter"],
  [500, '{"message":null}', "status 500: try again later"],
  [400, '{"message":"Said\\nso é"}', "status 400 (Said so é): check the names and the filter"],
  [400, '{"error":{"message":"of OData"}}', "status 400 (of OData): check the names"],
  [
    400,
    '{"errors":[{"status":"422"},{"detail":"of JSON:API"}]}',
    "status 400 (of JSON:API): check",
  ],
  [400, '{"title":"x","detail":"of a problem"}', "status 400 (of a problem): check the names"],
  [
    429,
    '{"error":"Too Many","message":"of a firewall"}',
    "status 429 (of a firewall): other programs",
  ],
  [
    402,
    '{"error":"no plan"}',
    "status 402 (no plan): ask DataStream what your API key may request",
  ],
  [409, "plain\n text\n", "status 409 (plain text): the data may be changing, so run the query"],
  [410, "<!doctype html><p>gone", "status 410: this address was removed, so update Weir"],
  [414, "<h1>long</h1>", "status 414: the request is too long: shorten the filter"],
  [422, '"text in JSON"', "status 422 (text in JSON): check the names and the filter"],
  [431, '{"message":"cut', "status 431: the request is too long: shorten the filter"],
];
for (const [status, body, message] of failures) {
  Deno.test(`locations() fails with "${message}" when the body is ${body}`, async () => {
    const bytes = new TextEncoder().encode(body ?? "");
    const chunks = ReadableStream.from([...bytes].map((byte) => new Uint8Array([byte])));
    const { options } = upstream(new Response(body === null ? null : chunks, { status }));
    const query = new DataStream(options).locations();
    const error = await assertRejects(() => query.toArray(), DataStreamError, message);
    const { kind, url } = error;
    assertEquals([kind, error.status, url], ["status", status, query.url]);
    assert(error.message.startsWith("DataStream responded with "), error.message);
  });
}

Deno.test("locations() fails without following, and cancels the body, when the response is a redirect, also an opaque one", async () => {
  let cancelled = false;
  const body = new ReadableStream({ cancel: () => void (cancelled = true) });
  const headers = { location: "https://evil.invalid/" };
  const redirect = new Response(body, { status: 308, headers });
  const { options, requests } = upstream(redirect, Response.error());
  const query = new DataStream(options).locations();
  await assertRejects(() => query.toArray(), DataStreamError, "a redirect");
  await assertRejects(() => query.toArray(), DataStreamError, "a redirect");
  assertEquals(cancelled, true);
  assertEquals(requests.map(({ redirect }) => redirect), ["manual", "manual"]);
});

Deno.test("locations() fails with the cause when the network fails", async () => {
  const failure = new TypeError("fetch failed", { cause: new Error("connection\nreset") });
  const { options } = upstream(failure);
  const query = new DataStream(options).locations();
  const message = "(fetch failed: connection reset)";
  const error = await assertRejects(() => query.toArray(), DataStreamError, message);
  const { name, cause } = error.cause as Error;
  const found = [error.kind, name, (cause as Error).message];
  assertEquals(found, ["network", "TypeError", "connection\nreset"]);
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
    Object.assign(new Error("[key]"), { code: apiKey }),
    Object.assign(new Error("[key]"), { code: "ENOTFOUND", hostname: apiKey }),
    new Error("[key]", { cause: apiKey }),
  ];
  for (const response of responses) {
    const again = response instanceof Response ? response.clone() : response;
    const { options } = upstream(response, again);
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
