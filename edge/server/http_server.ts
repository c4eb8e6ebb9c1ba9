import { hideAbortWarning } from "./abort_warning.ts";
import type { EdgeApp } from "../app.ts";
import { trackResponses } from "../track_responses.ts";
import {
  type BunServer,
  OpenResponses,
  type RunningServer,
  stopBunServer,
  stopWithin,
} from "./graceful_stop.ts";
import { BUN_IDLE_TIMEOUT, formatUrl, type ListenOptions, toListenError } from "./listening.ts";

type ServedApp = Pick<EdgeApp, "fetch">;

/** The members of Bun that are used here. */
interface BunRuntime {
  serve(options: {
    hostname: string;
    port: number;
    idleTimeout: number;
    development: boolean;
    fetch: (request: Request, server: BunServer) => Response | Promise<Response>;
  }): BunServer & { port: number };
}

/**
 * Serves an app with the HTTP server of the runtime: Deno, Bun or Node.
 *
 * @returns The server, as soon as it listens
 * @throws {ListenError} If it cannot listen
 */
export async function startServer(
  app: ServedApp,
  options: ListenOptions,
): Promise<RunningServer> {
  const { Bun, Deno: deno } = globalThis as { Bun?: BunRuntime; Deno?: typeof Deno };
  if (deno === undefined && Bun === undefined) {
    // Imports Node's HTTP server only in Node.
    const { serveNode } = await import("../node.ts");
    return await serveNode(app, { ...options, stopsOnSignals: false });
  }
  try {
    return Bun ? serveWithBun(Bun, app, options) : serveWithDeno(deno!, app, options);
  } catch (error) {
    throw toListenError(options.host, options.port, error);
  }
}

function serveWithDeno(
  deno: typeof Deno,
  app: ServedApp,
  { host, port, shutdownTimeout }: ListenOptions,
): RunningServer {
  hideAbortWarning();
  const logInterrupted = trackResponses(app);
  const open = new OpenResponses();
  const server = deno.serve(
    { hostname: host, port, onListen() {} },
    (request, info) => {
      open.add(info.completed);
      return app.fetch(request, info);
    },
  );
  return {
    url: formatUrl(host, server.addr.port),
    openResponses: () => open.count,
    stop: () =>
      stopWithin(server.shutdown(), shutdownTimeout, () => {
        logInterrupted();
        // At least one client is still reading, although `completed` may have settled.
        return Math.max(1, open.count);
      }),
  };
}

function serveWithBun(
  bun: BunRuntime,
  app: ServedApp,
  { host, port, shutdownTimeout }: ListenOptions,
): RunningServer {
  const logInterrupted = trackResponses(app);
  const server = bun.serve({
    hostname: host,
    port,
    idleTimeout: BUN_IDLE_TIMEOUT,
    development: false,
    fetch: (request, server) => app.fetch(request, server),
  });
  return {
    url: formatUrl(host, server.port),
    openResponses: () => server.pendingRequests,
    stop: () => stopBunServer(server, shutdownTimeout, logInterrupted),
  };
}
