// Tests that every implementation of `RateLimiter` must pass.
import { assert, assertEquals } from "@std/assert";
import type { Clock, RateLimiter } from "../../../mod.ts";
import type { Permit, PermitRefusal, PermitRequest } from "../../../src/client/rate_limiter.ts";

export interface LimiterSetup {
  /** Three limiters that share one limit, each as in a separate isolate. */
  limiters: readonly [RateLimiter, RateLimiter, RateLimiter];
  clock: Clock;
  /**
   * Makes the store unreachable for the limiter with this index: its calls fail. Absent if the limiters have no
   * store on another machine.
   */
  disconnect?(isolate: number): void;
  /** Makes the store reachable again. */
  reconnect?(isolate: number): void;
  /** Whether the requests of different isolates are served in the order of their calls. Default true */
  isOrdered?: boolean;
}

/** Time (ms) after which a permit that is not extended expires. */
const TTL = 5_000;
/** Interval (ms) between two requests at 2 per second. */
const INTERVAL = 530;

const REQUEST: PermitRequest = {
  origin: "https://upstream.invalid",
  keyHash: "a".repeat(64),
  requestsPerSecond: 2,
};
const OTHER_KEY = { ...REQUEST, keyHash: "b".repeat(64) };
const OTHER_ORIGIN = { ...REQUEST, origin: "https://other.invalid" };

/** Waits for a permit, and fails for a refusal. */
async function acquire(
  limiter: RateLimiter,
  request: PermitRequest = REQUEST,
  signal?: AbortSignal,
): Promise<Permit> {
  const permit = await limiter.acquire(request, signal);
  assert(!("retryAfter" in permit), "the permit was refused");
  return permit;
}

/** Times are in milliseconds. */
interface SendOptions {
  /** Time from the permit until the request arrives at the service. Default 0 */
  latency?: number;
  /** Time from the arrival of the request to the end of its response. Default 20 */
  duration?: number;
  request?: PermitRequest;
}

/** A service that records when requests arrive, and how many are in flight. */
function createService(clock: Clock) {
  const arrivals: number[] = [];
  let inFlight = 0;
  let maxInFlight = 0;
  const send = async (
    limiter: RateLimiter,
    { latency = 0, duration = 20, request = REQUEST }: SendOptions = {},
  ) => {
    const permit = await acquire(limiter, request);
    await clock.sleep(latency);
    arrivals.push(clock.now());
    maxInFlight = Math.max(maxInFlight, ++inFlight);
    await permit.responded();
    const end = clock.now() + duration;
    for (let remaining = duration; remaining > 0; remaining = end - clock.now()) {
      await clock.sleep(Math.min(remaining, 1_000));
      assert(await permit.extend() !== false, "the permit was lost");
    }
    inFlight--;
    await permit.release("success");
  };
  return { arrivals, send, maxInFlight: () => maxInFlight };
}

type ConformanceTest = (setup: LimiterSetup) => Promise<void>;

