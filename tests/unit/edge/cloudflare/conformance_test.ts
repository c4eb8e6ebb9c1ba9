// The rate limiter whose state is in Durable Objects, here in this process.
import "../../../helpers/no_permission.ts";
import { DEADLINE } from "../../../helpers/deadline.ts";
import { FakeClock } from "../../../helpers/fake_clock.ts";
import { MemoryObjects } from "../../../helpers/memory_objects.ts";
import { createObjectLimiters } from "../../../helpers/object_limiters.ts";
import { testRateLimiter } from "../../../helpers/rate_limiter_conformance.ts";

testRateLimiter("durableObjectRateLimiter()", () => {
  const clock = new FakeClock();
  return createObjectLimiters(new MemoryObjects(clock), clock);
}, { ...DEADLINE, hasStore: true });
