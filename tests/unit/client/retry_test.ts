// Faults that pass are retried with a delay that the service or the backoff sets; others are not.
import "../../helpers/no_permission.ts";
import { assert, assertEquals, assertMatch, assertRejects } from "@std/assert";
import { DataStreamError } from "../../../mod.ts";
import { page, retryingClient, ROOT, type ScriptedResponse } from "../../helpers/upstream.ts";

const statusResponse = (status: number, headers: HeadersInit = {}) =>
  Response.json({ message: "no" }, { status, headers });
const next = `${ROOT}/Locations?$skiptoken=Id:1`;
const html = () => new Response("<html>", { headers: { "content-type": "text/html" } });
const cut = () =>
  new Response(
    new ReadableStream({
      start(controller) {
        controller.enqueue(new TextEncoder().encode('{"value":['));
        controller.error(new Error("body cut"));
      },
    }),
    { headers: { "content-type": "application/json" } },
  );

const temporary: [name: string, reply: ScriptedResponse][] = [
  ["a reset connection", new TypeError("connection reset")],
  ["a broken body", cut()],
  ["broken JSON", new Response('{"value":[', { headers: { "content-type": "application/json" } })],
  ["HTML with status 200", html()],
  ["status 500", statusResponse(500)],
  ["status 502", statusResponse(502)],
  ["status 503", statusResponse(503)],
  ["status 520", statusResponse(520)],
  ["status 408", statusResponse(408)],
  ["status 504", statusResponse(504)],
  ["status 429", statusResponse(429)],
];
for (const [name, reply] of temporary) {
  Deno.test(`locations() retries after ${name}, and returns each row once`, async () => {
    const { client, times, tops } = retryingClient([
      page([{ Id: 1 }], next),
      reply,
      page([{ Id: 2 }]),
    ]);
    const rows = await client.locations({ select: ["Id"] }).toArray();
    assertEquals(rows, [{ Id: 1 }, { Id: 2 }]);
    assertEquals(tops(), [10_000, 10_000, 10_000]);
    const delay = times[2]! - times[1]!;
    assert(delay >= 530 && delay <= 1_100, `retried after ${delay} ms`);
  });
}

const permanent: [name: string, reply: () => ScriptedResponse][] = [
  ["status 400", () => statusResponse(400)],
  ["status 401", () => statusResponse(401)],
  ["status 403", () => statusResponse(403)],
  ["status 404", () => statusResponse(404)],
  ["a redirect", () => new Response(null, { status: 302 })],
  ["status 206", () => statusResponse(206)],
];
for (const [name, reply] of permanent) {
  Deno.test(`locations() fails without a retry after ${name}`, async () => {
    const { client, requests } = retryingClient([reply()]);
    const error = await assertRejects(() => client.locations().toArray(), DataStreamError);
    assertEquals([error.kind, requests.length], ["status", 1]);
    assertEquals(error.message.includes("times"), false);
  });
}

Deno.test("locations() requests a page at most six times, with at most 30 s of backoff", async () => {
  for (let run = 0; run < 20; run++) {
    const { client, clock, requests } = retryingClient(
      Array.from({ length: 6 }, () => statusResponse(500)),
    );
    const error = await assertRejects(() => client.locations().toArray(), DataStreamError);
    assertEquals(requests.length, 6);
    assertEquals(error.detail.endsWith("responded with status 500 (no), 6 times"), true);
    assertEquals([error.status, error.hint], [500, "try again later"]);
    assert(clock.now() >= 15_000 && clock.now() <= 30_000, `gave up after ${clock.now()} ms`);
  }
});

Deno.test("retry.attempts and retry.backoff limit the retries of each page", async () => {
  const twice = [statusResponse(500), statusResponse(500)];
  const pages = [
    ...twice,
    page([{ Id: 1 }], next),
    ...twice.map(() => statusResponse(500)),
    page([{ Id: 2 }]),
  ];
  const { client } = retryingClient(pages, { retry: { attempts: 3 } });
  assertEquals((await client.locations().toArray()).length, 2);

  const short = retryingClient(Array.from({ length: 6 }, () => statusResponse(500)), {
    retry: { backoff: 1_200 },
  });
  await assertRejects(() => short.client.locations().toArray(), DataStreamError, "times");
  assert(short.clock.now() <= 1_200 + 2 * 530, `gave up after ${short.clock.now()} ms`);
  assert(short.requests.length >= 3);
});

Deno.test("locations() halves the page size after status 413, without backoff, and keeps it for later pages", async () => {
  const { client, tops, times } = retryingClient([
    statusResponse(413),
    statusResponse(413, { "retry-after": "119" }), // about the larger page
    page([{ Id: 1 }], next),
    page([{ Id: 2 }]),
  ]);
  assertEquals((await client.locations().toArray()).length, 2);
  assertEquals(tops(), [10_000, 5_000, 2_500, 2_500]);
  assertEquals(times.slice(0, 4), [0, 530, 1_060, 1_590]);
});

Deno.test("locations() doubles a halved page size after three good pages, and after six when a doubled one is refused", async () => {
  const goodPages = Array.from(
    { length: 15 },
    (_, index) => page([{ Id: index + 1 }], `${ROOT}/Locations?$skiptoken=Id:${index + 1}`),
  );
  const { client, tops } = retryingClient([
    ...Array.from({ length: 3 }, () => statusResponse(413)),
    ...goodPages.slice(0, 9),
    statusResponse(413), // after the third doubling
    ...goodPages.slice(9, 15),
    page([{ Id: 16 }]),
  ]);
  assertEquals((await client.locations({ top: 8_000 }).toArray()).length, 16);
  const sizes = [8_000, 4_000, 2_000, 1_000, 1_000, 1_000, 2_000, 2_000, 2_000, 4_000, 4_000, 4_000]
    .concat([8_000, 4_000, 4_000, 4_000, 4_000, 4_000, 4_000, 8_000]);
  assertEquals(tops().slice(0, sizes.length), sizes);
});

