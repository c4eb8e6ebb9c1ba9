/**
 * Serves the app of Weir with Node's HTTP server: CSV downloads of water-quality data from
 * [DataStream](https://datastream.org), and a web page that makes their URLs.
 *
 * ## Start
 *
 * The sandbox replaces DataStream: it has synthetic data, and needs neither an API key nor a network.
 *
 * ```ts ignore
 * import { createApp } from "@weir/datastream/edge";
 * import { serveNode } from "@weir/datastream/node";
 * import { createSandbox } from "@weir/datastream/sandbox";
 *
 * const { apiKey, url, fetch } = createSandbox();
 * const app = createApp({
 *   access: "public",
 *   apiKey,
 *   baseUrl: url,
 *   fetch,
 *   synthetic: true,
 * });
 *
 * const server = await serveNode(app, { port: 0 });
 * console.error(`Weir listens on ${server.url}`);
 * ```
 *
 * For a server that environment variables configure, run `npx @weir/datastream serve`.
 *
 * ## Options
 *
 * | option | meaning | default |
 * |---|---|---|
 * | `host` | address to listen on; `0.0.0.0` is all addresses | `127.0.0.1` |
 * | `port` | port to listen on; 0 is any free port | 8000 |
 * | `shutdownTimeout` | time in milliseconds that open downloads get after a signal to stop | 25000 |
 *
 * Importing this module starts nothing.
 *
 * ## Stopping
 *
 * After SIGTERM or SIGINT, the server accepts no connections, and the process ends when the open downloads
 * are complete. Downloads that take longer than `shutdownTimeout` are broken off, so that no program takes
 * an incomplete file for a complete one; the exit code is then 1. A second signal ends the process
 * immediately.
 *
 * ## Runtimes
 *
 * Node 20.19 or later. The module also works in Deno and Bun, but there `export default createApp(options)`
 * with `deno serve` or `bun` needs no HTTP server of Node.
 *
 * @module
 */
import { createAdaptorServer } from "@hono/node-server";
import type { Server, ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import { requireOptions, requireType, requireWholeNumber } from "../src/validation.ts";
import type { EdgeApp } from "./app.ts";
import {
  brokenMessage,
  DEFAULT_SHUTDOWN_TIMEOUT,
  MAX_SHUTDOWN_TIMEOUT,
  stopWithin,
} from "./graceful_stop.ts";
import { DEFAULT_HOST, DEFAULT_PORT, formatUrl, toListenError } from "./listening.ts";
import { currentProcess } from "./server_process.ts";

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
  /**
   * Time in milliseconds that open downloads get to complete after the server was told to stop, 0 to
   * 3600000. Default 25000.
   */
  shutdownTimeout?: number | undefined;
  /** Whether SIGTERM and SIGINT stop the server and end the process. Default true. */
  stopsOnSignals?: boolean | undefined;
}

/** A server that {@linkcode serveNode} started. */
export interface NodeServer {
  /** URL of the server, such as `http://127.0.0.1:8000/`. */
  readonly url: string;
  /** Returns the number of requests whose responses are not complete. */
  openResponses(): number;
  /**
   * Stops accepting connections and waits for the open responses, at most `shutdownTimeout`. The rest are
   * broken off.
   *
   * @returns Number of responses that were broken off
   */
  stop(): Promise<number>;
}

/** Names of all options; the type makes a missing or extra name an error. */
const NODE_SERVER_OPTIONS: Record<keyof NodeServerOptions, undefined> = {
  host: undefined,
  port: undefined,
  shutdownTimeout: undefined,
  stopsOnSignals: undefined,
};

/**
 * Serves an app with Node's HTTP server.
 *
 * @param app App of `createApp()`, or the default export of `@weir/datastream/serve`
 * @param options Host, port, and time for open downloads
 * @returns The server, when it listens
 * @throws {ValidationError} If an option is unknown or invalid
 * @throws {Error} If the server cannot listen, for example because the port is in use
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
  app: Pick<EdgeApp, "fetch">,
  options: NodeServerOptions = {},
): Promise<NodeServer> {
  const {
    host = DEFAULT_HOST,
    port = DEFAULT_PORT,
    shutdownTimeout = DEFAULT_SHUTDOWN_TIMEOUT,
    stopsOnSignals = true,
  } = requireOptions("serveNode()", options, NODE_SERVER_OPTIONS) as NodeServerOptions;
  requireType("host", host, "string");
  requireWholeNumber("port", port, 0, 65_535);
  requireWholeNumber("shutdownTimeout", shutdownTimeout, 0, MAX_SHUTDOWN_TIMEOUT);
  requireType("stopsOnSignals", stopsOnSignals, "boolean");
  const server = createHttpServer(app, host);
  const open = new Set<ServerResponse>();
  let stopping: Promise<number> | undefined;
  server.on("request", ({ socket }, response) => {
    open.add(response);
    response.once("close", () => {
      open.delete(response);
      // Otherwise, Node would keep the connection open for another request, 5 s by default.
      if (stopping) socket.destroySoon();
    });
  });
  await new Promise<void>((resolve, reject) => {
    server.once("error", (error) => reject(toListenError(host, port, error)));
    server.listen(port, host, resolve);
  });
  const breakOff = () => {
    const { size } = open;
    server.closeAllConnections();
    return size;
  };
  const stop = () => {
    stopping ??= stopWithin(
      new Promise((resolve) => void server.close(resolve)),
      shutdownTimeout,
      breakOff,
    );
    server.closeIdleConnections();
    return stopping;
  };
  if (stopsOnSignals) {
    currentProcess()?.onStopSignal(async () => {
      const broken = await stop();
      if (broken > 0) console.error(brokenMessage(broken, shutdownTimeout, "shutdownTimeout"));
      return broken > 0 ? 1 : 0;
    });
  }
  const { port: actualPort } = server.address() as AddressInfo;
  return { url: formatUrl(host, actualPort), openResponses: () => open.size, stop };
}

function createHttpServer(app: Pick<EdgeApp, "fetch">, hostname: string): Server {
  // Passes only the request: the second argument of this server is not the environment of Workers.
  const fetch = async (request: Request) => {
    const response = await app.fetch(request);
    // Without this header, the server reads the first chunks before it sends the headers. It would
    // respond to an error in these chunks with the error's message.
    if (response.headers.has("content-disposition")) {
      response.headers.set("transfer-encoding", "chunked");
    }
    return response;
  };
  return createAdaptorServer({ fetch, hostname }) as Server;
}
