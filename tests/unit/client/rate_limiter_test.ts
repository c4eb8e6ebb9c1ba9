import "../../helpers/no_permission.ts";
import { assert, assertEquals } from "@std/assert";
import { acquirePermit, penalize } from "../../../src/client/rate_limiter.ts";
import { type Clock, DataStream } from "../../../mod.ts";
import { DEADLINE } from "../../helpers/deadline.ts";
import { FakeClock } from "../../helpers/fake_clock.ts";
import { sandboxAndClient } from "../../helpers/sandbox.ts";
import { page, retryingClient, ROOT, upstream } from "../../helpers/upstream.ts";

const ORIGIN = "https://upstream.invalid";
const OTHER_ORIGIN = "https://other.invalid";
const KEY = "key of a test";

/** Time (ms) between two starts at 2 requests per second. */
const INTERVAL = 530;

const acquire = (origin: string, requestsPerSecond: number, clock: Clock, signal?: AbortSignal) =>
  acquirePermit(origin, { requestsPerSecond, clock, key: KEY }, signal);

/** Acquires a permit, releases it and returns the time at which it was given. */
async function startTime(rate: number, clock: Clock, origin = ORIGIN): Promise<number> {
  const permit = await acquire(origin, rate, clock);
  permit.release();
  return clock.now();
}

/** Differences between neighbouring numbers. */
const differences = (times: number[]) => times.slice(1).map((time, index) => time - times[index]!);

Deno.test(
  "acquirePermit() keeps starts 530 ms apart when 2 per second are allowed",
  DEADLINE,
  async () => {
    const clock = new FakeClock();
    const starts: number[] = [];
    for (let request = 0; request < 4; request++) starts.push(await startTime(2, clock));
    assertEquals(starts, [0, 530, 1060, 1590]);
  },
);

Deno.test(
  "acquirePermit() waits for the permit before it, and at most 20 ms longer",
  DEADLINE,
  async () => {
    const clock = new FakeClock();
    const first = await acquire(ORIGIN, 2, clock);
    const second = acquire(ORIGIN, 2, clock);
    await clock.sleep(3210);
    first.release();
    await second;
    assert(clock.now() >= 3210 && clock.now() <= 3230, `started at ${clock.now()}`);
  },
);

Deno.test("acquirePermit() gives permits in the order of the calls", DEADLINE, async () => {
  const clock = new FakeClock();
  const order: number[] = [];
  const requests = [1, 2, 3, 4, 5].map(async (number) => {
    const permit = await acquire(ORIGIN, 2, clock);
    order.push(number);
    await clock.sleep(40);
    permit.release();
  });
  await Promise.all(requests);
  assertEquals(order, [1, 2, 3, 4, 5]);
});

Deno.test(
  "acquirePermit() rejects with the reason and leaves the queue when the signal aborts",
  DEADLINE,
  async () => {
    const clock = new FakeClock();
    const first = await acquire(ORIGIN, 2, clock);
    const controller = new AbortController();
    const second = acquire(ORIGIN, 2, clock, controller.signal).catch((error) => error);
    const third = acquire(ORIGIN, 2, clock);
    await clock.sleep(100);
    controller.abort("enough");
    assertEquals(await second, "enough");
    first.release();
    await third;
    assert(clock.now() < 600);
  },
);

Deno.test("acquirePermit() rejects when the signal has already aborted", DEADLINE, async () => {
  const permit = acquire(ORIGIN, 2, new FakeClock(), AbortSignal.abort("before"));
  assertEquals(await permit.catch((error) => error), "before");
});

Deno.test("acquirePermit() keeps the order when another waiter is aborted", DEADLINE, async () => {
  const clock = new FakeClock();
  const first = await acquire(ORIGIN, 2, clock);
  const controller = new AbortController();
  const order: string[] = [];
  const wait = async (name: string, signal?: AbortSignal) => {
    const permit = await acquire(ORIGIN, 2, clock, signal);
    order.push(name);
    permit.release();
  };
  const second = wait("second");
  const third = wait("third");
  const fourth = wait("fourth", controller.signal).catch(() => {});
  await clock.sleep(50);
  controller.abort();
  await fourth;
  first.release();
  await Promise.all([second, third]);
  assertEquals(order, ["second", "third"]);
});

Deno.test(
  "acquirePermit() gives one permit at a time when the rate is unlimited",
  DEADLINE,
  async () => {
    const clock = new FakeClock();
    let inFlight = 0;
    let most = 0;
    await Promise.all(Array.from({ length: 5 }, async () => {
      const permit = await acquire(ORIGIN, Infinity, clock);
      most = Math.max(most, ++inFlight);
      await clock.sleep(25);
      inFlight--;
      permit.release();
    }));
    assertEquals(most, 1);
  },
);

