import { MAXIMUM_TOP } from "../src/odata/resources.ts";
import { didYouMean } from "../src/validation.ts";
import { createSandbox } from "../src/sandbox/service.ts";
import { ACCESS_MODES, type AppOptions } from "./options.ts";

/** The environment's variables by name. */
export type Environment = Record<string, string | undefined>;

/** The variables that are read here, all of them. */
export const VARIABLES = [
  "DATASTREAM_API_KEY",
  "DATASTREAM_BASE_URL",
  "WEIR_ACCESS",
  "WEIR_CORS_ORIGINS",
  "WEIR_MAX_ROWS",
  "WEIR_MAX_WAITING",
  "WEIR_PAGE_ROWS",
  "WEIR_REQUESTS_PER_SECOND",
  "WEIR_SANDBOX",
  "WEIR_SIGNING_SECRET",
  "WEIR_TOKENS",
] as const;

/**
 * Reads the app's options from the environment; what they are worth, the app says itself.
 *
 * @throws {TypeError} If a value is missing or wrong; the message says which variable and what to set
 */
export function readConfig(environment: Environment): AppOptions {
  const bounds = readBounds(environment);
  const sandboxed = environment.WEIR_SANDBOX;
  if (sandboxed && sandboxed !== "0" && sandboxed !== "1") {
    throw new TypeError(`WEIR_SANDBOX must be 1 or 0, got "${sandboxed}"`);
  }
  const access = ACCESS_MODES.find((mode) => mode === environment.WEIR_ACCESS);
  if (sandboxed === "1" && (access === "public" || !environment.WEIR_ACCESS)) {
    return { ...bounds, ...sandboxOptions(bounds) };
  }
  if (sandboxed === "1" && access !== undefined) {
    throw new TypeError(`WEIR_SANDBOX=1 is public: leave WEIR_ACCESS out, got "${access}"`);
  }
  if (access === undefined) {
    const given = environment.WEIR_ACCESS;
    const near = given ? didYouMean(given, ACCESS_MODES, "") : "";
    throw new TypeError(
      `WEIR_ACCESS must say who may download, ${
        ACCESS_MODES.join(", ")
      } (or set WEIR_SANDBOX=1), got ${given ? `"${given}"` : "nothing"}${near && `: ${near}`}`,
    );
  }
  const need = (name: typeof VARIABLES[number], what: string) => {
    if (environment[name]?.trim()) return;
    throw new TypeError(`WEIR_ACCESS is ${access}, so ${name} must hold ${what}`);
  };
  if (access !== "caller") need("DATASTREAM_API_KEY", "the server's key");
  if (access === "signed") need("WEIR_SIGNING_SECRET", "what URLs are signed with");
  if (access === "token") need("WEIR_TOKENS", "tokens, with commas between them");
  return {
    access,
    ...bounds,
    apiKey: environment.DATASTREAM_API_KEY?.trim() || undefined,
    baseUrl: environment.DATASTREAM_BASE_URL?.trim() || undefined,
    // A file that a secret is kept in ends with a line feed, as the key's does.
    signingSecret: environment.WEIR_SIGNING_SECRET?.trim() || undefined,
    tokens: readList(environment.WEIR_TOKENS),
  };
}

/** The app over the sandbox, which is public and says that its data is synthetic. */
export function sandboxOptions(pace: { requestsPerSecond?: number | undefined } = {}): AppOptions {
  const { requestsPerSecond = 2 } = pace;
  const { apiKey, url, fetch } = createSandbox({ requestsPerSecond });
  const access = "public";
  return { access, apiKey, baseUrl: url, fetch, synthetic: true, requestsPerSecond };
}

type Bounds = Pick<
  AppOptions,
  "requestsPerSecond" | "maxRows" | "maxWaiting" | "pageRows" | "corsOrigins"
>;

function readBounds(environment: Environment): Bounds {
  const rate = environment.WEIR_REQUESTS_PER_SECOND;
  if (rate && !(Number(rate) > 0)) {
    throw new TypeError(`WEIR_REQUESTS_PER_SECOND must be a number above 0, got "${rate}"`);
  }
  const origins = environment.WEIR_CORS_ORIGINS;
  return {
    requestsPerSecond: rate ? Number(rate) : undefined,
    maxRows: readWhole(environment, "WEIR_MAX_ROWS"),
    maxWaiting: readWhole(environment, "WEIR_MAX_WAITING"),
    pageRows: readWhole(environment, "WEIR_PAGE_ROWS", MAXIMUM_TOP),
    corsOrigins: origins === "*" ? "*" : origins ? readList(origins) : undefined,
  };
}

function readWhole(
  environment: Environment,
  name: typeof VARIABLES[number],
  most = Number.MAX_SAFE_INTEGER,
): number | undefined {
  const text = environment[name];
  if (!text) return undefined;
  const value = Number(text);
  if (/^\d+$/.test(text) && value >= 1 && value <= most) return value;
  throw new TypeError(`${name} must be a whole number from 1 to ${most}, got "${text}"`);
}

/** The texts between the commas. */
function readList(text = ""): string[] {
  return text.split(",").map((item) => item.trim()).filter((item) => item !== "");
}
