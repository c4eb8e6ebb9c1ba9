/**
 * The entry for Node: the same app, behind Node's own HTTP server.
 *
 * @module
 */
import process from "node:process";
import { serve } from "@hono/node-server";
import entry from "./main.ts";
import { readPort } from "./port.ts";

try {
  const port = readPort(process.env.PORT);
  // The second argument of a handler is the environment on Workers alone.
  const server = serve({ fetch: (request) => entry.fetch(request), port }, ({ port }) => {
    console.error(`Weir listens on port ${port}`);
  });
  // As platforms ask a process to end: take no more, and let what is open come to its end.
  for (const signal of ["SIGINT", "SIGTERM"]) process.once(signal, () => server.close());
  server.once("error", ({ message }: Error) => {
    console.error(`Cannot listen on port ${port} (${message}): set PORT to another one`);
    process.exitCode = 1;
  });
} catch (error) {
  if (!(error instanceof TypeError)) throw error;
  console.error(error.message);
  process.exitCode = 1;
}