Deno.test(
  "acquirePermit() keeps the order when the interval is longer than the lifetime of a waiter",
  DEADLINE,
  async () => {
    const clock = new FakeClock();
    const starts: [number, number][] = [];
    await Promise.all([1, 2, 3, 4].map(async (number) => {
      starts.push([number, await startTime(0.05, clock)]);
    }));
    assertEquals(starts, [[1, 0], [2, 21_200], [3, 42_400], [4, 63_600]]);
  },
);

Deno.test("renew() has no effect when the permit has expired", DEADLINE, async () => {
  const clock = new FakeClock();
  const expired = await acquire(ORIGIN, 2, clock);
  await acquire(ORIGIN, 2, clock); // never released
  const second = clock.now();
  await clock.sleep(2_000);
  expired.renew();
  await acquire(ORIGIN, 2, clock);
  assert(clock.now() - second < 5_100, `started ${clock.now() - second} ms later`);
});

Deno.test(
  "acquirePermit() reclaims a permit after 5 s when it is neither renewed nor released",
  DEADLINE,
  async () => {
    const clock = new FakeClock();
    await acquire(ORIGIN, 2, clock);
    await acquire(ORIGIN, 2, clock);
    assertEquals(clock.now(), 5_000);
  },
);

Deno.test(
  "acquirePermit() skips a waiter after 5 s when the runtime has dropped its timers",
  DEADLINE,
  async () => {
    const clock = new FakeClock();
    const first = await acquire(ORIGIN, 2, clock);
    acquire(ORIGIN, 2, clock);
    await Promise.resolve();
    clock.dropTimers();
    first.release();
    await acquire(ORIGIN, 2, clock);
    assert(clock.now() >= 5_000 && clock.now() < 5_600, `started at ${clock.now()}`);
  },
);

Deno.test(
  "acquirePermit() serves a waiter whose timer fires late, as in a background tab",
  DEADLINE,
  async () => {
    const clock = new FakeClock();
    const first = await acquire(ORIGIN, 2, clock);
    const started: string[] = [];
    const wait = async (name: string) => {
      await startTime(2, clock);
      started.push(name);
    };
    const late = wait("late");
    await Promise.resolve();
    clock.advance(60_000);
    const punctual = wait("punctual");
    first.release();
    await Promise.all([late, punctual]);
    assertEquals(started.sort(), ["late", "punctual"]);
  },
);

Deno.test(
  "acquirePermit() keeps the order when the whole process was suspended",
  DEADLINE,
  async () => {
    const clock = new FakeClock();
    const first = await acquire(ORIGIN, 2, clock);
    const order: number[] = [];
    const waiting = [1, 2, 3, 4].map(async (number) => {
      await startTime(2, clock);
      order.push(number);
    });
    await Promise.resolve();
    clock.advance(20_000);
    first.release();
    await Promise.all(waiting);
    assertEquals(order, [1, 2, 3, 4]);
  },
);

Deno.test(
  "acquirePermit() counts the interval from the response when the request opened a connection",
  DEADLINE,
  async () => {
    const clock = new FakeClock();
    const arrivals: number[] = [];
    // Opening the connection takes 120 ms, so the service receives the first request later.
    for (const delay of [120, 0, 0]) {
      const permit = await acquire(ORIGIN, 2, clock);
      arrivals.push(clock.now() + delay);
      await clock.sleep(delay);
      permit.responded();
      permit.release();
    }
    assert(arrivals[2]! - arrivals[0]! > 1000, `received at ${arrivals}`);
    const start = clock.now();
    const permit = await acquire(ORIGIN, 2, clock);
    permit.responded();
    assertEquals(clock.now() - start, INTERVAL);
  },
);

Deno.test(
  "acquirePermit() uses the longer interval when two callers request different rates",
  DEADLINE,
  async () => {
    const clock = new FakeClock();
    const starts: number[] = [];
    for (const rate of [Infinity, 2, Infinity, 0.1, 2]) starts.push(await startTime(rate, clock));
    assertEquals(starts, [0, 530, 1060, 11_660, 22_260]);
  },
);

Deno.test(
  "acquirePermit() uses the lowest rate that was requested in the last minute",
  DEADLINE,
  async () => {
    const clock = new FakeClock();
    await startTime(0.5, clock);
    const starts: number[] = [];
    for (let request = 0; request < 40; request++) starts.push(await startTime(2, clock));
    const intervals = differences(starts);
    const fast = intervals.indexOf(INTERVAL);
    assert(starts[fast]! > 60_000 - 2_120 && starts[fast]! <= 60_000 + 2_120, `at ${starts[fast]}`);
    assertEquals(new Set(intervals.slice(0, fast - 1)), new Set([2_120]));
    assertEquals(new Set(intervals.slice(fast)), new Set([INTERVAL]));
  },
);

