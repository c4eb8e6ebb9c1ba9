import { processLimiter, type RateLimiter } from "../../src/client/rate_limiter.ts";
import type { Clock } from "../../src/clock.ts";
import { HttpProblem } from "./problem.ts";
import { FairLine } from "./fair_line.ts";

/**
 * One request of the downloads at a time waits for the rate limiter: that of the client whose last
 * request is the oldest. The page bypasses this, so it waits for three starts at most.
 */
export class Starts {
  readonly #shared: RateLimiter | undefined;
  readonly #line: FairLine;
  readonly #clock: Clock;

  constructor(shared: RateLimiter | undefined, clock: Clock) {
    this.#shared = shared;
    this.#clock = clock;
    this.#line = new FairLine({ max: 1, tasks: "requests to DataStream", clock });
  }

  get waiting(): number {
    return this.#line.size;
  }

  ofPage(apiKey: string | undefined): RateLimiter {
    if (this.#shared !== undefined) return this.#shared;
    const limiter = processLimiter(this.#clock);
    return {
      acquire: (request, signal) => limiter.acquire({ ...request, keyHash: apiKey }, signal),
      penalize: (target, time) => limiter.penalize({ ...target, keyHash: apiKey }, time),
    };
  }

  of(client: string | undefined, apiKey: string | undefined): RateLimiter {
    const limiter = this.ofPage(apiKey);
    return {
      acquire: async (request, signal = new AbortController().signal) => {
        const since = this.#clock.now();
        try {
          const turn = async () => {
            const waited = this.#clock.now() - since;
            const rest = { maxWait: Math.max(0, (request.maxWait ?? Infinity) - waited) };
            return await limiter.acquire({ ...request, ...rest }, signal);
          };
          return await this.#line.run(turn, client, signal, request.maxWait ?? Infinity);
        } catch (error) {
          if (!(error instanceof HttpProblem)) throw error;
          return { retryAfter: 1000 * Number(error.headers["retry-after"]) };
        }
      },
      penalize: (target, blockTime) => limiter.penalize(target, blockTime),
    };
  }
}
