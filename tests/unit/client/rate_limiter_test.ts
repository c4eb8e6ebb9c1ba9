// The rate limiter: its pure functions on random schedules, the limiter of the process, and queries that use it.
import "../../helpers/no_permission.ts";
import { assert, assertEquals, assertRejects } from "@std/assert";
import type { Clock, RateLimiter } from "../../../mod.ts";
import type { Permit, PermitQueue, Ticket } from "../../../src/client/rate_limiter.ts";
import {
  acquire,
  type Answer,
  createLimiter,
  createPermitQueue,
  createProcessLimiter,
  extend,
  NEW_STATE,
  penalize,
  release,
  sendUntilAnswered,
} from "../../../src/client/rate_limiter.ts";
import { DEADLINE } from "../../helpers/deadline.ts";
import { FakeClock } from "../../helpers/fake_clock.ts";
import { Random } from "../../properties/random.ts";
import { arrivingPage } from "./paged_service.ts";
import { testRateLimiter } from "./rate_limiter_conformance.ts";
import { page, retryingClient } from "../../helpers/upstream.ts";

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

function ticketOf(id: string, since = 0, deadline = Infinity, rate = 2): Ticket {
  return { id, interval: 1_060 / rate, since, deadline, expiresAt: Infinity, wake() {} };
}

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
    state = { ...state };
    for (const request of random.shuffle(requests)) {
      const { id, since, requestsPerSecond: rate, duration, diesAt, deadline, startedAt } = request;
      if (request.isDone || now < since) continue;
      if (now >= diesAt) request.isDone = true;
      else if (startedAt === undefined) {
        const isEarlier = (other: Request) =>
          other.startedAt === undefined && !other.isDone && other.since <= now &&
          (other.since - since || Number(other.id) - Number(id)) < 0;
        const position = requests.filter(isEarlier).length;
        const answer = acquire(state, ticketOf(id, since, deadline, rate), position, now);
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

async function getPermit(limiter: RateLimiter): Promise<Permit> {
  const permit = await limiter.acquire(REQUEST);
  assert("release" in permit);
  return permit;
}

test("createProcessLimiter() has one timer for 20 waiters, and keeps the permit when the process was suspended", async () => {
  const clock = new FakeClock();
  const limiter = createProcessLimiter(clock, Infinity);
  const permit = await getPermit(limiter);
  const starts: number[] = [];
  const waiting = Array.from({ length: 20 }, async () => {
    const next = await getPermit(limiter);
    starts.push(clock.now());
    next.release();
  });
  // A runtime runs late timers in their order: the one that extends the permit is due before the permit expires.
  const extended = clock.sleep(900).then(() => permit.extend());
  await clock.sleep(50);
  clock.advance(60_000);
  assertEquals([await extended, starts, clock.pending], [true, [], 1]);
  await clock.sleep(700);
  const released = clock.now();
  permit.release();
  await Promise.all(waiting);
  assertEquals(starts, Array.from({ length: 20 }, (_, index) => released + index * INTERVAL));
});

/** Sends a request to a limiter, and returns its start. `latency`: time until its headers arrive. */
async function sendThrough(
  limiter: RateLimiter,
  clock: Clock,
  latency = 0,
): Promise<number> {
  const permit = await getPermit(limiter);
  const start = clock.now();
  await clock.sleep(latency);
  permit.responded();
  permit.release("success");
  return start;
}

test("createProcessLimiter() counts the interval from the response when a request opens a connection", async () => {
  const clock = new FakeClock();
  const limiter = createProcessLimiter(clock, Infinity);
  const send = (latency: number) => sendThrough(limiter, clock, latency);
  const starts = [await send(120), await send(50), await send(50)];
  assertEquals(starts, [0, 120 + INTERVAL, 120 + 2 * INTERVAL]);
  await clock.sleep(TTL);
  const start = await send(120);
  assertEquals(await send(0), start + 120 + INTERVAL);
});

test("penalize() doubles the interval at most three times, until responses succeed for 10 s", async () => {
  const clock = new FakeClock();
  const limiter = createProcessLimiter(clock, Infinity);
  const send = () => sendThrough(limiter, clock);
  await send();
  for (let times = 0; times < 4; times++) await limiter.penalize(REQUEST, 7_000);
  const starts: number[] = [];
  for (let times = 0; times < 25; times++) starts.push(await send());
  assertEquals(starts[0], 7_000);
  const factors = starts.slice(1).map((start, index) => (start - starts[index]!) / INTERVAL);
  assertEquals([...new Set(factors)], [8, 4, 2, 1]);
  // At least 10 s pass between two reductions.
  assert(factors.filter((factor) => factor === 2).length * 2 * INTERVAL >= 10_000, `${factors}`);
});

/** Creates a limiter whose store answers in a given way. */
function sharedLimiter(answers: Pick<PermitQueue, "acquire"> & Partial<PermitQueue>) {
  const clock = new FakeClock();
  const answer = () => Promise.resolve();
  const queue = { extend: () => true, release: answer, penalize: answer, ...answers };
  return { limiter: createLimiter(() => queue, clock, sendUntilAnswered(clock)), clock };
}

test("createLimiter() gives no permit when its store gives an unknown answer", async () => {
  for (const answer of [{}, { status: "held" }, null]) {
    const { limiter } = sharedLimiter({ acquire: () => Promise.resolve(answer as never) });
    await assertRejects(() => limiter.acquire(REQUEST));
  }
});

const failures: [name: string, fail: () => Promise<never>, message: string][] = [
  ["does not answer", () => new Promise(() => {}), "did not answer"],
  ["fails", () => Promise.reject(new Error("connect ECONNREFUSED")), "ECONNREFUSED"],
];
for (const [name, fail, message] of failures) {
  test(`createLimiter() rejects within 10 s when its store ${name}`, async () => {
    const { limiter, clock } = sharedLimiter({ acquire: fail, release: fail, penalize: fail });
    await assertRejects(() => limiter.acquire(REQUEST), Error, message);
    assert(clock.now() > 9_000 && clock.now() <= 10_000, `rejected at ${clock.now()}`);
    await assertRejects(async () => await limiter.penalize(REQUEST, 1), Error, message);
    assert(clock.now() <= 20_000, `rejected at ${clock.now()}`);
  });
}

for (const isHeld of [true, false]) {
  test(`createLimiter() ${isHeld ? "extends" : "does not use"} a permit that arrives late when it ${isHeld ? "is valid" : "has expired"}`, async () => {
    const calls: string[] = [];
    const { limiter, clock } = sharedLimiter({
      async acquire(): Promise<Answer> {
        if (calls.push("acquire") === 1) await clock.sleep(3_000);
        return { granted: true };
      },
      extend() {
        calls.push("extend");
        return isHeld;
      },
    });
    await limiter.acquire(REQUEST);
    assertEquals(calls, ["acquire", "extend", ...isHeld ? [] : ["acquire"]]);
  });
}

test("createLimiter() forgets a key after an hour without a request when there are more than a thousand", async () => {
  const clock = new FakeClock();
  const created: (string | undefined)[] = [];
  const limiter = createLimiter(({ keyHash }) => {
    created.push(keyHash);
    return createPermitQueue((apply) => apply({ ...NEW_STATE }, clock.now()), clock, Infinity);
  }, clock);
  const use = async (key: number) => await limiter.penalize({ ...REQUEST, keyHash: `${key}` }, 0);
  for (let key = 0; key < 1_000; key++) await use(key);
  clock.advance(3_700_000);
  for (const key of [1, 1_000, 0, 1]) await use(key);
  assertEquals(created.slice(1_000), ["1000", "0"]);
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
  const stop = new AbortController();
  const permit = { responded() {}, extend() {}, release() {} };
  const acquire = () => {
    const given = Promise.resolve(permit);
    given.then(() => queueMicrotask(() => stop.abort("enough")));
    return given;
  };
  const { client, requests } = retryingClient([], { rateLimiter: { acquire, penalize() {} } });
  const query = client.locations({ signal: stop.signal });
  assertEquals(await query.toArray().catch((error) => error), "enough");
  assertEquals(requests.length, 0);
});
