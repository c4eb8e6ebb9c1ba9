import { sha256Hex } from "../bytes.ts";
import { ValidationError } from "../errors.ts";
import {
  API_KEY_PATTERN,
  MAX_REQUESTS_PER_SECOND,
  PRODUCTION_URL,
  QA_URL,
  SERVICE_MEDIA_TYPE,
} from "../service_constants.ts";
import { TOKEN } from "../endpoint/endpoint.ts";
import {
  emptyOption,
  invalidValue,
  readMembers,
  requireOptions,
  requirePositive,
  requireType,
  requireWholeNumber,
} from "../validation.ts";
import { VERSION } from "../version.ts";
import { type Clock, systemClock } from "../clock.ts";
import { processLimiter, type RateLimiter } from "./rate_limiter.ts";
import { DEFAULT_RETRY, type RetryPolicy } from "./retry.ts";
import {
  DEFAULT_TIMEOUTS,
  defaultFetch,
  type Timeouts,
  type TransportOptions,
} from "./transport.ts";

/** Maximum (ms) of each option that is a time, so that no request blocks the queue indefinitely. */
const MAX_TIME = 3_600_000;
/** Maximum of `retry.attempts`. */
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
   * process with the same origin share one rate: the lowest that any of them used in the last minute.
   * Default 2, the service's limit. More is for other servers; `Infinity` is for tests.
   */
  requestsPerSecond?: number | undefined;
  /**
   * Name and version of your product, such as `my-app/1.0`. It precedes Weir's own in the
   * `user-agent` header, which scripts cannot set in a browser. Default: none.
   */
  userAgent?: string | undefined;
  /** Retry options. All times are in milliseconds. */
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
    /**
     * Maximum time from the start of a request to the headers of its response, from 1 to 3600000.
     * Default 45000.
     */
    headers?: number;
    /** Maximum time between two chunks of the body (idle timeout), from 1 to 3600000. Default 30000. */
    bytes?: number;
  } | undefined;
  /**
   * Function that sends a request. Default: the global `fetch`, in Deno and Bun with a new connection
   * for each request. These runtimes repeat a request by themselves when a reused connection breaks, which
   * would exceed the rate limit.
   */
  fetch?: ((request: Request) => Promise<Response>) | undefined;
  /**
   * Rate limiter that several processes share, such as the one of `@weir/datastream/deno-kv`. It is given a
   * hash of the API key, never the key. Default: the limiter of this process.
   */
  rateLimiter?: RateLimiter | undefined;
  /**
   * Maximum time (ms) for which one page or count waits for the rate limiter, and because of the header `Retry-After`,
   * from 0 to 3600000. After it, the query fails. It does not apply after rows were delivered. Default: no maximum.
   */
  maxWait?: number | undefined;
  /** Clock, for tests. Default: the clock of the process. */
  clock?: Clock | undefined;
}

/** Checked options of a client, with defaults for missing ones. */
export interface ClientSettings extends TransportOptions {
  baseUrl: string;
  /** Headers of every request. */
  headers: Record<string, string | undefined>;
  retry: RetryPolicy;
}

/** Defaults of the options. */
const DEFAULT_OPTIONS = {
  apiKey: undefined,
  baseUrl: PRODUCTION_URL,
  requestsPerSecond: MAX_REQUESTS_PER_SECOND,
  userAgent: undefined,
  retry: DEFAULT_RETRY,
  timeouts: DEFAULT_TIMEOUTS,
  fetch: defaultFetch,
  rateLimiter: undefined,
  maxWait: undefined,
  clock: systemClock,
} satisfies Record<keyof DataStreamOptions, unknown>;

/**
 * Checks the options of a client and adds the defaults.
 *
 * @throws {ValidationError} If an option is unknown or has an invalid value
 */
export function toClientSettings(options: DataStreamOptions): ClientSettings {
  const given = requireOptions("DataStream", options, DEFAULT_OPTIONS);
  const { apiKey, baseUrl, requestsPerSecond, userAgent, fetch, rateLimiter, maxWait, clock } =
    given;
  requireBaseUrl(baseUrl, apiKey !== undefined);
  requireRate(requestsPerSecond, baseUrl);
  requireType("fetch", fetch, "function");
  const { now, sleep } = readMembers("clock", clock, { now: null, sleep: null });
  requireType("clock.now", now, "function");
  requireType("clock.sleep", sleep, "function");
  if (rateLimiter !== undefined) requireLimiter(rateLimiter);
  if (maxWait !== undefined) requireTime("maxWait", maxWait, 0);
  if (apiKey !== undefined) requireApiKey(apiKey);
  const retry = requireOptions("DataStream", given.retry as RetryPolicy, DEFAULT_RETRY, "retry");
  const timeouts = requireOptions(
    "DataStream",
    given.timeouts as Timeouts,
    DEFAULT_TIMEOUTS,
    "timeouts",
  );
  requireWholeNumber("retry.attempts", retry.attempts, 1, MAX_ATTEMPTS);
  requireTime("retry.backoff", retry.backoff, 0);
  requireTime("retry.retryAfter", retry.retryAfter, 0);
  requireTime("timeouts.headers", timeouts.headers, 1);
  requireTime("timeouts.bytes", timeouts.bytes, 1);
  return {
    apiKey,
    baseUrl: new URL(baseUrl).href,
    requestsPerSecond,
    retry,
    timeouts,
    fetch,
    clock,
    rateLimiter: rateLimiter ?? processLimiter(clock),
    maxWait,
    keyHash: rateLimiter ? createKeyHash(apiKey) : () => apiKey,
    headers: {
      accept: SERVICE_MEDIA_TYPE,
      "user-agent": toUserAgent(userAgent),
      ...(apiKey !== undefined && { "x-api-key": apiKey }),
    },
  };
}

