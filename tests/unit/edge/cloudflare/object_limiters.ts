import { durableObjectRateLimiter, type ObjectNamespace } from "../../../../edge/cloudflare/mod.ts";
import type { Clock, RateLimiter } from "../../../../mod.ts";
import type { LimiterSetup } from "../../client/rate_limiter_conformance.ts";

/** Creates limiters with the same Durable Objects, which a test can disconnect from them. */
export function createObjectLimiters(
  objects: ObjectNamespace<string>,
  clock: Clock,
): LimiterSetup {
  const disconnected = new Set<number>();
  const createLimiter = (isolate: number): RateLimiter =>
    durableObjectRateLimiter({
      idFromName: (name) => objects.idFromName(name),
      get: (id) => ({
        fetch(url, init) {
          if (disconnected.has(isolate)) return Promise.reject(new Error("disconnected"));
          return objects.get(id).fetch(url, init);
        },
      }),
    }, { clock });
  return {
    limiters: [createLimiter(0), createLimiter(1), createLimiter(2)],
    clock,
    disconnect: (isolate) => void disconnected.add(isolate),
    reconnect: (isolate) => void disconnected.delete(isolate),
  };
}
