import type { Clock } from "../../src/clock.ts";
import {
  createGate,
  type Gate,
  type GateMessages,
  openGate,
} from "../../src/client/rate_limiter.ts";
import { MAX_POLL_TIME } from "../../src/client/shared_limiter.ts";

/** Name of the state in the storage of the object. Change it with the format. */
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
  readonly #gate: GateMessages;

  /**
   * Creates the object. The runtime calls the constructor.
   *
   * @param context State of the object, from the runtime
   * @param _environment Bindings of the Worker; not used
   * @param clock Clock for tests. Default: the wall clock
   */
  constructor({ storage }: ObjectContext, _environment?: unknown, clock: Clock = objectClock) {
    let gate: Gate | undefined;
    async function load(): Promise<Gate> {
      const stored = await storage.get<Gate>(STATE) ?? createGate(true);
      // Extensions are not stored. A holder that is running extends its permit within a second.
      return { ...stored, seenAt: clock.now() };
    }
    async function change<T>(apply: (gate: Gate, now: number) => T): Promise<T> {
      const loaded = gate ?? await load();
      gate ??= loaded; // another message may have loaded it first
      const stored = storedFields(gate);
      const result = apply(gate, clock.now());
      if (storedFields(gate) !== stored) await storage.put(STATE, gate);
      return result;
    }
    this.#gate = openGate(change, { pollTime: MAX_POLL_TIME }, clock);
  }

  /**
   * Responds to a message of {@linkcode durableObjectRateLimiter}.
   *
   * @param request Message; the path is its type
   * @returns The result as JSON
   */
  async fetch(request: Request): Promise<Response> {
    const { id, blockTime, ...rest } = await request.json();
    const { acquire, extend, release, penalize } = this.#gate;
    const leave = () => void release(id, {});
    const messages: Record<string, () => unknown> = {
      "/acquire": () => {
        request.signal.addEventListener("abort", leave); // the connection is closed
        return acquire({ id, ...rest })
          .finally(() => request.signal.removeEventListener("abort", leave));
      },
      "/extend": () => extend(id),
      "/release": () => release(id, rest),
      "/penalize": () => penalize(blockTime),
    };
    const answer = messages[new URL(request.url).pathname];
    if (answer === undefined) return new Response("Unknown message\n", { status: 404 });
    return Response.json(await answer() ?? null);
  }
}

/** Text that differs after each change that must be stored. */
function storedFields({ holder, blockedUntil, slowdown }: Gate): string {
  return `${holder} ${blockedUntil} ${slowdown}`;
}
