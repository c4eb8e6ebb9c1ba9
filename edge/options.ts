import { isWorker } from "./client_address.ts";
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
export interface AppOptions extends Omit<DataStreamOptions, "apiKey" | "maxWait"> {
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
   * Maximum number of downloads, counts and requests for citations that send requests concurrently. Further ones wait
   * in line, for at most 60 s. Default 20.
   */
  maxDownloads?: number | undefined;
  /**
   * The same maximum for each client. A client is a token or an API key if access requires one, else an address.
   * Default: no maximum. The next free slot then goes to the client that uses the fewest.
   */
  maxDownloadsPerClient?: number | undefined;
  /**
   * Request header in which a proxy sends the address of the client, such as `x-forwarded-for`; the last
   * address in it is used. Default: the address of the connection; on Workers, `cf-connecting-ip`.
   */
  clientAddressHeader?: string | undefined;
  /**
   * Maximum number of rows per page, 1 to 10000. Default 10000.
   */
  pageRows?: number | undefined;
  /**
   * Maximum number of bytes of all downloads in memory: what clients have not read, and what is kept for further
   * clients. A page that is longer than expected can exceed it. Default 64000000, in Workers 32000000.
   */
  maxCachedBytes?: number | undefined;
  /**
   * Time in milliseconds for which identical downloads share their rows, so that these are at most that old; 0 if each
   * download sends its own requests. Default 60000.
   */
  cacheTtl?: number | undefined;
  /** Origins whose web pages may read responses, or `*` for all. Default `*`. */
  corsOrigins?: "*" | readonly string[] | undefined;
  /** Time in milliseconds after which a client that reads nothing is disconnected. Default 600000. */
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
  pageRows: undefined,
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
  pageRows: number;
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
  dataStreamOptions: Omit<DataStreamOptions, "apiKey" | "maxWait">;
}

/** Path of DataStream's base URL. */
const DEFAULT_PATH = `${new URL(PRODUCTION_URL).pathname}/`;
/** Default of `maxRows` for public access, so that no download occupies the service for hours. */
const PUBLIC_MAX_ROWS = 5_000_000;
/** Maximum of `cacheTtl` (ms): a day. */
export const MAX_CACHE_TTL = 86_400_000;
/** Default of `maxCachedBytes`. */
const MAX_CACHED_BYTES = 64_000_000;
/** The same in Workers, whose isolates have 128 MB of memory. */
const WORKER_MAX_CACHED_BYTES = 32_000_000;
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
    maxDownloadsPerClient = Infinity,
    clientAddressHeader,
    pageRows = MAXIMUM_TOP,
    maxCachedBytes = isWorker() ? WORKER_MAX_CACHED_BYTES : MAX_CACHED_BYTES,
    cacheTtl = 60_000,
    corsOrigins = "*",
    readerTimeout = 600_000,
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
  requireHeaderName("clientAddressHeader", clientAddressHeader);
  requireWholeNumber("pageRows", pageRows, 1, MAXIMUM_TOP);
  requireWholeNumber("maxCachedBytes", maxCachedBytes, 1);
  requireWholeNumber("cacheTtl", cacheTtl, 0, MAX_CACHE_TTL);
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
    pageRows,
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
