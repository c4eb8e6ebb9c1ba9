import type { Clock } from "../../src/clock.ts";
import {
  type AcquireAnswer,
  type AcquireMessage,
  createGate,
  extend,
  type Gate,
  penalize,
  release,
  waitForPermit,
} from "../../src/client/rate_limiter.ts";
import { MAX_POLL_TIME } from "../../src/client/shared_limiter.ts";

/** Name of the state in the storage of the object. */
const STATE = "gate";

/** Methods of a Durable Object's storage that {@linkcode RateLimiterObject} uses. */
export interface ObjectStorage {
  /** Reads a value. */
  get<T>(name: string): Promise<T | undefined>;
  /** Writes a value. The runtime delays responses until the value is on disk. */
  put(name: string, value: unknown): Promise<void>;
}

/** Members of a Durable Object's state that {@linkcode RateLimiterObject} uses. */
export interface ObjectContext {
  /** Storage of the object. */
  storage: ObjectStorage;
}

/** Wall clock, because a state outlives the process. */
const objectClock: Clock = {
  now: () => Date.now(),
  sleep: (milliseconds) => new Promise((resolve) => setTimeout(resolve, milliseconds)),
};

/**
 * Durable Object that limits the rate of the requests with one API key to one origin. Export it from a
 * Worker; {@linkcode durableObjectRateLimiter} sends its messages.
 *
 * It survives a restart: its storage contains the permit, the time of the last request and the penalties.
 * Requests that wait return to their places with their next poll.
 *
 * @example The class that `wrangler.jsonc` names
 * ```ts
 * export { default, RateLimiterObject } from "@weir/datastream/cloudflare";
 * ```
 */
export class RateLimiterObject {
  readonly #storage: ObjectStorage;
  readonly #clock: Clock;
  #loading: Promise<Gate> | undefined;

  /**
   * Creates the object. The runtime calls the constructor.
   *
   * @param context State of the object, from the runtime
   * @param _environment Bindings of the Worker; not used
   * @param clock Clock for tests. Default: the wall clock
   */
  constructor({ storage }: ObjectContext, _environment?: unknown, clock: Clock = objectClock) {
    this.#storage = storage;
    this.#clock = clock;
  }

  /**
   * Responds to a message of {@linkcode durableObjectRateLimiter}.
   *
   * @param request Message; the path is its type
   * @returns The result as JSON
   */
  async fetch(request: Request): Promise<Response> {
    const gate = await (this.#loading ??= this.#load());
    const message = await request.json();
    const { id } = message;
    const now = this.#clock.now();
    switch (new URL(request.url).pathname) {
      case "/acquire":
        return Response.json(await this.#acquire(gate, message, request.signal));
      case "/extend":
        return Response.json(extend(gate, id, now)); // not stored: see #load()
      case "/release":
        if (release(gate, id, message, now)) await this.#save(gate);
        return Response.json(null);
      case "/penalize":
        penalize(gate, message.blockTime, now);
        await this.#save(gate);
        return Response.json(null);
      default:
        return new Response("Unknown message\n", { status: 404 });
    }
  }

  async #acquire(gate: Gate, message: AcquireMessage, signal: AbortSignal): Promise<AcquireAnswer> {
    const { requestsPerSecond, maxWait } = message;
    const terms = {
      requestsPerSecond: requestsPerSecond ?? Infinity,
      maxWait: maxWait ?? Infinity,
    }; // not in JSON
    const clock = this.#clock;
    const answer = await waitForPermit(gate, { ...message, ...terms }, MAX_POLL_TIME, clock, signal)
      .catch(() => ({ wait: 0 })); // the connection was closed
    if ("granted" in answer) await this.#save(gate);
    return answer;
  }

  async #load(): Promise<Gate> {
    try {
      const gate = await this.#storage.get<Gate>(STATE) ?? createGate(true);
      // Extensions are not stored. A holder that is running extends its permit within a second.
      if (gate.holder !== undefined) gate.holder.seenAt = this.#clock.now();
      return gate;
    } catch (error) {
      this.#loading = undefined; // the next message tries again
      throw error;
    }
  }

  /** Stores the state. Requests that wait are not stored: they send their messages again. */
  #save(gate: Gate): Promise<void> {
    return this.#storage.put(STATE, { ...gate, queue: [] });
  }
}
