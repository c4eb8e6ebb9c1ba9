// The rate limiter: its pure functions on random schedules, the limiter of the process, and queries whose service
// records when requests start.
import "../../helpers/no_permission.ts";
import { assert, assertEquals } from "@std/assert";
import { type Clock, DataStream } from "../../../mod.ts";
import type { Permit, RateLimiter } from "../../../src/client/rate_limiter.ts";
import {
  acquire,
  createLimiter,
  createPermitQueue,
  createProcessLimiter,
  extend,
  NEW_STATE,
  penalize,
  release,
} from "../../../src/client/rate_limiter.ts";
import { DEADLINE } from "../../helpers/deadline.ts";
import { FakeClock } from "../../helpers/fake_clock.ts";
import { Random } from "../../properties/random.ts";
import { arrivingPage } from "./paged_service.ts";
import { testRateLimiter } from "./rate_limiter_conformance.ts";
import { sandboxAndClient } from "../../helpers/sandbox.ts";
import { page, retryingClient, upstream } from "../../helpers/upstream.ts";

/** Time (ms) between two starts at 2 requests per second. */
const INTERVAL = 530;
/** Time (ms) after which a permit that is not extended expires. */
const TTL = 5_000;
/** Time (ms) between two signs of life of a waiter in Cloudflare Workers. */
const HEARTBEAT = 1_000;
const REQUEST = { origin: "https://upstream.invalid", keyHash: undefined, requestsPerSecond: 2 };

/** Registers a test that fails if it never gets a permit. */
const test = (name: string, run: () => Promise<void>) => Deno.test(name, DEADLINE, run);

for (const [name, signOfLife] of [["", Infinity], [" in Workers", HEARTBEAT]] as const) {
  testRateLimiter(`createProcessLimiter()${name}`, () => {
    const clock = new FakeClock();
    const limiter = createProcessLimiter(clock, signOfLife);
    return { limiters: [limiter, limiter, limiter], clock };
  }, DEADLINE);
}

const ticketOf = (id: string, times: { since?: number; deadline?: number; rate?: number } = {}) => {
  const { since = 0, deadline = Infinity, rate = 2 } = times;
  const message = { id, interval: 1_060 / rate, maxWait: null, waited: 0 };
  return { ...message, since, deadline, expiresAt: Infinity, wake() {} };
};

/** A request of a random schedule. */
interface Request {
  id: string;
  since: number;
  requestsPerSecond: number;
  duration: number;
  /** Time at which its runtime drops it, without a release. */
  diesAt: number;
  deadline: number;
  startedAt?: number;
  isDone?: boolean;
}

/** Time (ms) between two calls of each request in a random schedule. */
const STEP = 50;

/** Runs a random schedule. The state is copied in each step, as in a store. */
function runSchedule(random: Random, isShared: boolean): void {
  let state = { ...NEW_STATE, isShared };
  let blockedUntil = 0;
  let last: { at: number; interval: number; slowdown: number } | undefined;
  const requests = Array.from({ length: random.int(2, 12) }, (_, index): Request => {
    const since = random.int(0, 8_000);
    return {
      id: `${index}`,
      since,
      requestsPerSecond: random.pick([2, 2, 2, 1, 5, Infinity]),
      duration: random.pick([10, 200, 700, 6_000]),
      diesAt: random.chance(0.2) ? since + random.int(0, 9_000) : Infinity,
      deadline: random.chance(0.2) ? since + random.int(0, 20_000) : Infinity,
    };
  });
  for (let now = 0; requests.some(({ isDone }) => !isDone); now += STEP) {
    assert(now < 600_000, "the schedule does not end");
    state = structuredClone(state);
    for (const request of random.shuffle(requests)) {
      const { id, since, requestsPerSecond: rate, duration, diesAt, deadline, startedAt } = request;
      if (request.isDone || now < since) continue;
      if (now >= diesAt) request.isDone = true;
      else if (startedAt === undefined) {
        const isEarlier = (other: Request) =>
          other.startedAt === undefined && !other.isDone && other.since <= now &&
          (other.since - since || Number(other.id) - Number(id)) < 0;
        const position = requests.filter(isEarlier).length;
        const answer = acquire(state, ticketOf(id, { since, deadline, rate }), position, now);
        if ("retryAfter" in answer) {
          assert(deadline < Infinity && answer.retryAfter > 0);
          request.isDone = true;
        } else if ("granted" in answer) {
          request.startedAt = now;
          for (const other of requests) {
            if (other === request || other.isDone) continue;
            assertEquals(other.startedAt, undefined, "two requests run");
          }
          const interval = 1_060 / rate;
          if (last !== undefined) {
            const normal = Math.max(interval, last.interval, last.slowdown > 1 ? 500 : 0);
            const least = normal * last.slowdown;
            assert(now - last.at >= least, `started after ${now - last.at} instead of ${least} ms`);
          }
          assert(now >= blockedUntil, "started while the key was blocked");
          last = { at: now, interval, slowdown: state.slowdown };
        }
      } else if (now >= startedAt + duration) {
        request.isDone = true;
        const responseAge = Math.min(duration, 50);
        assertEquals(state.holder, id, "the permit was lost");
        release(state, { id, responseAge, succeeded: true }, now);
        if (isShared) last!.at = now - responseAge;
        if (random.chance(0.2)) {
          const blockTime = random.int(0, 5_000);
          penalize(state, blockTime, now);
          blockedUntil = Math.max(blockedUntil, now + blockTime);
        }
        last!.slowdown = state.slowdown;
      } else if ((now - startedAt) % 1_000 === 0) assert(extend(state, id, now));
    }
  }
}