Deno.test(
  "acquirePermit() uses the lowest rate of all waiters when another one is next",
  DEADLINE,
  async () => {
    const clock = new FakeClock();
    const starts = await Promise.all([2, 2, 2, 0.1].map((rate) => startTime(rate, clock)));
    assertEquals(starts, [0, 10_600, 21_200, 31_800]);
  },
);

Deno.test("acquirePermit() keeps a permit when it is renewed", DEADLINE, async () => {
  const clock = new FakeClock();
  const first = await acquire(ORIGIN, 2, clock);
  let hasStarted = false;
  const second = acquire(ORIGIN, 2, clock).then(() => hasStarted = true);
  for (let times = 0; times < 5; times++) {
    await clock.sleep(4_000);
    first.renew();
    assertEquals(hasStarted, false);
  }
  first.release();
  await second;
});

Deno.test(
  "release() does not release the next permit when it is called twice",
  DEADLINE,
  async () => {
    const clock = new FakeClock();
    const first = await acquire(ORIGIN, 2, clock);
    first.release();
    await acquire(ORIGIN, 2, clock);
    first.release();
    let hasStarted = false;
    const third = acquire(ORIGIN, 2, clock).then(() => hasStarted = true);
    await clock.sleep(4_000);
    assertEquals(hasStarted, false);
    await third;
  },
);

Deno.test("acquirePermit() has a queue for each origin", DEADLINE, async () => {
  const clock = new FakeClock();
  await acquire(ORIGIN, 2, clock);
  await acquire(OTHER_ORIGIN, 2, clock);
  assertEquals(clock.now(), 0);
});

Deno.test(
  "penalize() delays all requests and lengthens the interval until responses succeed",
  DEADLINE,
  async () => {
    const clock = new FakeClock();
    const starts: number[] = [];
    const request = async () => {
      const permit = await acquire(ORIGIN, 2, clock);
      starts.push(clock.now());
      permit.succeeded();
      permit.release();
    };
    await request();
    penalize(ORIGIN, { clock, key: KEY }, 7_000);
    penalize(ORIGIN, { clock, key: KEY }, 1_000); // does not shorten the first one
    await Promise.all([request(), request()]);
    assertEquals(starts[1], 7_000);
    assert(starts[2]! - starts[1]! > 3 * INTERVAL, `two penalties make it four times: ${starts}`);
    for (let times = 0; times < 20; times++) await request();
    assertEquals(starts.at(-1)! - starts.at(-2)!, INTERVAL);
  },
);

Deno.test("penalize() has less effect with each minute without a request", DEADLINE, async () => {
  const clock = new FakeClock();
  await startTime(2, clock);
  for (let times = 0; times < 3; times++) penalize(ORIGIN, { clock, key: KEY }, 0);
  await clock.sleep(2 * 60_000);
  assertEquals(-await startTime(2, clock) + await startTime(2, clock), 2 * INTERVAL);
  await clock.sleep(24 * 3_600_000);
  assertEquals(-await startTime(2, clock) + await startTime(2, clock), INTERVAL);
});

Deno.test("penalize() sets an interval of 1 s when the rate is unlimited", DEADLINE, async () => {
  const clock = new FakeClock();
  await startTime(Infinity, clock);
  penalize(ORIGIN, { clock, key: KEY }, 0);
  assertEquals(await startTime(Infinity, clock), 1_000);
});

Deno.test(
  "penalize() lengthens the interval of its origin only, and at most eight times",
  DEADLINE,
  async () => {
    const clock = new FakeClock();
    await startTime(2, clock);
    for (let times = 0; times < 10; times++) penalize(ORIGIN, { clock, key: KEY }, 0);
    assertEquals(await startTime(2, clock, OTHER_ORIGIN), 0);
    assertEquals(await startTime(2, clock), 8 * INTERVAL);
  },
);

Deno.test("penalize() delays only the requests with its key", DEADLINE, async () => {
  const clock = new FakeClock();
  const starts: [string, number][] = [];
  const request = async (key: string) => {
    const permit = await acquirePermit(ORIGIN, { requestsPerSecond: 2, clock, key });
    starts.push([key, clock.now()]);
    permit.release();
  };
  penalize(ORIGIN, { clock, key: "a" }, 20_000);
  await Promise.all([request("a"), request("b"), request("a"), request("b")]);
  assertEquals(starts.map(([key]) => key), ["b", "b", "a", "a"]);
  assert(starts[1]![1] < 1_000, `${starts}`);
  assert(starts[2]![1] >= 20_000 && starts[2]![1] < 21_000, `${starts}`);
  assertEquals(starts[3]![1] - starts[2]![1], 2 * INTERVAL);
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
