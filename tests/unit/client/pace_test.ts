import "../../helpers/no_permission.ts";
import { assert, assertEquals } from "@std/assert";
import { holdBack, takeTurn } from "../../../src/client/rate_limiter.ts";
import { type Clock, DataStream } from "../../../mod.ts";
import { DEADLINE } from "../../helpers/deadline.ts";
import { FakeClock } from "../../helpers/fake_clock.ts";
import { sandboxAndClient } from "../../helpers/sandbox.ts";
import { page, upstream } from "../../helpers/upstream.ts";

const origin = "https://upstream.invalid";
const key = "of a test";

const enter = (origin: string, requestsPerSecond: number, clock: Clock, signal?: AbortSignal) =>
  takeTurn(origin, { requestsPerSecond, lease: 50_000, clock, key }, signal);

Deno.test("takeTurn() starts at most two in any second, with a margin", DEADLINE, async () => {
  const clock = new FakeClock();
  const starts: number[] = [];
  for (let request = 0; request < 4; request++) {
    const turn = await enter(origin, 2, clock);
    starts.push(clock.now());
    turn.end();
  }
  assertEquals(starts, [0, 530, 1060, 1590]);
});

Deno.test(
  "takeTurn() waits for the request in flight, and then no longer than it must",
  DEADLINE,
  async () => {
    const clock = new FakeClock();
    const first = await enter(origin, 2, clock);
    const second = enter(origin, 2, clock);
    await clock.sleep(3210);
    first.end();
    await second;
    assert(clock.now() >= 3210 && clock.now() <= 3230, `started at ${clock.now()}`);
  },
);

Deno.test("takeTurn() serves first come first", DEADLINE, async () => {
  const clock = new FakeClock();
  const order: number[] = [];
  const requests = [1, 2, 3, 4, 5].map(async (number) => {
    const turn = await enter(origin, 2, clock);
    order.push(number);
    await clock.sleep(40);
    turn.end();
  });
  await Promise.all(requests);
  assertEquals(order, [1, 2, 3, 4, 5]);
});

Deno.test(
  "takeTurn() rejects with the signal's reason, and leaves the line",
  DEADLINE,
  async () => {
    const clock = new FakeClock();
    const first = await enter(origin, 2, clock);
    const stop = new AbortController();
    const second = enter(origin, 2, clock, stop.signal).catch((error) => error);
    const third = enter(origin, 2, clock);
    await clock.sleep(100);
    stop.abort("enough");
    assertEquals(await second, "enough");
    first.end();
    await third;
    assert(clock.now() < 600);
    const elsewhere = "https://free.invalid";
    const given = enter(elsewhere, 2, clock, AbortSignal.abort("before"));
    assertEquals(await given.catch((error) => error), "before");
  },
);

Deno.test("takeTurn() keeps everyone's place when one in line gives up", DEADLINE, async () => {
  const clock = new FakeClock();
  const first = await enter(origin, 2, clock);
  const stop = new AbortController();
  const order: string[] = [];
  const wait = async (name: string, signal?: AbortSignal) => {
    const turn = await enter(origin, 2, clock, signal);
    order.push(name);
    turn.end();
  };
  const second = wait("second");
  const third = wait("third");
  const fourth = wait("fourth", stop.signal).catch(() => {});
  await clock.sleep(50);
  stop.abort();
  await fourth;
  first.end();
  await Promise.all([second, third]);
  assertEquals(order, ["second", "third"]);
});

Deno.test("takeTurn() sends one at a time where there is no gap, too", DEADLINE, async () => {
  const clock = new FakeClock();
  let inFlight = 0;
  let most = 0;
  await Promise.all(Array.from({ length: 5 }, async () => {
    const turn = await enter(origin, Infinity, clock);
    most = Math.max(most, ++inFlight);
    await clock.sleep(25);
    inFlight--;
    turn.end();
  }));
  assertEquals(most, 1);
});

Deno.test(
  "takeTurn() keeps the order at a pace slower than it takes one for gone",
  DEADLINE,
  async () => {
    const clock = new FakeClock();
    const starts: [number, number][] = [];
    await Promise.all([1, 2, 3, 4].map(async (number) => {
      const turn = await enter(origin, 0.05, clock);
      starts.push([number, clock.now()]);
      turn.end();
    }));
    assertEquals(starts, [[1, 0], [2, 21_200], [3, 42_400], [4, 63_600]]);
  },
);

Deno.test("a turn that has run out extends no other's", DEADLINE, async () => {
  const clock = new FakeClock();
  const lost = await enter(origin, 2, clock);
  await enter(origin, 2, clock); // after the first has run out, and never ended either
  const second = clock.now();
  await clock.sleep(20_000);
  lost.extend();
  await enter(origin, 2, clock);
  assert(clock.now() - second < 50_100, `started ${clock.now() - second} ms later`);
});

Deno.test(
  "takeTurn() goes on after a request that the runtime dropped without a word",
  DEADLINE,
  async () => {
    const clock = new FakeClock();
    await enter(origin, 2, clock); // never ended
    await enter(origin, 2, clock);
    assert(clock.now() >= 50_000 && clock.now() < 50_100, `started at ${clock.now()}`);
  },
);

