import { type Clock, systemClock } from "../../src/clock.ts";
import type { DataStreamOptions } from "../../src/client/options.ts";
import { oneLine, ValidationError } from "../../src/errors.ts";
import { MAXIMUM_TOP } from "../../src/odata/resources.ts";
import { MAX_REQUESTS_PER_SECOND, PRODUCTION_URL } from "../../src/service_constants.ts";
import { RANDOM_SECRET_HINT, requireSecret } from "../../src/signing/signed_url.ts";
import {
  invalidValue,
  isObject,
  type OptionRule,
  parseWholeNumber,
  readOptions,
  requireOneOf,
  requirePositive,
  requireWholeNumber,
} from "../../src/validation.ts";

import { type MirrorFolder, openFolder } from "./folder.ts";

/** Who may download; see {@linkcode AppOptions.access}. */
export type AccessMode = "caller" | "signed" | "token" | "public";

/** Format of the log; see {@linkcode AppOptions.logFormat}. */
export type LogFormat = "text" | "json";

export const LOG_FORMATS: readonly LogFormat[] = ["text", "json"];

const LOG_LEVELS = ["info", "warn", "error"] as const;
export type LogLevel = typeof LOG_LEVELS[number];

/** Where lines of the log are written; see {@linkcode AppOptions.log}. */
export type LogTarget = NonNullable<AppOptions["log"]>;

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
export interface AppOptions
  extends Omit<DataStreamOptions, "apiKey" | "maxWait" | "probeInterval"> {
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
   * Tokens, each of at least 16 characters, and optionally with a name for the log and the metrics: `anna=TOKEN`. With
   * `token` access, downloads and the web page require one; with `signed` access, only the page, which does not exist
   * without tokens. Default: none.
   */
  tokens?: readonly string[] | undefined;
  /** Whether to mark responses and file names as synthetic data. Default false. */
  synthetic?: boolean | undefined;
  /**
   * Whether the app has the web page, which is loaded at its first request. Without it, `/` has status 404, and its hint
   * names the URLs of downloads. A bundle in one file has its code, unless the bundler replaces the constant `WEIR_PAGE`
   * by `false`. Default true.
   */
  page?: boolean | undefined;
  /** Maximum number of rows of one download. Default 5,000,000 for `public` access, else unlimited. */
  maxRows?: number | undefined;
  /**
   * Maximum number of concurrent downloads, counts and requests for citations that need DataStream. Further ones wait
   * in a queue, for at most 60 s. Default 20, in Cloudflare Workers 8.
   */
  maxDownloads?: number | undefined;
  /**
   * The same maximum for each client. A client is a token or an API key if access requires one, else an address.
   * Default: no maximum. The next free slot then goes to the client that uses the fewest.
   */
  maxDownloadsPerClient?: number | undefined;
  /**
   * Request header in which a proxy sends the address of the client, such as `x-forwarded-for`; the last
   * address in it is used. Clients whose header has no address count as one. Default: the address of the
   * connection; on Workers, `cf-connecting-ip`.
   */
  clientAddressHeader?: string | undefined;
  /**
   * Maximum number of rows per page, 1 to 10000. Default 10000, in Cloudflare Workers 2000, and fewer, but at least 1000,
   * if `maxCachedBytes` has no room for a page.
   */
  pageRows?: number | undefined;
  /**
   * Maximum number of bytes of all downloads in memory: what clients have not read, and what is kept for further
   * clients. A page that is longer than expected can exceed it. Default 64000000, in Cloudflare Workers 32000000.
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
   * Called with one line for each error that the client did not cause, each download that fails after its first rows
   * or whose client is too slow, each change of whether the service answers, and with `logRequests` for each request. The line never contains a key, token, secret
   * or signature. An object such as `console` has a function for each level. Default `console.error`.
   */
  log?:
    | ((line: string) => void)
    | Readonly<Record<"info" | "warn" | "error", (line: string) => void>>
    | undefined;
  /** Whether to log each request when it ends, with its valid URL parameters. Default false. */
  logRequests?: boolean | undefined;
  /** Format of the lines: `text` for people, or `json` for one JSON object per line. Default `text`. */
  logFormat?: LogFormat | undefined;
  /**
   * Folder of `weir sync` whose files to serve below `/mirror/`: its path in Node, Deno and Bun, or an object that opens its
   * files. Nothing is requested from DataStream for them; without an `apiKey`, the app serves only them. Default: none.
   */
  mirror?: string | MirrorFolder | undefined;
  /** Token of at least 16 characters for `/metrics` and `/status`. Default: none, and neither of the two. */
  metricsToken?: string | undefined;
}

