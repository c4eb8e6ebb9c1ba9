import { PROJECT } from "../../helpers/project.ts";
import { workerd } from "../../helpers/runtime_programs.ts";
import { waitFor } from "../../helpers/wait_for.ts";
import { bundleAsPublished } from "./bundle.ts";
import { toIsolatesCapnp } from "./capnp.ts";
import { type Server, startServer } from "./server.ts";

/** Options of `startIsolates()`. */
export interface IsolateOptions {
  /** Path of the module that each isolate runs. */
  module: string;
  /** Environment variables of each isolate. */
  environment: Record<string, string>;
  /** Number of isolates. Default 4 */
  count?: number;
  /** Folder with the storage of the rate limiter. Default: the isolates have no common rate limiter. */
  storage?: string;
}

/** Isolates in one process of workerd, each with a socket of its own. */
export interface Isolates extends AsyncDisposable {
  /** URLs of the isolates without a trailing slash. */
  roots: string[];
  server: Server;
}

/** Starts isolates that run the same Worker, as the network of Cloudflare does. */
export async function startIsolates(
  { module, environment, count = 4, storage }: IsolateOptions,
): Promise<Isolates> {
  const wrangler = await Deno.readTextFile(`${PROJECT}examples/cloudflare/wrangler.jsonc`);
  const server = await startServer({
    program: workerd!,
    args: ["serve", "--control-fd=1", "app.capnp"],
    files: {
      "app.js": await bundleAsPublished("worker.js", module),
      "app.capnp": toIsolatesCapnp(wrangler, environment, count, storage),
    },
    port: /"port":(\d+)/,
  });
  const roots = await waitFor(() => {
    const ports = [...server.log().matchAll(/"port":(\d+)/g)];
    return ports.length === count && ports.map(([, port]) => `http://127.0.0.1:${port}`);
  }, "the ports of all isolates");
  return { roots, server, [Symbol.asyncDispose]: () => server[Symbol.asyncDispose]() };
}
