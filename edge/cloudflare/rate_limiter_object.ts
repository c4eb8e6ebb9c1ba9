import type { Clock } from "../../src/clock.ts";
import {
  createRateLimitState,
  type Poll,
  type PollResult,
  type RateLimitState,
  type Release,
} from "../../src/client/rate_limit_state.ts";
import { createMemoryStore, type RateLimitStore } from "../../src/client/polling_limiter.ts";

/** Maximum time (ms) for which the object holds a poll open. Then it responds that the request still waits. */
export const MAX_POLL_TIME = 2_500;
/** Name of the state in the storage of the object. */
const STATE = "state";

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
  /** Time (ms) for which the request has waited. It determines the request's place in the queue. */
  waited: number;
}

/** A request that waits for the permit. */
type QueuedRequest = RateLimitState["waiters"][number] & {
  /** Time at which the request began to wait. */
  since: number;
};

/** A state, and the functions that change it. */
interface LoadedState {
  state: RateLimitState;
  store: RateLimitStore;
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
  #loading: Promise<LoadedState> | undefined;

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
    const { state, store } = await this.#load();
    const body = await request.json();
    switch (new URL(request.url).pathname as keyof ObjectMessages) {
      case "/poll":
        return Response.json(await this.#poll({ state, store }, body, request.signal));
      case "/extend":
        return Response.json(await this.#extend({ state, store }, body.id));
      case "/release":
        await store.release(body.id, body);
        // Not stored: after a restart, the permit expires.
        return Response.json(null);
      case "/leave":
        await store.leave(body.id);
        return Response.json(null);
      case "/penalize":
        await store.penalize(undefined, body.blockTime);
        await this.#save(state);
        return Response.json(null);
      default:
        return new Response("Unknown message\n", { status: 404 });
    }
  }

  /** Waits for the permit, but not longer than `MAX_POLL_TIME`. */
  async #poll(
    { state, store }: LoadedState,
    { id, maxWait, waited, ...message }: PollMessage,
    signal: AbortSignal,
  ): Promise<PollResult> {
    const requestsPerSecond = message.requestsPerSecond ?? Infinity;
    const start = this.#clock.now();
    const isKnown = () =>
      state.holder?.id === id || state.waiters.some((waiter) => waiter.id === id);
    if (!isKnown()) insertRequest(state, id, start, start - waited);
    // The request is no longer known if it has left the queue, or has received the permit through a later poll
    // and released it.
    for (let pollTime = 0; isKnown(); pollTime = this.#clock.now() - start) {
      if (signal.aborted) {
        await store.leave(id);
        break;
      }
      const result = await store.poll({
        id,
        requestsPerSecond,
        isFirst: false,
        maxWait: maxWait === undefined ? undefined : maxWait - pollTime,
      });
      if (result.status === "granted") {
        await this.#save(state);
        return { ...result, pollTime };
      }
      if (result.status === "refused") return result;
      if (pollTime >= MAX_POLL_TIME) break;
      await this.#clock.sleep(Math.min(result.delay, MAX_POLL_TIME - pollTime));
    }
    return { status: "waiting", delay: 0 };
  }

  /** Extends the permit of a request. Returns whether the request has it. */
  async #extend({ state, store }: LoadedState, id: string): Promise<boolean> {
    const isHolder = await store.extend(id);
    if (isHolder) await this.#save(state);
    return isHolder;
  }

  #load(): Promise<LoadedState> {
    const load = async () => {
      try {
        const stored = await this.#storage.get<RateLimitState>(STATE);
        const state = stored ?? createRateLimitState(true);
        return { state, store: createMemoryStore(state, () => this.#clock.now()) };
      } catch (error) {
        this.#loading = undefined; // the next message tries again
        throw error;
      }
    };
    return this.#loading ??= load();
  }

  /** Stores the state. Requests that wait are not stored: they poll again. */
  #save(state: RateLimitState): Promise<void> {
    return this.#storage.put(STATE, { ...state, waiters: [] });
  }
}

/** Inserts a request into the queue, which is ordered by the times at which the requests began to wait. */
function insertRequest(
  { waiters }: RateLimitState,
  id: string,
  polledAt: number,
  since: number,
): void {
  const request: QueuedRequest = { id, key: undefined, polledAt, since };
  const next = (waiters as QueuedRequest[]).findIndex((other) => other.since > since);
  waiters.splice(next < 0 ? waiters.length : next, 0, request);
}
