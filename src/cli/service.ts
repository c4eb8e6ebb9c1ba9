import type { DataStreamOptions } from "../client/client_options.ts";
import { createSandbox } from "../sandbox/service.ts";
import { QA_URL } from "../service_roots.ts";
import type { Arguments } from "./arguments.ts";
import type { Io } from "./io.ts";
import { readKey } from "./key.ts";
import { told, UsageError } from "./usage_error.ts";

/** The root address that the flags name; undefined is production. */
export function baseUrlOf(flags: Arguments["flags"]): string | undefined {
  const named = ["base-url", "qa", "sandbox"].filter((name) => flags.has(name));
  if (named.length > 1) {
    throw new UsageError(`--${named[0]} and --${named[1]} are two services: pass one of them`);
  }
  return flags.has("qa") ? QA_URL : flags.get("base-url")?.[0];
}

/** The options of a client of the service that the flags name. */
export async function serviceOf(flags: Arguments["flags"], io: Io): Promise<DataStreamOptions> {
  const baseUrl = baseUrlOf(flags);
  const rate = io.environment("WEIR_REQUESTS_PER_SECOND");
  const pace = rate ? { requestsPerSecond: Number(rate) } : {};
  if (flags.has("sandbox")) {
    const { apiKey, url, fetch } = told(() => createSandbox(pace));
    return { ...pace, apiKey, baseUrl: url, fetch };
  }
  return { ...pace, apiKey: await readKey(io.environment), baseUrl };
}
