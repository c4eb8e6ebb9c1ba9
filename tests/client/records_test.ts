import { assert, assertEquals, assertMatch, assertRejects, assertThrows } from "@std/assert";
import { DataStream, DataStreamError, PRODUCTION_URL, QA_URL } from "../../mod.ts";
import { VERSION } from "../../src/version.ts";
import { FakeClock } from "../helpers/fake_clock.ts";
import { ask, sandboxAndClient } from "../helpers/sandbox.ts";
import { page, ROOT, upstream } from "../helpers/upstream.ts";

const next = (token: string) => `${ROOT}/Records?$skiptoken=${token}&$top=2`;

Deno.test("records() follows next links to the last row, none lost, none doubled", async () => {
  const { sandbox, client } = sandboxAndClient({ records: 2_345 });
  const rows = await client.records({ top: 500 }).toArray();
  assertEquals(rows as unknown, await ask({ records: 2_345 }).rows("Records"));
  assertEquals(sandbox.stats.requests, 5);
});

Deno.test("records() keeps fields, filter and page size on every page", async () => {
  const { client } = sandboxAndClient({ records: 2_000 });
  const filter = "CharacteristicName in ('pH', 'Temperature, water') and LocationId ne 1001";
  const rows = await client.records({ filter, select: ["Id", "DOI"], top: 50 }).toArray();
  const whole = ask({ records: 2_000 });
  const wanted = await whole.rows("Records", { $filter: filter, $select: "Id,DOI" });
  assert(wanted.length > 100);
  assertEquals(rows as unknown, wanted);
});

Deno.test("records() sends one request at a time, at most two a second", async () => {
  const { sandbox, client, clock } = sandboxAndClient({ records: 1_000 });
  await client.records({ top: 100 }).toArray();
  const { requests, tooFast, parallel, mostInFlight } = sandbox.stats;
  assertEquals([requests, tooFast, parallel, mostInFlight], [10, 0, 0, 1]);
  assert(clock.now() >= 9 * 500 && clock.now() < 9 * 560);
});

Deno.test("records() sends every name and value encoded, and the key as a header", async () => {
  const { options, requests } = upstream(page([{ Id: 1 }], next("Id:1")), page([{ Id: 2 }]));
  const filter = "MonitoringLocationType eq 'a+b & c''d'";
  const query = new DataStream(options).records({ filter, select: ["Id", "DOI"], top: 2 });
  await query.toArray();
  const asked = `${ROOT}/Records?%24select=Id%2CDOI&%24filter=` +
    "MonitoringLocationType%20eq%20%27a%2Bb%20%26%20c%27%27d%27&%24top=2";
  assertEquals(requests.map(({ url }) => url), [asked, `${asked}&%24skiptoken=Id%3A1`]);
  assertEquals(query.url, asked);
  for (const { headers, method } of requests) {
    assertEquals(method, "GET");
    assertEquals(headers.get("x-api-key"), "k3y-of-a-test");
    assertEquals(headers.get("accept"), "application/vnd.api+json");
    assertEquals(headers.get("user-agent"), `weir/${VERSION}`);
  }
});

const wholePage = [{ Id: 1 }];
const ways: [name: string, first: () => Response][] = [
  ["@odata.nextLink, raw", () => page(wholePage, next("Id:1"))],
  ["@odata.nextLink, encoded", () => page(wholePage, `${ROOT}/Records?%24skiptoken=Id%3A1`)],
  ["odata.nextLink", () => Response.json({ value: wholePage, "odata.nextLink": next("Id:1") })],
  ["a relative link", () => page(wholePage, "/v1/odata/v4/Records?$skiptoken=Id:1")],
  [
    "the Link header alone",
    () => page(wholePage, undefined, { link: `<${next("Id:1")}>; rel="next"` }),
  ],
  [
    "a Link header of several",
    () =>
      page(wholePage, undefined, {
        link: `<${ROOT}/Records>; rel="first", <${next("Id:1")}>; title="x"; rel=next`,
      }),
  ],
];
for (const [name, first] of ways) {
  Deno.test(`records() goes on by ${name}`, async () => {
    const { options, requests } = upstream(first(), page([{ Id: 2 }]));
    const rows = await new DataStream(options).records({ select: ["Id"], top: 1 }).toArray();
    assertEquals(rows, [{ Id: 1 }, { Id: 2 }]);
    assertEquals(requests[1]?.url.endsWith("&%24skiptoken=Id%3A1"), true);
  });
}

