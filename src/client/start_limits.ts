import type { RateLimiter } from "./rate_limiter.ts";

/**
 * Limits for the requests that a server sends before a response has its first content. A client that waits longer
 * would take the server for dead.
 */
export interface StartLimits {
  /**
   * Returns the maximum time (ms) for which one page or count may wait for permits, and because of the header
   * `Retry-After`; `undefined` for no maximum.
   */
  maxWait(): number | undefined;
  /** Called when a request is sent. */
  onRequest(): void;
  /** Called when headers or bytes of a response arrive. */
  onBytes(): void;
}

/** Key of an internal option of `DataStream`: the `StartLimits` of its requests. */
export const START_LIMITS: unique symbol = Symbol("START_LIMITS");

/** Key of an internal option of `DataStream`: a function that wraps its rate limiter. */
export const WRAP_LIMITER: unique symbol = Symbol("WRAP_LIMITER");

/** Options of `DataStream` that are not public. */
export interface InternalOptions {
  [START_LIMITS]?: StartLimits | undefined;
  [WRAP_LIMITER]?: ((limiter: RateLimiter) => RateLimiter) | undefined;
}
