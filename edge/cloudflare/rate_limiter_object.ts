import type { Clock } from "../../src/clock.ts";
import {
  createRateLimitState,
  extendPermit,
  leaveQueue,
  penalizeKey,
  type Poll,
  pollPermit,
  type PollResult,
  type RateLimitState,
  type Release,
  releasePermit,
} from "../../src/client/rate_limit_state.ts";

/** Maximum time (ms) for which the object holds a poll. It then answers that the request still waits. */
export const MAX_POLL_TIME = 2_500;
/** Name of the state in the storage of the object. */
const STATE = "state";

/** The part of a Durable Object's storage that {@linkcode RateLimiterObject} uses. */
export interface ObjectStorage {
  /** Reads a value. */
  get<T>(name: string): Promise<T | undefined>;
  /** Writes a value. The runtime holds responses back until it is on disk. */
  put(name: string, value: unknown): Promise<void>;
}

/** The part of a Durable Object's state that {@linkcode RateLimiterObject} uses. */
export interface ObjectContext {
  /** Storage of the object. */
  storage: ObjectStorage;
}

/** Bodies of the messages to the object, by their paths. */
export interface ObjectMessages {
  "/poll": PollMessage;
  "/extend": { id: string };
  "/release": Release & { id: string };
  "/leave": { id: string };
  "/penalize": { blockTime: number };
}

/** A poll of a request that waits. All requests to an object have the same API key. */
export interface PollMessage extends Pick<Poll, "id" | "maxWait"> {
  /** Maximum number of requests that start per second; `null` for no limit, because JSON has no `Infinity`. */
  requestsPerSecond: number | null;
  /** Time (ms) for which the request has waited. Its place in the queue follows from it. */
  waited: number;
}

/** A waiter in the queue. */
type Waiter = RateLimitState["waiters"][number] & {
  /** Time at which the request began to wait. */
  since: number;
};

/** Clock of objects: that of the day, because a state outlives the process. */
const objectClock: Clock = {
  now: () => Date.now(),
  sleep: (milliseconds) => new Promise((resolve) => setTimeout(resolve, milliseconds)),
};

/**
 * Durable Object that limits the rate of the requests with one API key to one origin. Export it from a
 * Worker; `durableObjectRateLimiter()` sends its messages.
 *
 * It survives a restart: the permit, the time of the last request and the penalties are in its storage, and
 * requests that wait return to their places with their next poll.
 *
 * @example The class that `wrangler.jsonc` names
 * ```ts
 * export { default, RateLimiterObject } from "@weir/datastream/cloudflare";
 * ```
 */
export class RateLimiterObject {
  readonly #storage: ObjectStorage;
  readonly #clock: Clock;
  #loading: Promise<RateLimitState> | undefined;

  /**
   * @param context State of the object, from the runtime
   * @param _environment Bindings of the Worker; not used
   * @param clock Clock for tests. Default: the time of the day
   */
  constructor({ storage }: ObjectContext, _environment?: unknown, clock: Clock = objectClock) {
    this.#storage = storage;
    this.#clock = clock;
  }

  /**
   * Responds to a message of `durableObjectRateLimiter()`.
   *
   * @param request Message; the path is its type
   * @returns The result as JSON
   */
  async fetch(request: Request): Promise<Response> {
    const state = await this.#load();
    const body = await request.json();
    switch (new URL(request.url).pathname as keyof ObjectMessages) {
      case "/poll":
        return Response.json(await this.#poll(state, body, request.signal));
      case "/extend":
        return Response.json(await this.#extend(state, body));
      case "/release":
        // Not stored: after a restart, the permit expires.
        releasePermit(state, body.id, body, this.#clock.now());
        return Response.json(null);
      case "/leave":
        leaveQueue(state, body.id, this.#clock.now());
        return Response.json(null);
      case "/penalize":
        penalizeKey(state, undefined, body.blockTime, this.#clock.now());
        await this.#save(state);
        return Response.json(null);
      default:
        return new Response("Unknown message\n", { status: 404 });
    }
  }

  /** Waits for the permit. */
  async #poll(
    state: RateLimitState,
    { id, maxWait, waited, ...message }: PollMessage,
    signal: AbortSignal,
  ): Promise<PollResult> {
    const start = this.#clock.now();
    const requestsPerSecond = message.requestsPerSecond ?? Infinity;
    const isWaiting = () => state.waiters.some((waiter) => waiter.id === id);
    // The response to the poll that got the permit was lost.
    if (await this.#extend(state, { id })) return { status: "granted" };
    if (!isWaiting()) insertWaiter(state, { id, key: undefined, polledAt: start, since: start - waited });
    for (let now = start; isWaiting(); now = this.#clock.now()) {
      if (signal.aborted) {
        leaveQueue(state, id, now);
        break;
      }
      const result = pollPermit(state, {
        id,
        requestsPerSecond,
        isFirst: false,
        maxWait: maxWait === undefined ? undefined : maxWait - (now - start),
      }, now);
      if (result.status === "granted") await this.#save(state);
      if (result.status !== "waiting") return result;
      const remaining = start + MAX_POLL_TIME - now;
      if (remaining <= 0) break;
      await this.#clock.sleep(Math.min(result.delay, remaining));
    }
    return state.holder?.id === id ? { status: "granted" } : { status: "waiting", delay: 0 };
  }

  /** Extends the permit of a request. Returns whether the request has it. */
  async #extend(state: RateLimitState, { id }: { id: string }): Promise<boolean> {
    const isHolder = extendPermit(state, id, this.#clock.now());
    if (isHolder) await this.#save(state);
    return isHolder;
  }

  #load(): Promise<RateLimitState> {
    const load = async () => {
      try {
        return await this.#storage.get<RateLimitState>(STATE) ?? createRateLimitState(true);
      } catch (error) {
        this.#loading = undefined; // the next message tries again
        throw error;
      }
    };
    return this.#loading ??= load();
  }

  /** Stores the state. Waiters are not stored: they poll again. */
  #save(state: RateLimitState): Promise<void> {
    return this.#storage.put(STATE, { ...state, waiters: [] });
  }
}

/** Adds a waiter in the order in which the requests began to wait. */
function insertWaiter(state: RateLimitState, waiter: Waiter): void {
  const waiters = state.waiters as Waiter[];
  const next = waiters.findIndex(({ since }) => since > waiter.since);
  waiters.splice(next < 0 ? waiters.length : next, 0, waiter);
}
