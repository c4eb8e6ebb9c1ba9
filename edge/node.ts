/**
 * The entry for Node: the same app, behind Node's own HTTP server.
 *
 * @module
 */
import { serve } from "@hono/node-server";
import process from "node:process";
import type { EdgeApp } from "./app.ts";
import { readPort } from "./port.ts";
import entry from "./serve.ts";

const stop = (line: string) => {
  console.error(line);
  process.exitCode = 1;
};

try {
  const port = readPort(process.env.PORT);
  const server = serveNode(
    entry,
    port,
    (port) => console.error(`Weir listens on port ${port}`),
    ({ message }) => stop(`Cannot listen on port ${port} (${message}): set PORT to another one`),
  );
  // As platforms ask a process to end.
  for (const signal of ["SIGINT", "SIGTERM"]) process.once(signal, () => server.close());
} catch (error) {
  if (!(error instanceof TypeError)) throw error;
  stop(error.message);
}

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
