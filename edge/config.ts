import { ValidationError } from "../src/errors.ts";
import { MAXIMUM_TOP } from "../src/odata/resources.ts";
import { createSandbox } from "../src/sandbox/service.ts";
import {
  invalidValue,
  parseWholeNumber,
  requirePositive,
  requireWholeNumber,
  suggestBySpelling,
} from "../src/validation.ts";
import { ACCESS_MODES, type AccessMode, type AppOptions, MAX_CACHE_TTL } from "./options.ts";
import { MAX_REQUESTS_PER_SECOND } from "../src/service_constants.ts";

/** Environment variables by name. */
export type Environment = Record<string, string | undefined>;

/** Environment variable of each option that has one. */
export const OPTION_VARIABLES = {
  apiKey: "DATASTREAM_API_KEY",
  baseUrl: "DATASTREAM_BASE_URL",
  access: "WEIR_ACCESS",
  clientAddressHeader: "WEIR_CLIENT_ADDRESS_HEADER",
  corsOrigins: "WEIR_CORS_ORIGINS",
  cacheTtl: "WEIR_CACHE_TTL",
  maxCachedBytes: "WEIR_MAX_CACHED_BYTES",
  maxDownloads: "WEIR_MAX_DOWNLOADS",
  maxDownloadsPerClient: "WEIR_MAX_DOWNLOADS_PER_CLIENT",
  maxRows: "WEIR_MAX_ROWS",
  metricsToken: "WEIR_METRICS_TOKEN",
  pageRows: "WEIR_PAGE_ROWS",
  requestsPerSecond: "WEIR_REQUESTS_PER_SECOND",
  signingSecret: "WEIR_SIGNING_SECRET",
  tokens: "WEIR_TOKENS",
} as const satisfies Partial<Record<keyof AppOptions, string>>;

/** Names for the messages of errors: the variable of an option, and of a hint. */
export const VARIABLE_NAMES: Readonly<Record<string, string>> = {
  ...OPTION_VARIABLES,
  'WEIR_SANDBOX: "1"': "WEIR_SANDBOX=1",
};

/** Names of all environment variables that {@linkcode readConfig} reads. */
export const VARIABLES = [...Object.values(OPTION_VARIABLES), "WEIR_LOG", "WEIR_SANDBOX"] as const;

type EnvironmentVariable = typeof VARIABLES[number];

/**
 * Reads the options for `createApp()` from environment variables. `createApp()` checks the values that
 * are not checked here.
 *
 * @throws {ValidationError} If a variable is missing or invalid; its `option` is the variable's name
 */
export function readConfig(given: Environment): AppOptions {
  const environment = normalizeValues(given);
  const options = {
    ...readLimits(environment),
    ...readLog(environment.WEIR_LOG),
    metricsToken: environment.WEIR_METRICS_TOKEN || undefined,
  };
  const sandbox = environment.WEIR_SANDBOX || "0";
  if (sandbox !== "0" && sandbox !== "1") {
    throw invalidValue("WEIR_SANDBOX", "1 or 0", sandbox);
  }
  const access = readAccess(environment.WEIR_ACCESS, sandbox === "1" ? "public" : undefined);
  if (sandbox === "1") {
    if (access === "public") return { ...options, ...sandboxOptions(options) };
    const hint = 'omit it, or omit {WEIR_SANDBOX: "1"}';
    throw invalidValue("WEIR_ACCESS", "public for synthetic data", access, hint);
  }
  const requireSet = (name: EnvironmentVariable, value: string) => {
    if (environment[name]) return;
    throw new ValidationError(name, `must be set if WEIR_ACCESS is ${access}`, {
      hint: `set it to ${value}`,
    });
  };
  if (access !== "caller") requireSet("DATASTREAM_API_KEY", "the API key of the server");
  if (access === "signed") requireSet("WEIR_SIGNING_SECRET", "the secret that signs URLs");
  if (access === "token") requireSet("WEIR_TOKENS", "tokens, separated by commas");
  return {
    access,
    ...options,
    apiKey: environment.DATASTREAM_API_KEY || undefined,
    baseUrl: environment.DATASTREAM_BASE_URL || undefined,
    signingSecret: environment.WEIR_SIGNING_SECRET || undefined,
    tokens: readList(environment.WEIR_TOKENS),
  };
}

/** Removes white space around the values: a line of a file can end with a space or a carriage return. */
function normalizeValues(given: Environment): Environment {
  return Object.fromEntries(VARIABLES.map((name) => {
    const value: unknown = given[name];
    // In the configuration of Workers, a value can be a number.
    return [name, value === undefined ? undefined : String(value).trim()];
  }));
}

