// The rate limiter of the process.
import "../../helpers/no_permission.ts";
import { processLimiter } from "../../../src/client/rate_limiter.ts";
import { DEADLINE } from "../../helpers/deadline.ts";
import { FakeClock } from "../../helpers/fake_clock.ts";
import { testRateLimiter } from "../../helpers/rate_limiter_conformance.ts";

testRateLimiter("processLimiter()", () => {
  const clock = new FakeClock();
  const limiter = processLimiter(clock);
  return { limiters: [limiter, limiter, limiter], clock };
}, DEADLINE);
