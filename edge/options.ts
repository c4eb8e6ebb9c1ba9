import { type Clock, systemClock } from "../src/clock.ts";
import type { DataStreamOptions } from "../src/client/options.ts";
import { oneLine, ValidationError } from "../src/errors.ts";
import { MAXIMUM_TOP } from "../src/odata/resources.ts";
import { PRODUCTION_URL } from "../src/service_constants.ts";
import { RANDOM_SECRET_HINT, requireSecret } from "../src/signing/signed_url.ts";
import {
  invalidValue,
  requireOneOf,
  requireOptions,
  requireType,
  requireWholeNumber,
} from "../src/validation.ts";

import { standardCaches } from "./standard_page_store.ts";

/** Who may download; see {@linkcode AppOptions.access}. */
export type AccessMode = "caller" | "signed" | "token" | "public";

/** Format of the log; see {@linkcode AppOptions.logFormat}. */
export type LogFormat = "text" | "json";

/** All formats of the log. */
export const LOG_FORMATS: readonly LogFormat[] = ["text", "json"];

/** Levels of the lines of the log. */
const LOG_LEVELS = ["info", "warn", "error"] as const;
export type LogLevel = typeof LOG_LEVELS[number];

/** Where lines of the log are written; see {@linkcode AppOptions.log}. */
export type LogTarget = NonNullable<AppOptions["log"]>;

/** Where downloads share pages; see {@linkcode AppOptions.pageCache}. */
export type PageCacheMode = "standard" | "memory" | "none";

/** All values of the option `pageCache`. */
export const PAGE_CACHE_MODES: readonly PageCacheMode[] = ["standard", "memory", "none"];

/** All access modes. */
export const ACCESS_MODES: readonly AccessMode[] = ["caller", "signed", "token", "public"];

/**
 * Options for `createApp`.
 *
 * @example Downloads for everyone, with a maximum size
 * ```ts
 * import { type AppOptions, createApp } from "@weir/datastream/edge";
 * import { assertEquals } from "@std/assert";
 *
 * const options: AppOptions = { access: "public", apiKey: "YOUR-KEY", maxRows: 100_000 };
 * assertEquals((await createApp(options).request("/healthz")).status, 200);
 * ```
 */
