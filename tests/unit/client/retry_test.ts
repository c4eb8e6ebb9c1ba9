// Faults that pass are met by asking again, by rules; the rest are errors that say what to do.
import "../../helpers/no_permission.ts";
import { assert, assertEquals, assertMatch, assertRejects } from "@std/assert";
import { type Clock, DataStream, DataStreamError, type DataStreamOptions } from "../../../mod.ts";
import { page, ROOT, type ScriptedResponse, upstream } from "../../helpers/upstream.ts";

/** A client that meets faults as by default, the times at which it asked, and the page sizes. */
function persistent(replies: ScriptedResponse[], options: DataStreamOptions = {}) {
  const service = upstream(...replies);
  const { clock } = service.options;
  const times: number[] = [];
  const fetch = (request: Request) => {
    times.push(clock.now());
    return service.options.fetch(request);
  };
  const client = new DataStream({ ...service.options, fetch, retry: {}, ...options });
  const tops = () =>
    service.requests.map(({ url }) => Number(new URL(url).searchParams.get("$top")));
  return { client, clock, times, tops, requests: service.requests };
}

const answer = (status: number, headers: HeadersInit = {}) =>
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

const passing: [name: string, reply: ScriptedResponse][] = [
  ["a reset connection", new TypeError("connection reset")],
  ["a body that breaks off", cut()],
  ["broken JSON", new Response('{"value":[', { headers: { "content-type": "application/json" } })],
  ["HTML with status 200", html()],
  ["status 500", answer(500)],
  ["status 502", answer(502)],
  ["status 503", answer(503)],
  ["status 520", answer(520)],
  ["status 408", answer(408)],
  ["status 504", answer(504)],
  ["status 429", answer(429)],
];
for (const [name, reply] of passing) {
  Deno.test(`${name} is met by asking again, no row lost and none doubled`, async () => {
    const { client, times, tops } = persistent([
      page([{ Id: 1 }], next),
      reply,
      page([{ Id: 2 }]),
    ]);
    const rows = await client.locations({ select: ["Id"] }).toArray();
    assertEquals(rows, [{ Id: 1 }, { Id: 2 }]);
    assertEquals(tops(), [10_000, 10_000, 10_000]);
    const pause = times[2]! - times[1]!;
    assert(pause >= 530 && pause <= 1_100, `asked again after ${pause} ms`);
  });
}

const lasting: [name: string, reply: () => ScriptedResponse, kind: string][] = [
  ["status 400", () => answer(400), "status"],
  ["status 401", () => answer(401), "status"],
  ["status 403", () => answer(403), "status"],
  ["status 404", () => answer(404), "status"],
  ["a redirect", () => new Response(null, { status: 302 }), "status"],
  ["a part of a page", () => answer(206), "status"],
  ["a next link to elsewhere", () => page([], "https://evil.invalid/x"), "next-link"],
];
for (const [name, reply, kind] of lasting) {
  Deno.test(`${name} fails at once`, async () => {
    const { client, requests } = persistent([reply()]);
    const error = await assertRejects(() => client.locations().toArray(), DataStreamError);
    assertEquals([error.kind, requests.length], [kind, 1]);
    assertEquals(error.message.includes("times"), false);
  });
}

Deno.test("a page is asked for six times at most, over 30 s of back-off at most", async () => {
  for (let run = 0; run < 20; run++) {
    const { client, clock, requests } = persistent(Array.from({ length: 6 }, () => answer(500)));
    const error = await assertRejects(() => client.locations().toArray(), DataStreamError);
    assertEquals(requests.length, 6);
    assertEquals(error.detail.endsWith("answered status 500 (no), 6 times"), true);
    assertEquals([error.status, error.hint], [500, "try again later"]);
    assert(clock.now() >= 15_000 && clock.now() <= 30_000, `gave up after ${clock.now()} ms`);
  }
});

Deno.test("attempts and back-off are options, and each page has its own", async () => {
  const twice = [answer(500), answer(500)];
  const pages = [
    ...twice,
    page([{ Id: 1 }], next),
    ...twice.map(() => answer(500)),
    page([{ Id: 2 }]),
  ];
  const { client } = persistent(pages, { retry: { attempts: 3 } });
  assertEquals((await client.locations().toArray()).length, 2);

  const short = persistent(Array.from({ length: 6 }, () => answer(500)), {
    retry: { backoff: 1_200 },
  });
  await assertRejects(() => short.client.locations().toArray(), DataStreamError, "times");
  assert(short.clock.now() <= 1_200 + 2 * 530, `gave up after ${short.clock.now()} ms`);
  assert(short.requests.length >= 3);
});

