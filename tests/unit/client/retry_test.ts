// Faults that pass are retried with a delay that the service or the backoff sets; others are not.
import "../../helpers/no_permission.ts";
import { assert, assertEquals, assertRejects, assertStringIncludes } from "@std/assert";
import { DataStreamError } from "../../../mod.ts";
import {
  page,
  pageOf,
  retryingClient,
  ROOT,
  type ScriptedResponse,
} from "../../helpers/upstream.ts";

const status = (code: number, retryAfter?: string): Response =>
  Response.json({ message: "no" }, {
    status: code,
    headers: retryAfter === undefined ? {} : { "retry-after": retryAfter },
  });
/** Functions, because a response can be sent once. */
const repeat = (count: number, response: () => Response) =>
  Array.from({ length: count }, () => response);
const next = (id: number) => `${ROOT}/Locations?$skiptoken=Id:${id}`;

const temporary: [name: string, reply: ScriptedResponse][] = [
  ["a reset connection", new TypeError("connection reset")],
  ["broken JSON", pageOf('{"value":[')],
  ["HTML with status 200", new Response("<html>", { headers: { "content-type": "text/html" } })],
  ...[408, 429, 500, 504].map((code): [string, Response] => [`status ${code}`, status(code)]),
];
for (const [name, reply] of temporary) {
  Deno.test(`locations() retries after ${name}, and returns each row once`, async () => {
    const { client, times, tops } = retryingClient([
      page([{ Id: 1 }], next(1)),
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

for (const code of [206, 302, 400, 403, 499]) {
  Deno.test(`locations() fails without a retry after status ${code}`, async () => {
    // The second request shows whether a 403 is about the key.
    const { client, requests } = retryingClient(repeat(2, () => status(code)));
    const error = await assertRejects(() => client.locations().toArray(), DataStreamError);
    assertEquals([error.kind, requests.length], ["status", code === 403 ? 2 : 1]);
    assertEquals(error.message.includes("times"), false);
  });
}

Deno.test("locations() requests a page at most six times, with at most 30 s of backoff", async () => {
  for (let run = 0; run < 20; run++) {
    const { client, clock, requests } = retryingClient(repeat(6, () => status(500)));
    const message = "responded with status 500 (no), 6 times: ";
    await assertRejects(() => client.locations().toArray(), DataStreamError, message);
    assertEquals(requests.length, 6);
    assert(clock.now() >= 15_000 && clock.now() <= 30_000, `gave up after ${clock.now()} ms`);
  }
});

Deno.test("retry.attempts limits the attempts at each page", async () => {
  const twice = repeat(2, () => status(500));
  const { client } = retryingClient(
    [...twice, page([{ Id: 1 }], next(1)), ...twice, page([{ Id: 2 }])],
    { retry: { attempts: 3 } },
  );
  assertEquals((await client.locations().toArray()).length, 2);
});

Deno.test("retry.backoff limits the delays of each page", async () => {
  const retry = { backoff: 1_200 };
  const { client, clock, requests } = retryingClient(repeat(6, () => status(500)), { retry });
  await assertRejects(() => client.locations().toArray(), DataStreamError, "times");
  assert(clock.now() <= 1_200 + 2 * 530, `gave up after ${clock.now()} ms`);
  assert(requests.length >= 3);
});

Deno.test("locations() halves the page size after status 413, without backoff, and keeps it for later pages", async () => {
  const { client, tops, times } = retryingClient([
    status(413),
    status(413, "119"), // about the larger page
    page([{ Id: 1 }], next(1)),
    page([{ Id: 2 }]),
  ]);
  assertEquals((await client.locations().toArray()).length, 2);
  assertEquals(tops(), [10_000, 5_000, 2_500, 2_500]);
  assertEquals(times.slice(0, 4), [0, 530, 1_060, 1_590]);
});

Deno.test("locations() doubles a halved page size after three good pages, and after six when a doubled one is refused", async () => {
  let id = 0;
  const good = (count: number) =>
    Array.from({ length: count }, () => page([{ Id: ++id }], next(id)));
  const { client, tops } = retryingClient([
    ...repeat(2, () => status(413)),
    ...good(6),
    status(413), // after the second doubling
    ...good(6),
    page([{ Id: 13 }]),
  ]);
  await client.locations({ top: 8_000 }).toArray();
  const sizes = [8_000, 4_000, 2_000, 2_000, 2_000, 4_000, 4_000, 4_000, 8_000];
  assertEquals(tops(), [...sizes, ...Array(6).fill(4_000), 8_000]);
});

for (const code of [408, 504]) {
  Deno.test(`locations() halves the page size only after the second ${code}`, async () => {
    const { client, tops } = retryingClient([
      ...repeat(2, () => status(code)),
      status(code === 408 ? 504 : 408),
      page([{ Id: 1 }], next(1)),
      status(code),
      page([{ Id: 2 }]),
    ]);
    assertEquals((await client.locations({ top: 9_999 }).toArray()).length, 2);
    assertEquals(tops(), [9_999, 9_999, 4_999, 2_499, 2_499, 2_499]);
  });
}

Deno.test("locations() fails when the page size is 1 and the response still too large", async () => {
  const { client, tops } = retryingClient(repeat(2, () => status(413)));
  const rows = client.locations({ top: 2 }).toArray();
  const error = await assertRejects(() => rows, DataStreamError);
  assertEquals([error.status, tops()], [413, [2, 1]]);
});

/** The time between two requests, if `Retry-After` says nothing, or less. */
const SHORTEST = 1_060;
const DATE = "Sat, 21 Nov 2026 10:00:00 GMT";
const retryAfterHeaders: [name: string, code: number, headers: HeadersInit, wait: number][] = [
  ["seconds", 429, { "retry-after": " 7 " }, 7_000],
  ["the maximum", 429, { "retry-after": "120" }, 120_000],
  ["more seconds than the backoff", 503, { "retry-after": "100" }, 100_000],
  ["a date", 429, { "retry-after": "Sat, 21 Nov 2026 10:01:00 GMT", date: DATE }, 60_000],
  ["a past date", 429, { "retry-after": DATE, date: "Sat, 21 Nov 2026 10:01:00 GMT" }, SHORTEST],
  ["a text", 429, { "retry-after": "soon" }, SHORTEST],
  ["a date of another form", 429, { "retry-after": "2026-11-21" }, SHORTEST],
];
for (const [name, code, headers, wait] of retryAfterHeaders) {
  Deno.test(`locations() waits as Retry-After says when it has ${name} and the status is ${code}`, async () => {
    const { client, times } = retryingClient([
      new Response("", { status: code, headers }),
      page([]),
    ]);
    await client.locations().toArray();
    assertEquals(times[1], wait);
  });
}

Deno.test("locations() compares a date in Retry-After with the local clock when there is no Date header", async () => {
  const soon = new Date(Date.now() + 50_000).toUTCString();
  const { client, times } = retryingClient([status(429, soon), page([])]);
  await client.locations().toArray();
  assert(times[1]! > 40_000 && times[1]! <= 50_000, `retried at ${times[1]}`);
});

Deno.test("locations() fails with the time of a retry when Retry-After exceeds the maximum", async () => {
  for (const code of [429, 503]) {
    const { client, requests } = retryingClient([status(code, "121")]);
    const error = await assertRejects(() => client.locations().toArray(), DataStreamError);
    assertEquals([error.status, requests.length], [code, 1]);
    assertStringIncludes(error.hint, "121 s");
    assertEquals(error.retryAfter, 121_000);
  }
});

Deno.test("locations() backs off when Retry-After is shorter than the backoff", async () => {
  const { client, clock } = retryingClient(repeat(6, () => status(503, "0")));
  await assertRejects(() => client.locations().toArray(), DataStreamError, "6 times");
  assert(clock.now() >= 15_000, `gave up after ${clock.now()} ms`);
});

Deno.test("locations() fails after 15 minutes of responses with status 429", async () => {
  const { client, clock } = retryingClient(repeat(40, () => status(429, "60")));
  await assertRejects(() => client.locations().toArray(), DataStreamError, "status 429");
  assert(clock.now() >= 900_000 && clock.now() < 960_000, `gave up after ${clock.now()} ms`);
});

/** A 429 of the firewall, which says nothing about the time. */
const blocked = () => status(429);

Deno.test("queries share the wait of a block, which doubles up to a minute", async () => {
  const { client, times } = retryingClient([
    ...repeat(9, blocked),
    ...repeat(3, () => page([])),
  ]);
  const queries = [client.locations(), client.metadata(), client.records()];
  await Promise.all(queries.map((query) => query.toArray()));
  const waits = times.slice(1).map((time, index) => (time - times[index]!) / 1_000);
  assertEquals(waits.slice(0, 9), [1.06, 2.12, 4.24, 8, 16, 32, 60, 60, 60]);
});

Deno.test("a query that may not wait is told since when the service refuses all requests, or is silent, and why", async () => {
  const refused = Object.assign(new Error(), { code: "ECONNREFUSED" });
  const cases: [reply: ScriptedResponse, kind: string, text: RegExp][] = [
    [status(429, "60"), "rate-limit", /refused all requests since \d\d:\d\d UTC \(status 429\)$/],
    [status(503), "network", /not answered since .* \(status 503\)$/],
    [new Error("", { cause: refused }), "network", /not answered since .* \(connection refused\)$/],
    [new Response("<html>"), "network", /not answered since .* \(no JSON\)$/],
  ];
  for (const [reply, kind, text] of cases) {
    const { client, requests } = retryingClient([reply], { retry: { attempts: 1 }, maxWait: 0 });
    await assertRejects(() => client.metadata().toArray(), DataStreamError);
    const error = await assertRejects(() => client.metadata().toArray(), DataStreamError);
    assertEquals([error.kind, requests.length], [kind, 1]);
    assert(text.test(error.detail), error.detail);
    const { is, wait } = client.service;
    assertEquals([is, wait], kind === "network" ? ["silent", 500] : ["blocked", 60_000]);
  }
});
