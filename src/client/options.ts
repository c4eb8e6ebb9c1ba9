import { sha256Hex } from "../bytes.ts";
import type { DataStreamError } from "../errors.ts";
import {
  API_KEY_PATTERN,
  isOfService,
  MAX_REQUESTS_PER_SECOND,
  PRODUCTION_URL,
  SERVICE_MEDIA_TYPE,
} from "../service_constants.ts";
import { TOKEN } from "../endpoint/merge.ts";
import {
  invalidOption,
  invalidValue,
  type OptionRule,
  readMembers,
  readOptions,
  requirePositive,
  requireType,
} from "../validation.ts";
import { VERSION } from "../version.ts";
import { type Clock, systemClock } from "../clock.ts";
import { processLimiter, type RateLimiter, type RateLimitTarget } from "./rate_limiter.ts";

/** Maximum (ms) of each time, so that no request blocks the queue indefinitely. */
const MAX_TIME = 3_600_000;
const MAX_ATTEMPTS = 1_000;

/**
 * Options for a `DataStream` client.
 *
 * @example A server of your own, with a higher rate and a short timeout
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
   * The API key. It is sent as `x-api-key`, to the origin of the base URL only. White space at either
   * end is an error: trim a key that was read from a file. Default: none.
   */
  apiKey?: string | undefined;
  /** Root URL of the service. Default `PRODUCTION_URL`. */
  baseUrl?: string | undefined;
  /**
   * Maximum number of requests that start per second. They are sent one at a time. All clients of this
   * process with the same origin and key share one limit: between two requests, the longer interval of both applies.
   * Default 2, the service's limit. More is for other servers; `Infinity` is for tests.
   */
  requestsPerSecond?: number | undefined;
  /**
   * Name and version of your product, such as `my-app/1.0`. It precedes Weir's own in the
   * `user-agent` header, which scripts cannot set in a browser. Default: none.
   */
  userAgent?: string | undefined;
  /** Retry options. All times are in whole milliseconds. */
  retry?: {
    /**
     * Maximum number of requests for one page or one count, from 1 to 1000. Delivered rows restart the
     * number. With more than 1, responses with status 429 are not counted: Weir waits up to 15 minutes until the
     * service accepts requests again. Default 6.
     */
    attempts?: number;
    /** Maximum sum of the backoff delays for one page or one count, from 0 to 3600000. Default 30000. */
    backoff?: number;
    /**
     * Maximum delay that is accepted from the response header `Retry-After`, from 0 to 3600000. If the
     * service asks for a longer one, the query fails. Default 120000.
     */
    retryAfter?: number;
  } | undefined;
  /** Timeouts of each request, in milliseconds. */
  timeouts?: {
    /** Maximum time from a request's start to the response headers, 1 to 3600000. Default 45000. */
    headers?: number;
    /** Maximum time between two chunks of the body (idle timeout), from 1 to 3600000. Default 30000. */
    bytes?: number;
  } | undefined;
  /**
   * Function that sends a request. Default: the global `fetch`, in Deno and Bun with a new connection
   * for each request. These runtimes repeat a request by themselves when a reused connection breaks, which
   * would exceed the rate limit. If it returns anything but a `Response`, the query fails with a `TypeError`.
   */
  fetch?: ((request: Request) => Response | Promise<Response>) | undefined;
  /**
   * Rate limiter that several processes share, such as the one of `@weir/datastream/deno-kv`. It is given a
   * hash of the API key, never the key. Default: the limiter of this process.
   */
  rateLimiter?: RateLimiter | undefined;
  /**
   * Maximum time (ms) for which one page or count waits for the rate limiter, and because of the header `Retry-After`,
   * from 0 to 3600000. After it, the query fails. It does not apply after rows were delivered, or after a cursor.
   * Default: no maximum.
   */
  maxWait?: number | undefined;
  /**
   * Maximum time (ms) between two requests while a query waits because the service gives no answers, from 0 to 3600000:
   * a cheap request tries whether it answers again. For servers, whose clients wait. Default: none is sent.
   */
  probeInterval?: number | undefined;
  /**
   * Called before each delay after which a request is repeated, with the error and the delay in milliseconds. It must not
   * throw. Default: none.
   */
  onRetry?: ((fault: DataStreamError, wait: number) => void) | undefined;
  /** Clock, for tests. Default: the clock of the process. */
  clock?: Clock | undefined;
}