for (const status of [408, 504]) {
  Deno.test(`locations() halves the page size only after the second ${status}`, async () => {
    const { client, tops } = retryingClient([
      statusResponse(status),
      statusResponse(status),
      statusResponse(status === 408 ? 504 : 408),
      page([{ Id: 1 }], next),
      statusResponse(status),
      page([{ Id: 2 }]),
    ]);
    assertEquals((await client.locations({ top: 9_999 }).toArray()).length, 2);
    assertEquals(tops(), [9_999, 9_999, 4_999, 2_499, 2_499, 2_499]);
  });
}

Deno.test("locations() fails when the page size is 1 and the response still too large", async () => {
  const one = retryingClient([statusResponse(413), statusResponse(413)]);
  const error = await assertRejects(
    () => one.client.locations({ top: 2 }).toArray(),
    DataStreamError,
  );
  assertEquals([error.status, one.tops()], [413, [2, 1]]);
  assertMatch(error.hint, /fewer fields/);
});

const retryAfterHeaders: [name: string, headers: HeadersInit, milliseconds: number][] = [
  ["seconds", { "retry-after": "7" }, 7_000],
  ["zero seconds", { "retry-after": "0" }, 1_060],
  ["seconds with white space", { "retry-after": " 7 " }, 7_000],
  [
    "a date",
    {
      "retry-after": "Sat, 21 Nov 2026 10:01:00 GMT",
      date: "Sat, 21 Nov 2026 10:00:00 GMT",
    },
    60_000,
  ],
  [
    "a date in the past",
    {
      "retry-after": "Sat, 21 Nov 2026 09:01:00 GMT",
      date: "Sat, 21 Nov 2026 10:00:00 GMT",
    },
    1_060,
  ],
  ["the maximum", { "retry-after": "120" }, 120_000],
  ...["soon", "1.5", "-1", "2026-11-21"].map((text): [string, HeadersInit, number] => [
    `the invalid value ${text}`,
    { "retry-after": text },
    1_060,
  ]),
];
for (const [name, headers, wait] of retryAfterHeaders) {
  Deno.test(`locations() waits as Retry-After says when it has ${name} and the status is 429`, async () => {
    const { client, times } = retryingClient([statusResponse(429, headers), page([])]);
    await client.locations().toArray();
    assertEquals(times[1], wait);
  });
}

Deno.test("locations() waits as Retry-After says, instead of the backoff, when the status is 503", async () => {
  const many = Array.from({ length: 5 }, () => statusResponse(503, { "retry-after": "100" }));
  const { client, times } = retryingClient([...many, page([])]);
  await client.locations().toArray();
  assertEquals(times, [0, 100_000, 200_000, 300_000, 400_000, 500_000]);
});

Deno.test("locations() fails with the time of a retry when Retry-After exceeds the maximum", async () => {
  for (const status of [429, 503]) {
    const { client, requests } = retryingClient([statusResponse(status, { "retry-after": "121" })]);
    const error = await assertRejects(() => client.locations().toArray(), DataStreamError);
    assertEquals([error.status, requests.length], [status, 1]);
    assertEquals(error.hint, "try again in 121 s, as DataStream asks");
    assertEquals(error.retryAfter, 121_000);
  }
});

Deno.test("locations() backs off when Retry-After is shorter than the backoff", async () => {
  const many = Array.from({ length: 6 }, () => statusResponse(503, { "retry-after": "0" }));
  const { client, clock } = retryingClient(many);
  await assertRejects(() => client.locations().toArray(), DataStreamError, "6 times");
  assert(clock.now() >= 15_000, `gave up after ${clock.now()} ms`);
});

Deno.test("locations() fails after 15 minutes of responses with status 429", async () => {
  const { client, clock } = retryingClient(
    Array.from({ length: 40 }, () => statusResponse(429, { "retry-after": "60" })),
  );
  await assertRejects(() => client.locations().toArray(), DataStreamError, "status 429");
  assert(clock.now() >= 900_000 && clock.now() < 960_000, `gave up after ${clock.now()} ms`);
});

Deno.test("locations() compares a date in Retry-After with the local clock when there is no Date header", async () => {
  const soon = new Date(Date.now() + 50_000).toUTCString();
  const { client, times } = retryingClient([
    statusResponse(429, { "retry-after": soon }),
    page([]),
  ]);
  await client.locations().toArray();
  assert(times[1]! > 40_000 && times[1]! <= 50_000, `retried at ${times[1]}`);
});

Deno.test("locations() stops waiting for a retry when the signal aborts", async () => {
  const stop = new AbortController();
  const { client, clock, requests } = retryingClient([statusResponse(500), page([])]);
  const query = client.locations({
    signal: stop.signal,
    onProgress: ({ retrying }) => retrying && queueMicrotask(() => stop.abort("enough")),
  });
  assertEquals(await query.toArray().catch((error) => error), "enough");
  assertEquals([requests.length, clock.now()], [1, 0]);
});

Deno.test("locations() fails without a retry when the runtime denies network access", async () => {
  const denied = Object.assign(new Error("Requires net access"), { name: "NotCapable" });
  const { client, requests } = retryingClient([denied]);
  const error = await assertRejects(() => client.locations().toArray(), DataStreamError);
  assertEquals([error.hint, requests.length], [
    "allow access to DataStream: deno run --allow-net=upstream.invalid",
    1,
  ]);
});
