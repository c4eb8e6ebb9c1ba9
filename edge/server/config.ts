// Options from environment variables. Not part of `app.ts`, which must not load the sandbox.
import { ValidationError } from "../../src/errors.ts";
import { createSandbox, type SandboxOptions } from "../../src/sandbox/service.ts";
import { MAX_REQUESTS_PER_SECOND } from "../../src/service_constants.ts";
import {
  listNames,
  nearNames,
  parseWholeNumber,
  requireOneOf,
  requireRule,
  suggestNames,
} from "../../src/validation.ts";
import { createApp, type EdgeApp } from "./app.ts";
import {
  ACCESS_MODES,
  type AppOptions,
  BYTES_PER_ROW,
  DEFAULT_HOST,
  DEFAULT_PORT,
  LOG_MODES,
  type LogLevel,
  type LogTarget,
  OPTIONS,
  toSettings,
  toWholeNumber,
  VARIABLES,
  writeLine,
} from "../http/options.ts";

export type Environment = Record<string, string | undefined>;

/** `createApp()` checks the access mode and the values of `DataStream`. */
export function readConfig(environment: Environment): AppOptions {
  const given: Record<string, unknown> = {};
  for (const [name, setting] of Object.entries(OPTIONS)) {
    const { variable = "", min, parse = min === undefined ? String : parseNumber } = setting;
    const text = textOf(environment, variable);
    if (text === undefined) continue;
    given[name] = parse(text, variable);
    requireRule(variable, given[name], setting);
  }
  const log = textOf(environment, "WEIR_LOG") ?? "text";
  requireOneOf("WEIR_LOG", log, Object.keys(LOG_MODES));
  const options = { ...given, ...LOG_MODES[log] } as AppOptions;
  const sandbox = textOf(environment, "WEIR_SANDBOX") ?? "0";
  requireOneOf("WEIR_SANDBOX", sandbox, ["0", "1", "firewall"]);
  if (sandbox !== "0") {
    return { ...options, ...sandboxOptions(options, { firewall: sandbox === "firewall" }) };
  }
  if (options.access !== undefined) return options;
  const hint = 'set it, or use {WEIR_SANDBOX: "1"} for synthetic data';
  const problem = `must be one of ${ACCESS_MODES.join(", ")}, got nothing`;
  throw new ValidationError("WEIR_ACCESS", problem, { hint });
}

const parseNumber = (text: string) => parseWholeNumber(text) ?? text;

/** Trims: a line of a file can end with a space or a carriage return. */
export function textOf(environment: Environment, variable: string): string | undefined {
  // In the configuration of Workers, a value can be a number.
  return String(environment[variable] ?? "").trim() || undefined;
}

/** Responses and file names are marked as synthetic. Defaults: `public`, 2 requests per second. */
export function sandboxOptions(
  { access = "public", requestsPerSecond = MAX_REQUESTS_PER_SECOND }: Partial<AppOptions> = {},
  sandbox: Pick<SandboxOptions, "firewall"> = {},
): AppOptions {
  const { apiKey, url, fetch } = createSandbox({ requestsPerSecond, ...sandbox });
  return { access, apiKey, baseUrl: url, fetch, synthetic: true, requestsPerSecond };
}

export const KNOWN_VARIABLES: readonly string[] = VARIABLES.map(({ variable }) => variable);

export interface ListenOptions {
  hostname: string;
  /** 0 is any free port. */
  port: number;
}

/** Seconds: the default of 10 interrupts slow downloads. `development` prints source code. */
export const BUN_OPTIONS = { idleTimeout: 255, development: false } as const;

/** Removes the brackets of an IPv6 address. */
export function readListenOptions(environment: Environment): ListenOptions {
  const host = textOf(environment, "HOST")?.replace(/^\[(.*)\]$/, "$1");
  const port = textOf(environment, "PORT") ?? String(DEFAULT_PORT);
  return { hostname: host || DEFAULT_HOST, port: toWholeNumber("PORT", port, 0, 65_535) };
}