Deno.test("413 lowers the page size at once, for the pages after it too", async () => {
  const { client, tops, times } = persistent([
    answer(413),
    answer(413),
    page([{ Id: 1 }], next),
    page([{ Id: 2 }]),
  ]);
  assertEquals((await client.locations().toArray()).length, 2);
  assertEquals(tops(), [10_000, 5_000, 2_500, 2_500]);
  assertEquals(times, [0, 530, 1_060, 1_590]);
});

Deno.test("a page that is asked for again, the same or smaller, begins at its own place", async () => {
  const { client, requests } = persistent([
    page([{ Id: 1 }], next),
    answer(500),
    answer(413),
    page([{ Id: 2 }], `${ROOT}/Locations?$skiptoken=Id:2`),
    page([{ Id: 3 }]),
  ]);
  assertEquals((await client.locations().toArray()).length, 3);
  const places = requests.map(({ url }) => new URL(url).searchParams.get("$skiptoken"));
  assertEquals(places, [null, "Id:1", "Id:1", "Id:1", "Id:2"]);
});

for (const status of [408, 504]) {
  Deno.test(`${status} is retried once, then lowers the page size`, async () => {
    const { client, tops } = persistent([
      answer(status),
      answer(status),
      answer(status === 408 ? 504 : 408),
      page([{ Id: 1 }], next),
      answer(status),
      page([{ Id: 2 }]),
    ]);
    assertEquals((await client.locations({ top: 9_999 }).toArray()).length, 2);
    assertEquals(tops(), [9_999, 9_999, 4_999, 2_499, 2_499, 2_499]);
  });
}

Deno.test("a page of one row cannot be smaller, and a count has no rows", async () => {
  const one = persistent([answer(413), answer(413)]);
  const error = await assertRejects(
    () => one.client.locations({ top: 2 }).toArray(),
    DataStreamError,
  );
  assertEquals([error.status, one.tops()], [413, [2, 1]]);
  assertMatch(error.hint, /fewer fields/);
  const count = persistent(Array.from({ length: 6 }, () => answer(504)));
  await assertRejects(
    () => count.client.locations().count(),
    DataStreamError,
    "504 (no), 6 times",
  );
});

const waits: [name: string, headers: HeadersInit, milliseconds: number][] = [
  ["seconds", { "retry-after": "7" }, 7_000],
  ["no seconds", { "retry-after": "0" }, 1_060],
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
    "a date that has passed",
    {
      "retry-after": "Sat, 21 Nov 2026 09:01:00 GMT",
      date: "Sat, 21 Nov 2026 10:00:00 GMT",
    },
    1_060,
  ],
  ["the longest wait", { "retry-after": "120" }, 120_000],
];
for (const [name, headers, wait] of waits) {
  Deno.test(`Retry-After with ${name} is honoured at 429`, async () => {
    const { client, times } = persistent([answer(429, headers), page([])]);
    await client.locations().toArray();
    assertEquals(times[1], wait);
  });
}

Deno.test("Retry-After is honoured at 503, beside the back-off", async () => {
  const many = Array.from({ length: 5 }, () => answer(503, { "retry-after": "100" }));
  const { client, times } = persistent([...many, page([])]);
  await client.locations().toArray();
  assertEquals(times, [0, 100_000, 200_000, 300_000, 400_000, 500_000]);
});

Deno.test("Retry-After past two minutes is an error that says when, and an option", async () => {
  for (const status of [429, 503]) {
    const { client, requests } = persistent([answer(status, { "retry-after": "121" })]);
    const error = await assertRejects(() => client.locations().toArray(), DataStreamError);
    assertEquals([error.status, requests.length], [status, 1]);
    assertEquals(error.hint, "try again in 121 s, as the service asks");
    assertEquals(error.retryAfter, 121_000);
  }
  const { client } = persistent([answer(429, { "retry-after": "600" }), page([])], {
    retry: { retryAfter: 600_000 },
  });
  assertEquals(await client.locations().toArray(), []);
});

for (const text of ["soon", "1.5", "-1", "2026-11-21"]) {
  Deno.test(`Retry-After: ${text} cannot be read, and is as none`, async () => {
    const { client, times } = persistent([answer(503, { "retry-after": text }), page([])]);
    await client.locations().toArray();
    assert(times[1]! >= 500 && times[1]! <= 1_100, `asked again at ${times[1]}`);
  });
}

