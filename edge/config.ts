import { ValidationError } from "../src/errors.ts";
import { createSandbox } from "../src/sandbox/service.ts";
import { MAX_REQUESTS_PER_SECOND } from "../src/service_constants.ts";
import { invalidValue, requireOneOf } from "../src/validation.ts";
import { ACCESS_MODES, type AppOptions, LOG_MODES, OPTIONS } from "./options.ts";

/** Environment variables by name. */
export type Environment = Record<string, string | undefined>;

/**
 * Reads the options for `createApp()` from environment variables. `createApp()` checks whether the access mode has
 * its key, secret or tokens, and the values that `DataStream` checks.
 *
 * @throws {ValidationError} If a variable is missing or invalid; its `option` is the variable's name
 */
export function readConfig(environment: Environment): AppOptions {
  const given: Record<string, unknown> = {};
  for (const [name, { variable = "", parse, check }] of Object.entries(OPTIONS)) {
    const text = textOf(environment, variable);
    if (text === undefined) continue;
    given[name] = parse === undefined ? text : parse(text, variable);
    check?.(variable, given[name]);
  }
  const log = textOf(environment, "WEIR_LOG") ?? "text";
  requireOneOf("WEIR_LOG", log, Object.keys(LOG_MODES));
  const options = { ...given, ...LOG_MODES[log] } as AppOptions;
  const sandbox = textOf(environment, "WEIR_SANDBOX") ?? "0";
  if (sandbox === "1") return withSandbox(options);
  if (sandbox !== "0") throw invalidValue("WEIR_SANDBOX", "1 or 0", sandbox);
  if (options.access !== undefined) return options;
  throw new ValidationError(
    "WEIR_ACCESS",
    `must be one of ${ACCESS_MODES.join(", ")}, got nothing`,
    {
      hint: 'set it, or use {WEIR_SANDBOX: "1"} for synthetic data',
    },
  );
}

/**
 * Returns the text of a variable without white space around it, because a line of a file can end with a space or a
 * carriage return; `undefined` if it is empty.
 */
export function textOf(environment: Environment, variable: string): string | undefined {
  // In the configuration of Workers, a value can be a number.
  return String(environment[variable] ?? "").trim() || undefined;
}

function withSandbox(options: AppOptions): AppOptions {
  const { access = "public" } = options;
  if (access === "public") return { ...options, ...sandboxOptions(options) };
  const hint = 'omit it, or omit {WEIR_SANDBOX: "1"}';
  throw invalidValue("WEIR_ACCESS", "public for synthetic data", access, hint);
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
