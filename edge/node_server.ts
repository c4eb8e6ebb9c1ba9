import { serve } from "@hono/node-server";
import type { EdgeApp } from "./app.ts";

/** A running server. */
export interface NodeServer {
  /** Stops accepting connections. Running downloads continue. */
  close(): void;
}

/**
 * Serves an app with Node's HTTP server.
 *
 * @param app App to serve
 * @param port Port to listen on; 0 is any free port
 * @param onListen Called with the port once the server listens
 * @param onError Called if the server cannot listen
 */
export function serveNode(
  app: Pick<EdgeApp, "fetch">,
  port: number,
  onListen: (port: number) => void,
  onError: (error: Error) => void,
): NodeServer {
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
  const server = serve({ fetch, port }, ({ port }) => onListen(port));
  server.once("error", onError);
  return server;
}
