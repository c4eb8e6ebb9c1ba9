// A rate limiter whose state is in Durable Objects, here in this process.
import "../../../helpers/no_permission.ts";
import { assert, assertEquals, assertRejects } from "@std/assert";
import { durableObjectRateLimiter, RateLimiterObject } from "../../../../edge/cloudflare/mod.ts";
import type { Permit, PermitRefusal, RateLimiter } from "../../../../mod.ts";
import { FakeClock } from "../../../helpers/fake_clock.ts";
import { MemoryObjects } from "../../../helpers/memory_objects.ts";

const REQUEST = { origin: "https://api.invalid", keyHash: "0123", requestsPerSecond: 2 };
/** Interval (ms) between two requests at two per second. */
const INTERVAL = 530;
/** Time (ms) after which a permit expires that is not extended. */
const PERMIT_TTL = 5_000;

/** A rate limiter, its objects and its clock. */
function createLimiter(): { limiter: RateLimiter; objects: MemoryObjects; clock: FakeClock } {
  const clock = new FakeClock();
  const objects = new MemoryObjects(clock);
  return { limiter: durableObjectRateLimiter(objects, { clock }), objects, clock };
}

function requirePermit(result: Permit | PermitRefusal): Permit {
  assert("release" in result, `refused: ${JSON.stringify(result)}`);
  return result;
}

async function acquire(limiter: RateLimiter): Promise<Permit> {
  return requirePermit(await limiter.acquire(REQUEST));
}

/** Acquires and releases a permit, and returns the time at which it was given. */
async function useOnce(limiter: RateLimiter, clock: FakeClock): Promise<number> {
  const permit = await acquire(limiter);
  const start = clock.now();
  permit.responded();
  await permit.release("success");
  return start;
}

const pathsOf = ({ messages }: MemoryObjects) => messages.map(({ path }) => path);

Deno.test("durableObjectRateLimiter() sends two messages and writes once when a request is short", async () => {
  const { limiter, objects, clock } = createLimiter();
  for (let request = 0; request < 3; request++) await useOnce(limiter, clock);
  assertEquals(pathsOf(objects), Array(3).fill(["/poll", "/release"]).flat());
  assertEquals(objects.writes, 3);
});

Deno.test("durableObjectRateLimiter() sends no message to extend a permit when it has waited for the permit", async () => {
  const { limiter, objects, clock } = createLimiter();
  const first = await acquire(limiter);
  const second = acquire(limiter);
  await clock.sleep(1_500);
  await first.release();
  await (await second).extend();
  assertEquals(pathsOf(objects), ["/poll", "/poll", "/release"]);
});

Deno.test("durableObjectRateLimiter() polls every 2.5 s when it waits", async () => {
  const { limiter, objects, clock } = createLimiter();
  const first = await acquire(limiter);
  const second = acquire(limiter);
  const start = clock.now();
  for (let age = 0; age < 9_000; age += 1_000) {
    await clock.sleep(1_000);
    assertEquals(await first.extend(), true);
  }
  await first.release();
  await second;
  assert(clock.now() - start < 10_000);
  const polls = pathsOf(objects).filter((path) => path === "/poll");
  assertEquals(polls.length, 1 + 4);
});

Deno.test("durableObjectRateLimiter() uses an object for each origin and key when it limits several", async () => {
  const { limiter, objects, clock } = createLimiter();
  const targets = [
    { origin: "https://api.invalid", keyHash: "0123" },
    { origin: "https://api.invalid", keyHash: "4567" },
    { origin: "https://other.invalid", keyHash: "0123" },
    { origin: "https://other.invalid", keyHash: undefined },
  ];
  await Promise.all(targets.map((target) => limiter.acquire({ ...REQUEST, ...target })));
  assertEquals(clock.now(), 0);
  assertEquals(objects.messages.map(({ name }) => name), [
    "https://api.invalid 0123",
    "https://api.invalid 4567",
    "https://other.invalid 0123",
    "https://other.invalid without a key",
  ]);
  for (const { body } of objects.messages) assert(!/0123|4567/.test(body), body);
});

