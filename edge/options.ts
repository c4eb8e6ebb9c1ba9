import { type Clock, systemClock } from "../src/client/clock.ts";
import type { DataStreamOptions } from "../src/client/options.ts";
import { MAXIMUM_TOP } from "../src/odata/resources.ts";
import { requireSecret } from "../src/signing/signed_url.ts";
import { requireOptions } from "../src/validation.ts";

/** Who may download. */
export type AccessMode = "caller" | "signed" | "token" | "public";

/** The modes of access, all of them. */
export const ACCESS_MODES: readonly AccessMode[] = ["caller", "signed", "token", "public"];

/**
 * Options for `createApp`.
 *
 * @example Open to all, within bounds
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
   * Who may download; there is no default.
   *
   * - `caller`: each request brings its own `x-api-key`, which is used for that request alone;
   * - `signed`: who has a URL that was signed with `signingSecret`, until it expires;
   * - `token`: who sends one of `tokens` as `authorization: Bearer …`;
   * - `public`: anyone.
   */
  access: AccessMode;
  /** The server's key, for all access but `caller`, where it is never used. */
  apiKey?: string | undefined;
  /** What URLs are signed with, 32 bytes at least; for `signed` access. */
  signingSecret?: string | undefined;
  /**
   * What opens the page where access is `signed`, and the downloads too where it is `token`. Without
   * any there is no page.
   */
  tokens?: readonly string[] | undefined;
  /** Whether the data is the sandbox's: answers and file names then say so. Default false. */
  synthetic?: boolean | undefined;
  /** How many rows one download may have. Default 5000000 for `public` access, else any number. */
  maxRows?: number | undefined;
  /** How many downloads may be open at once; more are told to come back. Default 20. */
  maxWaiting?: number | undefined;
  /** The most rows on a page, 1 to 10000: what an open download holds in memory. Default 10000. */
  pageRows?: number | undefined;
  /** Whose pages may read the downloads: `*`, or their origins. Default `*`. */
  corsOrigins?: "*" | readonly string[] | undefined;
  /** How many milliseconds a reader may take nothing before it is cut. Default 60000. */
  readerTimeout?: number | undefined;
  /** The time in milliseconds since 1970, by which URLs expire. Default `Date.now`. */
  now?: (() => number) | undefined;
  /**
   * Told, in a line without a key, token, secret or signature, of what went wrong on this side of a
   * caller: a download that failed or broke, a fault of the server. Default `console.error`.
   */
  log?: ((line: string) => void) | undefined;
}

const KEYS: Record<keyof AppOptions, true> = {
  access: true,
  apiKey: true,
  signingSecret: true,
  tokens: true,
  synthetic: true,
  maxRows: true,
  maxWaiting: true,
  pageRows: true,
  corsOrigins: true,
  readerTimeout: true,
  now: true,
  log: true,
  baseUrl: true,
  requestsPerSecond: true,
  userAgent: true,
  retry: true,
  timeouts: true,
  fetch: true,
  clock: true,
};

/** The options of the app, checked and whole. */
export interface Settings {
  access: AccessMode;
  apiKey: string | undefined;
  signingSecret: string;
  tokens: readonly string[];
  synthetic: boolean;
  maxRows: number;
  maxWaiting: number;
  pageRows: number;
  corsOrigins: "*" | readonly string[];
  readerTimeout: number;
  clock: Clock;
  now: () => number;
  log: (line: string) => void;
  /** The options of the client, but for the key. */
  service: Omit<DataStreamOptions, "apiKey">;
}

/** What a public download may have, so that one caller cannot keep the service busy for hours. */
const PUBLIC_ROWS = 5_000_000;

/**
 * Checks the options of the app, and fills in the rest; those of the client are left to it.
 *
 * @throws {TypeError} If an option is unknown, access is no mode, or lacks its key, secret or tokens,
 *   or one of them cannot be used
 * @throws {RangeError} If a number is out of range
 */
export function toSettings(options: AppOptions): Settings {
  requireOptions("createApp()", options, Object.keys(KEYS));
  const {
    access,
    apiKey,
    signingSecret = "",
    tokens = [],
    synthetic = false,
    maxRows = access === "public" ? PUBLIC_ROWS : Infinity,
    maxWaiting = 20,
    pageRows = MAXIMUM_TOP,
    corsOrigins = "*",
    readerTimeout = 60_000,
    now = Date.now,
    log = console.error,
    ...service
  } = options;
  if (!ACCESS_MODES.includes(access)) {
    throw new TypeError(`access must be one of ${ACCESS_MODES.join(", ")}, got "${access}"`);
  }
  if (access !== "caller" && !apiKey) {
    throw new TypeError(`access is ${access}, so the server must have a key: pass apiKey`);
  }
  if (access === "signed") requireSecret(signingSecret);
  if (access === "token" && tokens.length === 0) {
    throw new TypeError("access is token, so there must be tokens: pass tokens");
  }
  if (tokens.some((token) => !/^[\w\-.~+/]{16,}=*$/.test(token))) {
    throw new TypeError(
      "A token must be 16 or more letters, digits and -._~+/ (RFC 6750), got another (not shown)",
    );
  }
  if (maxRows !== Infinity) requireWhole("maxRows", maxRows, 1, Number.MAX_SAFE_INTEGER);
  if (maxWaiting !== Infinity) requireWhole("maxWaiting", maxWaiting, 1, Number.MAX_SAFE_INTEGER);
  requireWhole("pageRows", pageRows, 1, MAXIMUM_TOP);
  requireWhole("readerTimeout", readerTimeout, 1, 3_600_000);
  for (const origin of corsOrigins === "*" ? [] : corsOrigins) requireOrigin(origin);
  return {
    access,
    apiKey,
    signingSecret,
    tokens,
    synthetic,
    maxRows,
    maxWaiting,
    pageRows,
    corsOrigins,
    readerTimeout,
    clock: service.clock ?? systemClock,
    now,
    log,
    service,
  };
}

function requireWhole(name: string, value: number, least: number, most: number): void {
  if (Number.isInteger(value) && value >= least && value <= most) return;
  throw new RangeError(`${name} must be a whole number from ${least} to ${most}, got ${value}`);
}

function requireOrigin(origin: string): void {
  if (URL.canParse(origin) && new URL(origin).origin === origin) return;
  throw new TypeError(
    `A CORS origin must be as a browser sends it, such as https://example.org, got "${origin}"`,
  );
}