/** Only names with the prefix of Weir. One with other characters comes from a malformed file, and can contain a value. */
export function unknownVariables(names: Iterable<string>): string[] {
  const unknown = [...names].filter((name) =>
    /^WEIR_\w*$/i.test(name) && !KNOWN_VARIABLES.includes(name)
  );
  // A shared prefix makes different names near, and a different one hides DATASTREAM_API_KEY and PORT.
  const withoutPrefix = (name: string) => name.replace(/^(?:WEIR|DATASTREAM)_/i, "");
  return unknown.sort().map((name) => {
    const near = nearNames(withoutPrefix(name), KNOWN_VARIABLES.map(withoutPrefix));
    const hint = suggestNames(
      KNOWN_VARIABLES.filter((known) => near.includes(withoutPrefix(known))),
    );
    return `Unknown variable ${name}: ${hint ?? listNames(KNOWN_VARIABLES)}`;
  });
}

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

/** Returns a sentence for each setting that opens the server further than another one suggests, or stalls downloads. */
export function settingWarnings(options: AppOptions): string[] {
  const settings = toSettings(options);
  const { access, apiKey, tokens, signingSecret, metricsToken, maxCachedBytes, pageRows } =
    settings;
  const warnings: string[] = [];
  const unused = [
    ...(tokens.length > 0 ? ["WEIR_TOKENS"] : []),
    ...(signingSecret === "" ? [] : ["WEIR_SIGNING_SECRET"]),
  ];
  if (access === "public" && unused.length > 0) {
    warnings.push(
      `Anyone may download, because WEIR_ACCESS is public: ${
        unused.join(" and ")
      } protects nothing. ` +
        "Set WEIR_ACCESS to token or signed, or remove it",
    );
  }
  if (access === "caller" && apiKey && !settings.synthetic) {
    warnings.push(
      "DATASTREAM_API_KEY is not used, because WEIR_ACCESS is caller: each caller sends a key. " +
        "Remove it, or set WEIR_ACCESS to token",
    );
  }
  if (tokens.some(({ secret }) => secret === metricsToken)) {
    warnings.push(
      "WEIR_METRICS_TOKEN is also in WEIR_TOKENS: who may download sees the metrics, and who sees " +
        "these may download. Set another token",
    );
  }
  const needed = BYTES_PER_ROW * pageRows;
  if (maxCachedBytes < needed) {
    warnings.push(
      `WEIR_MAX_CACHED_BYTES=${maxCachedBytes} is less than a page of ${pageRows} rows needs, so ` +
        `downloads wait for each other. Set at least ${needed}`,
    );
  }
  return warnings;
}

function settingText(value: unknown = "none"): string {
  return value === Infinity ? "unlimited" : String(value);
}

export type Report = (line: string, level?: LogLevel) => void;

/** Writes lines in the format that `WEIR_LOG` selects. */
export function createReport(log: LogTarget, environment: Environment): Report {
  const isJson = textOf(environment, "WEIR_LOG") === "json";
  return (message, level = "info") => {
    const line = isJson ? JSON.stringify({ time: new Date(), level, message }) : message;
    writeLine(log, line, level);
  };
}

interface ConfiguredApp {
  app: EdgeApp;
  report: Report;
  settings: string;
}

/** Reports variables without effect, and settings that contradict each other. `names` are all variables that can be listed. */
export function createConfiguredApp(
  environment: Environment,
  names: Iterable<string>,
  log: LogTarget,
  others: Partial<AppOptions> = {},
): ConfiguredApp {
  const report = createReport(log, environment);
  for (const message of unknownVariables(names)) report(message, "warn");
  const options = { log, ...readConfig(environment), ...others };
  const app = createApp(options);
  for (const message of settingWarnings(options)) report(message, "warn");
  return { app, report, settings: settingsLine(options) };
}
