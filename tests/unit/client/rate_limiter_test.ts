// The rate limiter: random schedules, the limiter of the process, stores that fail, and queries that use it.
import "../../helpers/no_permission.ts";
import { assert, assertEquals, assertRejects } from "@std/assert";
import type { Clock, RateLimiter } from "../../../mod.ts";
import type { Permit, PermitQueue } from "../../../src/client/rate_limiter.ts";
import {
  type Answer,
  createLimiter,
  createPermitQueue,
  createProcessLimiter,
  NEW_STATE,
  sendUntilAnswered,
  UNKNOWN_SERVICE,
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
/** Time (ms) after which a waiter in Cloudflare Workers asks again. */
const POLL_TIME = 1_000;
const REQUEST = { origin: "https://upstream.invalid", keyHash: undefined, requestsPerSecond: 2 };

/** Registers a test with a time limit, because a permit that is never given would stop the run of the tests. */
const test = (name: string, run: () => Promise<void>) => Deno.test(name, DEADLINE, run);

for (const [name, pollTime] of [["", Infinity], [" in Workers", POLL_TIME]] as const) {
  testRateLimiter(`createProcessLimiter()${name}`, () => {
    const clock = new FakeClock();
    const limiter = createProcessLimiter(clock, pollTime);
    return { limiters: [limiter, limiter, limiter], clock };
  }, DEADLINE);
}

/** Runs random requests, some of which are never released, as if their runtime had dropped them. */
async function runSchedule(random: Random, isShared: boolean): Promise<void> {
  const clock = new FakeClock();
  const state = { ...NEW_STATE, isShared };
  const queue = createPermitQueue((apply) => apply(state, clock.now()), clock, Infinity);
  const limiter = createLimiter(() => queue, clock);
  let blockedUntil = 0;
  let running = 0;
  let last: { at: number; interval: number; slowdown: number } | undefined;
  const send = async () => {
    const requestsPerSecond = random.pick([2, 2, 2, 1, 5, Infinity]);
    const duration = random.pick([10, 200, 700, 6_000]);
    const maxWait = random.chance(0.2) ? random.int(0, 20_000) : Infinity;
    await clock.sleep(random.int(0, 8_000));
    const permit = await limiter.acquire({ ...REQUEST, requestsPerSecond, maxWait });
    if ("retryAfter" in permit) {
      assert(maxWait < Infinity && permit.retryAfter > 0);
      return;
    }
    const interval = 2 * INTERVAL / requestsPerSecond;
    if (last !== undefined) {
      const unslowed = Math.max(interval, last.interval, last.slowdown > 1 ? 500 : 0);
      const [gap, minGap] = [clock.now() - last.at, unslowed * last.slowdown];
      assert(gap >= minGap, `started after ${gap} instead of ${minGap} ms`);
    }
    assert(clock.now() >= blockedUntil, "started while the key was blocked");
    assertEquals(running, 0, "two requests run");
    last = { at: clock.now(), interval, slowdown: state.slowdown };
    if (random.chance(0.1)) return;
    running++;
    await clock.sleep(Math.min(duration, 50));
    permit.responded();
    if (isShared) last.at = clock.now();
    for (let age = 50; age < duration; age += 850) {
      await clock.sleep(Math.min(850, duration - age));
      assert(await permit.extend(), "the permit was lost");
    }
    running--;
    permit.release("success");
    if (random.chance(0.2)) {
      const blockTime = random.int(0, 5_000);
      limiter.report!(REQUEST, { is: "blocked", wait: blockTime });
      blockedUntil = Math.max(blockedUntil, clock.now() + blockTime);
    }
    last.slowdown = state.slowdown;
  };
  await Promise.all(Array.from({ length: random.int(2, 12) }, send));
}

test("createLimiter() never breaks the limits in 400 random schedules", async () => {
  for (let seed = 1; seed <= 400; seed++) await runSchedule(new Random(seed), seed % 2 === 0);
});

test("createProcessLimiter() waits for one interval, after the expiry of a permit that is held, when the clock was set back", async () => {
  const clock = new FakeClock();
  let offset = 9e9;
  const limiter = createProcessLimiter({
    now: () => clock.now() + offset,
    sleep: (time, signal) => clock.sleep(time, signal),
  }, Infinity);
  (await getPermit(limiter)).release();
  offset = 1e6;
  await getPermit(limiter);
  assertEquals(clock.now(), INTERVAL);
  offset = 0;
  await getPermit(limiter);
  assertEquals(clock.now(), 2 * INTERVAL + TTL);
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

test("createPermitQueue() skips a waiter that its runtime has dropped at the first poll after 2.5 s", async () => {
  const clock = new FakeClock();
  const state = { ...NEW_STATE, isShared: false };
  const queue = createPermitQueue((apply) => apply(state, clock.now()), clock, POLL_TIME);
  const message = { interval: INTERVAL, maxWait: null };
  await queue.acquire({ ...message, id: "holder", waited: 0 });
  assertEquals(await queue.acquire({ ...message, id: "dropped", waited: 0 }), { wait: 0 });
  await queue.release({ id: "holder" });
  let waited = 0;
  while ("wait" in await queue.acquire({ ...message, id: "next", waited })) waited += POLL_TIME;
  assertEquals(clock.now(), 3_000);
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

test("report() of a block doubles the interval at most three times, and each 10 s of successful responses halve it", async () => {
  const clock = new FakeClock();
  const limiter = createProcessLimiter(clock, Infinity);
  const send = () => sendThrough(limiter, clock);
  await send();
  for (let times = 0; times < 4; times++) {
    await limiter.report!(REQUEST, { is: "blocked", wait: 7_000 });
  }
  const starts: number[] = [];
  for (let times = 0; times < 25; times++) starts.push(await send());
  assertEquals(starts[0], 7_000);
  const factors = starts.slice(1).map((start, index) => (start - starts[index]!) / INTERVAL);
  assertEquals([...new Set(factors)], [8, 4, 2, 1]);
  // At least 10 s pass between two reductions.
  assert(factors.filter((factor) => factor === 2).length * 2 * INTERVAL >= 10_000, `${factors}`);
});

/** Creates a limiter whose store has these functions; the others succeed. */
function sharedLimiter(answers: Pick<PermitQueue, "acquire"> & Partial<PermitQueue>) {
  const clock = new FakeClock();
  const succeed = () => Promise.resolve(UNKNOWN_SERVICE);
  const queue = { extend: () => true, release: succeed, report: succeed, ...answers };
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
  test(`createLimiter() tries for 9 to 10 s, then rejects, when its store ${name}`, async () => {
    const { limiter, clock } = sharedLimiter({ acquire: fail, release: fail, report: fail });
    await assertRejects(() => limiter.acquire(REQUEST), Error, message);
    assert(clock.now() > 9_000 && clock.now() <= 10_000, `rejected at ${clock.now()}`);
    await assertRejects(
      async () => await limiter.report!(REQUEST, { is: "blocked" }),
      Error,
      message,
    );
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
  const use = async (key: number) =>
    await limiter.report!({ ...REQUEST, keyHash: `${key}` }, { is: "blocked", wait: 0 });
  for (let key = 0; key < 1_000; key++) await use(key);
  clock.advance(3_700_000);
  // Key 1 is used again, and key 1,000 is one too many.
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
    // After the permit is given, and before the client goes on.
    given.then(() => queueMicrotask(() => stop.abort("enough")));
    return given;
  };
  const { client, requests } = retryingClient([], { rateLimiter: { acquire } });
  const query = client.locations({ signal: stop.signal });
  assertEquals(await query.toArray().catch((error) => error), "enough");
  assertEquals(requests.length, 0);
});
