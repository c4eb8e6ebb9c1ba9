// `systemClock` waits, and an aborted wait ends immediately. Called directly: an entry point would need real waits of a
// second or more.
import "../helpers/no_permission.ts";
import { assert, assertEquals } from "@std/assert";
import { systemClock } from "../../src/clock.ts";
import { countListeners } from "./client/listener_count.ts";

Deno.test("sleep() resolves when the time has passed", async () => {
  const before = systemClock.now();
  await systemClock.sleep(8);
  // A timer may fire up to a millisecond early.
  assert(systemClock.now() >= before + 7);
});

// Deno's own check for running timers fails this test if the timer is not cleared.
Deno.test("sleep() rejects immediately with the reason when the signal aborts", async () => {
  const controller = new AbortController();
  const sleeping = systemClock.sleep(1e6, controller.signal).catch((error) => error);
  controller.abort("enough");
  assertEquals(await sleeping, "enough");
});

Deno.test("sleep() rejects when the signal has already aborted", async () => {
  const sleeping = systemClock.sleep(1e6, AbortSignal.abort("before"));
  assertEquals(await sleeping.catch((error) => error), "before");
});

Deno.test("sleep() removes its listener when the time has passed", async () => {
  await systemClock.sleep(0, new AbortController().signal);
  assertEquals(countListeners(), 0);
});