/** Checks the option `rateLimiter`. */
function requireLimiter(rateLimiter: RateLimiter): void {
  const limiter = readMembers("rateLimiter", rateLimiter, { acquire: null, penalize: null });
  requireType("rateLimiter.acquire", limiter.acquire, "function");
  requireType("rateLimiter.penalize", limiter.penalize, "function");
}

/**
 * Returns a function that hashes an API key on its first call. The limiter of the process needs no hash: its
 * state never leaves the process, and a request takes its place in the queue without waiting for Web Crypto.
 */
function createKeyHash(apiKey: string | undefined): ClientSettings["keyHash"] {
  // Not the promise: workerd ends a request that awaits a promise of another one.
  let hash: string | undefined;
  return apiKey === undefined ? () => undefined : async () => hash ??= await sha256Hex(apiKey);
}

function requireTime(option: string, value: unknown, min: number): void {
  if (typeof value === "number" && value >= min && value <= MAX_TIME) return;
  throw invalidValue(option, `a number of milliseconds from ${min} to ${MAX_TIME}`, value);
}

/** Checks that a header can carry the API key. The message never contains the key. */
function requireApiKey(apiKey: unknown): void {
  const trimmed = typeof apiKey === "string" ? apiKey.trim() : undefined;
  if (trimmed === apiKey && API_KEY_PATTERN.test(trimmed!)) return;
  if (trimmed === "") throw emptyOption("apiKey", apiKey, "omit it, or set it");
  // A key that was read from a file often ends with a line feed.
  throw trimmed !== undefined && API_KEY_PATTERN.test(trimmed)
    ? new ValidationError("apiKey", "begins or ends with white space, such as a line feed", {
      hint: "pass apiKey.trim()",
    })
    : new ValidationError(
      "apiKey",
      "must be visible ASCII characters, got others (not shown)",
      { hint: "send the key alone, without quotes or spaces" },
    );
}

/** Checks the base URL. The message shows at most its origin: the rest may be an API key. */
function requireBaseUrl(baseUrl: string, hasKey: boolean): void {
  if (typeof baseUrl !== "string" || !URL.canParse(baseUrl)) {
    throw new ValidationError(
      "baseUrl",
      `must be an absolute URL such as ${PRODUCTION_URL}, got another value (not shown)`,
    );
  }
  const { protocol, hostname, username, password } = new URL(baseUrl);
  const isLoopback = hostname === "localhost" || hostname === "[::1]" ||
    /^127(\.\d{1,3}){3}$/.test(hostname);
  if (protocol !== "https:" && !(protocol === "http:" && (isLoopback || !hasKey))) {
    throw new ValidationError(
      "baseUrl",
      `must begin with https://, got "${protocol}//${hostname}"`,
      {
        hint: "http:// is accepted for loopback addresses, and for other hosts without {apiKey}",
      },
    );
  }
  if (username || password || /[?#]/.test(baseUrl)) {
    throw new ValidationError(
      "baseUrl",
      "must have no user name, password, query or fragment",
      { hint: "pass only the origin and the path" },
    );
  }
}

function requireRate(requestsPerSecond: number, baseUrl: string): void {
  requirePositive("requestsPerSecond", requestsPerSecond);
  // A host name may end with a dot.
  const hostname = new URL(baseUrl).hostname.replace(/\.$/, "");
  const isService = [PRODUCTION_URL, QA_URL].some((root) => hostname === new URL(root).hostname);
  if (isService && requestsPerSecond > MAX_REQUESTS_PER_SECOND) {
    const expected = `at most ${MAX_REQUESTS_PER_SECOND} for DataStream`;
    throw invalidValue("requestsPerSecond", expected, requestsPerSecond);
  }
}

const TOKEN_SOURCE = TOKEN.source.slice(1, -1); // without ^ and $
const PRODUCT = `${TOKEN_SOURCE}(?:/${TOKEN_SOURCE})?`;
const COMMENT = "\\([ -'*-~]*\\)";
const USER_AGENT = new RegExp(`^${PRODUCT}(?: (?:${PRODUCT}|${COMMENT}))*$`);

/**
 * Returns the value of the `user-agent` header: the caller's product, then Weir's.
 *
 * @param product Products and comments, such as `my-app/1.0 (mailto:me@example.org)`
 * @returns The value; `toRequest` leaves it out in browsers
 * @throws {ValidationError} If it has another syntax. A line feed in it could add another header
 *
 * Source: RFC 9110, section 10.1.5.
 */
function toUserAgent(product: string | undefined): string {
  if (product !== undefined && !(typeof product === "string" && USER_AGENT.test(product))) {
    throw invalidValue("userAgent", 'a product and its version such as "my-app/1.0"', product);
  }
  return `${product === undefined ? "" : `${product} `}weir/${VERSION}`;
}
