// The rate limiter, through queries whose service records when each request starts.
import "../../helpers/no_permission.ts";
import { assert, assertEquals } from "@std/assert";
import { type Clock, DataStream } from "../../../mod.ts";
import { DEADLINE } from "../../helpers/deadline.ts";
import { FakeClock } from "../../helpers/fake_clock.ts";
import { sandboxAndClient } from "../../helpers/sandbox.ts";
import { page, retryingClient, ROOT, upstream } from "../../helpers/upstream.ts";

const ORIGIN = "https://upstream.invalid";
const OTHER_ORIGIN = "https://other.invalid";

/** Time (ms) between two starts at 2 requests per second. */
const INTERVAL = 530;

interface SendOptions {
  requestsPerSecond?: number;
  origin?: string;
  apiKey?: string;
  signal?: AbortSignal;
  respond?: () => Response | Promise<Response>;
}

/** Creates a service, and a function that sends it one request from a new client. */
function createSender() {
  const clock = new FakeClock();
  const starts: number[] = [];
  /** Returns the time at which the request started, whatever the response. */
  const send = async (
    { requestsPerSecond = 2, origin = ORIGIN, apiKey = "k3y-of-a-test", signal, respond = empty }:
      SendOptions = {},
  ): Promise<number> => {
    let start = NaN;
    const client = new DataStream({
      clock,
      requestsPerSecond,
      apiKey,
      baseUrl: `${origin}/v1`,
      retry: { attempts: 1 },
      fetch: async () => {
        start = clock.now();
        starts.push(start);
        return await respond();
      },
    });
    await client.metadata({ signal }).toArray().catch((error) => {
      if (Number.isNaN(start)) throw error;
    });
    return start;
  };
  return { clock, starts, send };
}

const empty = () => page([]);
/** Neither a success, which shortens the interval after a penalty, nor a penalty. */
const notFound = () => new Response("", { status: 404 });
const tooManyRequests = (retryAfter: number) => () =>
  new Response("", { status: 429, headers: { "retry-after": String(retryAfter) } });

/** A response whose headers arrive immediately and whose body arrives when the test releases it. */
function hold() {
  const { promise: released, resolve: release } = Promise.withResolvers<void>();
  const { promise: sent, resolve: onSent } = Promise.withResolvers<void>();
  const respond = () => {
    onSent();
    return pageAfter(released);
  };
  return { respond, release, sent };
}

/** A response whose headers arrive immediately and whose body arrives later. */
function pageAfter(arrival: Promise<void>): Response {
  const body = new ReadableStream({
    async pull(controller) {
      await arrival;
      controller.enqueue(new TextEncoder().encode('{"value":[]}'));
      controller.close();
    },
  }, { highWaterMark: 0 });
  return new Response(body, { headers: { "content-type": "application/json" } });
}

/** Differences between neighbouring numbers. */
const differences = (times: number[]) => times.slice(1).map((time, index) => time - times[index]!);

/** Registers a test that fails if it never gets a permit. */
const test = (name: string, run: () => Promise<void>) => Deno.test(name, DEADLINE, run);

test("DataStream starts requests 530 ms apart when 2 per second are allowed", async () => {
  const { starts, send } = createSender();
  for (let request = 0; request < 4; request++) await send();
  assertEquals(starts, [0, 530, 1060, 1590]);
});

test("DataStream waits for the response to the request before, and at most 20 ms longer", async () => {
  const { clock, send } = createSender();
  const first = send({ respond: () => pageAfter(clock.sleep(3210)) });
  const second = await send();
  assert(second >= 3210 && second <= 3230, `started at ${second}`);
  await first;
});

test("DataStream sends requests in the order of the calls", async () => {
  const { clock, send } = createSender();
  const order: number[] = [];
  const respond = (number: number) => () => {
    order.push(number);
    return pageAfter(clock.sleep(40));
  };
  await Promise.all([1, 2, 3, 4, 5].map((number) => send({ respond: respond(number) })));
  assertEquals(order, [1, 2, 3, 4, 5]);
});

test("DataStream leaves the queue when the signal aborts", async () => {
  const { clock, send } = createSender();
  const { respond, release } = hold();
  const first = send({ respond });
  const controller = new AbortController();
  const second = send({ signal: controller.signal }).catch((error) => error);
  const third = send();
  await clock.sleep(100);
  controller.abort("enough");
  assertEquals(await second, "enough");
  release();
  assert(await third < 600);
  await first;
});

