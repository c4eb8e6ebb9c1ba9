// Environment variables of the server process, and the lines that a server prints when it starts.
import { MAX_REQUESTS_PER_SECOND, PRODUCTION_URL } from "../../src/service_constants.ts";
import { invalidValue, nearNames } from "../../src/validation.ts";
import { type Environment, toWholeNumber, VARIABLES } from "../config.ts";
import { DEFAULT_SHUTDOWN_TIMEOUT, MAX_SHUTDOWN_TIMEOUT } from "./graceful_stop.ts";
import { DEFAULT_HOST, DEFAULT_PORT, type ListenOptions } from "./listening.ts";
import {
  type AppOptions,
  type LogLevel,
  type LogTarget,
  toSettings,
  writeLine,
} from "../options.ts";
import { toIsoTime } from "../request_log.ts";

/** Environment variables of the server process, in addition to those of the app. */
export const SERVER_VARIABLES = [
  "HOST",
  "PORT",
  "WEIR_METRICS_PORT",
  "WEIR_SHUTDOWN_TIMEOUT",
] as const;

/** All environment variables that configure a server. */
export const KNOWN_VARIABLES: readonly string[] = [...VARIABLES, ...SERVER_VARIABLES];

/** Beginning of the names of variables that only Weir has. */
const PREFIX = /^(?:WEIR_|DATASTREAM_)+/i;

/** Maximum port number. */
const MAX_PORT = 65_535;

/**
 * Reads the options for listening and stopping from environment variables.
 *
 * @throws {ValidationError} If a variable is invalid; its `option` is the variable's name
 */
export function readListenOptions(environment: Environment): ListenOptions {
  return {
    host: readHost(environment.HOST),
    port: toWholeNumber("PORT", environment.PORT?.trim() || String(DEFAULT_PORT), 0, MAX_PORT),
    shutdownTimeout: readShutdownTimeout(environment.WEIR_SHUTDOWN_TIMEOUT),
  };
}

/** Reads the address from the variable `HOST`. Removes the brackets of an IPv6 address. */
export function readHost(text = ""): string {
  return text.trim().replace(/^\[(.*)\]$/, "$1") || DEFAULT_HOST;
}

/**
 * Reads the port of the metrics from the variable `WEIR_METRICS_PORT`; `undefined` if it is not set.
 *
 * @param serverPort Port of the server
 * @throws {ValidationError} If it is not a port number, or it is the port of the server
 */
export function readMetricsPort(text: string | undefined, serverPort: number): number | undefined {
  if (!text?.trim()) return undefined;
  const port = toWholeNumber("WEIR_METRICS_PORT", text.trim(), 0, MAX_PORT);
  if (port === 0 || port !== serverPort) return port;
  throw invalidValue(
    "WEIR_METRICS_PORT",
    "different from the port of the server",
    port,
    "choose another port",
  );
}

/**
 * Reads the shutdown timeout (ms) from the variable `WEIR_SHUTDOWN_TIMEOUT` (s).
 *
 * @throws {ValidationError} If it is not a whole number from 0 to 3600
 */
export function readShutdownTimeout(text: string | undefined): number {
  if (!text?.trim()) return DEFAULT_SHUTDOWN_TIMEOUT;
  return 1000 * toWholeNumber("WEIR_SHUTDOWN_TIMEOUT", text.trim(), 0, MAX_SHUTDOWN_TIMEOUT / 1000);
}

/** Returns a message for each unknown variable whose name begins with `WEIR_`. */
export function unknownVariables(names: Iterable<string>): string[] {
  const withoutPrefix = (name: string) => name.replace(PREFIX, "");
  // A name with other characters comes from a malformed file, and can contain a value.
  return [...names].filter((name) => /^WEIR_\w*$/i.test(name) && !KNOWN_VARIABLES.includes(name))
    .sort().map((name) => {
      const [near] = nearNames(withoutPrefix(name), KNOWN_VARIABLES.map(withoutPrefix));
      const suggested = KNOWN_VARIABLES.find((known) => withoutPrefix(known) === near);
      const hint = suggested === undefined
        ? `use ${KNOWN_VARIABLES.filter((known) => known.startsWith("WEIR_")).join(", ")}`
        : `did you mean ${suggested}?`;
      return `Unknown variable ${name}: ${hint}`;
    });
}

/**
 * Returns a line with the settings of a server. It contains no key, token or secret.
 *
 * @param shutdownTimeout Shutdown timeout (ms); `undefined` on Workers, which have none
 */
export function settingsLine(options: AppOptions, shutdownTimeout: number | undefined): string {
  const { baseUrl = PRODUCTION_URL, requestsPerSecond = MAX_REQUESTS_PER_SECOND } = options;
  const settings = toSettings(options);
  const { access, apiKey, corsOrigins, maxDownloads, maxRows, pageRows } = settings;
  const { logFormat, logRequests, metricsToken, signingSecret, synthetic, tokens } = settings;
  const { cacheTtl, clientAddressHeader, maxCachedBytes, maxDownloadsPerClient } = settings;
  const parts = [
    `access ${access}`,
    // Only the host, because the rest of the URL can contain a secret.
    synthetic ? "synthetic data" : `data of ${new URL(baseUrl).host}`,
    ...(synthetic ? [] : [apiKey ? "API key set" : "no API key"]),
    ...(signingSecret ? ["signing secret set"] : []),
    ...(tokens.length > 0 ? [`${tokens.length} ${tokens.length === 1 ? "token" : "tokens"}`] : []),
    `${requestsPerSecond} requests per second`,
    `${maxDownloads} concurrent downloads`,
    maxDownloadsPerClient === Infinity
      ? "no limit per client"
      : `${maxDownloadsPerClient} per client`,
    ...(clientAddressHeader === undefined ? [] : [`client address from ${clientAddressHeader}`]),
    `at most ${maxCachedBytes} bytes in memory`,
    maxRows === Infinity ? "unlimited rows" : `at most ${maxRows} rows per download`,
    `${pageRows} rows per page`,
    cacheTtl === 0 ? "no shared downloads" : `downloads shared for ${cacheTtl / 1000} s`,
    `log of ${logRequests ? "requests" : "errors"} as ${logFormat}`,
    ...(metricsToken === undefined ? [] : ["metrics token set"]),
    `CORS for ${corsOrigins === "*" ? "all origins" : corsOrigins.join(" ") || "no origin"}`,
    ...(shutdownTimeout === undefined ? [] : [`shutdown timeout ${shutdownTimeout / 1000} s`]),
  ];
  return `Settings: ${parts.join(", ")}`;
}

/** Writes a line about the server process. */
export type Report = (line: string, level?: LogLevel) => void;

/**
 * Returns a function that writes lines in the format of the log: plain text, or one JSON object per line.
 *
 * @param log Receives the lines
 * @param logVariable Value of the variable `WEIR_LOG`
 */
export function createReport(
  log: LogTarget,
  logVariable: string | undefined,
): Report {
  return (message, level = "info") => {
    const line = logVariable?.trim() === "json"
      ? JSON.stringify({ time: toIsoTime(Date.now), level, message })
      : message;
    writeLine(log, line, level);
  };
}