export type RetryPolicy = Required<NonNullable<DataStreamOptions["retry"]>>;

export interface ClientSettings
  extends
    Required<Pick<DataStreamOptions, "fetch" | "requestsPerSecond" | "clock" | "rateLimiter">>,
    Pick<DataStreamOptions, "maxWait" | "probeInterval" | "onRetry"> {
  baseUrl: string;
  headers: Record<string, string | undefined>;
  retry: RetryPolicy;
  timeouts: Required<NonNullable<DataStreamOptions["timeouts"]>>;
  /** Error messages that quote the service show `[key]` instead of it. */
  apiKey: string | undefined;
  /** `keyHash` is the key itself for the limiter of the process. */
  target: () => RateLimitTarget | Promise<RateLimitTarget>;
}

/** Rules of a time in milliseconds. */
const TIME = { min: 0, max: MAX_TIME };
const TIMEOUT = { min: 1, max: MAX_TIME };

const withFunctions = (...names: string[]): Pick<OptionRule, "check"> => ({
  check(option, value) {
    const members = readMembers(option, value, names);
    for (const name of names) requireType(`${option}.${name}`, members[name], "function");
  },
});

const CLIENT_OPTIONS = {
  apiKey: { default: undefined, check: requireApiKey },
  baseUrl: { default: PRODUCTION_URL },
  requestsPerSecond: { default: MAX_REQUESTS_PER_SECOND, check: requirePositive },
  userAgent: { check: requireUserAgent },
  retry: { default: {} },
  timeouts: { default: {} },
  fetch: { default: defaultFetch, type: "function" },
  rateLimiter: withFunctions("acquire"),
  maxWait: TIME,
  probeInterval: TIME,
  onRetry: { type: "function" },
  clock: { default: systemClock, ...withFunctions("now", "sleep") },
} satisfies Record<keyof DataStreamOptions, OptionRule>;

export const RETRY_OPTIONS = {
  attempts: { default: 6, min: 1, max: MAX_ATTEMPTS },
  backoff: { default: 30_000, ...TIME },
  retryAfter: { default: 120_000, ...TIME },
};

/** The service ends a request after 30 s; the network may add to that. */
export const TIMEOUT_OPTIONS = {
  headers: { default: 45_000, ...TIMEOUT },
  bytes: { default: 30_000, ...TIMEOUT },
};

export function toClientSettings(options: DataStreamOptions): ClientSettings {
  const given = readOptions("DataStream", options, CLIENT_OPTIONS);
  const { apiKey, baseUrl, requestsPerSecond, userAgent, fetch, clock, rateLimiter } = given;
  requireBaseUrl(baseUrl, apiKey !== undefined);
  requireRate(requestsPerSecond, baseUrl);
  return {
    apiKey,
    baseUrl: new URL(baseUrl).href,
    requestsPerSecond,
    retry: readOptions("DataStream", given.retry as RetryPolicy, RETRY_OPTIONS, "retry"),
    timeouts: readOptions(
      "DataStream",
      given.timeouts as ClientSettings["timeouts"],
      TIMEOUT_OPTIONS,
      "timeouts",
    ),
    fetch,
    clock,
    rateLimiter: rateLimiter ?? processLimiter(clock),
    maxWait: given.maxWait,
    probeInterval: given.probeInterval,
    onRetry: given.onRetry,
    target: createTarget(new URL(baseUrl).origin, apiKey, rateLimiter !== undefined),
    headers: {
      accept: SERVICE_MEDIA_TYPE,
      "user-agent": `${userAgent === undefined ? "" : `${userAgent} `}weir/${VERSION}`,
      ...(apiKey !== undefined && { "x-api-key": apiKey }),
    },
  };
}

/** The limiter of the process needs no hash: its state never leaves the process. */
function createTarget(
  origin: string,
  apiKey: string | undefined,
  isHashed: boolean,
): ClientSettings["target"] {
  // Not the promise: workerd ends a request that awaits a promise of another one.
  let keyHash = isHashed ? undefined : apiKey;
  return () =>
    keyHash === undefined && apiKey !== undefined
      ? sha256Hex(apiKey).then((hash) => ({ origin, keyHash: keyHash = hash }))
      : { origin, keyHash };
}