/** Tests of every limiter by name. */
const TESTS: Record<string, ConformanceTest> = {
  async "starts two requests per second, one at a time"({ limiters, clock, disconnect }) {
    const { arrivals, send, maxInFlight } = createService(clock);
    // Each isolate opens its own connection, so any request can arrive late. In one process, only the first one can.
    const latencies = disconnect ? [150, 0, 90, 10, 200, 0] : [150, 0, 0, 0, 0, 0];
    await Promise.all(latencies.map((latency, index) => {
      const duration = index === 3 ? 2 * TTL : 20;
      return send(limiters[index % 3]!, { latency, duration });
    }));
    assertEquals(maxInFlight(), 1);
    for (let index = 2; index < arrivals.length; index++) {
      assert(arrivals[index]! - arrivals[index - 2]! >= 1_000, `arrivals at ${arrivals}`);
    }
  },

  async "serves requests in the order of their calls"({ limiters, clock, isOrdered = true }) {
    const permit = await acquire(limiters[0]);
    const order: number[] = [];
    const waiting: Promise<void>[] = [];
    for (const number of [0, 1, 2, 3, 4, 5]) {
      waiting.push(
        acquire(limiters[isOrdered ? number % 3 : 0]!).then(async (next) => {
          order.push(number);
          await next.release();
        }),
      );
      await clock.sleep(600); // its place is then stored, also on a busy machine
    }
    await permit.release();
    await Promise.all(waiting);
    assertEquals(order, [0, 1, 2, 3, 4, 5]);
  },

  async "gives the place of an aborted request to the next one"({ limiters, clock }) {
    const permit = await acquire(limiters[0]);
    const controller = new AbortController();
    const aborted = acquire(limiters[1], REQUEST, controller.signal).catch((error) => error);
    await clock.sleep(100);
    const next = acquire(limiters[2]);
    await clock.sleep(100);
    controller.abort("enough");
    assertEquals(await aborted, "enough");
    await permit.release();
    const released = clock.now();
    await (await next).release();
    // Otherwise, the place of the aborted request would expire, after the time of a permit.
    assert(clock.now() - released < TTL, `waited ${clock.now() - released} ms`);
  },

  async "gives an expired permit to the next request"({ limiters, clock }) {
    const start = clock.now();
    const dead = await acquire(limiters[0]);
    const next = await acquire(limiters[1]);
    const waited = clock.now() - start;
    // Its isolate may have sent the request at any time while the permit was valid.
    assert(waited >= TTL + INTERVAL - 100, `waited ${waited} ms`);
    // A late call for the expired permit does not affect the next one.
    await dead.release();
    const service = createService(clock);
    const third = service.send(limiters[2]);
    await clock.sleep(2 * INTERVAL);
    assertEquals(service.arrivals, []);
    await next.release();
    await third;
  },

  async "delays every request with a key after a 429, and no other"({ limiters, clock }) {
    const blockTime = 4_000;
    const start = clock.now();
    await limiters[0].report!(REQUEST, { is: "blocked", wait: blockTime });
    const { send, arrivals } = createService(clock);
    const others = createService(clock);
    await Promise.all([
      send(limiters[0]),
      send(limiters[1]),
      others.send(limiters[2], { request: OTHER_KEY }),
      others.send(limiters[2], { request: OTHER_ORIGIN }),
    ]);
    assert(arrivals[0]! - start >= blockTime - 100, `started after ${arrivals[0]! - start} ms`);
    // A penalty doubles the interval; a success then shortens it by a tenth.
    assert(arrivals[1]! - arrivals[0]! >= 1.8 * INTERVAL, `arrivals at ${arrivals}`);
    for (const arrival of others.arrivals) {
      assert(arrival - start < blockTime, `another key waited ${arrival - start} ms`);
    }
  },

  async "tells others what is known about the service, until it answers"({ limiters, clock }) {
    const [limiter, other] = limiters;
    assertEquals((await limiter.report!(REQUEST)).is, "answering");
    const waits: number[] = [];
    for (let times = 0; times < 3; times++) {
      const service = await limiter.report!(REQUEST, { is: "silent", cause: "connection refused" });
      waits.push(service.wait);
      await clock.sleep(1_000);
    }
    assertEquals(waits, [500, 1_000, 2_000]);
    const { service } = await other.acquire({ ...REQUEST, maxWait: 0 }) as PermitRefusal;
    for (const known of [service!, await other.report!(REQUEST)]) {
      assertEquals([known.is, known.cause], ["silent", "connection refused"]);
      assert(known.age >= 2_900 && known.age < 8_000, `silent for ${known.age} ms`);
    }
    await (await acquire(other)).release("success");
    const { is, answeredAge, targetLength } = await other.report!(REQUEST, { targetLength: 2_000 });
    assertEquals([is, targetLength], ["answering", 2_000]);
    assert(answeredAge! < 1_000, `answered ${answeredAge} ms ago`);
  },

  async "refuses all requests with a rejected key for a minute"({ limiters, clock }) {
    await limiters[0].report!(REQUEST, { is: "key rejected", cause: 403 });
    const { retryAfter, service } = await limiters[1].acquire(REQUEST) as PermitRefusal;
    assert(retryAfter > 59_000 && retryAfter <= 60_000, `${retryAfter}`);
    assertEquals([service?.is, service?.cause], ["key rejected", 403]);
    await (await acquire(limiters[2], OTHER_KEY)).release();
    await clock.sleep(retryAfter);
    await (await acquire(limiters[1])).release();
  },

  async "refuses requests when their wait becomes too long"({ limiters, clock }) {
    const permit = await acquire(limiters[0]);
    const start = clock.now();
    const waiting = limiters[1].acquire({ ...REQUEST, maxWait: 20_000 });
    await clock.sleep(100);
    await limiters[0].report!(REQUEST, { is: "blocked", wait: 60_000 });
    await permit.release();
    assert("retryAfter" in await waiting);
    const refusal = await limiters[1].acquire({ ...REQUEST, maxWait: 20_000 }) as PermitRefusal;
    assert(clock.now() - start < 20_000, `refused after ${clock.now() - start} ms`);
    assert(refusal.retryAfter > 40_000 && refusal.retryAfter <= 60_000, `${refusal.retryAfter}`);
  },

  async "refuses a request after maxWait when another one is slow"({ limiters, clock }) {
    const service = createService(clock);
    const running = service.send(limiters[0], { duration: 4_000 });
    await clock.sleep(100);
    const start = clock.now();
    assert("retryAfter" in await limiters[1].acquire({ ...REQUEST, maxWait: 1_000 }));
    assert(clock.now() - start < 3_000, `refused after ${clock.now() - start} ms`);
    await running;
    const ended = clock.now();
    await service.send(limiters[2]);
    // The refused request has left the queue. Otherwise, its place would expire, after the time of a permit.
    assert(service.arrivals[1]! - ended < TTL - 1_000, `arrivals at ${service.arrivals}`);
  },
};