Deno.test("a Retry-After shorter than the back-off does not shorten it", async () => {
  const many = Array.from({ length: 6 }, () => answer(503, { "retry-after": "0" }));
  const { client, clock } = persistent(many);
  await assertRejects(() => client.locations().toArray(), DataStreamError, "6 times");
  assert(clock.now() >= 15_000, `gave up after ${clock.now()} ms`);
});

Deno.test("a 429 that ends a query holds the others back all the same", async () => {
  for (const [seconds, held] of [[300, 120_000], [60, 60_000]] as const) {
    const { client, times } = persistent(
      [answer(429, { "retry-after": String(seconds) }), page([]), page([])],
      { retry: { attempts: 1 } },
    );
    const [first] = await Promise.allSettled(
      [1, 2, 3].map(() => client.locations().toArray()),
    );
    assertEquals(first!.status, "rejected");
    assertEquals(times[1], held);
    assert(times[2]! - times[1]! > 900, `started at ${times}`);
  }
});

Deno.test("late headers do not let the next request start beside this one", async () => {
  const { client, clock, times } = persistent([
    async () => {
      await clock.sleep(44_000);
      const body = new ReadableStream({
        async pull(controller) {
          await clock.sleep(29_000);
          controller.enqueue(new TextEncoder().encode('{"value":[]}'));
          controller.close();
        },
      }, { highWaterMark: 0 });
      return new Response(body, { headers: { "content-type": "application/json" } });
    },
    page([]),
  ]);
  await Promise.all([client.locations().toArray(), client.locations().toArray()]);
  assert(times[1]! >= 73_000, `the second started at ${times[1]}`);
});

Deno.test("a first request that reaches the service late is counted from its answer", async () => {
  const late = async () => {
    await clock.sleep(200);
    return page([], `${ROOT}/Locations?$skiptoken=Id:1`);
  };
  const { client, clock, times } = persistent([late, page([])]);
  await client.locations().toArray();
  assertEquals(times, [0, 730]);
});

Deno.test("a date in Retry-After without a Date is held against this machine's clock", async () => {
  const soon = new Date(Date.now() + 50_000).toUTCString();
  const { client, times } = persistent([answer(429, { "retry-after": soon }), page([])]);
  await client.locations().toArray();
  assert(times[1]! > 40_000 && times[1]! <= 50_000, `asked again at ${times[1]}`);
});

Deno.test("a 429 keeps everyone back, and slows everyone down", async () => {
  const { client, times } = persistent([
    answer(429, { "retry-after": "10" }),
    ...Array.from({ length: 4 }, () => page([])),
  ]);
  await Promise.all([1, 2, 3, 4].map(() => client.locations().toArray()));
  const [, second, third] = times;
  assertEquals(second, 10_000);
  assert(third! - second! > 900, `the gap is ${third! - second!} ms`);
});

Deno.test("good answers bring the pace back after a 429", async () => {
  const { client, times } = persistent([
    answer(429, { "retry-after": "1" }),
    ...Array.from(
      { length: 12 },
      (_, index) => page([{ Id: index }], `${ROOT}/Locations?$skiptoken=Id:${index}`),
    ),
    page([{ Id: 12 }]),
  ]);
  await client.locations().toArray();
  assert(times[2]! - times[1]! > 900);
  assertEquals(Math.round(times.at(-1)! - times.at(-2)!), 530);
});

Deno.test("headers that do not come within 45 s are a fault, whatever the fetch does", async () => {
  const never = () => new Promise<Response>(() => {});
  const { client, times, clock } = persistent([never, page([{ Id: 1 }])]);
  assertEquals((await client.locations().toArray()).length, 1);
  assert(times[1]! >= 45_500 && times[1]! <= 46_100, `asked again at ${times[1]}`);
  const once = persistent([never], { retry: { attempts: 1 }, timeouts: { headers: 3_000 } });
  const error = await assertRejects(() => once.client.locations().toArray(), DataStreamError);
  assertEquals(error.detail.endsWith("(no headers within 3 s)"), true);
  assertEquals([error.kind, (error.cause as Error).name], ["network", "TimeoutError"]);
  assert(once.clock.now() < 3_100 && clock.now() > 45_000);
});

Deno.test("a request that took too long is told so, and a late answer is dropped", async () => {
  const { promise: late, resolve: deliver } = Promise.withResolvers<Response>();
  let asked: Request | undefined;
  const { client } = persistent([
    (request) => {
      asked = request;
      return late;
    },
    page([]),
  ]);
  await client.locations().toArray();
  assertEquals(asked?.signal.aborted, true);
  let cancelled = false;
  deliver(new Response(new ReadableStream({ cancel: () => void (cancelled = true) })));
  await new Promise((resolve) => setTimeout(resolve));
  assertEquals(cancelled, true);
});