export interface AppOptions extends Omit<DataStreamOptions, "apiKey"> {
  /**
   * Who may download. There is no default.
   *
   * - `caller`: anyone who sends an API key as `x-api-key`; it is used for that request only;
   * - `signed`: anyone who has a URL that was signed with `signingSecret`, until it expires;
   * - `token`: anyone who sends one of `tokens` as `authorization: Bearer …`;
   * - `public`: anyone.
   */
  access: AccessMode;
  /** API key of the server. Required for each access mode except `caller`, which never uses it. */
  apiKey?: string | undefined;
  /** Secret that URLs are signed with, at least 32 bytes. Required for `signed` access. */
  signingSecret?: string | undefined;
  /**
   * Tokens, each of at least 16 characters. If access is `token`, downloads and the web page require
   * one. If access is `signed`, only the page requires one; without tokens there is no page.
   * Default: none.
   */
  tokens?: readonly string[] | undefined;
  /** Whether to mark responses and file names as synthetic data. Default false. */
  synthetic?: boolean | undefined;
  /** Maximum number of rows of one download. Default 5,000,000 for `public` access, else unlimited. */
  maxRows?: number | undefined;
  /**
   * Maximum number of concurrent downloads, counts and requests for citations. A further one gets 503.
   * Default 20.
   */
  maxDownloads?: number | undefined;
  /**
   * Maximum number of concurrent downloads, counts and requests for citations of one client. A further one
   * gets 429. A client is an address if access is `public`, else a token, a signed URL or an API key. Clients
   * whose address is not known have no limit. Default 2 for `public` access, else unlimited.
   */
  maxDownloadsPerClient?: number | undefined;
  /**
   * Request header in which a proxy sends the address of the client, such as `x-forwarded-for`; the last
   * address in it is used. Default: the address of the connection; on Workers, `cf-connecting-ip`.
   */
  clientAddressHeader?: string | undefined;
  /**
   * Minimum rate (bytes per second) of a client that reads a download; 0 for no minimum. A client is slow if it
   * reads less in 60 s in which bytes wait for it. A slow client is disconnected when another client needs its slot
   * of `maxDownloads` or its memory. Default 64000.
   */
  minReaderRate?: number | undefined;
  /**
   * Maximum number of rows per page, 1 to 10000. A running download can hold two pages in memory.
   * Default 10000.
   */
  pageRows?: number | undefined;
  /**
   * Maximum number of bytes that all downloads together hold for clients that read slowly. A page is requested
   * only if there is room for it, or no other download holds any bytes. A page that is longer than expected can
   * exceed the limit. Default 32000000.
   */
  maxBufferedBytes?: number | undefined;
  /**
   * Where downloads share pages. Identical downloads that run concurrently then share their requests to the
   * service. A page is reused until `cacheTtl` has passed or a dataset is published again.
   *
   * - `standard`: `caches` of the runtime, such as of Deno or Workers;
   * - `memory`: the memory of the process;
   * - `none`: nowhere, each download sends its own requests.
   *
   * Default for `public` access: `standard` if the runtime has `caches` and the option `fetch` is not set, else
   * `memory`. Default for `token` and `signed` access: `none`. With `caller` access, pages are never shared.
   */
  pageCache?: PageCacheMode | undefined;
  /** Maximum number of bytes of shared pages that no download is using. Default 32000000. */
  maxCachedBytes?: number | undefined;
  /** Time in milliseconds for which a page is reused. Default 300000. */
  cacheTtl?: number | undefined;
  /** Origins whose web pages may read responses, or `*` for all. Default `*`. */
  corsOrigins?: "*" | readonly string[] | undefined;
  /** Time in milliseconds after which a client that reads nothing is disconnected. Default 60000. */
  readerTimeout?: number | undefined;
  /** Returns the current time in milliseconds since 1970, for signed URLs and the log. Default `Date.now`. */
  now?: (() => number) | undefined;
  /**
   * Called with one line for each internal error and each error of the service that the client did not cause. Also
   * called for each download that fails after its first rows or whose client is too slow, and with `logRequests`
   * for each request. The line never contains a key, token, secret or signature. An object such as `console` has a
   * function for each level. Default `console.error`.
   */
  log?:
    | ((line: string) => void)
    | Readonly<Record<"info" | "warn" | "error", (line: string) => void>>
    | undefined;
  /**
   * Whether to log a line when a request ends: method, path, status, rows, bytes, duration and the known
   * URL parameters. Default false.
   */
  logRequests?: boolean | undefined;
  /** Format of the lines: `text` for people, or `json` for one JSON object per line. Default `text`. */
  logFormat?: LogFormat | undefined;
  /**
   * Token of at least 16 characters that enables `/metrics`, which then requires it as
   * `authorization: Bearer …`. Default: none, and there is no `/metrics`.
   */
  metricsToken?: string | undefined;
}

/** Names of all options; the type makes a missing or extra name an error. */
const APP_OPTIONS: Record<keyof AppOptions, undefined> = {
  access: undefined,
  apiKey: undefined,
  signingSecret: undefined,
  tokens: undefined,
  synthetic: undefined,
  maxRows: undefined,
  maxDownloads: undefined,
  maxDownloadsPerClient: undefined,
  clientAddressHeader: undefined,
  minReaderRate: undefined,
  pageRows: undefined,
  maxBufferedBytes: undefined,
  pageCache: undefined,
  maxCachedBytes: undefined,
  cacheTtl: undefined,
  corsOrigins: undefined,
  readerTimeout: undefined,
  now: undefined,
  log: undefined,
  logRequests: undefined,
  logFormat: undefined,
  metricsToken: undefined,
  baseUrl: undefined,
  requestsPerSecond: undefined,
  userAgent: undefined,
  retry: undefined,
  timeouts: undefined,
  fetch: undefined,
  rateLimiter: undefined,
  clock: undefined,
};

/** Valid options of an app, with their defaults filled in. */
export interface Settings {
  access: AccessMode;
  apiKey: string | undefined;
  signingSecret: string;
  tokens: readonly string[];
  synthetic: boolean;
  maxRows: number;
  maxDownloads: number;
  maxDownloadsPerClient: number;
  clientAddressHeader: string | undefined;
  minReaderRate: number;
  pageRows: number;
  maxBufferedBytes: number;
  pageCache: PageCacheMode;
  maxCachedBytes: number;
  cacheTtl: number;
  corsOrigins: "*" | readonly string[];
  readerTimeout: number;
  clock: Clock;
  now: () => number;
  /** Writes a line to the log. Never throws. */
  log: (line: string, level: LogLevel) => void;
  logRequests: boolean;
  logFormat: LogFormat;
  metricsToken: string | undefined;
  /** Key, secret, tokens and path of the base URL, which must not be in the log. */
  secrets: readonly string[];
  /** Options for `DataStream`, without the API key. */
  dataStreamOptions: Omit<DataStreamOptions, "apiKey">;
}