Deno.test("records() ends at a Link header without a next, and at an empty page", async () => {
  const other = { link: `<${ROOT}/Records>; rel="prev", <${ROOT}/x>; rel="nextish"` };
  const { options } = upstream(page([{ Id: 1 }], next("Id:1")), page([], undefined, other));
  assertEquals((await new DataStream(options).records().toArray()).length, 1);
});

const wrongLinks: [name: string, link: string][] = [
  ["to another origin", "https://evil.invalid/v1/odata/v4/Records?$skiptoken=Id:1"],
  ["to another port", "https://upstream.invalid:8443/v1/odata/v4/Records?$skiptoken=Id:1"],
  ["to another endpoint", `${ROOT}/Observations?$skiptoken=Id:1`],
  ["without a token", `${ROOT}/Records?$top=2`],
  ["that is no URL", "https://"],
  ["with a token that cannot be decoded", `${ROOT}/Records?$skiptoken=Id:%zz`],
];
for (const [name, link] of wrongLinks) {
  Deno.test(`records() fails at a next link ${name}, and sends nothing there`, async () => {
    const { options, requests } = upstream(page([{ Id: 1 }], link));
    const query = new DataStream(options).records();
    const error = await assertRejects(() => query.toArray(), DataStreamError, "next page");
    assertEquals([error.kind, requests.length], ["next-link", 1]);
  });
}

Deno.test("records() fails at a next link that does not move on", async () => {
  const { options, requests } = upstream(
    page([{ Id: 1 }], next("Id:1")),
    page([{ Id: 1 }], next("Id:1")),
  );
  const query = new DataStream(options).records();
  const error = await assertRejects(() => query.toArray(), DataStreamError, "was there before");
  assertEquals([error.kind, requests.length], ["next-link", 2]);
});

for (
  const [name, tokens] of [["leads back", ["Id:10", "Id:5"]], ["goes round", [
    "a",
    "b",
    "a",
  ]]] as const
) {
  Deno.test(`records() fails at a next link that ${name}`, async () => {
    const { options, requests } = upstream(
      ...tokens.map((token) => page([{ Id: 1 }], next(token))),
    );
    const query = new DataStream(options).records();
    const error = await assertRejects(() => query.toArray(), DataStreamError, "next page");
    assertEquals([error.kind, requests.length], ["next-link", tokens.length]);
  });
}

Deno.test("records() fails at a Link header that it cannot read", async () => {
  const { options } = upstream(page([{ Id: 1 }], undefined, { link: `${next("Id:1")}; rel=next` }));
  const query = new DataStream(options).records();
  const error = await assertRejects(() => query.toArray(), DataStreamError, "cannot be read");
  assertEquals(error.kind, "next-link");
});

const brokenPages: [name: string, reply: () => Response, came: string][] = [
  [
    "HTML with status 200",
    () => new Response("<html>", { headers: { "content-type": "text/html" } }),
    "text/html",
  ],
  ["no content type", () => new Response(new Uint8Array([123, 125])), "no content type"],
  [
    "broken JSON",
    () => new Response('{"value":[{"Id":1}', { headers: { "content-type": "application/json" } }),
    "broken JSON",
  ],
  [
    "bytes that are no UTF-8",
    () =>
      new Response(new Uint8Array([0x22, 0xff, 0x22]), {
        headers: { "content-type": "application/json" },
      }),
    "broken JSON",
  ],
  ["no list of rows", () => Response.json({ value: 5 }), "no list of rows"],
  ["rows that are none", () => Response.json({ value: [1] }), "no list of rows"],
  ["rows that are lists", () => Response.json({ value: [[1]] }), "no list of rows"],
  [
    "JSON of another type",
    () => new Response('{"value":[]}', { headers: { "content-type": "text/json" } }),
    "text/json",
  ],
  ["a list alone", () => Response.json([]), "no list of rows"],
];
for (const [name, reply, came] of brokenPages) {
  Deno.test(`records() fails at ${name}, and says what came`, async () => {
    const { options } = upstream(page([{ Id: 1 }], next("Id:1")), reply());
    const pages = new DataStream(options).records().pages().getReader();
    assertEquals((await pages.read()).value?.length, 1);
    const error = await assertRejects(() => pages.read(), DataStreamError, came);
    assertEquals(error.kind, "page");
  });
}

