import type { EdgeApp } from "../app.ts";
import { hideAbortWarning } from "./abort_warning.ts";
import { type BunServer, type RunningServer, StoppableApp } from "./graceful_stop.ts";
import { BUN_IDLE_TIMEOUT, formatUrl, type ListenOptions, toListenError } from "./listening.ts";

/** The members of Bun that are used here. */
interface BunRuntime {
  serve(options: {
    hostname: string;
    port: number;
    idleTimeout: number;
    development: boolean;
    fetch: StoppableApp["fetch"];
  }): BunServer & { port: number };
}

/**
 * Serves an app with the HTTP server of the runtime: Deno, Bun or Node.
 *
 * @returns The server, as soon as it listens
 * @throws {ListenError} If it cannot listen
 */
export async function startServer(
  app: Pick<EdgeApp, "fetch">,
  { host, port }: ListenOptions,
): Promise<RunningServer> {
  const { Bun, Deno: deno } = globalThis as { Bun?: BunRuntime; Deno?: typeof Deno };
  if (deno === undefined && Bun === undefined) {
    // Imports Node's HTTP server only in Node.
    const { serveNode } = await import("../node.ts");
    return await serveNode(app, { host, port, stopsOnSignals: false });
  }
  const served = new StoppableApp(app);
  const { fetch } = served;
  const openResponses = () => served.openResponses;
  try {
    if (Bun) {
      const options = { idleTimeout: BUN_IDLE_TIMEOUT, development: false, fetch };
      const bun = Bun.serve({ hostname: host, port, ...options });
      served.bun = bun;
      return { url: formatUrl(host, bun.port), openResponses, stop: () => served.stop() };
    }
    hideAbortWarning();
    const server = deno!.serve({ hostname: host, port, onListen() {} }, fetch);
    const stop = () => served.stop(() => server.shutdown());
    return { url: formatUrl(host, server.addr.port), openResponses, stop };
  } catch (error) {
    throw toListenError(host, port, error);
  }
}
