// The rate limiter whose state is in Durable Objects, here in this process.
import "../../../helpers/no_permission.ts";
import type { ObjectNamespace } from "../../../../edge/cloudflare/mod.ts";
import type { Clock } from "../../../../mod.ts";
import { DEADLINE } from "../../../helpers/deadline.ts";
import { FakeClock } from "../../../helpers/fake_clock.ts";
import { MemoryObjects } from "../../../helpers/memory_objects.ts";
import { createObjectLimiters } from "../../../helpers/object_limiters.ts";
import { testRateLimiter } from "../../../helpers/rate_limiter_conformance.ts";

/** Returns objects to and from which each message takes a time (ms). */
function withLatency(
  objects: ObjectNamespace<string>,
  latency: number,
  clock: Clock,
): ObjectNamespace<string> {
  return {
    idFromName: (name) => objects.idFromName(name),
    get: (id) => ({
      async fetch(url, init) {
        await clock.sleep(latency);
        const response = await objects.get(id).fetch(url, init);
        await clock.sleep(latency);
        return response;
      },
    }),
  };
}

for (const latency of [0, 100]) {
  testRateLimiter(`durableObjectRateLimiter() with a latency of ${latency} ms`, () => {
    const clock = new FakeClock();
    return createObjectLimiters(withLatency(new MemoryObjects(clock), latency, clock), clock);
  }, { ...DEADLINE, hasStore: true });
}
