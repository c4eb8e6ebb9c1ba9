import { type Clock, systemClock } from "../../../src/clock.ts";
import {
  createPermitQueue,
  type LimiterState,
  MAX_POLL_TIME,
  NEW_STATE,
  type PermitQueue,
} from "../../../src/client/rate_limiter.ts";

/** Change it with the format of the state. */
const STATE = "state-3";

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
const objectClock: Clock = { ...systemClock, now: () => Date.now() };

/**
 * Durable Object that limits the rate of the requests with one API key to one origin. Export it from a
 * Worker; {@linkcode durableObjectRateLimiter} sends its messages.
 *
 * It survives a restart: its storage contains the permit, the time of the last request and the state of the service.
 * Requests that wait return to their places with their next poll.
 *
 * @example The class that `wrangler.jsonc` names
 * ```ts
 * export { default, RateLimiterObject } from "@weir/datastream/cloudflare";
 * ```
 */
export class RateLimiterObject {
  readonly #queue: PermitQueue;

  /** The runtime calls the constructor. `clock` is for tests; default: the wall clock. */
  constructor({ storage }: ObjectContext, _environment?: unknown, clock: Clock = objectClock) {
    let state: LimiterState | undefined;
    async function change<T>(apply: (state: LimiterState, now: number) => T): Promise<T> {
      if (state === undefined) {
        const stored = await storage.get<LimiterState>(STATE) ?? NEW_STATE;
        // Extensions are not stored. A holder that is running extends its permit within a second.
        state ??= { ...stored, seenAt: clock.now() }; // another message may have loaded it first
      }
      const before = storedFields(state);
      const result = apply(state, clock.now());
      if (storedFields(state) !== before) await storage.put(STATE, state);
      return result;
    }
    this.#queue = createPermitQueue(change, clock, MAX_POLL_TIME);
  }

  /** Responds to a message of {@linkcode durableObjectRateLimiter} with JSON. */
  async fetch(request: Request): Promise<Response> {
    const message = await request.json();
    const name = new URL(request.url).pathname.slice(1);
    const messages: Partial<Record<string, (message: never) => unknown>> = { ...this.#queue };
    const answer = messages[name];
    if (answer === undefined) return new Response("Unknown message\n", { status: 404 });
    // A request whose connection is closed leaves the queue.
    const leave = () => name === "acquire" && this.#queue.release({ id: message.id });
    request.signal.addEventListener("abort", leave);
    try {
      return Response.json(await answer(message as never) ?? null);
    } finally {
      request.signal.removeEventListener("abort", leave);
    }
  }
}

/** Differs after each change that must be stored. */
function storedFields({ holder, blockedUntil, slowdown, checkedAt, targetLength }: LimiterState) {
  return `${holder} ${blockedUntil} ${slowdown} ${checkedAt} ${targetLength}`;
}