Deno.test(
  "takeTurn() passes over one in line that the runtime dropped without a word",
  DEADLINE,
  async () => {
    const clock = new FakeClock();
    const first = await enter(origin, 2, clock);
    enter(origin, 2, clock); // never wakes again
    await Promise.resolve();
    clock.dropTimers();
    first.end();
    await enter(origin, 2, clock);
    assert(clock.now() >= 5_000 && clock.now() < 5_600, `started at ${clock.now()}`);
  },
);

Deno.test(
  "takeTurn() serves one whose timers slept for long, a page in the background, say",
  DEADLINE,
  async () => {
    const clock = new FakeClock();
    const first = await enter(origin, 2, clock);
    const started: string[] = [];
    const asleep = enter(origin, 2, clock).then((turn) => {
      started.push("asleep");
      turn.end();
    });
    await Promise.resolve();
    clock.advance(60_000);
    const awake = enter(origin, 2, clock).then((turn) => {
      started.push("awake");
      turn.end();
    });
    first.end();
    await Promise.all([asleep, awake]);
    assertEquals(started.sort(), ["asleep", "awake"]);
  },
);

Deno.test("takeTurn() keeps the order after everyone was held up", DEADLINE, async () => {
  const clock = new FakeClock();
  const first = await enter(origin, 2, clock);
  const order: number[] = [];
  const waiting = [1, 2, 3, 4].map(async (number) => {
    const turn = await enter(origin, 2, clock);
    order.push(number);
    turn.end();
  });
  await Promise.resolve();
  clock.advance(20_000);
  first.end();
  await Promise.all(waiting);
  assertEquals(order, [1, 2, 3, 4]);
});

Deno.test("takeTurn() counts the gap after a cold start from the answer", DEADLINE, async () => {
  const clock = new FakeClock();
  const starts: number[] = [];
  // Connecting takes 120 ms, so the service sees the first request that much later.
  for (const late of [120, 0, 0]) {
    const turn = await enter(origin, 2, clock);
    starts.push(clock.now() + late);
    await clock.sleep(late);
    turn.answered();
    turn.end();
  }
  assert(starts[2]! - starts[0]! > 1000, `seen at ${starts}`);
  const warm = clock.now();
  const turn = await enter(origin, 2, clock);
  turn.answered();
  assertEquals(clock.now() - warm, 530);
});

Deno.test("takeTurn() keeps the wider gap of two that follow one another", DEADLINE, async () => {
  const starts: number[] = [];
  const clock = new FakeClock();
  for (const rate of [Infinity, 2, Infinity, 0.1, 2]) {
    const turn = await enter(origin, rate, clock);
    starts.push(clock.now());
    turn.end();
  }
  assertEquals(starts, [0, 530, 1060, 11_660, 22_260]);
});

Deno.test(
  "takeTurn() keeps the lowest rate that was asked for in the last minute",
  DEADLINE,
  async () => {
    const clock = new FakeClock();
    (await enter(origin, 0.5, clock)).end();
    const starts: number[] = [];
    for (let request = 0; request < 40; request++) {
      const turn = await enter(origin, 2, clock);
      starts.push(clock.now());
      turn.end();
    }
    const gaps = starts.slice(1).map((start, index) => start - starts[index]!);
    const fast = gaps.indexOf(530);
    assert(starts[fast]! > 60_000 - 2_120 && starts[fast]! <= 60_000 + 2_120, `at ${starts[fast]}`);
    assertEquals(new Set(gaps.slice(0, fast - 1)), new Set([2_120]));
    assertEquals(new Set(gaps.slice(fast)), new Set([530]));
  },
);

Deno.test(
  "takeTurn() keeps the lowest rate of those in line, whoever is next",
  DEADLINE,
  async () => {
    const clock = new FakeClock();
    const starts: number[] = [];
    await Promise.all([2, 2, 2, 0.1].map(async (rate) => {
      const turn = await enter(origin, rate, clock);
      starts.push(clock.now());
      turn.end();
    }));
    assertEquals(starts, [0, 10_600, 21_200, 31_800]);
  },
);

Deno.test(
  "holdBack() keeps everyone back, and widens the gap until good answers narrow it",
  DEADLINE,
  async () => {
    const clock = new FakeClock();
    const starts: number[] = [];
    const one = async () => {
      const turn = await enter(origin, 2, clock);
      starts.push(clock.now());
      turn.welcomed();
      turn.end();
    };
    await one();
    holdBack(origin, { clock, key }, 7_000);
    holdBack(origin, { clock, key }, 1_000); // less than the first asked for
    await Promise.all([one(), one()]);
    assertEquals(starts[1], 7_000);
    assert(starts[2]! - starts[1]! > 3 * 530, `twice twice as wide: ${starts}`);
    for (let request = 0; request < 20; request++) await one();
    assertEquals(starts.at(-1)! - starts.at(-2)!, 530);
  },
);