/** Path of DataStream's base URL. */
const DEFAULT_PATH = `${new URL(PRODUCTION_URL).pathname}/`;
/** Default of `maxRows` for public access, so that no download occupies the service for hours. */
const PUBLIC_MAX_ROWS = 5_000_000;
/** Maximum of `cacheTtl` (ms): a day. */
export const MAX_CACHE_TTL = 86_400_000;
/** Default of `maxDownloadsPerClient` for public access. */
const PUBLIC_MAX_DOWNLOADS_PER_CLIENT = 2;
/** Maximum of `readerTimeout` (ms). */
const MAX_READER_TIMEOUT = 3_600_000;

/**
 * Checks the options of an app and fills in defaults. `DataStream` checks its own options.
 *
 * @throws {ValidationError} If an option is unknown or invalid, or the access mode lacks its key,
 *   secret or tokens
 */
export function toSettings(options: AppOptions): Settings {
  const {
    access,
    apiKey,
    signingSecret = "",
    tokens = [],
    synthetic = false,
    maxRows = access === "public" ? PUBLIC_MAX_ROWS : Infinity,
    maxDownloads = 20,
    maxDownloadsPerClient = access === "public" ? PUBLIC_MAX_DOWNLOADS_PER_CLIENT : Infinity,
    clientAddressHeader,
    minReaderRate = 64_000,
    pageRows = MAXIMUM_TOP,
    maxBufferedBytes = 32_000_000,
    pageCache: givenPageCache,
    maxCachedBytes = 32_000_000,
    cacheTtl = 300_000,
    corsOrigins = "*",
    readerTimeout = 60_000,
    now = Date.now,
    log = console.error,
    logRequests = false,
    logFormat = "text",
    metricsToken,
    ...dataStreamOptions
  } = requireOptions("createApp()", options, APP_OPTIONS) as AppOptions;
  if (!ACCESS_MODES.includes(access)) {
    throw invalidValue("access", `one of ${ACCESS_MODES.join(", ")}`, access);
  }
  if (access !== "caller" && !apiKey) {
    throw new ValidationError("apiKey", `must be set for ${access} access`);
  }
  if (access === "signed") requireSecret("signingSecret", signingSecret);
  if (access === "token" && tokens?.length === 0) {
    throw new ValidationError("tokens", "must be set for token access");
  }
  if (!Array.isArray(tokens)) throw invalidValue("tokens", "a list of strings", undefined);
  for (const token of tokens) requireToken("tokens", token);
  if (metricsToken !== undefined) requireToken("metricsToken", metricsToken);
  requireWholeNumber("maxRows", maxRows, 1);
  requireWholeNumber("maxDownloads", maxDownloads, 1);
  requireWholeNumber("maxDownloadsPerClient", maxDownloadsPerClient, 1);
  requireWholeNumber("minReaderRate", minReaderRate, 0);
  requireHeaderName("clientAddressHeader", clientAddressHeader);
  requireWholeNumber("pageRows", pageRows, 1, MAXIMUM_TOP);
  requireWholeNumber("maxBufferedBytes", maxBufferedBytes, 1);
  requireWholeNumber("maxCachedBytes", maxCachedBytes, 1);
  requireWholeNumber("cacheTtl", cacheTtl, 1, MAX_CACHE_TTL);
  const pageCache = toPageCacheMode(givenPageCache, access, dataStreamOptions);
  requireWholeNumber("readerTimeout", readerTimeout, 1, MAX_READER_TIMEOUT);
  requireType("synthetic", synthetic, "boolean");
  requireType("signingSecret", signingSecret, "string");
  requireLog(log);
  requireType("logRequests", logRequests, "boolean");
  requireOneOf("logFormat", logFormat, LOG_FORMATS);
  requireType("now", now, "function");
  if (corsOrigins !== "*" && !Array.isArray(corsOrigins)) {
    throw invalidValue("corsOrigins", '"*" or a list of origins', corsOrigins);
  }
  for (const origin of corsOrigins === "*" ? [] : corsOrigins) requireOrigin(origin);
  return {
    access,
    apiKey,
    signingSecret,
    tokens,
    synthetic,
    maxRows,
    maxDownloads,
    maxDownloadsPerClient,
    clientAddressHeader,
    minReaderRate,
    pageRows,
    maxBufferedBytes,
    pageCache,
    maxCachedBytes,
    cacheTtl,
    corsOrigins,
    readerTimeout,
    clock: dataStreamOptions.clock ?? systemClock,
    now,
    log: safeLog(log),
    logRequests,
    logFormat,
    metricsToken,
    secrets: [apiKey, signingSecret, metricsToken, secretPath(dataStreamOptions), ...tokens]
      .filter((secret) => !!secret),
    dataStreamOptions,
  };
}

