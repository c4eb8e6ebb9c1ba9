import { type Clock, systemClock } from "../../src/clock.ts";
import { type Gate, type GateMessages, NEW_GATE, openGate } from "../../src/client/rate_limiter.ts";
import { MAX_POLL_TIME } from "../../src/client/shared_limiter.ts";

/** Change it with the format of the state. */
const STATE = "gate-2";

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
 * It survives a restart: its storage contains the permit, the time of the last request and the penalties.
 * Requests that wait return to their places with their next poll.
 *
 * @example The class that `wrangler.jsonc` names
 * ```ts
 * export { default, RateLimiterObject } from "@weir/datastream/cloudflare";
 * ```
 */
export class RateLimiterObject {
  readonly #gate: GateMessages;

  /** The runtime calls the constructor. `clock` is for tests; default: the wall clock. */
  constructor({ storage }: ObjectContext, _environment?: unknown, clock: Clock = objectClock) {
    let gate: Gate | undefined;
    async function change<T>(apply: (gate: Gate, now: number) => T): Promise<T> {
      if (gate === undefined) {
        const stored = await storage.get<Gate>(STATE) ?? NEW_GATE;
        // Extensions are not stored. A holder that is running extends its permit within a second.
        gate ??= { ...stored, seenAt: clock.now() }; // another message may have loaded it first
      }
      const before = storedFields(gate);
      const result = apply(gate, clock.now());
      if (storedFields(gate) !== before) await storage.put(STATE, gate);
      return result;
    }
    this.#gate = openGate(change, clock, MAX_POLL_TIME);
  }

  /** Responds to a message of {@linkcode durableObjectRateLimiter} with JSON. */
  async fetch(request: Request): Promise<Response> {
    const message = await request.json();
    const name = new URL(request.url).pathname.slice(1);
    const gate: Partial<Record<string, (message: never) => unknown>> = { ...this.#gate };
    const answer = gate[name];
    if (answer === undefined) return new Response("Unknown message\n", { status: 404 });
    // A request whose connection is closed leaves the queue.
    const leave = () => name === "acquire" && this.#gate.release({ id: message.id });
    request.signal.addEventListener("abort", leave);
    try {
      return Response.json(await answer(message as never) ?? null);
    } finally {
      request.signal.removeEventListener("abort", leave);
    }
  }
}

/** Differs after each change that must be stored. */
function storedFields({ holder, blockedUntil, slowdown }: Gate): string {
  return `${holder} ${blockedUntil} ${slowdown}`;
}
