// Environment variables of the server process, and the lines that a server prints when it starts.
import { nearNames } from "../../src/validation.ts";
import { createApp, type EdgeApp } from "../app.ts";
import { type Environment, readConfig, textOf } from "../config.ts";
import {
  type AppOptions,
  DEFAULT_HOST,
  DEFAULT_PORT,
  DROPPED_VARIABLES,
  type LogLevel,
  type LogTarget,
  OPTIONS,
  toSettings,
  toWholeNumber,
  VARIABLES,
  writeLine,
} from "../options.ts";
import { toIsoTime } from "../request_log.ts";
import type { ListenOptions } from "./listening.ts";

/** Names of all environment variables that configure a server. */
export const KNOWN_VARIABLES: readonly string[] = VARIABLES.map(({ variable }) => variable);

/** Beginning of the names of variables that only Weir has. */
const PREFIX = /^(?:WEIR_|DATASTREAM_)+/i;

/**
 * Reads the options for listening from environment variables. Removes the brackets of an IPv6 address.
 *
 * @throws {ValidationError} If a variable is invalid; its `option` is the variable's name
 */
export function readListenOptions(environment: Environment): ListenOptions {
  const host = textOf(environment, "HOST")?.replace(/^\[(.*)\]$/, "$1");
  const port = textOf(environment, "PORT") ?? String(DEFAULT_PORT);
  return { host: host || DEFAULT_HOST, port: toWholeNumber("PORT", port, 0, 65_535) };
}

/** Returns a message for each dropped or unknown variable whose name begins with `WEIR_`. */
export function unknownVariables(names: Iterable<string>): string[] {
  const withoutPrefix = (name: string) => name.replace(PREFIX, "");
  // A name with other characters comes from a malformed file, and can contain a value.
  return [...names].filter((name) => /^WEIR_\w*$/i.test(name) && !KNOWN_VARIABLES.includes(name))
    .sort().map((name) => {
      const dropped = Object.hasOwn(DROPPED_VARIABLES, name) && DROPPED_VARIABLES[name];
      if (dropped) return `The variable ${name} has no effect: ${dropped}`;
      const [near] = nearNames(withoutPrefix(name), KNOWN_VARIABLES.map(withoutPrefix));
      const suggested = KNOWN_VARIABLES.find((known) => withoutPrefix(known) === near);
      const hint = suggested === undefined
        ? `use ${KNOWN_VARIABLES.filter((known) => known.startsWith("WEIR_")).join(", ")}`
        : `did you mean ${suggested}?`;
      return `Unknown variable ${name}: ${hint}`;
    });
}

/** Returns a line with the settings of a server. It contains no key, token or secret. */
export function settingsLine(options: AppOptions): string {
  const { dataStreamOptions, ...others } = toSettings(options);
  const { synthetic, logRequests, logFormat } = others;
  const values: Record<string, unknown> = { ...dataStreamOptions, ...others };
  const hidden = synthetic ? ["apiKey", "baseUrl"] : [];
  const parts = Object.entries(OPTIONS).flatMap(([name, { variable, show = settingText }]) =>
    variable === undefined || hidden.includes(name) ? [] : [`${variable}=${show(values[name])}`]
  );
  const log = logRequests ? logFormat : "errors";
  return `Settings: ${
    [...parts, `WEIR_LOG=${log}`, `WEIR_SANDBOX=${Number(synthetic)}`].join(", ")
  }`;
}

function settingText(value: unknown = "none"): string {
  return value === Infinity ? "unlimited" : String(value);
}

/** Writes a line about the server process. */
export type Report = (line: string, level?: LogLevel) => void;

/**
 * Returns a function that writes lines in the format of the log: plain text, or one JSON object per line.
 *
 * @param log Receives the lines
 * @param environment Environment, whose variable `WEIR_LOG` selects the format
 */
export function createReport(log: LogTarget, environment: Environment): Report {
  const isJson = textOf(environment, "WEIR_LOG") === "json";
  return (message, level = "info") => {
    const line = isJson ? JSON.stringify({ time: toIsoTime(Date.now), level, message }) : message;
    writeLine(log, line, level);
  };
}

/** An app of {@linkcode createConfiguredApp}. */
interface ConfiguredApp {
  app: EdgeApp;
  /** Writes a line in the format of the log. */
  report: Report;
  /** Line with the settings in force. */
  settings: string;
}

/**
 * Creates an app from environment variables. Reports variables without effect.
 *
 * @param environment Values of the known variables
 * @param names Names of all variables that can be listed
 * @param log Receives the lines of the log
 * @param others Options that are not in the environment
 * @throws {ValidationError} If a variable is missing or invalid; its `option` names the variable, or the option
 *   of `createApp()`
 */
export function createConfiguredApp(
  environment: Environment,
  names: Iterable<string>,
  log: LogTarget,
  others: Partial<AppOptions> = {},
): ConfiguredApp {
  const report = createReport(log, environment);
  for (const message of unknownVariables(names)) report(message, "warn");
  const options = { log, ...readConfig(environment), ...others };
  return { app: createApp(options), report, settings: settingsLine(options) };
}