Deno.test("acquire() never breaks the limits in 400 random schedules", () => {
  for (let seed = 1; seed <= 400; seed++) runSchedule(new Random(seed), seed % 2 === 0);
});

Deno.test("acquire() does not wait longer than an interval when the clock was set back", () => {
  const state = { ...NEW_STATE };
  assertEquals(acquire(state, ticketOf("1"), 0, 9e9), { granted: true });
  release(state, { id: "1" }, 9e9);
  const second = ticketOf("2");
  assertEquals(acquire(state, second, 0, 1_000), { wait: INTERVAL });
  assertEquals(acquire(state, second, 0, 1_000 + INTERVAL), { granted: true });
  // The permit of a dead holder expires by the new time, too.
  const third = ticketOf("3");
  assertEquals(acquire(state, third, 0, 0), { wait: TTL });
  assertEquals(acquire(state, third, 0, TTL), { wait: INTERVAL });
  assertEquals(acquire(state, third, 0, TTL + INTERVAL), { granted: true });
});

/** A limiter of the process, and the number of timers that it sets. */
function createCountedLimiter(signOfLife = Infinity) {
  const clock = new FakeClock();
  let timers = 0;
  const { sleep } = clock;
  const counted: Clock = {
    now: () => clock.now(),
    sleep(time, signal) {
      timers++;
      return sleep.call(clock, time, signal);
    },
  };
  return { clock, limiter: createProcessLimiter(counted, signOfLife), timers: () => timers };
}

async function getPermit(limiter: RateLimiter, signal?: AbortSignal): Promise<Permit> {
  const permit = await limiter.acquire(REQUEST, signal);
  assert("release" in permit);
  return permit;
}

test("createProcessLimiter() has one timer for 20 waiters when a request takes 20 s", async () => {
  const { clock, limiter, timers } = createCountedLimiter();
  const permit = await getPermit(limiter);
  const starts: number[] = [];
  const waiting = Array.from({ length: 20 }, async () => {
    const own = await getPermit(limiter);
    starts.push(clock.now());
    own.release();
  });
  for (let age = 0; age < 20_000; age += 1_000) {
    await clock.sleep(1_000);
    assertEquals(await permit.extend(), true);
    assert(clock.pending <= 1, `${clock.pending} timers`);
  }
  assert(timers() <= 1 + 20_000 / (TTL - 1_000), `${timers()} timers`);
  permit.responded();
  await clock.sleep(100);
  permit.release();
  await Promise.all(waiting);
  // It opened the connection.
  assertEquals(starts, Array.from({ length: 20 }, (_, index) => 20_000 + (index + 1) * INTERVAL));
});

test("createPermitQueue() skips a waiter after 2.5 s when its runtime has dropped it", async () => {
  const clock = new FakeClock();
  const state = { ...NEW_STATE, isShared: false };
  const queue = createPermitQueue((apply) => apply(state, clock.now()), clock, HEARTBEAT);
  const message = { interval: INTERVAL, maxWait: null };
  await queue.acquire({ ...message, id: "holder", waited: 0 });
  assertEquals(await queue.acquire({ ...message, id: "dropped", waited: 0 }), { wait: 0 });
  await queue.release({ id: "holder" });
  const start = clock.now();
  for (let isGranted = false; !isGranted;) {
    const waited = clock.now() - start;
    isGranted = "granted" in await queue.acquire({ ...message, id: "next", waited });
  }
  assertEquals(clock.now(), 3_000);
});

test("createProcessLimiter() keeps the permit and the order when the process was suspended", async () => {
  for (const signOfLife of [Infinity, HEARTBEAT]) {
    const { clock, limiter } = createCountedLimiter(signOfLife);
    const permit = await getPermit(limiter);
    const order: number[] = [];
    const waiting = [1, 2, 3, 4].map(async (number) => {
      const own = await getPermit(limiter);
      order.push(number);
      own.release();
    });
    // A runtime runs late timers in their order: the one that extends the permit is due before the permit expires.
    const extended = clock.sleep(HEARTBEAT - 1).then(() => permit.extend());
    await clock.sleep(50);
    clock.advance(60_000);
    assertEquals([await extended, order], [true, []]);
    await clock.sleep(700);
    assertEquals([order, await permit.extend()], [[], true]);
    permit.release();
    await Promise.all(waiting);
    assertEquals(order, [1, 2, 3, 4]);
  }
});

