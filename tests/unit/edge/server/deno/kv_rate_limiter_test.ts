// The rate limiter in Deno KV shares one limit between processes with different clocks. The database is in memory.
import "../../../../helpers/no_permission.ts";
import { assert, assertEquals, assertThrows } from "@std/assert";
import {
  createKvRateLimiter,
  type KvStore,
} from "../../../../../edge/server/deno/kv_rate_limiter.ts";
import { type Clock, ValidationError } from "../../../../../mod.ts";
import { DEADLINE } from "../../../../helpers/deadline.ts";
import { FakeClock } from "../../../../helpers/fake_clock.ts";
import { Random, useRandom } from "../../../../properties/random.ts";
import { MemoryKv } from "./memory_kv.ts";
import { testRateLimiter } from "../../../client/rate_limiter_conformance.ts";

const REQUEST = {
  origin: "https://upstream.invalid",
  keyHash: "a".repeat(64),
  requestsPerSecond: 2,
};

/** Differences (ms) of the clocks of three processes. */
const SKEWS = [-2_000, 2_000, 0];

testRateLimiter("createKvRateLimiter() with clocks that differ by 4 s", () => {
  const clock = new FakeClock();
  const kv = new MemoryKv();
  const isReachable = [true, true, true];
  const createProcess = (isolate: number) => {
    const own: Clock = {
      now: () => clock.now() + 1e6 * isolate, // the time since the process started
      sleep: (milliseconds, signal) => clock.sleep(milliseconds, signal),
    };
    const connection = kv.connect(clock, () => isReachable[isolate]!);
    const now = () => 1_795_000_000_000 + clock.now() + SKEWS[isolate]!;
    return createKvRateLimiter(connection, { clock: own, now });
  };
  return {
    limiters: [createProcess(0), createProcess(1), createProcess(2)],
    clock,
    isOrdered: false,
    disconnect: (isolate) => void (isReachable[isolate] = false),
    reconnect: (isolate) => void (isReachable[isolate] = true),
  };
}, { ...DEADLINE, hasStore: true });

Deno.test("createKvRateLimiter() shares the limit fairly when six processes send thirty requests", async () => {
  const random = new Random(1);
  using _ = useRandom(() => random.next()); // the random delays of reads
  const clock = new FakeClock();
  const kv = new MemoryKv();
  const starts: [process: number, time: number][] = [];
  await Promise.all([0, 1, 2, 3, 4, 5].map(async (process) => {
    const limiter = createKvRateLimiter(kv.connect(clock), { clock });
    await Promise.all([0, 1, 2, 3, 4].map(async (number) => {
      const permit = await limiter.acquire(REQUEST);
      assert(!("retryAfter" in permit));
      starts.push([process, clock.now()]);
      assertEquals(starts.filter(([other]) => other === process).length, number + 1);
      await clock.sleep(100);
      permit.responded();
      await clock.sleep(100);
      await permit.release("success");
    }));
  }));
  const gaps = starts.slice(1).map(([, time], index) => time - starts[index]![1]);
  // 530 ms after the headers, which take 100 ms, at most one more read and its delay.
  assert(gaps.every((gap) => gap >= 630 && gap <= 760), `gaps ${gaps}`);
  assertEquals(starts.length, 30);
  const { reads, commits, conflicts } = kv.stats;
  assertEquals(commits - conflicts, 60); // one to acquire and one to release
  assert(reads <= 1_400 && conflicts <= 60, JSON.stringify(kv.stats));
});

Deno.test("createKvRateLimiter() gives one permit to a request when the answer to its commit is lost", async () => {
  const clock = new FakeClock();
  const kv = new MemoryKv();
  const connection = kv.connect(clock);
  let commits = 0;
  const atomic = () => {
    const transaction = connection.atomic();
    const { commit } = transaction;
    transaction.commit = async () => {
      const result = await commit();
      if (++commits === 1) throw new Error("connection reset");
      return result;
    };
    return transaction;
  };
  const limiter = createKvRateLimiter({ ...connection, atomic }, { clock });
  await limiter.acquire(REQUEST);
  assert(clock.now() < 300, `waited ${clock.now()} ms`);
});

Deno.test("createKvRateLimiter() waits for the rest of a penalty when another process stored it 50 s ago", async () => {
  const clock = new FakeClock();
  const kv = new MemoryKv();
  const createProcess = () =>
    createKvRateLimiter(kv.connect(clock), { clock, now: () => clock.now() });
  await createProcess().report!(REQUEST, { is: "blocked", wait: 60_000 });
  await clock.sleep(50_000);
  await createProcess().acquire(REQUEST);
  // An age can be 5 s too short, because clocks may differ by 5 s.
  assert(clock.now() >= 60_000 && clock.now() < 66_000, `waited until ${clock.now()} ms`);
});

Deno.test("createKvRateLimiter() throws a ValidationError when the database or an option is invalid", () => {
  for (const kv of [undefined, null, {}, { get() {} }, "kv"]) {
    const create = () => createKvRateLimiter(kv as unknown as KvStore);
    assertEquals(assertThrows(create, ValidationError).option, "kv");
  }
  const kv = new MemoryKv().connect(new FakeClock());
  const options = { ttl: 5 } as Parameters<typeof createKvRateLimiter>[1];
  assertEquals(assertThrows(() => createKvRateLimiter(kv, options), ValidationError).option, "ttl");
});
