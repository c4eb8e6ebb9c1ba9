/**
 * The demo: the edge app over the sandbox, on loopback.
 *
 * @module
 */
import { createApp } from "./app.ts";
import { sandboxOptions } from "./config.ts";
import { readPort } from "./port.ts";

try {
  const port = readPort(Deno.env.get("PORT"));
  Deno.serve({ hostname: "127.0.0.1", port, onListen }, createApp(sandboxOptions()).fetch);
} catch (error) {
  if (error instanceof TypeError) stop(error.message);
  if (!(error instanceof Deno.errors.AddrInUse)) throw error;
  stop("The port is taken: set PORT to another one, PORT=0 for any that is free");
}

function onListen({ port }: Deno.NetAddr): void {
  const records = `http://127.0.0.1:${port}/Records.csv`;
  console.log(`Weir serves synthetic data on this machine; Ctrl-C stops it.

  The page that makes download links:
    http://127.0.0.1:${port}/

  All pH values, to open in a browser:
    ${records}?$filter=CharacteristicName%20eq%20%27pH%27

  All records, to paste into a shell:
    curl --fail --output records.csv ${records}
`);
}

function stop(line: string): never {
  console.error(line);
  Deno.exit(1);
}
