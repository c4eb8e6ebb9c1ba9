// Tasks that concurrent calls share.
// Tests `SharedTasks` directly: through the app, a request cannot be dropped at a chosen moment.
import "../../helpers/no_permission.ts";
import { assert, assertEquals, assertRejects } from "@std/assert";
import { DataStreamError } from "../../../mod.ts";
import { SharedTasks } from "../../../edge/shared_tasks.ts";
import { DEADLINE } from "../../helpers/deadline.ts";
import { FakeClock } from "../../helpers/fake_clock.ts";

function sharedTasks() {
  const clock = new FakeClock();
  const shared = new SharedTasks<string>(clock);
  const started: string[] = [];
  /** Creates a task that takes a second. */
  const task = (name: string) => async () => {
    started.push(name);
    await clock.sleep(1_000);
    return name;
  };
  return { clock, shared, started, task };
}

Deno.test(
  "SharedTasks.run() runs one task when calls with the same key are concurrent",
  DEADLINE,
  async () => {
    const { shared, started, task } = sharedTasks();
    const names = ["a", "b", "c"];
    const results = await Promise.all(names.map((name) => shared.run("key", task(name))));
    assertEquals([results, started], [["a", "a", "a"], ["a"]]);
  },
);

Deno.test("SharedTasks.run() runs each task when the keys differ", DEADLINE, async () => {
  const { shared, started, task } = sharedTasks();
  const results = await Promise.all([shared.run("1", task("a")), shared.run("2", task("b"))]);
  assertEquals([results, started], [["a", "b"], ["a", "b"]]);
});

Deno.test("SharedTasks.run() runs the task when the one before has ended", DEADLINE, async () => {
  const { shared, task } = sharedTasks();
  assertEquals(await shared.run("key", task("a")), "a");
  assertEquals(await shared.run("key", task("b")), "b");
});

Deno.test(
  "SharedTasks.run() runs one of the other tasks when the running task fails",
  DEADLINE,
  async () => {
    const { clock, shared, started, task } = sharedTasks();
    const failing = async () => {
      await clock.sleep(1_000);
      throw new Error("failed");
    };
    const failed = assertRejects(() => shared.run("key", failing), Error, "failed");
    const others = Promise.all(["b", "c"].map((name) => shared.run("key", task(name))));
    await failed;
    const results = await others;
    assert(clock.now() < 3_000, `waited until ${clock.now()} ms`);
    assertEquals(started.length, 1);
    assertEquals(results, [started[0], started[0]]);
  },
);

Deno.test(
  "SharedTasks.run() rejects for all calls when the service fails the running task",
  DEADLINE,
  async () => {
    const { clock, shared, started, task } = sharedTasks();
    const facts = { kind: "network", url: "https://x.invalid/", hint: "try again" } as const;
    const failure = new DataStreamError("failed", facts);
    const failing = async () => {
      await clock.sleep(1_000);
      throw failure;
    };
    const tasks = [failing, task("b"), task("c")];
    const results = await Promise.allSettled(tasks.map((each) => shared.run("key", each)));
    for (const result of results) {
      assertEquals(result.status === "rejected" && result.reason, failure);
    }
    assertEquals(started, []);
  },
);

Deno.test(
  "SharedTasks.run() runs another task when the request of the running one was dropped",
  DEADLINE,
  async () => {
    const { clock, shared, task } = sharedTasks();
    shared.run("key", () => new Promise(() => {}));
    clock.dropTimers();
    const startedAt = clock.now();
    assertEquals(await shared.run("key", task("b")), "b");
    const waited = clock.now() - startedAt;
    assert(waited > 5_000 && waited < 7_000, `waited ${waited} ms`);
  },
);

Deno.test("SharedTasks.run() removes tasks whose requests were dropped", DEADLINE, async () => {
  const { clock, shared, task } = sharedTasks();
  for (let id = 0; id < 100; id++) shared.run(`${id}`, () => new Promise(() => {}));
  clock.dropTimers();
  clock.advance(5_001);
  const running = shared.run("other", task("a"));
  assertEquals(shared.size, 1);
  await running;
  assertEquals(shared.size, 0);
});

Deno.test(
  "SharedTasks.run() waits for a running task when it takes long",
  DEADLINE,
  async () => {
    const { clock, shared, task } = sharedTasks();
    const long = shared.run("key", () => clock.sleep(60_000).then(() => "a"));
    assertEquals(await shared.run("key", task("b")), "a");
    assertEquals(await long, "a");
  },
);

Deno.test(
  "SharedTasks.run() rejects with the reason of its signal when it waits",
  DEADLINE,
  async () => {
    const { clock, shared, task } = sharedTasks();
    const first = shared.run("key", task("a"));
    const stop = new AbortController();
    const second = shared.run("key", task("b"), stop.signal);
    clock.sleep(100).then(() => stop.abort(new Error("left")));
    await assertRejects(() => second, Error, "left");
    assertEquals(await first, "a");
  },
);
