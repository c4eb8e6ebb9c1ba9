/**
 * The server of CSV downloads from [DataStream](https://datastream.org) for Cloudflare Workers, with one rate
 * limit for all isolates.
 *
 * Cloudflare runs a Worker in many isolates. Each of them would send two requests per second to DataStream,
 * whose limit is two per second for an API key. With this module, all isolates get their permits from one
 * Durable Object.
 *
 * ## Use
 *
 * The module of the Worker:
 *
 * ```ts ignore
 * export { default, RateLimiterObject } from "@weir/datastream/cloudflare";
 * ```
 *
 * `wrangler.jsonc` binds the class to the name `RATE_LIMITER`:
 *
 * ```json
 * {
 *   "main": "worker.ts",
 *   "compatibility_date": "2026-05-03",
 *   "compatibility_flags": ["enable_request_signal", "nodejs_compat"],
 *   "durable_objects": {
 *     "bindings": [{ "name": "RATE_LIMITER", "class_name": "RateLimiterObject" }]
 *   },
 *   "migrations": [{ "tag": "v1", "new_sqlite_classes": ["RateLimiterObject"] }]
 * }
 * ```
 *
 * ## Runtimes
 *
 * Cloudflare Workers. Other runtimes can import the module, but not serve its default export.
 *
 * ## Configuration
 *
 * The default export is the server of `@weir/datastream/serve`, configured by environment variables. Without
 * the binding, each isolate has a rate limit of its own.
 *
 * The page `docs/deploying.md` in the repository describes the deployment and its costs.
 *
 * @module
 */
import { createWorkersEntry, type ServerEntry } from "../entries.ts";
import { durableObjectRateLimiter, type ObjectNamespace } from "./object_rate_limiter.ts";

export {
  durableObjectRateLimiter,
  type ObjectLimiterOptions,
  type ObjectNamespace,
  type ObjectStub,
} from "./object_rate_limiter.ts";
export {
  type ObjectContext,
  type ObjectStorage,
  RateLimiterObject,
} from "./rate_limiter_object.ts";
export type { ServerEntry };

/** Not a literal type, so that other runtimes and bundlers do not resolve it. */
const WORKERS_MODULE: string = "cloudflare:workers";

let workers: { waitUntil?: (promise: Promise<unknown>) => void } | undefined;

const server: ServerEntry = createWorkersEntry(console, ({ RATE_LIMITER: namespace }) => {
  if (namespace === undefined) return {};
  const waitUntil = (promise: Promise<unknown>) => workers?.waitUntil?.(promise);
  return {
    rateLimiter: durableObjectRateLimiter(namespace as ObjectNamespace, { waitUntil }),
  };
});

/**
 * The server that Workers start.
 *
 * @example The module of a Worker
 * ```ts ignore
 * export { default, RateLimiterObject } from "@weir/datastream/cloudflare";
 * ```
 */
const worker: ServerEntry = {
  ...server,
  async fetch(request, bindings, worker) {
    // Imported here, because a module with a top-level await cannot be loaded with `require()`.
    workers ??= await import(WORKERS_MODULE).catch(() => ({})) as NonNullable<typeof workers>;
    return await server.fetch(request, bindings, worker);
  },
};
export default worker;