test("DataStream does not delay the next request when the signal has already aborted", async () => {
  const { send } = createSender();
  const aborted = send({ signal: AbortSignal.abort("before") });
  assertEquals(await aborted.catch((error) => error), "before");
  assertEquals(await send(), 0);
});

test("DataStream keeps the order when another waiting query is aborted", async () => {
  const { clock, send } = createSender();
  const { respond, release } = hold();
  const first = send({ respond });
  const controller = new AbortController();
  const second = send();
  const third = send();
  const fourth = send({ signal: controller.signal }).catch(() => {});
  await clock.sleep(50);
  controller.abort();
  await fourth;
  release();
  assert(await second < await third);
  await first;
});

test("DataStream sends one request at a time when the rate is unlimited", async () => {
  const { clock, send } = createSender();
  let inFlight = 0;
  let most = 0;
  const respond = async () => {
    most = Math.max(most, ++inFlight);
    await clock.sleep(25);
    inFlight--;
    return page([]);
  };
  const requests = Array.from({ length: 5 }, () => send({ requestsPerSecond: Infinity, respond }));
  await Promise.all(requests);
  assertEquals(most, 1);
});

test("DataStream keeps the order when the interval is longer than the lifetime of a waiter", async () => {
  const { send } = createSender();
  const starts = await Promise.all([1, 2, 3, 4].map(() => send({ requestsPerSecond: 0.05 })));
  assertEquals(starts, [0, 21_200, 42_400, 63_600]);
});

test("DataStream renews only the permit of the request itself", async () => {
  const { clock, starts, send } = createSender();
  const { respond, release, sent } = hold();
  const expired = send({ respond });
  await sent;
  clock.advance(20_000); // its permit expires before the timer that renews it fires
  const { sleep } = clock;
  clock.sleep = () => new Promise(() => {});
  send({ respond: () => new Promise(() => {}) }); // its timers never fire
  while (starts.length < 2) await Promise.resolve();
  clock.sleep = sleep;
  const third = await send();
  assert(third >= 25_000 && third < 25_100, `started at ${third}`);
  release();
  await expired;
});

test("DataStream releases only the permit of the request itself", async () => {
  const { clock, starts, send } = createSender();
  const [first, second] = [hold(), hold()];
  const expired = send({ respond: first.respond });
  await first.sent;
  clock.dropTimers();
  const next = send({ respond: second.respond });
  await second.sent;
  first.release();
  await expired;
  const third = send();
  await clock.sleep(4_000);
  assertEquals(starts, [0, 5_000]);
  second.release();
  await Promise.all([next, third]);
});

test("DataStream skips a waiting query after 5 s when the runtime has dropped its timers", async () => {
  const { clock, send } = createSender();
  const { respond, release } = hold();
  const first = send({ respond });
  send();
  await clock.sleep(50);
  clock.dropTimers();
  release();
  await first;
  const third = await send();
  assert(third >= 5_000 && third < 5_700, `started at ${third}`);
});

test("DataStream serves a waiting query whose timer fires late, as in a background tab", async () => {
  const { clock, starts, send } = createSender();
  const { respond, release } = hold();
  const first = send({ respond });
  const late = send();
  await clock.sleep(50);
  clock.advance(60_000);
  const punctual = send();
  release();
  await Promise.all([first, late, punctual]);
  assertEquals(starts.length, 3);
});

test("DataStream keeps the order when the whole process was suspended", async () => {
  const { clock, send } = createSender();
  const { respond, release } = hold();
  const first = send({ respond });
  const order: number[] = [];
  const waiting = [1, 2, 3, 4].map((number) => send().then(() => order.push(number)));
  await clock.sleep(50);
  clock.advance(20_000);
  release();
  await Promise.all([first, ...waiting]);
  assertEquals(order, [1, 2, 3, 4]);
});

test("DataStream keeps the permit of a running request when the whole process was suspended", async () => {
  const { clock, send } = createSender();
  const { respond, release } = hold();
  const first = send({ respond });
  const second = send();
  await clock.sleep(50);
  clock.advance(20_000); // the timer of the waiting query fires before the one that renews the permit
  await clock.sleep(3_000);
  const released = clock.now();
  release();
  const start = await second;
  assert(start >= released, `started at ${start}, not after ${released}`);
  await first;
});

