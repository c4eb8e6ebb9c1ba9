import { ValidationError } from "../errors.ts";
import { PRODUCTION_URL, QA_URL } from "../service_roots.ts";
import { describe, requireOptions } from "../validation.ts";
import { VERSION } from "../version.ts";
import { type Clock, systemClock } from "./clock.ts";
import type { Service } from "./fetch_page.ts";
import { DEFAULT_RETRY, type RetryPolicy } from "./retry.ts";
import { DEFAULT_TIMEOUTS, type Timeouts } from "./timeouts.ts";
import { fetchOnce } from "./transport.ts";

/** The most requests a second that the service allows (water-quality-api, Limits). */
const SERVICE_LIMIT = 2;
/** The longest time that an option can set, in milliseconds: a turn must not be kept for ever. */
const LONGEST_TIME = 3_600_000;

/**
 * Options for a `DataStream` client.
 *
 * @example A server of one's own: faster, and quick to give up
 * ```ts
 * import { DataStream, type DataStreamOptions } from "@weir/datastream";
 * import { assert } from "@std/assert";
 *
 * const options: DataStreamOptions = {
 *   baseUrl: "http://localhost:8000/v1/odata/v4",
 *   requestsPerSecond: 20,
 *   retry: { attempts: 2 },
 *   timeouts: { headers: 5_000 },
 * };
 * assert(new DataStream(options).records().url.startsWith("http://localhost:8000/"));
 * ```
 */
export interface DataStreamOptions {
  /**
   * The API key, sent as `x-api-key` to the base URL's origin and nowhere else. White space around it
   * is an error: trim a key that is read from a file. Default: none.
   */
  apiKey?: string | undefined;
  /** The root address of the service. Default `PRODUCTION_URL`. */
  baseUrl?: string | undefined;
  /**
   * How many requests may start in a second, one at a time, counting every client of this process
   * that talks to the same origin: the lowest rate that one of them has asked for in the last
   * minute holds for all. Default 2, the service's limit; more is for one's own server, Infinity
   * for tests.
   */
  requestsPerSecond?: number | undefined;
  /**
   * The name of the caller's product, and its version: `my-app/1.0`. It stands before Weir's own in
   * `user-agent`, which no browser lets a script set. Default: none.
   */
  userAgent?: string | undefined;
  /** How faults are met; what is left out is as by default. */
  retry?: Partial<RetryPolicy> | undefined;
  /** How long the service may give no sign; what is left out is as by default. */
  timeouts?: Partial<Timeouts> | undefined;
  /**
   * Function that sends a request. Default: the global `fetch`, in Deno and Bun with a new connection
   * for each request, because these runtimes repeat a request by themselves when a reused connection
   * breaks, which would exceed the rate limit.
   */
  fetch?: ((request: Request) => Promise<Response>) | undefined;
  /** The clock to wait by. Default: the process's own; leave it but in tests. */
  clock?: Clock | undefined;
}

const KEYS: Record<keyof DataStreamOptions, true> = {
  apiKey: true,
  baseUrl: true,
  requestsPerSecond: true,
  userAgent: true,
  retry: true,
  timeouts: true,
  fetch: true,
  clock: true,
};

/**
 * Checks the options of a client and fills in the rest.
 *
 * @throws {ValidationError} If an option is unknown or invalid, or the base URL would send the key
 *   unencrypted
 */
export function toService(options: DataStreamOptions): Service {
  requireOptions("DataStream", options, Object.keys(KEYS));
  const {
    apiKey,
    baseUrl = PRODUCTION_URL,
    requestsPerSecond = SERVICE_LIMIT,
    userAgent,
    fetch = fetchOnce,
    clock = systemClock,
  } = options;
  requireAddress(baseUrl, apiKey !== undefined);
  requireRate(requestsPerSecond, baseUrl);
  if (typeof fetch !== "function") {
    throw new ValidationError("fetch", `must be a function, got ${describe(fetch)}`);
  }
  if (apiKey !== undefined) requireKey(apiKey);
  const retry = withDefaults("retry", DEFAULT_RETRY, options.retry);
  const timeouts = withDefaults("timeouts", DEFAULT_TIMEOUTS, options.timeouts);
  requireNumber("retry.attempts", retry.attempts, 1, 1_000);
  if (!Number.isInteger(retry.attempts)) {
    throw new ValidationError("retry.attempts", `must be a whole number, got ${retry.attempts}`);
  }
  requireNumber("retry.backoff", retry.backoff, 0, LONGEST_TIME);
  requireNumber("retry.retryAfter", retry.retryAfter, 0, LONGEST_TIME);
  requireNumber("timeouts.headers", timeouts.headers, 1, LONGEST_TIME);
  requireNumber("timeouts.bytes", timeouts.bytes, 1, LONGEST_TIME);
  return {
    apiKey,
    baseUrl: new URL(baseUrl).href,
    requestsPerSecond,
    retry,
    timeouts,
    fetch,
    clock,
    headers: {
      accept: "application/vnd.api+json",
      "user-agent": toUserAgent(userAgent),
      ...(apiKey !== undefined && { "x-api-key": apiKey }),
    },
  };
}

