import { createSandbox } from "../src/sandbox/service.ts";
import type { AppOptions } from "./app.ts";

/** The environment's variables by name. */
export type Environment = Record<string, string | undefined>;

/** The variables that are read here, all of them. */
export const VARIABLES = [
  "DATASTREAM_API_KEY",
  "DATASTREAM_BASE_URL",
  "WEIR_ACCESS",
  "WEIR_REQUESTS_PER_SECOND",
  "WEIR_SANDBOX",
] as const;

/**
 * Reads the app's options from the environment.
 *
 * @throws {TypeError} If a value is missing or wrong; the message says which and what to set
 */
export function readConfig(environment: Environment): AppOptions {
  const rate = environment.WEIR_REQUESTS_PER_SECOND;
  if (rate && !(Number(rate) > 0)) {
    throw new TypeError(`WEIR_REQUESTS_PER_SECOND must be a number above 0, got "${rate}"`);
  }
  const pace = rate ? { requestsPerSecond: Number(rate) } : {};
  const sandboxed = environment.WEIR_SANDBOX;
  if (sandboxed === "1") return sandboxOptions(pace);
  if (sandboxed && sandboxed !== "0") {
    throw new TypeError(`WEIR_SANDBOX must be 1 or 0, got "${sandboxed}"`);
  }
  const access = environment.WEIR_ACCESS;
  if (access !== "caller" && access !== "public") {
    throw new TypeError(
      `WEIR_ACCESS must say who may download, "caller" or "public" (or set WEIR_SANDBOX=1), got ${
        access ? `"${access}"` : "nothing"
      }`,
    );
  }
  const { DATASTREAM_API_KEY: apiKey, DATASTREAM_BASE_URL: baseUrl } = environment;
  if (access === "public" && !apiKey) {
    throw new TypeError("WEIR_ACCESS is public, so DATASTREAM_API_KEY must hold the server's key");
  }
  return { access, ...pace, ...(apiKey && { apiKey }), ...(baseUrl && { baseUrl }) };
}

/** The app over the sandbox, which is public and says that its data is synthetic. */
export function sandboxOptions(pace: { requestsPerSecond?: number } = {}): AppOptions {
  const { apiKey, url, fetch } = createSandbox(pace);
  return { access: "public", apiKey, baseUrl: url, fetch, synthetic: true, ...pace };
}
