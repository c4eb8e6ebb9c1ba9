import { assertEquals } from "@std/assert";
import { sha256Hex } from "../../../src/bytes.ts";
import { waitFor } from "../wait_for.ts";
import { inWorkerd, startProgram } from "./runtimes.ts";

const MODULE = "tests/e2e/servers/cloudflare_worker.ts";

/** Key of the service. */
const API_KEY = "sandbox";

/** Isolates in one process of workerd, each with a socket of its own. */
export interface Isolates extends AsyncDisposable {
  /** URLs of the isolates without a trailing slash. */
  roots: string[];
}

/** Starts isolates of the published Worker that share a Durable Object, as the network of Cloudflare does. */
export async function startIsolates(baseUrl: string, count = 4): Promise<Isolates> {
  const environment = {
    DATASTREAM_API_KEY: API_KEY,
    DATASTREAM_BASE_URL: baseUrl,
    WEIR_ACCESS: "public",
    // The downloads have the same URL, and come from the same client.
    WEIR_CACHE_TTL: "0",
    WEIR_MAX_DOWNLOADS_PER_CLIENT: "20",
  };
  const program = inWorkerd("workerd", MODULE, { count, hasStorage: true });
  const server = await startProgram(program, environment);
  const roots = await waitFor(() => {
    const ports = [...server.log().matchAll(/"port":(\d+)/g)];
    return ports.length === count && ports.map(([, port]) => `http://127.0.0.1:${port}`);
  }, "the ports of all isolates");
  return { roots, [Symbol.asyncDispose]: () => server[Symbol.asyncDispose]() };
}

/** Restarts the Durable Object of a service. */
export async function restartObject({ roots: [root] }: Isolates, origin: string): Promise<void> {
  const name = encodeURIComponent(`${origin} ${await sha256Hex(API_KEY)}`);
  const response = await fetch(`${root}/restart?name=${name}`);
  assertEquals([response.status, await response.text()], [500, "Error: restart of a test"]);
}
