/**
 * Serves the app with synthetic data of the sandbox on the loopback interface, and prints a web page, a
 * download URL, and code that reads it.
 *
 * @module
 */
import { ValidationError } from "../src/errors.ts";
import { createApp } from "./app.ts";
import { readPort, sandboxOptions } from "./config.ts";
import { createCodeSnippets } from "./page/code_snippets.ts";

try {
  serve(readPort(Deno.env.get("PORT")));
} catch (error) {
  if (error instanceof ValidationError) exitWithError(error.message);
  throw error;
}

/** Starts the server, or exits with a message if the port is in use. */
function serve(port: number): void {
  try {
    Deno.serve({ hostname: "127.0.0.1", port, onListen }, createApp(sandboxOptions()).fetch);
  } catch (error) {
    if (!(error instanceof Deno.errors.AddrInUse)) throw error;
    exitWithError(`Port ${port} is in use: set PORT to another port, or PORT=0 for any free port`);
  }
}

/** Prints the URLs, in at most 12 lines. */
function onListen({ port }: Deno.NetAddr): void {
  const root = `http://127.0.0.1:${port}/`;
  const ph = `${root}Records.csv?$filter=CharacteristicName%20eq%20%27pH%27`;
  const lines = createCodeSnippets("public", ph, ph, "ph")
    .filter(({ program }) => program !== "Excel")
    .map(({ program, code }) => `  ${program.padEnd(16)}  ${code}`);
  console.log(`Weir serves synthetic data on this computer. Press Ctrl-C to stop it.

  Web page          ${root}
  All records       ${root}Records.csv
${lines.join("\n")}`);
}

function exitWithError(line: string): never {
  console.error(line);
  Deno.exit(1);
}