Deno.test("records() takes any JSON type, in any case", async () => {
  for (const type of ["Application/JSON", "application/vnd.api+json; charset=utf-8"]) {
    const { options } = upstream(
      new Response('{"value":[]}', { headers: { "content-type": type } }),
    );
    assertEquals(await new DataStream(options).records().toArray(), []);
  }
});

const hints: [status: number, hint: RegExp][] = [
  [204, /again/],
  [400, /filter/],
  [401, /send an API key/],
  [403, /check the API key/],
  [404, /base URL/],
  [408, /narrow the filter/],
  [413, /fewer fields/],
  [429, /2 requests a second/],
  [500, /again/],
  [504, /lower top/],
];
for (const [status, hint] of hints) {
  Deno.test(`the hint at status ${status} says what to do`, async () => {
    const { options } = upstream(new Response(null, { status }));
    const query = new DataStream(options).records();
    const error = await assertRejects(() => query.toArray(), DataStreamError, `status ${status}:`);
    assertMatch(error.hint, hint);
  });
}

Deno.test("a status of success with a part of the page is no page", async () => {
  const { options } = upstream(Response.json({ value: [] }, { status: 206 }));
  const query = new DataStream(options).records();
  await assertRejects(() => query.toArray(), DataStreamError, "status 206");
});

Deno.test("an error's body is read as far as a message may go, and then dropped", async () => {
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
  const query = new DataStream(options).records();
  await assertRejects(() => query.toArray(), DataStreamError, "status 500: try");
  assertEquals([chunks < 10, cancelled], [true, true]);
});

Deno.test("an error's message comes whole out of any chunks, and only where it is a text", async () => {
  const bytes = new TextEncoder().encode(JSON.stringify({ message: `né${"à".repeat(500)}` }));
  const body = new ReadableStream({
    start(controller) {
      for (const byte of bytes) controller.enqueue(new Uint8Array([byte]));
      controller.close();
    },
  });
  const replies = [
    new Response(body, { status: 400 }),
    Response.json({ message: null }, { status: 400 }),
  ];
  const { options } = upstream(...replies);
  const query = new DataStream(options).records();
  await assertRejects(() => query.toArray(), DataStreamError, `(né${"à".repeat(500)})`);
  await assertRejects(() => query.toArray(), DataStreamError, "status 400: check");
});

for (const status of [400, 401, 403, 408, 413, 429, 500, 504]) {
  Deno.test(`records() fails at status ${status} with its hint and what the service said`, async () => {
    const { options, requests } = upstream(Response.json({ message: "Said\nso" }, { status }));
    const query = new DataStream(options).records();
    const error = await assertRejects(
      () => query.toArray(),
      DataStreamError,
      `status ${status} (Said so)`,
    );
    assertEquals([error.kind, error.status, requests.length], ["status", status, 1]);
    assertEquals(error.url, query.url);
    assertEquals(error.message, `${error.detail}: ${error.hint}`);
    assert(error.hint.length > 0 && !error.message.includes("\n"));
  });
}

Deno.test("records() drops the body of any redirect, an opaque one too", async () => {
  for (const status of [301, 308]) {
    let cancelled = false;
    const body = new ReadableStream({ cancel: () => void (cancelled = true) });
    const { options } = upstream(new Response(body, { status, headers: { location: "/" } }));
    const query = new DataStream(options).records();
    await assertRejects(() => query.toArray(), DataStreamError, "a redirect");
    assertEquals(cancelled, true);
  }
  const { options } = upstream(Response.error());
  await assertRejects(
    () => new DataStream(options).records().toArray(),
    DataStreamError,
    "a redirect",
  );
});

