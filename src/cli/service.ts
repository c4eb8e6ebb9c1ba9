import type { DataStreamOptions } from "../client/client_options.ts";
import { createSandbox } from "../sandbox/service.ts";
import { QA_URL } from "../service_roots.ts";
import type { Arguments } from "./arguments.ts";
import type { Io } from "./io.ts";
import { readKey } from "./key.ts";
import { told, UsageError } from "./usage_error.ts";

/** The root address that the flags name, or the environment; undefined is production. */
export function baseUrlOf(flags: Arguments["flags"], io: Io): string | undefined {
  const named = ["base-url", "qa", "sandbox"].filter((name) => flags.has(name));
  if (named.length > 1) {
    throw new UsageError(`--${named[0]} and --${named[1]} are two services: pass one of them`);
  }
  if (flags.has("qa")) return QA_URL;
  return flags.get("base-url")?.[0] ??
    (io.environmentIfAllowed("DATASTREAM_BASE_URL") || undefined);
}

/** The options of a client of the service that the flags name. */
export async function serviceOf(flags: Arguments["flags"], io: Io): Promise<DataStreamOptions> {
  const baseUrl = baseUrlOf(flags, io);
  const rate = io.environmentIfAllowed("WEIR_REQUESTS_PER_SECOND");
  if (rate && !(Number(rate) > 0)) {
    throw new UsageError(`WEIR_REQUESTS_PER_SECOND must be a number above 0, got "${rate}"`);
  }
  const pace = rate ? { requestsPerSecond: Number(rate) } : {};
  if (flags.has("sandbox")) {
    const { apiKey, url, fetch } = told(() => createSandbox(pace));
    return { ...pace, apiKey, baseUrl: url, fetch };
  }
  return { ...pace, apiKey: await readKey(io), baseUrl };
}