/** An option of `createApp()`, an environment variable, or both. */
interface Setting extends OptionRule {
  variable?: string;
  /** For `weir serve --help` and `docs/deploying.md`. */
  help?: string;
  /** Default that depends on the runtime or on options before this one. */
  defaultFor?: (given: AppOptions) => unknown;
  /** Default in the help and the documents, if not that of `default`. */
  defaultText?: string;
  /** Converts the variable. Default: to a number if the rule has `min`. */
  parse?: (text: string, variable: string) => unknown;
  // deno-lint-ignore no-explicit-any -- the type of the option
  show?: (value: any) => string;
  /** Whether it is an option of `DataStream`, which checks it. */
  isOfClient?: true;
}

export function isWorkers(): boolean {
  return globalThis.navigator?.userAgent === "Cloudflare-Workers";
}

export const DEFAULT_HOST = "127.0.0.1";
export const DEFAULT_PORT = 8000;
/** So that no download occupies the service for hours. */
const PUBLIC_MAX_ROWS = 5_000_000;
/** Seconds: a day. */
const MAX_CACHE_TTL = 86_400;
const MAX_READER_TIMEOUT = 3_600_000;

/** Bytes in memory of a row of a page: a record takes about 300 bytes as CSV. */
export const BYTES_PER_ROW = 400;
/** Shorter pages would take too long, because the service allows only two requests per second. */
export const MIN_PAGE_ROWS = 1_000;
/** So that a page, its JSON and the rows of other downloads fit into the 128 MB of an isolate. */
const WORKERS_PAGE_ROWS = 2_000;

function defaultsOf({ process, workers }: { process: number; workers: number }) {
  return {
    defaultFor: () => isWorkers() ? workers : process,
    defaultText: `${process}, on Workers ${workers}`,
  };
}

const ofClient: Setting = { isOfClient: true };
const secret: Setting = { show: (value) => value?.length > 0 ? "(set)" : "(not set)" };