Deno.test("30 s without a byte are a fault, and bytes that trickle are none", async () => {
  let cancelled = false;
  const trickle = (pieces: string[]): ScriptedResponse => () => {
    const left = [...pieces];
    const body = new ReadableStream({
      async pull(controller) {
        const piece = left.shift();
        if (piece === undefined) return await new Promise(() => {});
        await clock.sleep(29_000);
        controller.enqueue(new TextEncoder().encode(piece));
        if (piece.endsWith("}")) controller.close();
      },
      cancel: () => void (cancelled = true),
    }, { highWaterMark: 0 });
    return new Response(body, { headers: { "content-type": "application/json" } });
  };
  const { client, clock, times } = persistent([
    trickle(['{"value"', ":["]),
    trickle(['{"value"', ":[", "]", "}"]),
  ]);
  assertEquals(await client.locations().toArray(), []);
  assertEquals(cancelled, true);
  // Two pieces, half a minute without, a pause; then four pieces.
  assert(times[1]! >= 88_500 && times[1]! <= 89_100, `asked again at ${times[1]}`);
  assertEquals(clock.now(), times[1]! + 4 * 29_000);
});

Deno.test("a time-out says what did not come, where both times are equal, too", async () => {
  const body = new ReadableStream({ pull: () => new Promise(() => {}) });
  const reply = new Response(body, { headers: { "content-type": "application/json" } });
  const { client } = persistent([reply], {
    retry: { attempts: 1 },
    timeouts: { headers: 30_000 },
  });
  await assertRejects(() => client.locations().toArray(), DataStreamError, "no bytes within 30 s");
});

Deno.test("an error's body that never ends does not hold the error up", async () => {
  const body = new ReadableStream({ pull: () => new Promise(() => {}) });
  const { client, clock } = persistent([new Response(body, { status: 400 })]);
  await assertRejects(() => client.locations().toArray(), DataStreamError, "status 400:");
  assert(clock.now() <= 30_100);
});

Deno.test("an error's body that breaks off leaves the status, and what to do about it", async () => {
  const body = new ReadableStream({ pull: (controller) => controller.error(new Error("cut")) });
  const { client, requests } = persistent([new Response(body, { status: 403 })]);
  const error = await assertRejects(() => client.locations().toArray(), DataStreamError);
  assertEquals([error.status, requests.length], [403, 1]);
  assertMatch(error.message, /answered status 403: check the API key/);
});

Deno.test("a clock that fails ends the request, and is no reason to wait for ever", async () => {
  const { options } = upstream(() => new Promise<Response>(() => {}));
  const clock = { now: () => 0, sleep: () => Promise.reject(new Error("no clock here")) };
  const client = new DataStream({ ...options, clock });
  await assertRejects(() => client.locations().toArray(), DataStreamError, "no clock here");
});

Deno.test("waiting for the next attempt ends with the signal", async () => {
  const stop = new AbortController();
  const { client, clock, requests } = persistent([answer(500), page([])]);
  const query = client.locations({
    signal: stop.signal,
    onProgress: ({ retrying }) => retrying && queueMicrotask(() => stop.abort("enough")),
  });
  assertEquals(await query.toArray().catch((error) => error), "enough");
  assertEquals([requests.length, clock.now()], [1, 0]);
});

Deno.test("a signal that aborts just when the turn comes sends nothing", async () => {
  const { options, requests } = upstream(page([]), page([]));
  const stop = new AbortController();
  const clock: Clock = {
    now: () => options.clock.now(),
    async sleep(milliseconds) {
      await options.clock.sleep(milliseconds);
      stop.abort("enough");
    },
  };
  const client = new DataStream({ ...options, clock });
  await client.locations().toArray();
  const query = client.locations({ signal: stop.signal });
  assertEquals(await query.toArray().catch((error) => error), "enough");
  assertEquals(requests.length, 1);
});

Deno.test("what the runtime does not allow is not tried again", async () => {
  const denied = Object.assign(new Error("Requires net access"), { name: "NotCapable" });
  const { client, requests } = persistent([denied]);
  const error = await assertRejects(() => client.locations().toArray(), DataStreamError);
  assertEquals([error.hint, requests.length], [
    "let it reach the service: deno run --allow-net=upstream.invalid",
    1,
  ]);
});
