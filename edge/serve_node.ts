import { serve } from "@hono/node-server";
import type { EdgeApp } from "./app.ts";

/** A server that can be closed. */
export interface NodeServer {
  /** Takes no more, and lets what is open come to its end. */
  close(): void;
}

/**
 * Serves an app by Node's own HTTP server.
 *
 * @param port Where to listen; 0 is any free port
 * @param onListen Told of the port
 * @param onError Told why it cannot listen
 */
export function serveNode(
  app: Pick<EdgeApp, "fetch">,
  port: number,
  onListen: (port: number) => void,
  onError: (error: Error) => void,
): NodeServer {
  // The second argument of a handler is the environment on Workers alone.
  const fetch = async (request: Request) => {
    const response = await app.fetch(request);
    // Else the first pieces are read before the headers go, and a fault among them is told as it is.
    if (response.headers.has("content-disposition")) {
      response.headers.set("transfer-encoding", "chunked");
    }
    return response;
  };
  const server = serve({ fetch, port }, ({ port }) => onListen(port));
  server.once("error", onError);
  return server;
}
