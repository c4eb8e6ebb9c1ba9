/**
 * Entry point for Node: serves the app of `serve.ts` with Node's HTTP server.
 *
 * @module
 */
import process from "node:process";
import { ValidationError } from "../src/errors.ts";
import { readPort } from "./config.ts";
import { serveNode } from "./node.ts";
import entry from "./serve.ts";

const reportFailure = (line: string) => {
  console.error(line);
  process.exitCode = 1;
};

try {
  const port = readPort(process.env.PORT);
  serveNode(entry, { port }).then(
    ({ url }) => console.error(`Weir listens on ${url}`),
    ({ message }) => reportFailure(`${message} (PORT)`),
  );
} catch (error) {
  if (!(error instanceof ValidationError)) throw error;
  reportFailure(error.message);
}