/** In the order of the help; the environment variables and their help derive from it. */
export const OPTIONS: Readonly<Record<keyof AppOptions, Setting>> = {
  access: {
    variable: "WEIR_ACCESS",
    help: "who may download: caller, signed, token or public",
    values: ACCESS_MODES,
  },
  apiKey: {
    ...secret,
    variable: "DATASTREAM_API_KEY",
    help: "API key of the server, for all access modes except caller",
  },
  signingSecret: {
    ...secret,
    variable: "WEIR_SIGNING_SECRET",
    help: "secret of signed URLs, at least 32 bytes",
    type: "string",
  },
  tokens: {
    variable: "WEIR_TOKENS",
    help: "tokens of at least 16 letters, digits and -._~+/, optionally with = at the end; " +
      "each can have a name (anna=TOKEN); separated by commas",
    default: [],
    defaultText: "none",
    parse: parseList,
    check: requireTokens,
    show: ({ length }) => `(${length})`,
  },
  maxRows: {
    min: 1,
    variable: "WEIR_MAX_ROWS",
    help: "maximum number of rows of a download; larger downloads get status 413",
    defaultFor: ({ access }) => access === "public" ? PUBLIC_MAX_ROWS : Infinity,
    defaultText: `${PUBLIC_MAX_ROWS} for public, else unlimited`,
  },
  maxDownloads: {
    min: 1,
    variable: "WEIR_MAX_DOWNLOADS",
    help: "maximum number of downloads, counts and requests for citations that are open " +
      "concurrently; further ones wait",
    // A page that arrives takes about 5 MB; an isolate of Workers has 128 MB.
    ...defaultsOf({ process: 20, workers: 8 }),
  },
  maxDownloadsPerClient: {
    min: 1,
    variable: "WEIR_MAX_DOWNLOADS_PER_CLIENT",
    help: "the same maximum for each client",
    default: Infinity,
    defaultText: "unlimited",
  },
  clientAddressHeader: {
    variable: "WEIR_CLIENT_ADDRESS_HEADER",
    help:
      "request header in which a proxy sends the address of the client, such as x-forwarded-for",
    defaultText: "address of the connection; on Workers cf-connecting-ip",
    check: requireHeaderName,
  },
  maxCachedBytes: {
    min: 1,
    variable: "WEIR_MAX_CACHED_BYTES",
    help: "maximum number of bytes of all downloads in memory",
    ...defaultsOf({ process: 64_000_000, workers: 32_000_000 }),
  },
  cacheTtl: {
    variable: "WEIR_CACHE_TTL",
    help:
      `time in seconds for which identical downloads share their rows, at most ${MAX_CACHE_TTL}; ` +
      "0 if each sends its own requests",
    default: 60_000,
    defaultText: "60",
    min: 0,
    max: 1000 * MAX_CACHE_TTL,
    parse: (text, variable) => 1000 * toWholeNumber(variable, text, 0, MAX_CACHE_TTL),
    show: (milliseconds) => String(milliseconds / 1000),
  },
  pageRows: {
    min: 1,
    max: MAXIMUM_TOP,
    defaultFor: ({ maxCachedBytes }) => {
      const rows = Math.floor(maxCachedBytes! / BYTES_PER_ROW);
      return Math.max(MIN_PAGE_ROWS, Math.min(rows, isWorkers() ? WORKERS_PAGE_ROWS : MAXIMUM_TOP));
    },
  },
  corsOrigins: {
    variable: "WEIR_CORS_ORIGINS",
    help: "origins whose web pages may read downloads, separated by commas, or *",
    default: "*",
    parse: (text) => text === "*" ? "*" : parseList(text),
    check: requireOrigins,
    show: (origins) => origins === "*" ? "*" : origins.join(" ") || "none",
  },
  requestsPerSecond: {
    ...ofClient,
    variable: "WEIR_REQUESTS_PER_SECOND",
    help: "maximum rate of requests to DataStream; more than 2 only for a service of your own",
    defaultText: String(MAX_REQUESTS_PER_SECOND),
    parse: (text) => Number(text) || text,
    check: requirePositive,
    show: (rate = MAX_REQUESTS_PER_SECOND) => String(rate),
  },
  mirror: {
    variable: "WEIR_MIRROR",
    help:
      "folder of weir sync to serve below /mirror/; without DATASTREAM_API_KEY, only this folder",
    check: requireMirror,
  },
  metricsToken: {
    ...secret,
    variable: "WEIR_METRICS_TOKEN",
    help: "token that enables /metrics and /status, with the characters of WEIR_TOKENS",
    check: requireToken,
  },
  baseUrl: {
    ...ofClient,
    variable: "DATASTREAM_BASE_URL",
    help: "root address of the service",
    defaultText: PRODUCTION_URL,
    // Only the host, because the rest of the URL can contain a secret.
    show: (url = PRODUCTION_URL) => new URL(url).host,
  },
  synthetic: { default: false, type: "boolean" },
  page: { default: true, type: "boolean" },
  readerTimeout: { min: 1, max: MAX_READER_TIMEOUT, default: 600_000 },
  now: { default: Date.now, type: "function" },
  log: { defaultFor: () => console.error, check: requireLog },
  logRequests: { default: false, type: "boolean" },
  logFormat: { default: "text", values: LOG_FORMATS },
  userAgent: ofClient,
  retry: ofClient,
  timeouts: ofClient,
  fetch: ofClient,
  rateLimiter: ofClient,
  onRetry: ofClient,
  clock: ofClient,
};

export const LOG_MODES: Readonly<Record<string, Pick<AppOptions, "logRequests" | "logFormat">>> = {
  text: { logRequests: true, logFormat: "text" },
  json: { logRequests: true, logFormat: "json" },
  errors: { logRequests: false, logFormat: "text" },
};

/** Not one option each. */
const PROCESS_SETTINGS: readonly Setting[] = [
  {
    variable: "WEIR_LOG",
    help: "log: text, json, or errors for errors only, as text",
    default: "text",
  },
  {
    variable: "WEIR_SANDBOX",
    help:
      "1 serves synthetic data, without a key; to everyone, unless WEIR_ACCESS is set; firewall does so behind a firewall",
    default: "0",
  },
  {
    variable: "HOST",
    help: "address on which weir serve and Bun listen; 0.0.0.0 is all addresses of the computer",
    default: DEFAULT_HOST,
  },
  {
    variable: "PORT",
    help: "port of weir serve, Bun and the demo",
    default: DEFAULT_PORT,
    defaultText: `${DEFAULT_PORT}, or 3000 for a default export in Bun`,
  },
];