function readAccess(text: string | undefined, fallback: AccessMode | undefined): AccessMode {
  const access = ACCESS_MODES.find((mode) => mode === (text || fallback));
  if (access !== undefined) return access;
  const expected = `one of ${ACCESS_MODES.join(", ")}`;
  if (text) {
    throw invalidValue("WEIR_ACCESS", expected, text, suggestBySpelling(text, ACCESS_MODES, ""));
  }
  throw new ValidationError("WEIR_ACCESS", `must be ${expected}, got nothing`, {
    hint: 'set it, or use {WEIR_SANDBOX: "1"} for synthetic data',
  });
}

/**
 * Returns options for an app that serves the synthetic data of a sandbox to everyone. Responses and
 * file names are marked as synthetic.
 *
 * @param limits Rate limit (requests per second) of `DataStream` and of the sandbox. Default 2
 */
export function sandboxOptions(
  limits: { requestsPerSecond?: number | undefined } = {},
): AppOptions {
  const { requestsPerSecond = MAX_REQUESTS_PER_SECOND } = limits;
  const { apiKey, url, fetch } = createSandbox({ requestsPerSecond });
  const access = "public";
  return { access, apiKey, baseUrl: url, fetch, synthetic: true, requestsPerSecond };
}

type Limits = Pick<
  AppOptions,
  | "requestsPerSecond"
  | "maxRows"
  | "maxDownloads"
  | "maxCachedBytes"
  | "cacheTtl"
  | "maxDownloadsPerClient"
  | "clientAddressHeader"
  | "pageRows"
  | "corsOrigins"
>;

function readLimits(environment: Environment): Limits {
  const rate = environment.WEIR_REQUESTS_PER_SECOND;
  if (rate) requirePositive("WEIR_REQUESTS_PER_SECOND", Number(rate) > 0 ? Number(rate) : rate);
  const whole = (name: EnvironmentVariable, max?: number, min = 1) => {
    const text = environment[name];
    return text ? toWholeNumber(name, text, min, max) : undefined;
  };
  const ttl = whole("WEIR_CACHE_TTL", MAX_CACHE_TTL / 1_000, 0);
  return {
    requestsPerSecond: rate ? Number(rate) : undefined,
    maxRows: whole("WEIR_MAX_ROWS"),
    maxDownloads: whole("WEIR_MAX_DOWNLOADS"),
    maxDownloadsPerClient: whole("WEIR_MAX_DOWNLOADS_PER_CLIENT"),
    clientAddressHeader: environment.WEIR_CLIENT_ADDRESS_HEADER || undefined,
    maxCachedBytes: whole("WEIR_MAX_CACHED_BYTES"),
    cacheTtl: ttl === undefined ? undefined : 1_000 * ttl,
    pageRows: whole("WEIR_PAGE_ROWS", MAXIMUM_TOP),
    corsOrigins: readOrigins(environment.WEIR_CORS_ORIGINS),
  };
}

/** Options of the log by value of `WEIR_LOG`. */
const LOG_OPTIONS: Record<string, Pick<AppOptions, "logRequests" | "logFormat">> = {
  text: { logRequests: true, logFormat: "text" },
  json: { logRequests: true, logFormat: "json" },
  errors: { logRequests: false, logFormat: "text" },
};

function readLog(text: string | undefined): Pick<AppOptions, "logRequests" | "logFormat"> {
  const name = text || "text";
  if (Object.hasOwn(LOG_OPTIONS, name)) return LOG_OPTIONS[name]!;
  const known = Object.keys(LOG_OPTIONS);
  const hint = suggestBySpelling(name, known, "");
  throw invalidValue("WEIR_LOG", `one of ${known.join(", ")}`, name, hint);
}

function readOrigins(text: string | undefined): AppOptions["corsOrigins"] {
  if (!text) return undefined;
  return text === "*" ? "*" : readList(text);
}

/** Reads a whole number from the text of a variable. */
export function toWholeNumber(name: string, text: string, min: number, max?: number): number {
  // Other text, such as "1e3", stays text, so that the check rejects it and shows it.
  requireWholeNumber(name, parseWholeNumber(text) ?? text, min, max);
  return Number(text);
}

/** Splits a list at its commas. Ignores empty items. */
function readList(text = ""): string[] {
  return text.split(",").map((item) => item.trim()).filter((item) => item !== "");
}
