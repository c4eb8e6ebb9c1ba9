import { getRequestListener, RequestError } from "@hono/node-server";
import { createServer, type IncomingMessage, type Server, type ServerResponse } from "node:http";
import type { Http2ServerRequest } from "node:http2";
import type { AddressInfo, Socket } from "node:net";
import { requireNode } from "../../src/node_version.ts";
import { readOptions } from "../../src/validation.ts";
import { DEFAULT_HOST, DEFAULT_PORT } from "../http/options.ts";
import {
  formatUrl,
  interruptedMessage,
  onStopSignal,
  type RunningServer,
  SHUTDOWN_TIMEOUT,
  type Stoppable,
  stopWithin,
  toListenError,
} from "./server_process.ts";

/**
 * Options of {@linkcode serveNode}.
 *
 * @example Another port, and ten seconds for open downloads
 * ```ts
 * import type { NodeServerOptions } from "@weir/datastream/node";
 *
 * const options: NodeServerOptions = { port: 8080, shutdownTimeout: 10_000 };
 * console.log(options.port);
 * ```
 */
export interface NodeServerOptions {
  /** Address or host name to listen on; `0.0.0.0` is all IPv4 addresses. Default `127.0.0.1`. */
  host?: string | undefined;
  /** Port to listen on, 0 to 65535; 0 is any free port. Default 8000. */
  port?: number | undefined;
  /** Time in milliseconds to complete open downloads on stopping, 0 to 3600000. Default 25000. */
  shutdownTimeout?: number | undefined;
  /** Whether SIGTERM and SIGINT stop the server and end the process. Default true. */
  stopsOnSignals?: boolean | undefined;
}

const NODE_OPTIONS = {
  host: { default: DEFAULT_HOST, type: "string" },
  port: { default: DEFAULT_PORT, min: 0, max: 65_535 },
  shutdownTimeout: { default: SHUTDOWN_TIMEOUT, min: 0, max: 3_600_000 },
  stopsOnSignals: { default: true, type: "boolean" },
} as const;

/**
 * Serves an app with Node's HTTP server.
 *
 * @param app App of `createApp()`, or the default export of `@weir/datastream/serve`
 * @param options Host, port and shutdown timeout
 * @returns The server, as soon as it listens
 * @throws {ValidationError} If an option is unknown or invalid
 * @throws {Error} If the server cannot listen, for example because the port is in use, or Node is too old
 *
 * @example The sandbox on a free port
 * ```ts ignore
 * import { createApp } from "@weir/datastream/edge";
 * import { serveNode } from "@weir/datastream/node";
 * import { createSandbox } from "@weir/datastream/sandbox";
 *
 * const { apiKey, url, fetch } = createSandbox();
 * const app = createApp({ access: "public", apiKey, baseUrl: url, fetch, synthetic: true });
 * const server = await serveNode(app, { port: 0 });
 * const { status } = await globalThis.fetch(`${server.url}healthz`);
 * console.log(status); // 200
 * await server.stop();
 * ```
 */
export async function serveNode(
  app: Stoppable,
  options: NodeServerOptions = {},
): Promise<RunningServer> {
  requireNode();
  const { host, port, shutdownTimeout, stopsOnSignals } = readOptions(
    "serveNode()",
    options,
    NODE_OPTIONS,
  );
  const server = createHttpServer(app, host);
  const open = new Set<ServerResponse>();
  let onIdle = () => {};
  server.on("request", (_, response) => {
    open.add(response);
    response.once("close", () => {
      open.delete(response);
      if (open.size === 0) onIdle();
    });
  });
  await new Promise<void>((resolve, reject) => {
    server.once("error", (error) => reject(toListenError(host, port, error)));
    server.listen(port, host, resolve);
  });
  let stopping: Promise<number> | undefined;
  const complete = async () => {
    server.close(); // closes idle connections too
    if (open.size > 0) await new Promise<void>((resolve) => onIdle = resolve);
    // Node would wait for a connection on which no request has arrived yet.
    server.closeAllConnections();
  };
  const interrupt = () => {
    const { size } = open;
    app.interrupt?.();
    for (const { req, socket } of open) if (!hasChunks(req)) socket?.resetAndDestroy();
    server.closeAllConnections();
    return size;
  };
  const stop = () => stopping ??= stopWithin(complete(), interrupt, shutdownTimeout);
  if (stopsOnSignals) {
    onStopSignal(async () => {
      const interrupted = await stop();
      if (interrupted === 0) return 0;
      const message = interruptedMessage(interrupted, shutdownTimeout);
      console.error(`${message}: to wait longer, set shutdownTimeout`);
      return 1;
    });
  }
  const { port: actualPort } = server.address() as AddressInfo;
  return { url: formatUrl(host, actualPort), stop };
}

function createHttpServer(app: Stoppable, hostname: string): Server {
  const fetch = async (
    request: Request,
    { incoming }: { incoming: IncomingMessage | Http2ServerRequest },
  ) => {
    const { socket } = incoming;
    const response = await app.fetch(request, { clientAddress: socket.remoteAddress });
    if (!response.headers.has("content-disposition")) return response;
    if (!hasChunks(incoming)) return new Response(resetOnError(response.body, socket), response);
    // Otherwise, the server reads the first chunks before it sends the status, and responds to an
    // error in them with its message. A response has only one of the two headers (RFC 9112, 6.1).
    const { headers } = response;
    if (!headers.has("content-length")) headers.set("transfer-encoding", "chunked");
    return response;
  };
  // The adapter cannot create a request with an invalid `host` header or URL.
  const errorHandler = (error: unknown) =>
    new Response(null, { status: error instanceof RequestError ? 400 : 500 });
  return createServer(getRequestListener(fetch, { hostname, errorHandler }));
}

/** HTTP/1.0 has no chunks: the end of the connection is the end of the body. */
function hasChunks({ httpVersionMinor }: Pick<IncomingMessage, "httpVersionMinor">): boolean {
  return httpVersionMinor > 0;
}

/** Resets the connection on failure, so that a client without chunks detects it. */
function resetOnError(body: ReadableStream | null, socket: Socket): ReadableStream | null {
  if (body === null) return null;
  const reader = body.getReader();
  reader.closed.catch(() => socket.resetAndDestroy());
  return new ReadableStream({
    async pull(controller) {
      const { done, value } = await reader.read();
      if (done) controller.close();
      else controller.enqueue(value);
    },
    cancel: (reason) => reader.cancel(reason),
  }, { highWaterMark: 0 });
}