Deno.test("durableObjectRateLimiter() resolves to a refusal when maxWait ends during a poll", async () => {
  const { limiter, objects, clock } = createLimiter();
  const first = await acquire(limiter);
  const { get } = objects;
  objects.get = (name) => ({
    async fetch(url, init) {
      await clock.sleep(100); // latency of the network
      return await get.call(objects, name).fetch(url, init);
    },
  });
  const second = limiter.acquire({ ...REQUEST, maxWait: 1_000 });
  await clock.sleep(900);
  await first.extend();
  const result = await second;
  assert("retryAfter" in result && result.retryAfter > 0);
});

Deno.test("durableObjectRateLimiter() does not wait when requests are unlimited", async () => {
  const { limiter, clock } = createLimiter();
  for (let request = 0; request < 3; request++) {
    const permit = requirePermit(
      await limiter.acquire({ ...REQUEST, requestsPerSecond: Infinity }),
    );
    await permit.release();
  }
  assertEquals(clock.now(), 0);
});

Deno.test("durableObjectRateLimiter() waits for the permit's expiry when its object restarts and the holder is gone", async () => {
  const { limiter, objects, clock } = createLimiter();
  await acquire(limiter);
  objects.restart();
  assert(await useOnce(limiter, clock) >= PERMIT_TTL + INTERVAL);
});

Deno.test("durableObjectRateLimiter() keeps the order of the requests when its object restarts", async () => {
  const { limiter, objects, clock } = createLimiter();
  const holder = await acquire(limiter);
  const order: number[] = [];
  const waiting = Array.from({ length: 6 }, async (_, index) => {
    await clock.sleep(index * 300);
    await useOnce(limiter, clock);
    order.push(index);
  });
  await clock.sleep(2_000);
  assertEquals(await holder.extend(), true);
  await clock.sleep(600);
  objects.restart();
  // The first request has just sent its second poll, so it is the last one to poll again.
  for (let age = 0; age < 4_000; age += 1_000) {
    await clock.sleep(1_000);
    assertEquals(await holder.extend(), true);
  }
  await holder.release();
  await Promise.all(waiting);
  assertEquals(order, [0, 1, 2, 3, 4, 5]);
});

Deno.test("durableObjectRateLimiter() keeps a penalty when its object restarts", async () => {
  const { limiter, objects, clock } = createLimiter();
  await limiter.penalize(REQUEST, 7_000);
  objects.restart();
  assertEquals(await useOnce(limiter, clock), 7_000);
});

Deno.test("durableObjectRateLimiter() gives the same permit when the response to a poll is lost", async () => {
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

Deno.test("durableObjectRateLimiter() retries when the object fails for some seconds", async () => {
  const { limiter, objects, clock } = createLimiter();
  objects.failure = new Error("overloaded");
  const permit = acquire(limiter);
  await clock.sleep(3_000);
  objects.failure = undefined;
  await permit;
  assert(clock.now() >= 3_000);
});

Deno.test("durableObjectRateLimiter() rejects when the object does not respond for 10 s", async () => {
  const { limiter, objects } = createLimiter();
  objects.failure = new Error("overloaded");
  await assertRejects(
    () => acquire(limiter),
    Error,
    "overloaded",
  );
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
  objects.failure = new Error("overloaded");
  const released = await acquire(durableObjectRateLimiter(new MemoryObjects(clock), { clock }));
  await released.release();
});

Deno.test("RateLimiterObject responds with 404 when it does not know the message", async () => {
  const storage = { get: () => Promise.resolve(undefined), put: () => Promise.resolve() };
  const object = new RateLimiterObject({ storage });
  const request = new Request("https://object.invalid/other", { method: "POST", body: "{}" });
  assertEquals((await object.fetch(request)).status, 404);
});

Deno.test("RateLimiterObject removes a request from the queue when the connection of its poll is closed", async () => {
  const { limiter, objects, clock } = createLimiter();
  const first = await acquire(limiter);
  const controller = new AbortController();
  const { name } = objects.messages[0]!;
  const poll = objects.get(name).fetch("https://object.invalid/poll", {
    method: "POST",
    body: JSON.stringify({ id: "dead", requestsPerSecond: 2, waited: 0 }),
    signal: controller.signal,
  });
  const second = useOnce(limiter, clock);
  await clock.sleep(100);
  controller.abort();
  await clock.sleep(900);
  await poll;
  first.responded();
  await first.release();
  assert(await second < 1_000 + 2 * INTERVAL);
});