export const VARIABLES: readonly { variable: string; help: string; defaultText: string }[] = [
  ...Object.values(OPTIONS),
  ...PROCESS_SETTINGS,
].flatMap(({ variable, help = "", default: value = "none", defaultText = String(value) }) =>
  variable === undefined ? [] : [{ variable, help, defaultText }]
);

export const VARIABLE_NAMES: Readonly<Record<string, string>> = {
  ...Object.fromEntries(
    Object.entries(OPTIONS).flatMap(([name, { variable }]) =>
      variable === undefined ? [] : [[name, variable]]
    ),
  ),
  WEIR_SANDBOX: "WEIR_SANDBOX",
};

type OptionalName = "apiKey" | "clientAddressHeader" | "metricsToken";
/** Options that become another value. */
type ConvertedName = "log" | "mirror" | "tokens";

/** A token that gives access. */
export interface AccessToken {
  /** For the log and the metrics. */
  readonly name?: string | undefined;
  readonly secret: string;
}

/** Valid options, with their defaults. */
export type Settings =
  & Required<Omit<AppOptions, keyof DataStreamOptions | OptionalName | ConvertedName>>
  & Pick<AppOptions, OptionalName>
  & {
    clock: Clock;
    log: (line: string, level: LogLevel) => void;
    mirror: MirrorFolder | undefined;
    tokens: readonly AccessToken[];
    /** Must not be in the log. */
    secrets: readonly string[];
    dataStreamOptions: Omit<DataStreamOptions, "apiKey">;
  };

const DEFAULT_PATH = `${new URL(PRODUCTION_URL).pathname}/`;

/** @throws {ValidationError} If an option is invalid, or a key, secret or token is missing */
export function toSettings(options: AppOptions): Settings {
  const given = readOptions("createApp()", options, OPTIONS) as Record<string, unknown>;
  requireOneOf("access", given.access, ACCESS_MODES);
  const dataStreamOptions: Record<string, unknown> = {};
  for (const [name, { defaultFor, isOfClient }] of Object.entries(OPTIONS)) {
    if (given[name] === undefined) given[name] = defaultFor?.(given as unknown as AppOptions);
    if (isOfClient) dataStreamOptions[name] = given[name];
  }
  const { apiKey, signingSecret = "", metricsToken, baseUrl } = given as unknown as AppOptions;
  const tokens = (given.tokens as string[]).map(parseToken);
  const secrets = [
    apiKey,
    signingSecret,
    metricsToken,
    secretPath(baseUrl),
    ...tokens.map(({ secret }) => secret),
  ];
  const settings = {
    ...given,
    clock: given.clock ?? systemClock,
    log: safeLog(given.log as LogTarget),
    mirror: typeof given.mirror === "string" ? openFolder("mirror", given.mirror) : given.mirror,
    signingSecret,
    tokens,
    secrets: secrets.filter((text) => !!text),
    dataStreamOptions,
  } as unknown as Settings;
  requireCredentials(settings);
  return settings;
}

function requireCredentials({ access, apiKey, mirror, signingSecret, tokens }: Settings): void {
  const requireSet = (name: string, isSet: boolean) => {
    if (!isSet) throw new ValidationError(name, `must be set for ${access} access`);
  };
  if (access !== "caller" && mirror === undefined) requireSet("apiKey", !!apiKey);
  if (access === "token") requireSet("tokens", tokens.length > 0);
  if (access !== "signed") return;
  requireSet("signingSecret", !!signingSecret);
  requireSecret("signingSecret", signingSecret);
}

/** Without a key, which requests of the service need. */
export function isMirrorOnly({ access, apiKey, mirror }: Settings): boolean {
  return access !== "caller" && !apiKey && mirror !== undefined;
}

/** Other text, such as "1e3", stays text, so that the check rejects it and shows it. */
export function toWholeNumber(name: string, text: string, min: number, max?: number): number {
  requireWholeNumber(name, parseWholeNumber(text) ?? text, min, max);
  return Number(text);
}

function parseList(text: string): string[] {
  return text.split(",").map((item) => item.trim()).filter((item) => item !== "");
}