const STORE_TESTS: Record<string, ConformanceTest> = {
  async "gives no permit without its store"({ limiters, clock, disconnect, reconnect }) {
    disconnect!(0);
    let isGiven = false;
    limiters[0].acquire(REQUEST).then((permit) => isGiven = !("retryAfter" in permit), () => {});
    await (await acquire(limiters[1])).release();
    await clock.sleep(2_000);
    assertEquals(isGiven, false);
    reconnect!(0);
    // If the first request still waits, it may get the permit, which then expires.
    await (await acquire(limiters[0])).release();
  },

  async "reports a lost permit before another request gets it"({ limiters, clock, disconnect }) {
    const permit = await acquire(limiters[0]);
    disconnect!(0);
    const next = acquire(limiters[1]).then(() => clock.now());
    let lostAt = Infinity;
    while (lostAt === Infinity) {
      await clock.sleep(500);
      const isHeld = await Promise.resolve(permit.extend()).catch(() => false);
      if (isHeld === false) lostAt = clock.now();
    }
    // The client needs up to a second to notice it.
    assert(lostAt + 1_000 < await next, `lost at ${lostAt}, given at ${await next}`);
  },

  async "skips the requests of an isolate that has died"({ limiters, clock, disconnect }) {
    const permit = await acquire(limiters[0]);
    const dead = limiters[1].acquire(REQUEST).catch(() => {});
    await clock.sleep(200);
    disconnect!(1);
    const next = acquire(limiters[2]);
    await permit.release();
    await (await next).release();
    await dead;
  },

  async "accepts a release that cannot be stored"({ limiters, disconnect, reconnect }) {
    const permit = await acquire(limiters[0]);
    disconnect!(0);
    // Neither may throw synchronously.
    await Promise.allSettled([permit.release(), limiters[0].report!(REQUEST, { is: "blocked" })]);
    reconnect!(0);
    await (await acquire(limiters[1])).release();
  },
};

/** Options of {@linkcode testRateLimiter}. */
interface ConformanceOptions extends Omit<Deno.TestDefinition, "name" | "fn"> {
  /** Whether the tests with an unreachable store run, too. Default false */
  hasStore?: boolean;
}

/** Registers the conformance tests of an implementation. */
export function testRateLimiter(
  name: string,
  open: () => LimiterSetup,
  { hasStore = false, ...definition }: ConformanceOptions = {},
): void {
  for (const [test, run] of Object.entries({ ...TESTS, ...(hasStore && STORE_TESTS) })) {
    Deno.test({ ...definition, name: `${name} ${test}`, fn: () => run(open()) });
  }
}