Deno.test("records() follows no redirect, and says so", async () => {
  const { options, requests } = upstream(
    new Response("moved", { status: 302, headers: { location: "https://evil.invalid/" } }),
  );
  const query = new DataStream(options).records();
  await assertRejects(() => query.toArray(), DataStreamError, "a redirect");
  assertEquals(requests.map(({ redirect }) => redirect), ["manual"]);
});

Deno.test("records() tells a fault of the network, with its cause", async () => {
  const fault = new TypeError("connection\nreset");
  const { options } = upstream(fault);
  const query = new DataStream(options).records();
  const error = await assertRejects(() => query.toArray(), DataStreamError, "connection reset");
  assertEquals([error.kind, error.cause], ["network", fault]);
});

Deno.test("records() tells a body that breaks off", async () => {
  const body = new ReadableStream({
    start(controller) {
      controller.enqueue(new TextEncoder().encode('{"value":['));
      controller.error(new Error("body cut"));
    },
  });
  const { options } = upstream(
    new Response(body, { headers: { "content-type": "application/json" } }),
  );
  const query = new DataStream(options).records();
  const error = await assertRejects(() => query.toArray(), DataStreamError, "body cut");
  assertEquals(error.kind, "network");
});

Deno.test("no error shows the key, even where the service repeats it", async () => {
  const apiKey = 'k3y-"quoted"-of-a-test';
  const replies = [
    Response.json({ message: `bad key ${apiKey} given, ${apiKey}` }, { status: 403 }),
    Response.json({ message: `bad ${encodeURIComponent(apiKey)}` }, { status: 403 }),
    new Error(`header x-api-key: ${apiKey}`),
    new Error("[key]", { cause: new Error(apiKey) }),
  ];
  for (const reply of replies) {
    const { options } = upstream(reply);
    const query = new DataStream({ ...options, apiKey }).records();
    const error = await assertRejects(() => query.toArray(), DataStreamError);
    assertEquals(Deno.inspect(error).includes(apiKey), false);
    assertEquals(error.message.includes(encodeURIComponent(apiKey)), false);
    assertEquals(`${error.stack} ${error.url} ${error.detail}`.includes(apiKey), false);
    assert(error.message.includes("[key]"));
  }
});

Deno.test("a query sends nothing before it is consumed, and asks anew each time", async () => {
  const { sandbox, client } = sandboxAndClient({ records: 30 });
  const query = client.records({ select: ["Id"] });
  query.pages();
  query.csv();
  assertEquals(sandbox.stats.requests, 0);
  assertEquals(await query.toArray(), await query.toArray());
  assertEquals(sandbox.stats.requests, 2);
});

Deno.test("pages() fetches a page when it is pulled, and none ahead", async () => {
  const { sandbox, client, clock } = sandboxAndClient({ records: 100 });
  const reader = client.records({ top: 10 }).pages().getReader();
  assertEquals((await reader.read()).value?.length, 10);
  await clock.sleep(10_000);
  assertEquals(sandbox.stats.requests, 1);
  await reader.read();
  assertEquals(sandbox.stats.requests, 2);
  await reader.cancel();
});

Deno.test("leaving a loop early sends nothing more, and the pace is free again", async () => {
  const { sandbox, client } = sandboxAndClient({ records: 100 });
  for await (const row of client.records({ top: 10 })) {
    assertEquals(row.Id, 500_003);
    break;
  }
  assertEquals(sandbox.stats.requests, 1);
  assertEquals((await client.records().toArray()).length, 100);
});