test("DataStream counts the interval from the response when a request opens a connection", async () => {
  const { clock, starts, send } = createSender();
  const arrivals: number[] = [];
  // Opening the connection takes 120 ms, so the service receives the first request later.
  for (const delay of [120, 0, 0]) {
    const respond = async () => {
      arrivals.push(clock.now() + delay);
      await clock.sleep(delay);
      return page([]);
    };
    await send({ respond });
  }
  assert(arrivals[2]! - arrivals[0]! > 1000, `received at ${arrivals}`);
  await send();
  assertEquals(starts[3]! - starts[2]!, INTERVAL);
});

test("DataStream uses the longer interval when two clients have different rates", async () => {
  const { starts, send } = createSender();
  for (const requestsPerSecond of [Infinity, 2, Infinity, 0.1, 2]) {
    await send({ requestsPerSecond });
  }
  assertEquals(starts, [0, 530, 1060, 11_660, 22_260]);
});

test("DataStream uses the lowest rate that a client had in the last minute", async () => {
  const { starts, send } = createSender();
  await send({ requestsPerSecond: 0.5 });
  for (let request = 0; request < 40; request++) await send();
  const intervals = differences(starts.slice(1));
  const fast = intervals.indexOf(INTERVAL);
  const at = starts[fast + 1]!;
  assert(at > 60_000 - 2_120 && at <= 60_000 + 2_120, `at ${at}`);
  assertEquals(new Set(intervals.slice(0, fast - 1)), new Set([2_120]));
  assertEquals(new Set(intervals.slice(fast)), new Set([INTERVAL]));
});

test("DataStream uses the lowest rate of all waiting queries when another one is next", async () => {
  const { send } = createSender();
  const rates = [2, 2, 2, 0.1];
  const starts = await Promise.all(rates.map((requestsPerSecond) => send({ requestsPerSecond })));
  assertEquals(starts, [0, 10_600, 21_200, 31_800]);
});

test("DataStream has a queue for each origin", async () => {
  const { send } = createSender();
  assertEquals([await send(), await send({ origin: OTHER_ORIGIN })], [0, 0]);
});

test("a 429 delays all requests and lengthens the interval until responses succeed", async () => {
  const { starts, send } = createSender();
  await send();
  await send({ respond: tooManyRequests(7) });
  await send({ respond: tooManyRequests(0) });
  for (let times = 0; times < 20; times++) await send();
  // Two penalties make the interval four times as long.
  assertEquals(starts.slice(0, 4), [0, 530, 7_530, 7_530 + 4 * INTERVAL]);
  assertEquals(starts[4]! - starts[3]!, 0.9 * 4 * INTERVAL);
  assertEquals(starts.at(-1)! - starts.at(-2)!, INTERVAL);
});

test("a 429 does not shorten the delay of another one", async () => {
  const { clock, send } = createSender();
  const { promise: released, resolve: release } = Promise.withResolvers<void>();
  const respond = () => released.then(tooManyRequests(1));
  const first = send({ respond });
  await clock.sleep(50);
  clock.dropTimers(); // so that its permit expires
  await send({ respond: tooManyRequests(7) });
  release();
  await first;
  assertEquals(await send(), 5_000 + 7_000);
});

test("a 429 has less effect with each minute without a request", async () => {
  const { clock, starts, send } = createSender();
  for (let times = 0; times < 3; times++) await send({ respond: tooManyRequests(0) });
  await clock.sleep(2 * 60_000);
  for (let times = 0; times < 2; times++) await send({ respond: notFound });
  assertEquals(starts.at(-1)! - starts.at(-2)!, 2 * INTERVAL);
  await clock.sleep(24 * 3_600_000);
  for (let times = 0; times < 2; times++) await send({ respond: notFound });
  assertEquals(starts.at(-1)! - starts.at(-2)!, INTERVAL);
});

test("a 429 keeps its effect when there is a request in each minute", async () => {
  const { clock, starts, send } = createSender();
  for (let times = 0; times < 3; times++) await send({ respond: tooManyRequests(0) });
  for (let times = 0; times < 4; times++) {
    await clock.sleep(50_000);
    await send({ respond: notFound });
  }
  await send({ respond: notFound });
  assertEquals(starts.at(-1)! - starts.at(-2)!, 8 * INTERVAL);
});

test("a 429 sets an interval of 1 s when the rate is unlimited", async () => {
  const { send } = createSender();
  await send({ requestsPerSecond: Infinity, respond: tooManyRequests(0) });
  assertEquals(await send({ requestsPerSecond: Infinity }), 1_000);
});

