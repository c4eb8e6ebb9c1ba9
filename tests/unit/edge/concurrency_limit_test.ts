// Permits under a clock whose sleeps the test ends.
// Tests `ConcurrencyLimit` directly: through the app, a release cannot coincide with a renewal.
import "../../helpers/no_permission.ts";
import { assertThrows } from "@std/assert";
import { ConcurrencyLimit } from "../../../edge/concurrency_limit.ts";
import { HttpProblem } from "../../../edge/problem.ts";
import { DEADLINE } from "../../helpers/deadline.ts";

Deno.test(
  "ConcurrencyLimit.acquire() does not renew a permit when it is released during the renewal",
  DEADLINE,
  async () => {
    const { promise: woken, resolve: wake } = Promise.withResolvers<void>();
    const sleeps = [woken];
    const sleep = () => sleeps.pop() ?? new Promise<void>(() => {});
    const limit = new ConcurrencyLimit({ max: 1 }, "downloads", { now: () => 0, sleep });
    const permit = limit.acquire();
    assertThrows(() => limit.acquire(), HttpProblem, "1 concurrent downloads");
    wake();
    permit.release();
    await woken;
    await Promise.resolve();
    limit.acquire().release();
  },
);
