import {
  type Permit,
  type PermitRefusal,
  type PermitRequest,
  processLimiter,
  type RateLimiter,
} from "../../src/client/rate_limiter.ts";
import type { Clock } from "../../src/clock.ts";
import { HttpProblem } from "../problem.ts";
import { FairLine } from "./fair_line.ts";

/**
 * The requests to the service of an app. One request of the downloads at a time waits in the queue of the rate limiter:
 * that of the client whose last request is the oldest. The page enters the queue directly, so it waits for three
 * starts at most.
 */
export class Starts {
  /** Rate limiter that several processes share, if any. */
  readonly #shared: RateLimiter | undefined;
  readonly #line: FairLine;
  readonly #clock: Clock;
  /** Moving average of the time (ms) of a request. */
  #averageTime = 0;

  constructor(shared: RateLimiter | undefined, clock: Clock) {
    this.#shared = shared;
    this.#clock = clock;
    this.#line = new FairLine({ max: 1, tasks: "requests to DataStream", clock });
  }

  /** Number of requests of the downloads that wait. */
  get waiting(): number {
    return this.#line.size;
  }

  /**
   * Returns the rate limiter of the page.
   *
   * @param apiKey API key of the requests. The limiter of the process identifies it by itself, as for other clients
   */
  ofPage(apiKey: string | undefined): RateLimiter {
    if (this.#shared !== undefined) return this.#shared;
    const limiter = processLimiter(this.#clock);
    return {
      acquire: (request, signal) => limiter.acquire({ ...request, keyHash: apiKey }, signal),
      penalize: (target, time) => limiter.penalize({ ...target, keyHash: apiKey }, time),
    };
  }

  /** Returns the rate limiter of the downloads of a client. */
  of(client: string | undefined, apiKey: string | undefined): RateLimiter {
    const limiter = this.ofPage(apiKey);
    return {
      acquire: async (request, signal = new AbortController().signal) => {
        const { maxWait } = request;
        const since = this.#clock.now();
        const leave = await this.#enter(client, request, signal);
        if (typeof leave !== "function") return leave;
        const waited = this.#clock.now() - since;
        try {
          const rest = maxWait === undefined ? {} : { maxWait: Math.max(0, maxWait - waited) };
          return this.#measure(await limiter.acquire({ ...request, ...rest }, signal));
        } finally {
          leave();
        }
      },
      penalize: (target, blockTime) => limiter.penalize(target, blockTime),
    };
  }

  /** Measures the time of a request, from which the waits of the others are estimated. */
  #measure(permit: Permit | PermitRefusal): Permit | PermitRefusal {
    if (!permit || !("release" in permit)) return permit;
    const since = this.#clock.now();
    return {
      responded: () => permit.responded(),
      extend: () => permit.extend(),
      release: (outcome) => {
        this.#averageTime += (this.#clock.now() - since - this.#averageTime) / 4;
        return permit.release(outcome);
      },
    };
  }

  async #enter(
    client: string | undefined,
    { maxWait = Infinity, requestsPerSecond }: PermitRequest,
    signal: AbortSignal,
  ): Promise<(() => void) | PermitRefusal> {
    const interval = Math.max(1000 / requestsPerSecond, this.#averageTime);
    const estimate = (this.waiting + 1) * interval;
    if (this.waiting > 0 && estimate > maxWait) return { retryAfter: estimate };
    try {
      return await this.#line.enter(client, signal, maxWait);
    } catch (error) {
      if (error instanceof HttpProblem) return { retryAfter: estimate };
      throw error;
    }
  }
}