for (const way of ["cancel", "signal"] as const) {
  Deno.test(`${way} stops the request in flight, and the pace is free again`, async () => {
    const { promise: sent, resolve: tell } = Promise.withResolvers<Request>();
    const { options } = upstream(
      (request) => {
        tell(request);
        return new Promise((_, reject) =>
          request.signal.addEventListener("abort", () => reject(request.signal.reason))
        );
      },
      page([]),
    );
    const client = new DataStream(options);
    const stop = new AbortController();
    const reader = client.records({ signal: stop.signal }).pages().getReader();
    const read = reader.read().catch((error) => error);
    const request = await sent;
    if (way === "cancel") await reader.cancel("enough");
    else stop.abort("enough");
    assertEquals(request.signal.aborted, true);
    assertEquals(await read, way === "cancel" ? { done: true, value: undefined } : "enough");
    assertEquals(await client.records().toArray(), []);
  });
}

Deno.test("a query that is cancelled in line sends nothing", async () => {
  const { options, requests } = upstream(page([]), page([]));
  const client = new DataStream(options);
  await client.records().toArray();
  const reader = client.records().pages().getReader();
  const waiting = reader.read();
  await Promise.resolve();
  await reader.cancel();
  assertEquals([(await waiting).done, requests.length], [true, 1]);
  const stop = new AbortController();
  const rows = client.records({ signal: stop.signal }).toArray().catch((error) => error);
  stop.abort("enough");
  assertEquals([await rows, requests.length], ["enough", 1]);
});

Deno.test("the next request waits for the body of the one before, as long as its bytes come", async () => {
  const clock = new FakeClock();
  const body = new ReadableStream({
    async pull(controller) {
      await clock.sleep(30_000);
      controller.enqueue(new TextEncoder().encode(clock.now() < 200_000 ? " " : '{"value":[]}'));
      if (clock.now() >= 200_000) controller.close();
    },
  }, { highWaterMark: 0 });
  let second = 0;
  const { options } = upstream(
    new Response(body, { headers: { "content-type": "application/json" } }),
    () => {
      second = clock.now();
      return page([]);
    },
  );
  const client = new DataStream({ ...options, clock });
  await Promise.all([client.records().toArray(), client.records().toArray()]);
  assert(second >= 200_000, `sent at ${second}`);
});

Deno.test("csv() has the columns selected, in that order, and no others", async () => {
  const { options } = upstream(page([{ Id: 1, DOI: "d", Extra: 2 }]));
  const select: ("Id" | "DOI")[] = ["DOI", "Id"];
  const query = new DataStream(options).records({ select });
  select.reverse();
  assertEquals(await new Response(query.csv()).text(), "DOI,Id\r\nd,1\r\n");
});

Deno.test("an iterator's return() stops the request in flight", async () => {
  const { promise: sent, resolve: tell } = Promise.withResolvers<Request>();
  const { options } = upstream((request) => {
    tell(request);
    return new Promise((_, reject) =>
      request.signal.addEventListener("abort", () => reject(request.signal.reason))
    );
  }, page([]));
  const client = new DataStream(options);
  const rows = client.records()[Symbol.asyncIterator]();
  const next = rows.next();
  const request = await sent;
  assertEquals(await rows.return?.(), { done: true, value: undefined });
  assertEquals([request.signal.aborted, (await next).done], [true, true]);
  assertEquals(await client.records().toArray(), []);
});

Deno.test("the signal stops the reading of a body that does not hear it", async () => {
  const { promise: reading, resolve: tell } = Promise.withResolvers<void>();
  const body = new ReadableStream({ pull: () => tell(), type: "bytes" });
  const { options } = upstream(
    new Response(body, { headers: { "content-type": "application/json" } }),
    page([]),
  );
  const client = new DataStream(options);
  const stop = new AbortController();
  const rows = client.records({ signal: stop.signal }).toArray().catch((error) => error);
  await reading;
  stop.abort("enough");
  assertEquals(await rows, "enough");
  assertEquals(await client.records().toArray(), []);
});

Deno.test("records() keeps a plus sign in a skip token", async () => {
  const { options, requests } = upstream(page([{ Id: 1 }], next("Id:1+2%2B3")), page([]));
  await new DataStream(options).records().toArray();
  assertEquals(requests[1]?.url.endsWith("&%24skiptoken=Id%3A1%2B2%2B3"), true);
});

