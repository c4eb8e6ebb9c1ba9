/**
 * Serves the app with synthetic data of the sandbox, on the loopback interface.
 *
 * @module
 */
import { ValidationError } from "../src/errors.ts";
import { createApp } from "./app.ts";
import { readPort, sandboxOptions } from "./config.ts";

try {
  const port = readPort(Deno.env.get("PORT"));
  Deno.serve({ hostname: "127.0.0.1", port, onListen }, createApp(sandboxOptions()).fetch);
} catch (error) {
  if (error instanceof ValidationError) exitWithError(error.message);
  if (!(error instanceof Deno.errors.AddrInUse)) throw error;
  exitWithError("The port is in use: set PORT to another port, or PORT=0 for any free port");
}

function onListen({ port }: Deno.NetAddr): void {
  const records = `http://127.0.0.1:${port}/Records.csv`;
  console.log(`Weir serves synthetic data on this computer. Press Ctrl-C to stop it.

  Web page on which to build download links:
    http://127.0.0.1:${port}/

  All pH values, to open in a browser:
    ${records}?$filter=CharacteristicName%20eq%20%27pH%27

  All records, to paste into a shell:
    curl --fail --output records.csv ${records}
`);
}

function exitWithError(line: string): never {
  console.error(line);
  Deno.exit(1);
}
