/**
 * The entry for Node: the same app, behind Node's own HTTP server.
 *
 * @module
 */
import process from "node:process";
import entry from "./main.ts";
import { readPort } from "./port.ts";
import { serveNode } from "./serve_node.ts";

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
