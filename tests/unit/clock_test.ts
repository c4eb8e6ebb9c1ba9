// `systemClock` waits, and an aborted wait ends immediately. Called directly: an entry point would need real waits of a
// second or more.
import "../helpers/no_permission.ts";
import { assert, assertEquals } from "@std/assert";
import { systemClock } from "../../src/clock.ts";
import { countListeners } from "./client/listener_count.ts";

Deno.test("sleep() resolves when the time has passed, and removes its listener", async () => {
  const before = systemClock.now();
  await systemClock.sleep(4);
  await systemClock.sleep(4, new AbortController().signal);
  // A timer may fire up to a millisecond early.
  assert(systemClock.now() >= before + 6);
  assertEquals(countListeners(), 0);
});

// Deno's own check for running timers fails this test if the timer is not cleared.
Deno.test("sleep() rejects with the reason when the signal aborts, or has already aborted", async () => {
  const controller = new AbortController();
  const reasonOf = (signal: AbortSignal) => systemClock.sleep(1e6, signal).catch((error) => error);
  const sleeping = reasonOf(controller.signal);
  controller.abort("enough");
  assertEquals(await sleeping, "enough");
  assertEquals(await reasonOf(AbortSignal.abort("before")), "before");
});