Deno.test("a widened gap narrows with the minutes, too", DEADLINE, async () => {
  const clock = new FakeClock();
  (await enter(origin, 2, clock)).end();
  for (let times = 0; times < 3; times++) holdBack(origin, { clock, key }, 0);
  await clock.sleep(2 * 60_000);
  (await enter(origin, 2, clock)).end();
  const start = clock.now();
  (await enter(origin, 2, clock)).end();
  assertEquals(clock.now() - start, 2 * 530);
  await clock.sleep(24 * 3_600_000);
  (await enter(origin, 2, clock)).end();
  const later = clock.now();
  (await enter(origin, 2, clock)).end();
  assertEquals(clock.now() - later, 530);
});

Deno.test("holdBack() makes a gap where none was asked for", DEADLINE, async () => {
  const clock = new FakeClock();
  (await enter(origin, Infinity, clock)).end();
  holdBack(origin, { clock, key }, 0);
  (await enter(origin, Infinity, clock)).end();
  assertEquals(clock.now(), 1_000);
});

Deno.test(
  "holdBack() widens the gap eight times at most, and no other origin's",
  DEADLINE,
  async () => {
    const clock = new FakeClock();
    (await enter(origin, 2, clock)).end();
    for (let times = 0; times < 10; times++) holdBack(origin, { clock, key }, 0);
    (await enter("https://other.invalid", 2, clock)).end();
    assertEquals(clock.now(), 0);
    (await enter(origin, 2, clock)).end();
    assertEquals(clock.now(), 8 * 530);
  },
);

Deno.test("takeTurn() keeps a turn whose bytes still come", DEADLINE, async () => {
  const clock = new FakeClock();
  const first = await enter(origin, 2, clock);
  let started = false;
  const second = enter(origin, 2, clock).then(() => started = true);
  for (let times = 0; times < 5; times++) {
    await clock.sleep(40_000);
    first.extend();
    assertEquals(started, false);
  }
  first.end();
  await second;
});

Deno.test(
  "takeTurn() lets an ended turn end again without harm to the next",
  DEADLINE,
  async () => {
    const clock = new FakeClock();
    const first = await enter(origin, 2, clock);
    first.end();
    await enter(origin, 2, clock);
    first.end();
    let started = false;
    const third = enter(origin, 2, clock).then(() => started = true);
    await clock.sleep(5_000);
    assertEquals(started, false);
    await third;
  },
);

Deno.test("takeTurn() keeps a line for each origin", DEADLINE, async () => {
  const clock = new FakeClock();
  await enter(origin, 2, clock);
  await enter("https://other.invalid", 2, clock);
  assertEquals(clock.now(), 0);
});

Deno.test(
  "clients of one origin share the pace, whatever their keys and queries",
  DEADLINE,
  async () => {
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
  },
);

Deno.test("a strict service turns none of many downloads away", DEADLINE, async () => {
  const { sandbox, client } = sandboxAndClient({ records: 2_000 });
  const sizes = await Promise.all([
    client.records({ top: 500 }).toArray(),
    client.records({ top: 1_000, select: ["Id"] }).toArray(),
    client.records({ top: 400 }).toArray(),
  ]);
  assertEquals(sizes.map((rows) => rows.length), [2_000, 2_000, 2_000]);
  assertEquals(sandbox.stats.requests, 5 + 3 + 6); // each with a count
  assertEquals([sandbox.stats.tooFast, sandbox.stats.parallel], [0, 0]);
});

Deno.test(
  "a request that the runtime dropped holds the next one up for its lease, not its time-outs",
  DEADLINE,
  async () => {
    const clock = new FakeClock();
    const { promise: sent, resolve: tell } = Promise.withResolvers<void>();
    let requests = 0;
    const client = new DataStream({
      clock,
      fetch() {
        tell();
        return ++requests === 1 ? new Promise(() => {}) : Promise.resolve(page([]));
      },
      baseUrl: "https://dropped.invalid",
    });
    client.metadata().toArray(); // never answered, and its timers never fire again
    await sent;
    clock.dropTimers();
    await client.metadata().toArray();
    assert(clock.now() >= 4_000 && clock.now() < 5_100, `started at ${clock.now()}`);
  },
);

Deno.test("a request that is only slow keeps its turn", DEADLINE, async () => {
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

Deno.test(
  "holdBack() holds those back who send the key, and lets others pass",
  DEADLINE,
  async () => {
    const clock = new FakeClock();
    const enterAs = async (key: string) => {
      const turn = await takeTurn(origin, { requestsPerSecond: 2, lease: 5_000, clock, key });
      starts.push([key, clock.now()]);
      turn.end();
    };
    const starts: [string, number][] = [];
    holdBack(origin, { clock, key: "a" }, 20_000);
    await Promise.all([enterAs("a"), enterAs("b"), enterAs("a"), enterAs("b")]);
    assertEquals(starts.map(([key]) => key), ["b", "b", "a", "a"]);
    assert(starts[1]![1] < 1_000, `${starts}`);
    // The gap of those who were too many is wider, of the others it is not.
    assert(starts[2]![1] >= 20_000 && starts[2]![1] < 21_000, `${starts}`);
    assertEquals(starts[3]![1] - starts[2]![1], 1_060);
  },
);