/** Rejects a key that no header can hold. One that was read from a file often ends with a line feed. */
function requireKey(apiKey: unknown): void {
  const fits = (form: RegExp) => typeof apiKey === "string" && form.test(apiKey);
  if (fits(/^[\x21-\x7e]+$/)) return;
  throw fits(/^\s*[\x21-\x7e]+\s*$/)
    ? new ValidationError("apiKey", "begins or ends with white space, such as a line feed", {
      hint: "pass apiKey.trim()",
    })
    : new ValidationError("apiKey", "must be visible ASCII characters, got others (not shown)");
}

function withDefaults<T extends object>(
  name: string,
  defaults: T,
  given: Partial<T> | undefined = {},
): T {
  requireOptions("DataStream", given, Object.keys(defaults), name);
  const set = Object.entries(given).filter(([, value]) => value !== undefined);
  return { ...defaults, ...Object.fromEntries(set) };
}

function requireNumber(name: string, value: number, least: number, most: number): void {
  if (typeof value === "number" && value >= least && value <= most) return;
  throw new ValidationError(
    name,
    `must be a number from ${least} to ${most}, got ${describe(value)}`,
    { received: value },
  );
}

function requireAddress(baseUrl: string, hasKey: boolean): void {
  if (!URL.canParse(baseUrl)) {
    // What came is not shown: it may be a key that stands in the wrong place.
    throw new ValidationError(
      "baseUrl",
      `must be an absolute URL such as ${PRODUCTION_URL}, got other text`,
    );
  }
  const { protocol, hostname, username, password } = new URL(baseUrl);
  const loopback = hostname === "localhost" || hostname === "[::1]" ||
    /^127(\.\d{1,3}){3}$/.test(hostname);
  if (protocol !== "https:" && !(protocol === "http:" && (loopback || !hasKey))) {
    throw new ValidationError(
      "baseUrl",
      `must begin with https:// (http:// with a key is for loopback alone), got "${protocol}//${hostname}"`,
      { received: baseUrl },
    );
  }
  if (username || password || /[?#]/.test(baseUrl)) {
    throw new ValidationError(
      "baseUrl",
      "must have no user name, password, query or fragment",
    );
  }
}

function requireRate(requestsPerSecond: number, baseUrl: string): void {
  if (!(typeof requestsPerSecond === "number" && requestsPerSecond > 0)) {
    throw new ValidationError(
      "requestsPerSecond",
      `must be a number above 0, got ${describe(requestsPerSecond)}`,
      { received: requestsPerSecond },
    );
  }
  const { hostname } = new URL(baseUrl);
  const isService = [PRODUCTION_URL, QA_URL].some((root) =>
    // A host may be written with a dot at its end.
    hostname.replace(/\.$/, "") === new URL(root).hostname
  );
  if (isService && requestsPerSecond > SERVICE_LIMIT) {
    throw new ValidationError(
      "requestsPerSecond",
      `must be at most ${SERVICE_LIMIT} for the service, got ${requestsPerSecond}`,
      { received: requestsPerSecond },
    );
  }
}

const TOKEN = "[\\w!#$%&'*+.^`|~-]+";
const PRODUCT = `${TOKEN}(?:/${TOKEN})?`;
const COMMENT = "\\([ -'*-~]*\\)";
const USER_AGENT = new RegExp(`^${PRODUCT}(?: (?:${PRODUCT}|${COMMENT}))*$`);

/**
 * The `user-agent` to send: the caller's product before Weir's own.
 *
 * @param product Products and comments, as `my-app/1.0 (mailto:me@example.org)`
 * @returns The header's value; undefined in a browser, which ignores the header or asks the service
 *   for leave to send it
 * @throws {ValidationError} If it is not a list of products, because it could start another header
 *
 * Source: RFC 9110, section 10.1.5.
 */
export function toUserAgent(product: string | undefined): string | undefined {
  if (product !== undefined && !(typeof product === "string" && USER_AGENT.test(product))) {
    throw new ValidationError(
      "userAgent",
      `must be a product and its version such as "my-app/1.0", got ${describe(product)}`,
      { received: product },
    );
  }
  if (isBrowser()) return undefined;
  return `${product === undefined ? "" : `${product} `}weir/${VERSION}`;
}

/** Whether this is a page or a worker of a browser: every browser calls itself Mozilla. */
function isBrowser(): boolean {
  const { navigator } = globalThis as { navigator?: { userAgent?: string } };
  return navigator?.userAgent?.startsWith("Mozilla/") ?? false;
}
