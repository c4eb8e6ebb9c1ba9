/**
 * The demo: the edge app over the sandbox, on loopback.
 *
 * @module
 */
import { createApp } from "./app.ts";
import { sandboxOptions } from "./config.ts";

const given = Deno.env.get("PORT") || "8000";
const port = Number(given);

if (!/^\d+$/.test(given) || port > 65_535) {
  stop(`PORT must be a number from 0 to 65535 (0: any free port), got "${given}"`);
}
try {
  Deno.serve({ hostname: "127.0.0.1", port, onListen }, createApp(sandboxOptions()).fetch);
} catch (error) {
  if (!(error instanceof Deno.errors.AddrInUse)) throw error;
  stop(`Port ${port} is taken: set PORT to another one, PORT=0 for any that is free`);
}

function onListen({ port }: Deno.NetAddr): void {
  const records = `http://127.0.0.1:${port}/Records.csv`;
  console.log(`Weir serves synthetic records on this machine; Ctrl-C stops it.

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
