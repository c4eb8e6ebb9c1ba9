// The state of a rate limit, which is copied as JSON for each call, as in a store.
import "../../helpers/no_permission.ts";
import {
  createMemoryStore,
  createPollingLimiter,
  type RateLimitStore,
} from "../../../src/client/polling_limiter.ts";
import { createRateLimitState } from "../../../src/client/rate_limit_state.ts";
import { DEADLINE } from "../../helpers/deadline.ts";
import { FakeClock } from "../../helpers/fake_clock.ts";
import { type LimiterSetup, testRateLimiter } from "../../helpers/rate_limiter_conformance.ts";

testRateLimiter("createPollingLimiter() over a state in JSON", () => {
  const clock = new FakeClock();
  const states = new Map<string, string>();
  const isReachable = [true, true, true];

  /** Calls a function of the state with the name, if the isolate can reach it. */
  async function call<T>(
    isolate: number,
    name: string,
    change: (store: RateLimitStore) => T,
  ): Promise<Awaited<T>> {
    await clock.sleep(1);
    if (!isReachable[isolate]) throw new Error("the state cannot be reached");
    const state = JSON.parse(states.get(name) ?? JSON.stringify(createRateLimitState(true)));
    const result = change(createMemoryStore(state, () => clock.now()));
    states.set(name, JSON.stringify(state));
    return await result;
  }

  const limiters = [0, 1, 2].map((isolate) => {
    let lastId = 0;
    return createPollingLimiter(
      ({ origin, keyHash }) => {
        const name = `${origin} ${keyHash}`;
        return {
          poll: (request) => call(isolate, name, (store) => store.poll(request)),
          extend: (id) => call(isolate, name, (store) => store.extend(id)),
          release: (id, release) => call(isolate, name, (store) => store.release(id, release)),
          leave: (id) => call(isolate, name, (store) => store.leave(id)),
          penalize: (key, blockTime) =>
            call(isolate, name, (store) => store.penalize(key, blockTime)),
        };
      },
      () => `${isolate}-${++lastId}`,
      clock,
    );
  });
  return {
    limiters: limiters as unknown as LimiterSetup["limiters"],
    clock,
    disconnect: (isolate) => void (isReachable[isolate] = false),
    reconnect: (isolate) => void (isReachable[isolate] = true),
  };
}, { ...DEADLINE, hasStore: true });