/** The base URL's path, such as `/a-key/`: a proxy can have a key in it. */
function secretPath(baseUrl: unknown): string | undefined {
  if (typeof baseUrl !== "string" || !URL.canParse(baseUrl)) return undefined;
  const path = new URL(baseUrl).pathname.replace(/\/*$/, "/");
  const prefix = path.slice(0, -DEFAULT_PATH.length);
  const own = path.endsWith(DEFAULT_PATH) ? `${prefix}/` : path;
  return own === "/" ? undefined : own;
}

/** For URLs and texts with URLs of an origin that clients see. */
export function withoutSecretPath(
  text: string,
  { secrets }: Pick<Settings, "secrets">,
  origin = new URL(text).origin,
): string {
  return secrets.reduce((text, path) => text.replaceAll(`${origin}${path}`, `${origin}/`), text);
}

function requireLog(option: string, log: LogTarget): void {
  if (typeof log === "function") return;
  try {
    if (LOG_LEVELS.every((level) => typeof log[level] === "function")) return;
  } catch {
    // Null, or an object whose properties cannot be read.
  }
  throw invalidValue(option, "a function, or an object with info, warn and error", log);
}

/** The functions may depend on `this`. */
export function writeLine(log: LogTarget, line: string, level: LogLevel): void {
  if (typeof log === "function") log(line);
  else log[level](line);
}

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

function requireMirror(option: string, mirror: unknown): void {
  if (typeof mirror === "string" && mirror !== "") return;
  if (isObject(mirror) && typeof mirror.open === "function") return;
  throw invalidValue(option, "the path of a folder, or an object with the function open", mirror);
}

/** A Bearer token (RFC 6750). */
const TOKEN = /^[\w\-.~+/]{16,}=*$/;
/** Letters of all languages, and the characters of an e-mail address that need no quotes in a file of variables. */
const TOKEN_NAME = /^[\p{L}\p{N}\-_.@]{1,32}$/u;

function requireToken(option: string, token: unknown): void {
  if (typeof token === "string" && TOKEN.test(token)) return;
  throw tokenError(option, "must be a token");
}

function tokenError(option: string, must: string, end = ""): ValidationError {
  const problem =
    `${must} of at least 16 letters, digits and -._~+/${end}, got another (not shown)`;
  return new ValidationError(option, problem, { hint: RANDOM_SECRET_HINT });
}

/** A text whose only `=` are at its end, as in base64, has no name. */
function parseToken(text: string): AccessToken {
  if (TOKEN.test(text)) return { secret: text };
  const end = text.indexOf("=");
  return { name: text.slice(0, end), secret: text.slice(end + 1) };
}

function requireTokens(option: string, tokens: unknown): void {
  if (!Array.isArray(tokens)) throw invalidValue(option, "a list of strings", undefined);
  const known = new Set<string>();
  for (const token of tokens) {
    const { name = "x", secret } = parseToken(typeof token === "string" ? token : "");
    if (!TOKEN.test(secret) || !TOKEN_NAME.test(name)) {
      const end = ", optionally after a name of at most 32 letters, digits and -_.@, and =";
      throw tokenError(option, "must be tokens", end);
    }
    if (known.has(secret)) {
      const hint = "give each person a token of their own, or remove one of the two";
      throw new ValidationError(option, "has one token twice (not shown)", { hint });
    }
    known.add(secret);
  }
}

/** RFC 9110, 5.1. */
function requireHeaderName(option: string, name: unknown): void {
  const isName = typeof name === "string" && /^[\w!#$%&'*+\-.^`|~]+$/.test(name);
  // Its value is a list of pairs (RFC 7239), not of addresses: no client would have a limit.
  if (isName && name.toLowerCase() !== "forwarded") return;
  throw invalidValue(option, "the name of a header, such as x-forwarded-for", name);
}

function requireOrigins(option: string, origins: unknown): void {
  if (origins === "*") return;
  if (!Array.isArray(origins)) throw invalidValue(option, '"*" or a list of origins', origins);
  const isOrigin = (text: unknown) =>
    typeof text === "string" && URL.canParse(text) && new URL(text).origin === text;
  const index = origins.findIndex((origin) => !isOrigin(origin));
  if (index < 0) return;
  throw invalidValue(option, "origins such as https://example.org", origins[index]);
}
