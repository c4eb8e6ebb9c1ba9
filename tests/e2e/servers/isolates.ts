import { assertEquals } from "@std/assert";
import { sha256Hex } from "../../../src/bytes.ts";
import { PROJECT } from "../../helpers/project.ts";
import { workerd } from "../runtime_programs.ts";
import { waitFor } from "../wait_for.ts";
import { bundleAsPublished } from "./bundle.ts";
import { toCapnp, type WorkerOptions } from "./capnp.ts";
import { type Server, startServer } from "./server.ts";

const MODULE = "tests/e2e/servers/cloudflare_worker.ts";

/** Isolates in one process of workerd, each with a socket of its own. */
export interface Isolates extends AsyncDisposable {
  /** URLs of the isolates without a trailing slash. */
  roots: string[];
  server: Server;
}

/** Starts isolates of the published Worker, by default four, as the network of Cloudflare does. */
export async function startIsolates(options: WorkerOptions): Promise<Isolates> {
  const { count = 4 } = options;
  const wrangler = await Deno.readTextFile(`${PROJECT}examples/cloudflare/wrangler.jsonc`);
  const server = await startServer({
    program: workerd!,
    args: ["serve", "--control-fd=1", "app.capnp"],
    files: {
      "app.js": await bundleAsPublished("worker.js", MODULE),
      "app.capnp": toCapnp(wrangler, { ...options, count }),
    },
    port: /"port":(\d+)/,
  });
  const roots = await waitFor(() => {
    const ports = [...server.log().matchAll(/"port":(\d+)/g)];
    return ports.length === count && ports.map(([, port]) => `http://127.0.0.1:${port}`);
  }, "the ports of all isolates");
  return { roots, server, [Symbol.asyncDispose]: () => server[Symbol.asyncDispose]() };
}

/** Restarts the Durable Object of an origin and a key. */
export async function restartObject(
  { roots: [root] }: Isolates,
  origin: string,
  apiKey: string,
): Promise<void> {
  const name = encodeURIComponent(`${origin} ${await sha256Hex(apiKey)}`);
  const response = await fetch(`${root}/restart?name=${name}`);
  assertEquals([response.status, await response.text()], [500, "Error: restart of a test"]);
}

/** Creates a temporary folder for the storage of Durable Objects. */
export async function createStorage(): Promise<{ path: string } & AsyncDisposable> {
  const path = await Deno.makeTempDir({ prefix: "weir-objects-" });
  return { path, [Symbol.asyncDispose]: () => Deno.remove(path, { recursive: true }) };
}