/** The message never contains the key. */
function requireApiKey(_: string, apiKey: unknown): void {
  const trimmed = typeof apiKey === "string" ? apiKey.trim() : undefined;
  if (trimmed === apiKey && API_KEY_PATTERN.test(trimmed!)) return;
  if (trimmed === "") {
    throw invalidOption("apiKey", "must not be empty", apiKey, "omit it, or set it");
  }
  // A key that was read from a file often ends with a line feed.
  const [problem, hint] = trimmed !== undefined && API_KEY_PATTERN.test(trimmed)
    ? ["begins or ends with white space, such as a line feed", "pass apiKey.trim()"]
    : [
      "must be visible ASCII characters, got others (not shown)",
      "send the key alone, without quotes or spaces",
    ];
  throw invalidOption("apiKey", problem!, undefined, hint);
}

/** The message shows at most the origin: the rest may be an API key. */
function requireBaseUrl(baseUrl: string, hasKey: boolean): void {
  const fail = (problem: string, hint = ""): never => {
    throw invalidOption("baseUrl", problem, undefined, hint);
  };
  if (typeof baseUrl !== "string" || !URL.canParse(baseUrl)) {
    fail(`must be an absolute URL such as ${PRODUCTION_URL}, got another value (not shown)`);
  }
  const { protocol, hostname, username, password } = new URL(baseUrl);
  const isLoopback = /^(localhost|\[::1\]|127(\.\d{1,3}){3})$/.test(hostname);
  if (protocol !== "https:" && !(protocol === "http:" && (isLoopback || !hasKey))) {
    fail(
      `must begin with https://, got "${protocol}//${hostname}"`,
      "http:// is accepted for loopback addresses, and for other hosts without {apiKey}",
    );
  }
  if (username || password || /[?#]/.test(baseUrl)) {
    fail(
      "must have no user name, password, query or fragment",
      "pass only the origin and the path",
    );
  }
}

function requireRate(requestsPerSecond: number, baseUrl: string): void {
  if (isOfService(baseUrl) && requestsPerSecond > MAX_REQUESTS_PER_SECOND) {
    const expected = `at most ${MAX_REQUESTS_PER_SECOND} for DataStream`;
    throw invalidValue("requestsPerSecond", expected, requestsPerSecond);
  }
}

const TOKEN_SOURCE = TOKEN.source.slice(1, -1); // without ^ and $
const PRODUCT = `${TOKEN_SOURCE}(?:/${TOKEN_SOURCE})?`;
const COMMENT = "\\([ -'*-~]*\\)";
// One match per part, because a group that repeats takes memory for each repetition.
const USER_AGENT_PART = new RegExp(` (?:${PRODUCT}|${COMMENT})`, "gy");

/**
 * Products and comments, such as `my-app/1.0 (mailto:me@example.org)` (RFC 9110, section 10.1.5). A
 * line feed could add another header.
 */
function requireUserAgent(option: string, product: unknown): void {
  const isProduct = typeof product === "string" && !product.startsWith("(") &&
    ` ${product}`.replace(USER_AGENT_PART, "") === "";
  if (isProduct) return;
  throw invalidValue(option, 'a product and its version such as "my-app/1.0"', product);
}

/**
 * In Deno and Bun over a new HTTP/1.1 connection: an HTTP client may repeat a GET by itself when its connection breaks
 * (RFC 9110, section 9.2.2) or an HTTP/2 server refuses its stream (RFC 9113, section 8.7). The service counts the
 * repetition, the rate limiter does not. Repetitions with a reused connection, 2026-11-22: Deno 2.9.6 (denoland/deno#32566),
 * Bun 1.4.5 (oven-sh/bun#28706), workerd 1.20261117 (capnproto/capnproto#2785), Chromium 156, and in HTTP/2
 * Node 26 (nodejs/undici#5598). Only Deno and Bun have an option that prevents it. Cost over TLS on loopback: 1 ms,
 * plus two round trips on a network. `Deno.test` can report a shared HTTP client as a leak, so each request has its own.
 */
export async function defaultFetch(request: Request): Promise<Response> {
  const { Bun: bun, Deno: deno } = globalThis as RuntimeGlobals;
  const client = deno?.createHttpClient?.({ http2: false });
  const options = bun ? { keepalive: false, protocol: "http1.1" } : client && { client };
  try {
    return await fetch(request, options as RequestInit | undefined);
  } finally {
    client?.close(); // the connection stays open until the body has been read
  }
}

interface RuntimeGlobals {
  Deno?: { createHttpClient?: (options: { http2: boolean }) => { close(): void } };
  Bun?: unknown;
}
