import { type Clock, systemClock } from "../../../src/clock.ts";
import {
  type Answer,
  createLimiter,
  type RateLimiter,
  sendUntilAnswered,
} from "../../../src/client/rate_limiter.ts";

/** Methods of a Durable Object's stub that the rate limiter uses. */
export interface ObjectStub {
  /** Sends a request to the object. */
  fetch(url: string, init: RequestInit): Promise<Response>;
}

/**
 * Methods of a Durable Object namespace, a binding of the Worker, that the rate limiter uses.
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
   * `waitUntil` of `cloudflare:workers`. It is needed to release a permit after the client has
   * disconnected. Without it, such a permit expires after 5 s.
   */
  waitUntil?: ((promise: Promise<unknown>) => void) | undefined;
  /** Clock for tests. Default: the clock of the process. */
  clock?: Clock;
}

/** The object uses only the paths of the URLs. */
const OBJECT_URL = "https://rate-limiter.invalid";

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
  return createLimiter(
    ({ origin, keyHash }) => {
      const id = namespace.idFromName(`${origin} ${keyHash ?? "without a key"}`);
      const messageTo = <T>(path: string) => async (message: object): Promise<T> => {
        const init = { method: "POST", body: JSON.stringify(message) };
        // A stub belongs to one request of the Worker, and is not usable after an error.
        const response = await namespace.get(id).fetch(OBJECT_URL + path, init);
        if (response.status === 200) return await response.json();
        throw new Error(`the Durable Object responded to ${path} with status ${response.status}`);
      };
      return {
        acquire: messageTo<Answer>("/acquire"),
        extend: messageTo<boolean>("/extend"),
        release: messageTo("/release"),
        report: messageTo("/report"),
      };
    },
    clock,
    sendUntilAnswered(clock),
    waitUntil,
  );
}