test("createLimiter() forgets a key after an hour without a request when there are more than a thousand", async () => {
  const clock = new FakeClock();
  const created: (string | undefined)[] = [];
  const answer = () => Promise.resolve(undefined);
  const limiter = createLimiter(({ keyHash }) => {
    created.push(keyHash);
    return {
      acquire: () => Promise.resolve({ wait: 0 }),
      extend: () => true,
      release: answer,
      penalize: answer,
    };
  }, clock);
  const use = async (key: number) => await limiter.penalize({ ...REQUEST, keyHash: `${key}` }, 0);
  for (let key = 0; key < 1_000; key++) await use(key);
  clock.advance(3_000_000);
  await use(1);
  clock.advance(700_000);
  for (const key of [1_000, 0, 1]) await use(key);
  assertEquals(created.slice(1_000), ["1000", "0"]);
});

interface SendOptions {
  requestsPerSecond?: number;
  apiKey?: string;
  signal?: AbortSignal;
  respond?: () => Response | Promise<Response>;
}

function createSender() {
  const clock = new FakeClock();
  const starts: number[] = [];
  /** Returns the time at which the request started, whatever the response. */
  const send = async (
    { requestsPerSecond = 2, apiKey = "k3y-of-a-test", signal, respond = () => page([]) }:
      SendOptions = {},
  ): Promise<number> => {
    let start = NaN;
    const client = new DataStream({
      clock,
      requestsPerSecond,
      apiKey,
      baseUrl: `${REQUEST.origin}/v1`,
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

/** Neither a success, which shortens the interval after a penalty, nor a penalty. */
const notFound = () => new Response("", { status: 404 });
const tooManyRequests = (retryAfter: number) => () =>
  new Response("", { status: 429, headers: { "retry-after": String(retryAfter) } });
/** Differences between neighbouring numbers. */
const differences = (times: number[]) => times.slice(1).map((time, index) => time - times[index]!);

test("DataStream counts the interval from the response when a request opens a connection", async () => {
  const { clock, starts, send } = createSender();
  for (const delay of [120, 50, 50]) {
    await send({ respond: () => clock.sleep(delay).then(() => page([])) });
  }
  await clock.sleep(TTL);
  await send({ respond: () => clock.sleep(120).then(() => page([])) });
  await send();
  const [first, second, , last] = differences(starts);
  assertEquals([first, second, last], [120 + INTERVAL, INTERVAL, 120 + INTERVAL]);
});

test("a 429 blocks the requests, and doubles the interval until responses succeed", async () => {
  const { clock, starts, send } = createSender();
  await send();
  await send({ respond: tooManyRequests(7) });
  await send({ respond: tooManyRequests(0) });
  await send({ respond: notFound });
  await clock.sleep(20_000);
  await send({ respond: notFound });
  for (let times = 0; times < 20; times++) await send();
  assertEquals(starts.slice(0, 4), [0, 530, 7_530, 7_530 + 4 * INTERVAL]);
  const factors = differences(starts.slice(4)).map((gap) => Math.round(gap / INTERVAL));
  assertEquals([factors[0], new Set(factors), factors.at(-1)], [4, new Set([4, 2, 1]), 1]);
  // At least 10 s pass between two reductions.
  assert(factors.filter((factor) => factor === 2).length * 2 * INTERVAL >= 10_000);
});

test("a 429 lengthens the interval at most eight times, and to 1 s when the rate is unlimited", async () => {
  const { starts, send } = createSender();
  await send({ requestsPerSecond: Infinity, respond: tooManyRequests(0) });
  assertEquals(await send({ requestsPerSecond: Infinity, respond: notFound }), 1_000);
  for (let times = 0; times < 10; times++) await send({ respond: tooManyRequests(0) });
  assertEquals(differences(starts).at(-1), 8 * INTERVAL);
});

test("DataStream exceeds neither limit of a strict service when several queries run", async () => {
  const { sandbox, client } = sandboxAndClient({ records: 2_000 });
  const results = await Promise.all([
    client.records({ top: 500 }).toArray(),
    client.records({ top: 1_000, select: ["Id"] }).toArray(),
    client.records({ top: 400 }).toArray(),
  ]);
  assertEquals(results.map((rows) => rows.length), [2_000, 2_000, 2_000]);
  const { requests, tooFast, parallel } = sandbox.stats;
  assertEquals([requests, tooFast, parallel], [5 + 3 + 6, 0, 0]); // each with a count
});

test("DataStream keeps its permit when headers and body take long", async () => {
  const { client, clock, times } = retryingClient([
    async () => {
      await clock.sleep(44_000);
      return arrivingPage(clock, [29_000, '{"value":[]}']);
    },
    page([]),
  ]);
  await Promise.all([client.locations().toArray(), client.locations().toArray()]);
  assertEquals(times, [0, 73_000]);
});

test("locations() sends no request when the signal aborts as the permit is given", async () => {
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
