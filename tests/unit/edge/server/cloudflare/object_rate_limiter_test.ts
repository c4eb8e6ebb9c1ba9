// The rate limiter in Durable Objects, here in this process, keeps limit and order with few messages and writes.
import "../../../../helpers/no_permission.ts";
import { assert, assertEquals, assertRejects } from "@std/assert";
import {
  durableObjectRateLimiter,
  type ObjectNamespace,
} from "../../../../../edge/server/cloudflare/mod.ts";
import type { Clock } from "../../../../../mod.ts";
import type { Permit, RateLimiter } from "../../../../../src/client/rate_limiter.ts";
import { DEADLINE } from "../../../../helpers/deadline.ts";
import { FakeClock } from "../../../../helpers/fake_clock.ts";
import { MemoryObjects } from "./memory_objects.ts";
import { testRateLimiter } from "../../../client/rate_limiter_conformance.ts";

const REQUEST = { origin: "https://api.invalid", keyHash: "0123", requestsPerSecond: 2 };
/** Interval (ms) between two requests at two per second. */
const INTERVAL = 530;

/** Returns objects to and from which each message takes a time (ms), or fails if they cannot be reached. */
function withLatency(
  objects: MemoryObjects,
  latency: number,
  clock: Clock,
  isReachable = () => true,
): ObjectNamespace<string> {
  return {
    idFromName: (name) => name,
    get: (name) => ({
      async fetch(url, init) {
        if (!isReachable()) throw new Error("disconnected");
        await clock.sleep(latency);
        const response = await objects.get(name).fetch(url, init);
        await clock.sleep(latency);
        return response;
      },
    }),
  };
}

testRateLimiter("durableObjectRateLimiter() with a latency of 100 ms", () => {
  const clock = new FakeClock();
  const objects = new MemoryObjects(clock);
  const isReachable = [true, true, true];
  const createIsolate = (isolate: number) =>
    durableObjectRateLimiter(withLatency(objects, 100, clock, () => isReachable[isolate]!), {
      clock,
    });
  return {
    limiters: [createIsolate(0), createIsolate(1), createIsolate(2)],
    clock,
    disconnect: (isolate) => void (isReachable[isolate] = false),
    reconnect: (isolate) => void (isReachable[isolate] = true),
  };
}, { ...DEADLINE, hasStore: true });

function createLimiter(): { limiter: RateLimiter; objects: MemoryObjects; clock: FakeClock } {
  const clock = new FakeClock();
  const objects = new MemoryObjects(clock);
  return { limiter: durableObjectRateLimiter(objects, { clock }), objects, clock };
}

async function acquire(limiter: RateLimiter): Promise<Permit> {
  const result = await limiter.acquire(REQUEST);
  assert("release" in result, `refused: ${JSON.stringify(result)}`);
  return result;
}

/** Acquires a permit, extends it while the request runs, and releases it. Returns the time of the start. */
async function useOnce(limiter: RateLimiter, clock: FakeClock, duration = 0): Promise<number> {
  const permit = await acquire(limiter);
  const start = clock.now();
  permit.responded();
  for (let age = 0; age < duration; age += 500) {
    await permit.extend();
    await clock.sleep(Math.min(500, duration - age));
  }
  await permit.release("success");
  return start;
}

Deno.test("durableObjectRateLimiter() sends a message every 2 s and writes nothing when it waits", async () => {
  const { limiter, objects, clock } = createLimiter();
  const running = useOnce(limiter, clock, 9_000);
  const start = await useOnce(limiter, clock);
  await running;
  assertEquals(start, 9_000);
  const paths = objects.messages.map(({ path }) => path);
  assertEquals(paths.filter((path) => path === "/acquire").length, 1 + 5);
  assertEquals(paths.filter((path) => path === "/release").length, 2);
  assertEquals(objects.writes, 4);
});

Deno.test("durableObjectRateLimiter() continues within 2 s when its object restarts in any phase", async () => {
  let longest = 0;
  for (let restartAt = 0; restartAt < 4_000; restartAt += 39) {
    const clock = new FakeClock();
    const objects = new MemoryObjects(clock);
    const limiter = durableObjectRateLimiter(withLatency(objects, 20, clock), { clock });
    const starts: number[] = [];
    let running = 0;
    const requests = Array.from({ length: 6 }, async () => {
      const permit = await acquire(limiter);
      starts.push(clock.now());
      assertEquals(++running, 1);
      await clock.sleep(30);
      permit.responded();
      await clock.sleep(270);
      assertEquals(await permit.extend(), true);
      running--;
      await permit.release("success");
    });
    await clock.sleep(restartAt);
    objects.restart();
    await Promise.all(requests);
    const gaps = starts.slice(1).map((start, index) => start - starts[index]!);
    assert(Math.min(...gaps) >= INTERVAL, `restart at ${restartAt}, starts at ${starts}`);
    longest = Math.max(longest, ...gaps);
  }
  assert(longest < 2_000, `a gap of ${longest} ms`);
});

Deno.test("durableObjectRateLimiter() keeps the order of the requests when its object restarts", async () => {
  const { limiter, objects, clock } = createLimiter();
  const running = useOnce(limiter, clock, 7_000);
  const order: number[] = [];
  const waiting = Array.from({ length: 6 }, async (_, index) => {
    await clock.sleep(index * 300);
    await useOnce(limiter, clock);
    order.push(index);
  });
  // The first request has just sent its second message, so it is the last one to send another.
  await clock.sleep(2_100);
  objects.restart();
  await Promise.all([running, ...waiting]);
  assertEquals(order, [0, 1, 2, 3, 4, 5]);
});

Deno.test("durableObjectRateLimiter() gives the same permit when the answer to a message is lost", async () => {
  const { limiter, objects, clock } = createLimiter();
  const { get } = objects;
  let isLost = false;
  objects.get = (name) => ({
    async fetch(url, init) {
      const response = await get.call(objects, name).fetch(url, init);
      if (isLost) return response;
      isLost = true;
      throw new Error("lost");
    },
  });
  const permit = await acquire(limiter);
  assert(clock.now() < 1_000);
  assertEquals(await permit.extend(), true);
});

Deno.test("durableObjectRateLimiter() passes messages without a waiting request to waitUntil when it releases or leaves", async () => {
  const clock = new FakeClock();
  const objects = new MemoryObjects(clock);
  const promises: Promise<unknown>[] = [];
  const limiter = durableObjectRateLimiter(objects, {
    clock,
    waitUntil: (promise) => promises.push(promise),
  });
  const permit = await acquire(limiter);
  const controller = new AbortController();
  const aborted = limiter.acquire(REQUEST, controller.signal);
  await clock.sleep(100);
  controller.abort(new Error("left"));
  await assertRejects(() => aborted, Error, "left");
  await permit.release();
  await clock.sleep(3_000);
  await Promise.all(promises);
  assertEquals(promises.length, 2);
});

Deno.test("RateLimiterObject removes a request from the queue when the connection of its message is closed", async () => {
  const { limiter, objects, clock } = createLimiter();
  const running = useOnce(limiter, clock, 1_000);
  await clock.sleep(10);
  const controller = new AbortController();
  const { name } = objects.messages[0]!;
  const message = objects.get(name).fetch("https://object.invalid/acquire", {
    method: "POST",
    body: JSON.stringify({ id: "dead", interval: INTERVAL, maxWait: null, waited: 0 }),
    signal: controller.signal,
  });
  const second = useOnce(limiter, clock);
  await clock.sleep(100);
  controller.abort();
  assertEquals(await (await message).json(), { wait: 0 });
  await running;
  assertEquals(await second, 1_000);
});