test("a 429 lengthens the interval of its origin only, and at most eight times", async () => {
  const { clock, starts, send } = createSender();
  for (let times = 0; times < 10; times++) await send({ respond: tooManyRequests(0) });
  const now = clock.now();
  assertEquals(await send({ origin: OTHER_ORIGIN }), now);
  await send();
  assertEquals(starts.at(-1)! - starts.at(-3)!, 8 * INTERVAL);
});

test("a 429 delays only the requests with its key", async () => {
  const { send } = createSender();
  await send({ apiKey: "a", respond: tooManyRequests(20) });
  const [a1, b1, a2, b2] = await Promise.all(
    ["a", "b", "a", "b"].map((apiKey) => send({ apiKey, respond: notFound })),
  );
  assertEquals([b1, b2], [INTERVAL, 2 * INTERVAL]);
  assert(a1! >= 20_000 && a1! < 21_000, `started at ${a1}`);
  assertEquals(a2! - a1!, 2 * INTERVAL);
});

Deno.test("DataStream shares one rate between clients of one origin", DEADLINE, async () => {
  const starts: number[] = [];
  const { options, requests } = upstream(...Array.from({ length: 6 }, () => () => {
    starts.push(options.clock.now());
    return page([{ Id: 1 }]);
  }));
  const clients = ["one", "two", "three"].map((apiKey) => new DataStream({ ...options, apiKey }));
  await Promise.all(clients.flatMap((client) => [
    client.records().toArray(),
    client.records({ top: 5 }).toArray(),
  ]));
  assertEquals(starts.length, 6);
  for (let index = 2; index < starts.length; index++) {
    assert(starts[index]! - starts[index - 2]! > 1000, `starts at ${starts}`);
  }
  assertEquals(requests.map((request) => request.headers.get("x-api-key")), [
    "one",
    "one",
    "two",
    "two",
    "three",
    "three",
  ]);
});

Deno.test(
  "DataStream exceeds neither limit of a strict service when several queries run",
  DEADLINE,
  async () => {
    const { sandbox, client } = sandboxAndClient({ records: 2_000 });
    const results = await Promise.all([
      client.records({ top: 500 }).toArray(),
      client.records({ top: 1_000, select: ["Id"] }).toArray(),
      client.records({ top: 400 }).toArray(),
    ]);
    assertEquals(results.map((rows) => rows.length), [2_000, 2_000, 2_000]);
    assertEquals(sandbox.stats.requests, 5 + 3 + 6); // each with a count
    assertEquals([sandbox.stats.tooFast, sandbox.stats.parallel], [0, 0]);
  },
);

Deno.test(
  "DataStream starts the next request within 5 s when the runtime has dropped the one before",
  DEADLINE,
  async () => {
    const clock = new FakeClock();
    const { promise: sent, resolve: onSent } = Promise.withResolvers<void>();
    let requests = 0;
    const client = new DataStream({
      clock,
      fetch() {
        onSent();
        return ++requests === 1 ? new Promise(() => {}) : Promise.resolve(page([]));
      },
      baseUrl: "https://dropped.invalid",
    });
    client.metadata().toArray();
    await sent;
    clock.dropTimers();
    await client.metadata().toArray();
    assert(clock.now() >= 4_000 && clock.now() < 5_100, `started at ${clock.now()}`);
  },
);

Deno.test("DataStream keeps the permit when a response takes 20 s", DEADLINE, async () => {
  const clock = new FakeClock();
  const starts: number[] = [];
  const client = new DataStream({
    clock,
    fetch: async () => {
      starts.push(clock.now());
      await clock.sleep(20_000);
      return page([]);
    },
    baseUrl: "https://slow.invalid",
  });
  await Promise.all([client.metadata().toArray(), client.metadata().toArray()]);
  assert(starts[1]! >= 20_000, `started at ${starts}`);
});

Deno.test("DataStream starts the next request after a slow response has ended", async () => {
  const { client, clock, times } = retryingClient([
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

Deno.test("DataStream counts the interval from the response when the first request is slow", async () => {
  const late = async () => {
    await clock.sleep(200);
    return page([], `${ROOT}/Locations?$skiptoken=Id:1`);
  };
  const { client, clock, times } = retryingClient([late, page([])]);
  await client.locations().toArray();
  assertEquals(times, [0, 730]);
});

Deno.test("locations() sends no request when the signal aborts as the permit is given", async () => {
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