Deno.test("records() refuses a wrong field or page size before anything is sent", () => {
  const client = new DataStream();
  // @ts-expect-error -- Records has no LocationId
  assertThrows(() => client.records({ select: ["LocationId"] }), TypeError, '"LocationId"');
  assertThrows(() => client.records({ top: 0 }), RangeError);
  assertThrows(() => client.records({ select: [] }), TypeError, "empty select");
  assertThrows(() => client.records({ select: ["Id", "DOI", "Id"] }), TypeError, '"Id" twice');
  assertThrows(() => client.records({ filter: " " }), TypeError, "empty filter");
});

Deno.test("records() narrows the row's type to the fields selected", async () => {
  const { client } = sandboxAndClient({ records: 1 });
  const [row] = await client.records({ select: ["ResultValue"] }).toArray();
  const value: number | null | undefined = row?.ResultValue;
  // @ts-expect-error -- not selected
  const other = row?.Id;
  assertEquals([typeof value, other], ["number", undefined]);
});

Deno.test("records() takes no later change of its arguments", () => {
  const select: ("Id" | "DOI")[] = ["Id"];
  const query = new DataStream().records({ select });
  select.push("DOI");
  assertEquals(query.url, `${PRODUCTION_URL}/Records?%24select=Id&%24top=10000`);
});

const wrongOptions: [
  name: string,
  options: ConstructorParameters<typeof DataStream>[0],
  message: string,
][] = [
  ["a relative base URL", { baseUrl: "/v1" }, "absolute URL"],
  ["a key over plain HTTP", { baseUrl: "http://example.org", apiKey: "secret-key" }, "https://"],
  ["another protocol", { baseUrl: "ftp://example.org" }, "https://"],
  [
    "a key over plain HTTP to a name like loopback",
    { baseUrl: "http://127.evil.org", apiKey: "k" },
    "https://",
  ],
  ["a key in place of the base URL", { baseUrl: "secret-key" }, "absolute URL"],
  ["a password in the base URL", { baseUrl: "https://:secret-key@example.org" }, "password"],
  ["a user name in the base URL", { baseUrl: "https://me@example.org" }, "no user name"],
  [
    "a query in the base URL",
    { baseUrl: "https://example.org/?a=1" },
    "no user name, password, query",
  ],
  ["an empty key", { apiKey: "" }, "apiKey"],
  ["a key with a line feed", { apiKey: "secret-key\nx: y" }, "apiKey"],
];
for (const [name, options, message] of wrongOptions) {
  Deno.test(`DataStream refuses ${name}`, () => {
    const error = assertThrows(() => new DataStream(options), TypeError, message);
    assertEquals(error.message.includes("secret-key"), false);
  });
}

Deno.test("DataStream takes plain HTTP on loopback, or where there is no key", () => {
  for (const host of ["localhost:8000", "127.0.0.1", "[::1]:80"]) {
    new DataStream({ baseUrl: `http://${host}/v1`, apiKey: "k" });
  }
  new DataStream({ baseUrl: "http://example.org" });
});

Deno.test("DataStream takes a base URL with a slash or white space at its end", () => {
  for (const end of ["", "/", " ", "/ "]) {
    const { url } = new DataStream({ baseUrl: `https://example.org/v1${end}` }).records();
    assertEquals(url, "https://example.org/v1/Records?%24top=10000");
  }
});

Deno.test("DataStream refuses a faster pace than the service allows, for the service", () => {
  const dotted = PRODUCTION_URL.replace(".org/", ".org./");
  for (const baseUrl of [PRODUCTION_URL, QA_URL, dotted]) {
    assertThrows(() => new DataStream({ baseUrl, requestsPerSecond: 3 }), RangeError, "at most 2");
  }
  const unencrypted = PRODUCTION_URL.replace("https", "http");
  const fast = { baseUrl: unencrypted, requestsPerSecond: 3 };
  assertThrows(() => new DataStream(fast), RangeError, "at most 2");
  assertThrows(() => new DataStream({ requestsPerSecond: 0 }), RangeError, "above 0");
  assertThrows(() => new DataStream({ requestsPerSecond: NaN }), RangeError, "above 0");
  new DataStream({ baseUrl: "https://example.org", requestsPerSecond: 3 });
});