/**
 * Returns the part of the base URL's path that only this server uses, such as `/a-key/`: a proxy can have a key in it.
 */
function secretPath({ baseUrl }: Pick<DataStreamOptions, "baseUrl">): string | undefined {
  if (typeof baseUrl !== "string" || !URL.canParse(baseUrl)) return undefined;
  const path = new URL(baseUrl).pathname.replace(/\/*$/, "/");
  const prefix = path.slice(0, -DEFAULT_PATH.length);
  const own = path.endsWith(DEFAULT_PATH) ? `${prefix}/` : path;
  return own === "/" ? undefined : own;
}

/** Checks the option `pageCache`, and returns it or its default. */
function toPageCacheMode(
  mode: PageCacheMode | undefined,
  access: AccessMode,
  { fetch }: Pick<DataStreamOptions, "fetch">,
): PageCacheMode {
  if (mode !== undefined) requireOneOf("pageCache", mode, PAGE_CACHE_MODES);
  const hasStandard = standardCaches() !== undefined;
  if (mode === "standard" && !hasStandard) {
    const hint = "use memory: this runtime has no caches";
    throw invalidValue("pageCache", "memory or none", mode, hint);
  }
  // The requests of different callers can return different results.
  if (access === "caller") return "none";
  if (mode !== undefined) return mode;
  if (access !== "public") return "none";
  // Entries of `caches` outlive the process, and a service in process can have other data each time.
  return hasStandard && fetch === undefined ? "standard" : "memory";
}

/** Checks the option `log`. */
function requireLog(log: LogTarget): void {
  try {
    if (typeof log === "function") return;
    if (LOG_LEVELS.every((level) => typeof log[level] === "function")) return;
  } catch {
    // Null, or an object whose properties cannot be read.
  }
  throw invalidValue("log", "a function, or an object with info, warn and error", log);
}

/** Writes a line to a log, whose functions may depend on `this`. */
export function writeLine(log: LogTarget, line: string, level: LogLevel): void {
  if (typeof log === "function") log(line);
  else log[level](line);
}

/** Returns a log that never throws. */
function safeLog(log: LogTarget): Settings["log"] {
  return (line, level) => {
    try {
      writeLine(log, line, level);
    } catch (error) {
      // A log that fails must not change the response.
      console.error(line);
      console.error(`The option log failed: ${oneLine(error)}`);
    }
  };
}

/** Rejects a token that is short, or that cannot be sent as a Bearer token (RFC 6750). */
function requireToken(option: "tokens" | "metricsToken", token: string): void {
  if (typeof token === "string" && /^[\w\-.~+/]{16,}=*$/.test(token)) return;
  const problem =
    `must be ${option === "tokens" ? "tokens" : "a token"} of at least 16 letters, digits and ` +
    "-._~+/, got another (not shown)";
  throw new ValidationError(option, problem, { hint: RANDOM_SECRET_HINT });
}

/** Rejects a text that is not the name of a header (RFC 9110, 5.1). */
function requireHeaderName(option: string, name: string | undefined): void {
  if (name === undefined) return;
  const isName = typeof name === "string" && /^[\w!#$%&'*+\-.^`|~]+$/.test(name);
  // Its value is a list of pairs (RFC 7239), not of addresses: no client would have a limit.
  if (isName && name.toLowerCase() !== "forwarded") return;
  throw invalidValue(option, "the name of a header, such as x-forwarded-for", name);
}

function requireOrigin(origin: string): void {
  if (typeof origin === "string" && URL.canParse(origin) && new URL(origin).origin === origin) {
    return;
  }
  throw invalidValue("corsOrigins", "origins such as https://example.org", origin);
}
