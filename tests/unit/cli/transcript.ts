// Runs command lines against a small service in this process, and records their requests.
import { createSandbox } from "../../../src/sandbox/service.ts";
import { type RunOptions, type RunResult, weir } from "../../helpers/run_weir.ts";

/** Maximum number of requests of one command line, because an endless loop would block timers. */
const MAX_REQUESTS = 100;

/** A command line and its environment. */
interface Scenario extends RunOptions {
  line: readonly string[];
  /** Replaces the responses of the service. */
  answer?: (request: Request) => Response | undefined;
}

/** Root address of the service that scenarios use unless a flag names another one. */
const ROOT = "https://service.example/v1/odata/v4";

/**
 * Runs a command line against a service with 40 records at 8 locations, with hostile names.
 *
 * @returns Also the decoded URLs of the requests, without the root address of the service
 */
export async function record(
  { line, answer, ...given }: Scenario,
): Promise<RunResult & { requests: string[] }> {
  const sandbox = createSandbox({
    records: 40,
    locations: 8,
    hostileNames: true,
    requestsPerSecond: Infinity,
  });
  const requests: string[] = [];
  const { fetch } = globalThis;
  globalThis.fetch = async (input, init) => {
    const request = new Request(input, init);
    if (requests.length === MAX_REQUESTS) throw new Error(`More than ${MAX_REQUESTS} requests`);
    requests.push(decodeURIComponent(request.url).replace(`${ROOT}/`, ""));
    return answer?.(request) ?? await sandbox.fetch(request);
  };
  try {
    const environment = {
      DATASTREAM_API_KEY: sandbox.apiKey,
      DATASTREAM_BASE_URL: ROOT,
      ...given.environment,
    };
    const result = await weir(line, { ...given, environment });
    // A slow machine prints that it requests a page.
    const errors = result.errors.filter((text) => !/^Requesting the (first|next) page…/.test(text));
    return { ...result, errors, requests };
  } finally {
    globalThis.fetch = fetch;
  }
}
