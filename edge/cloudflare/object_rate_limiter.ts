import { type Clock, systemClock } from "../../src/clock.ts";
import { createPollingLimiter, type RateLimitStore } from "../../src/client/polling_limiter.ts";
import type { RateLimiter, RateLimitTarget } from "../../src/client/rate_limiter.ts";
import type { PollResult } from "../../src/client/rate_limit_state.ts";
import type { ObjectMessages } from "./rate_limiter_object.ts";

/** Methods of a Durable Object's stub that the rate limiter uses. */
export interface ObjectStub {
  /** Sends a request to the object. */
  fetch(url: string, init: RequestInit): Promise<Response>;
}

/**
 * Methods of a Durable Object namespace that the rate limiter uses. The namespace is a binding of the Worker.
 *
 * @typeParam Id Type of the ids of objects
 */
export interface ObjectNamespace<Id = unknown> {
  /** Returns the id of the object with a name. */
  idFromName(name: string): Id;
  /** Returns a stub that sends requests to an object. */
  get(id: Id): ObjectStub;
}

/**
 * Options of {@linkcode durableObjectRateLimiter}.
 *
 * @example The function of a Worker
 * ```ts ignore
 * import { durableObjectRateLimiter, type ObjectLimiterOptions } from "@weir/datastream/cloudflare";
 * import { env, waitUntil } from "cloudflare:workers";
 *
 * const options: ObjectLimiterOptions = { waitUntil };
 * const rateLimiter = durableObjectRateLimiter(env.RATE_LIMITER, options);
 * ```
 */
export interface ObjectLimiterOptions {
  /**
   * `waitUntil` of `cloudflare:workers`, which keeps a request of the Worker running until a promise settles.
   * It is needed to release a permit after the client has disconnected. Without it, such a permit expires after
   * 5 s.
   */
  waitUntil?: ((promise: Promise<unknown>) => void) | undefined;
  /** Clock for tests. Default: the clock of the process. */
  clock?: Clock;
}

/** Origin of the URLs of messages. The object uses only their paths. */
const OBJECT_URL = "https://rate-limiter.invalid";
/** Delays (ms) before retries of a message that releases a permit, leaves the queue or penalizes the key. */
const RETRY_DELAYS = [100, 400, 1_600];

/**
 * Creates a rate limiter that all isolates of a Worker share: a Durable Object for each origin and API key.
 *
 * A request to DataStream takes at least two messages to the object: one acquires a permit, and one releases it.
 * Each message is a subrequest of the Worker. The page `docs/rate-limiting.md` in the repository describes the costs.
 *
 * If the object does not respond, requests wait for up to 10 seconds, and then fail.
 *
 * @param namespace Binding to the class {@linkcode RateLimiterObject}
 * @returns The rate limiter, for `createApp()` or `DataStream`
 *
 * @example An app with options in code
 * ```ts ignore
 * import { createApp } from "@weir/datastream/edge";
 * import { durableObjectRateLimiter } from "@weir/datastream/cloudflare";
 * import { env, waitUntil } from "cloudflare:workers";
 *
 * export { RateLimiterObject } from "@weir/datastream/cloudflare";
 * const rateLimiter = durableObjectRateLimiter(env.RATE_LIMITER, { waitUntil });
 * export default createApp({ access: "caller", rateLimiter });
 * ```
 */
export function durableObjectRateLimiter<Id>(
  namespace: ObjectNamespace<Id>,
  { waitUntil, clock = systemClock }: ObjectLimiterOptions = {},
): RateLimiter {
  const storeOf = ({ origin, keyHash }: RateLimitTarget) => {
    const name = `${origin} ${keyHash ?? "without a key"}`;
    return createStore(
      (path, body) => {
        // A stub belongs to one request of the Worker, and is not usable after an error.
        const stub = namespace.get(namespace.idFromName(name));
        return sendMessage(stub, path, body);
      },
      clock,
      waitUntil,
    );
  };
  return createPollingLimiter(storeOf, () => crypto.randomUUID(), clock);
}

type SendMessage = <Path extends keyof ObjectMessages>(
  path: Path,
  body: ObjectMessages[Path],
) => Promise<unknown>;

/** Creates the store of one permit. */
function createStore(
  send: SendMessage,
  clock: Clock,
  waitUntil: ObjectLimiterOptions["waitUntil"],
): RateLimitStore {
  const start = clock.now();
  // The caller does not retry these messages, and the request of the Worker may end before they are sent.
  const sendDetached: SendMessage = (path, body) => {
    const sent = sendWithRetries(() => send(path, body), clock);
    waitUntil?.(sent.catch(() => {}));
    return sent;
  };
  return {
    async poll({ id, requestsPerSecond, maxWait }) {
      return await send("/poll", {
        id,
        requestsPerSecond: requestsPerSecond === Infinity ? null : requestsPerSecond,
        maxWait,
        waited: clock.now() - start,
      }) as PollResult;
    },
    extend: async (id) => await send("/extend", { id }) as boolean,
    release: async (id, release) => void await sendDetached("/release", { id, ...release }),
    leave: async (id) => void await sendDetached("/leave", { id }),
    penalize: async (_key, blockTime) => void await sendDetached("/penalize", { blockTime }),
  };
}

/** Sends a message to the object, and returns its result. */
async function sendMessage(stub: ObjectStub, path: string, body: object): Promise<unknown> {
  const response = await stub.fetch(OBJECT_URL + path, {
    method: "POST",
    body: JSON.stringify(body),
  });
  if (response.status !== 200) {
    throw new Error(`the Durable Object responded to ${path} with status ${response.status}`);
  }
  return await response.json();
}

/** Sends a message, and retries after an error. */
async function sendWithRetries(send: () => Promise<unknown>, clock: Clock): Promise<unknown> {
  for (const delay of RETRY_DELAYS) {
    try {
      return await send();
    } catch {
      await clock.sleep(delay);
    }
  }
  return await send();
}
