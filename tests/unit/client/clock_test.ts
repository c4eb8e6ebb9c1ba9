import "../../helpers/no_permission.ts";
import { assert, assertEquals } from "@std/assert";
import { systemClock } from "../../../src/client/clock.ts";

Deno.test("sleep() wakes after the time, which never goes back", async () => {
  const before = systemClock.now();
  await systemClock.sleep(8);
  // A timer may be early by a part of a millisecond.
  assert(systemClock.now() >= before + 7);
});

// Deno's own check for timers left behind is the test that the long sleep is over.
Deno.test("sleep() rejects at once with the signal's reason, and leaves no timer", async () => {
  const stop = new AbortController();
  const sleeping = systemClock.sleep(1e6, stop.signal).catch((error) => error);
  stop.abort("enough");
  assertEquals(await sleeping, "enough");
});

Deno.test("sleep() rejects where the signal has been aborted before", async () => {
  const sleeping = systemClock.sleep(1e6, AbortSignal.abort("before"));
  assertEquals(await sleeping.catch((error) => error), "before");
});

Deno.test("sleep() leaves no listener on a signal that lives on", async () => {
  const { signal } = new AbortController();
  const listeners = new Set<unknown>();
  const { addEventListener, removeEventListener } = EventTarget.prototype;
  signal.addEventListener = (...args: Parameters<typeof addEventListener>) => {
    listeners.add(args[1]);
    addEventListener.apply(signal, args);
  };
  signal.removeEventListener = (...args: Parameters<typeof removeEventListener>) => {
    listeners.delete(args[1]);
    removeEventListener.apply(signal, args);
  };
  await systemClock.sleep(0, signal);
  assertEquals(listeners.size, 0);
});
