import { hideAbortWarning } from "./abort_warning.ts";
import type { EdgeApp } from "../app.ts";
import {
  type BunServer,
  OpenResponses,
  type RunningServer,
  stopBunServer,
  stopWithin,
} from "./graceful_stop.ts";
import { BUN_IDLE_TIMEOUT, formatUrl, type ListenOptions, toListenError } from "./listening.ts";

type Fetch = EdgeApp["fetch"];

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
  { fetch }: { fetch: Fetch },
  options: ListenOptions,
): Promise<RunningServer> {
  const { Bun, Deno: deno } = globalThis as { Bun?: BunRuntime; Deno?: typeof Deno };
  if (deno === undefined && Bun === undefined) {
    // Imports Node's HTTP server only in Node.
    const { serveNode } = await import("../node.ts");
    return await serveNode({ fetch }, { ...options, stopsOnSignals: false });
  }
  try {
    return Bun ? serveWithBun(Bun, fetch, options) : serveWithDeno(deno!, fetch, options);
  } catch (error) {
    throw toListenError(options.host, options.port, error);
  }
}

function serveWithDeno(
  deno: typeof Deno,
  fetch: Fetch,
  { host, port, shutdownTimeout }: ListenOptions,
): RunningServer {
  hideAbortWarning();
  const open = new OpenResponses();
  const server = deno.serve(
    { hostname: host, port, onListen() {} },
    (request, info) => {
      open.add(info.completed);
      return fetch(request, info);
    },
  );
  return {
    url: formatUrl(host, server.addr.port),
    openResponses: () => open.count,
    // If the timeout expires, at least one client is still reading, although `completed` may have settled.
    stop: () => stopWithin(server.shutdown(), shutdownTimeout, () => Math.max(1, open.count)),
  };
}

function serveWithBun(
  bun: BunRuntime,
  fetch: Fetch,
  { host, port, shutdownTimeout }: ListenOptions,
): RunningServer {
  const server = bun.serve({
    hostname: host,
    port,
    idleTimeout: BUN_IDLE_TIMEOUT,
    development: false,
    fetch: (request, server) => fetch(request, server),
  });
  return {
    url: formatUrl(host, server.port),
    openResponses: () => server.pendingRequests,
    stop: () => stopBunServer(server, shutdownTimeout),
  };
}
