/**
 * Entry point for Node: serves the app of `serve.ts` with Node's HTTP server.
 *
 * @module
 */
import process from "node:process";
import { ValidationError } from "../src/errors.ts";
import { readPort } from "./config.ts";
import { serveNode } from "./node_server.ts";
import entry from "./serve.ts";

const reportFailure = (line: string) => {
  console.error(line);
  process.exitCode = 1;
};

try {
  const port = readPort(process.env.PORT);
  const server = serveNode(
    entry,
    port,
    (port) => console.error(`Weir listens on port ${port}`),
    ({ message }) =>
      reportFailure(`Cannot listen on port ${port} (${message}): set PORT to another port`),
  );
  // Hosting platforms stop a process with these signals.
  for (const signal of ["SIGINT", "SIGTERM"]) process.once(signal, () => server.close());
} catch (error) {
  if (!(error instanceof ValidationError)) throw error;
  reportFailure(error.message);
}
